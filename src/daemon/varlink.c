/* SPDX-License-Identifier: MIT */
#include "daemon/varlink.h"

#include <errno.h>
#include <string.h>

#include "report/text.h"

#define DEPTH_MAX 16 /* calls are flat; a deep one is an attack on the parser */

/* A field that is absent or null is false. */
static int flag(struct json_object *o, const char *key, bool *ret)
{
	struct json_object *value;

	if (!json_object_object_get_ex(o, key, &value) || !value)
		return 0;
	if (!json_object_is_type(value, json_type_boolean))
		return -EBADMSG;
	*ret = json_object_get_boolean(value);
	return 0;
}

static int look(struct nb_call *c)
{
	struct json_object *method;
	bool ignored;

	if (!json_object_is_type(c->request, json_type_object) ||
	    !json_object_object_get_ex(c->request, "method", &method) ||
	    !json_object_is_type(method, json_type_string))
		return -EBADMSG;
	c->method = json_object_get_string(method);
	/* A NUL within the text would hide what follows it. */
	if (strlen(c->method) != (size_t)json_object_get_string_len(method))
		return -EBADMSG;
	if (json_object_object_get_ex(c->request, "parameters", &c->parameters) && c->parameters &&
	    !json_object_is_type(c->parameters, json_type_object))
		return -EBADMSG;
	if (flag(c->request, "more", &ignored) < 0 || flag(c->request, "upgrade", &ignored) < 0)
		return -EBADMSG;
	return flag(c->request, "oneway", &c->oneway);
}

int nb_call_parse(const char *text, size_t len, struct nb_call *ret)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	struct nb_call c = {0};
	int r;

	if (!tokener)
		return -ENOMEM;
	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	c.request = json_tokener_parse_ex(tokener, text, (int)len);
	if (json_tokener_get_error(tokener) != json_tokener_success ||
	    json_tokener_get_parse_end(tokener) != len)
		r = -EBADMSG;
	else
		r = look(&c);
	json_tokener_free(tokener);
	if (r < 0) {
		nb_call_done(&c);
		return r;
	}
	*ret = c;
	return 0;
}

void nb_call_done(struct nb_call *c)
{
	json_object_put(c->request);
	*c = (struct nb_call){0};
}

/* Adds or releases value. */
static int add(struct json_object *o, const char *key, struct json_object *value)
{
	if (!value || !o || json_object_object_add(o, key, value) < 0) {
		json_object_put(value);
		return -ENOMEM;
	}
	return 0;
}

static int reply(const char *error, struct json_object *parameters, struct json_object **ret)
{
	struct json_object *o = json_object_new_object();
	int r = 0;

	if (!parameters)
		parameters = json_object_new_object();
	if (error)
		r = add(o, "error", json_object_new_string(error));
	if (add(o, "parameters", parameters) < 0 || r < 0) {
		json_object_put(o);
		return -ENOMEM;
	}
	*ret = o;
	return 0;
}

int nb_reply_new(struct json_object *parameters, struct json_object **ret)
{
	return reply(NULL, parameters, ret);
}

int nb_reply_error(const char *error, struct json_object *parameters, struct json_object **ret)
{
	return reply(error, parameters, ret);
}

int nb_reply_error_text(const char *error, const char *key, const char *text,
			struct json_object **ret)
{
	struct json_object *parameters = json_object_new_object();
	char clean[2048];

	/* It may quote a file of the operator, which may hold anything. */
	nb_text_utf8(text, strlen(text), clean, sizeof(clean));
	if (add(parameters, key, json_object_new_string(clean)) < 0) {
		json_object_put(parameters);
		return -ENOMEM;
	}
	return reply(error, parameters, ret);
}
