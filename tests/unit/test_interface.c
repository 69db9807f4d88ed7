/* SPDX-License-Identifier: MIT */
/* The interface texts follow the grammar of Varlink, so that generic clients can read
 * them: a parser of that grammar, and every type that is used is there. */
#include "report/interface.h"
#include "test.h"

#include <ctype.h>

#define TYPES_MAX 64

struct parser {
	const char *at;
	bool bad;
	char defined[TYPES_MAX][64], used[TYPES_MAX][64];
	unsigned n_defined, n_used;
};

static void skip_blank(struct parser *p)
{
	for (;;) {
		p->at += strspn(p->at, " \t\r\n");
		if (*p->at != '#')
			return;
		p->at += strcspn(p->at, "\n");
	}
}

static bool accept(struct parser *p, const char *text)
{
	skip_blank(p);
	if (strncmp(p->at, text, strlen(text)) != 0)
		return false;
	p->at += strlen(text);
	return true;
}

static void expect(struct parser *p, const char *text)
{
	if (!p->bad && !accept(p, text)) {
		test_fail(__FILE__, __LINE__, "no \"%s\" before: %.40s", text, p->at);
		p->bad = true;
	}
}

/* Letters, digits, and in fields single underscores that neither begin nor end. */
static void name(struct parser *p, bool field, char ret[64])
{
	size_t n = 0;

	skip_blank(p);
	while (isalnum((unsigned char)p->at[n]) ||
	       (field && p->at[n] == '_' && n > 0 && isalnum((unsigned char)p->at[n + 1])))
		n++;
	if (n == 0 || n > 63 || !isalpha((unsigned char)*p->at) ||
	    (!field && !isupper((unsigned char)*p->at))) {
		if (!p->bad)
			test_fail(__FILE__, __LINE__, "no name: %.40s", p->at);
		p->bad = true;
		n = 0;
	}
	memcpy(ret, p->at, n);
	ret[n] = '\0';
	p->at += n;
}

static void type(struct parser *p);

/* "(a: int, b: string)" or "(one, two)" */
static void fields(struct parser *p, bool may_be_enum)
{
	unsigned n = 0, n_typed = 0;
	char ignored[64];

	expect(p, "(");
	if (accept(p, ")"))
		return;
	do {
		name(p, true, ignored);
		n++;
		if (accept(p, ":")) {
			type(p);
			n_typed++;
		}
	} while (!p->bad && accept(p, ","));
	expect(p, ")");
	if (!p->bad && n_typed != n && (n_typed || !may_be_enum)) {
		test_fail(__FILE__, __LINE__, "neither struct nor enum, before: %.40s", p->at);
		p->bad = true;
	}
}

static void type(struct parser *p)
{
	static const char *const plain[] = {"bool", "int", "float", "string", "object"};

	if (accept(p, "?") || accept(p, "[]") || accept(p, "[string]")) {
		type(p);
		return;
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (accept(p, plain[i]))
			return;
	skip_blank(p);
	if (*p->at == '(')
		fields(p, true);
	else if (p->n_used < TYPES_MAX)
		name(p, false, p->used[p->n_used++]);
}

static void member(struct parser *p)
{
	char ignored[64];

	if (accept(p, "type ")) {
		name(p, false, p->n_defined < TYPES_MAX ? p->defined[p->n_defined++] : ignored);
		fields(p, true);
	} else if (accept(p, "method ")) {
		name(p, false, ignored);
		fields(p, false);
		expect(p, "->");
		fields(p, false);
	} else {
		expect(p, "error ");
		name(p, false, ignored);
		fields(p, false);
	}
}

static unsigned parse(const char *text, const char *header)
{
	struct parser p = {.at = text};
	unsigned n = 0;

	expect(&p, header);
	for (skip_blank(&p); !p.bad && *p.at; skip_blank(&p), n++)
		member(&p);
	for (unsigned i = 0; i < p.n_used; i++) {
		unsigned k = 0;

		while (k < p.n_defined && strcmp(p.used[i], p.defined[k]) != 0)
			k++;
		if (k == p.n_defined)
			test_fail(__FILE__, __LINE__, "no type %s", p.used[i]);
	}
	return p.bad ? 0 : n;
}

TEST(interface_grammar)
{
	CHECK(parse(nb_interface_numabalance, "interface io.numabalance\n") > 20);
	CHECK_INT(parse(nb_interface_service, "interface org.varlink.service\n"), 8);
}
