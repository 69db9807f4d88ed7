/* SPDX-License-Identifier: MIT */
#include "report/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Length of the character at p, or 0 if it is none: overlong forms, surrogates
 * and numbers above U+10FFFF are not characters. */
static size_t character(const unsigned char *p, size_t left, uint32_t *ret_code)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t code;
	size_t len;

	if (p[0] < 0x80) {
		*ret_code = p[0];
		return 1;
	}
	if ((p[0] & 0xe0) == 0xc0)
		len = 2;
	else if ((p[0] & 0xf0) == 0xe0)
		len = 3;
	else if ((p[0] & 0xf8) == 0xf0)
		len = 4;
	else
		return 0;
	if (len > left)
		return 0;
	code = p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	if (code < lowest[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return len;
}

/* Characters that steer a terminal or disguise a text, rather than being seen. */
static bool steers(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) ||       /* control characters */
	       c == 0x61c || (c >= 0x200b && c <= 0x200f) || /* marks of direction, no width */
	       (c >= 0x2028 && c <= 0x202e) || /* separators of lines; embeddings, overrides */
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xe0000 && c <= 0xe007f); /* tags */
}

struct sink {
	char *out;
	size_t len, size;
	bool full;
};

static void emit(struct sink *s, const char *bytes, size_t len)
{
	if (s->full || s->len + len >= s->size) {
		s->full = true;
		return;
	}
	memcpy(s->out + s->len, bytes, len);
	s->len += len;
}

static size_t finish(struct sink *s)
{
	if (s->size)
		s->out[s->len] = '\0';
	return s->len;
}

size_t nb_text_utf8(const char *in, size_t len, char *out, size_t size)
{
	struct sink s = {.out = out, .size = size};
	uint32_t code;

	for (size_t i = 0, n; i < len && !s.full; i += n ? n : 1) {
		n = character((const unsigned char *)in + i, len - i, &code);
		if (n)
			emit(&s, in + i, n);
		else
			emit(&s, "\xef\xbf\xbd", 3);
	}
	return finish(&s);
}

size_t nb_text_show(const char *in, size_t len, char *out, size_t size)
{
	struct sink s = {.out = out, .size = size};

	for (size_t i = 0; i < len && !s.full;) {
		uint32_t code;
		size_t n = character((const unsigned char *)in + i, len - i, &code);

		if (n && !steers(code)) {
			if (in[i] == '"' || in[i] == '\\')
				emit(&s, (const char[]){'\\', in[i]}, 2);
			else
				emit(&s, in + i, n);
			i += n;
			continue;
		}
		for (size_t end = i + (n ? n : 1); i < end; i++) {
			char hex[5];

			snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)in[i]);
			emit(&s, hex, 4);
		}
	}
	return finish(&s);
}

size_t nb_text_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}
