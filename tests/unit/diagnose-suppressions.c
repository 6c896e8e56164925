/* Files of suppressions: valid lines and others; and names as LeakSanitizer matches them. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "diagnose/suppressions.h"
#include "tap.h"

static const struct {
	const char *template, *name;
	bool matches;
} names[] = {
	{ "foo", "foo", true },
	{ "foo", "a::foo(int)", true },
	{ "foo", "f", false },
	{ "^foo", "foobar", true },
	{ "^foo", "a::foo", false },
	{ "foo$", "a::foo", true },
	{ "foo$", "foofoo", true },
	{ "foo$", "foo()", false },
	{ "^foo$", "foo", true },
	{ "^foo$", "foofoo", false },
	{ "a*c", "xabbcx", true },
	{ "a*c", "xcba", false },
	{ "^a*c$", "abcbc", true },
	{ "^a*c$", "abcb", false },
	{ "a**c$", "ac", true },
	{ "*", "anything", true },
	{ "*.so", "/lib/libx.so.1", true },
	{ "*.so$", "/lib/libx.so.1", false },
	{ "ab*ab$", "ab", false },
	{ "aab", "aaab", true },
};

static void
test_names(void)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ok(suppression_matches(names[i].template, names[i].name) == names[i].matches,
			"'%s' %s '%s'", names[i].template,
			names[i].matches ? "matches" : "does not match", names[i].name);
}

static int
parse(struct suppressions *s, const char *lines, struct err *e)
{
	struct text text = { strdup(lines), strlen(lines) };

	return suppressions_parse(s, &text, "file", e);
}

static void
test_valid(void)
{
	struct suppressions s = { .all = { 0 } };
	struct err e;

	if (ok(parse(&s,
		       "# known\n\nsize:56\r\n  shape:ring \nleak:^lose_*$\ntype:a b\nsize:4K\nmodule:x",
		       &e) == 0 &&
			    s.rule.nr == 6,
		    "a file with comments, blanks and no last newline")) {
		ok(s.rule.v[0].kind == SUPPRESSION_SIZE && s.rule.v[0].bytes == 56 &&
				s.rule.v[0].line == 3,
			"a size");
		ok(s.rule.v[1].kind == SUPPRESSION_SHAPE && s.rule.v[1].shape == CENSUS_RING,
			"a shape, with blanks around it");
		ok(s.rule.v[2].kind == SUPPRESSION_LEAK &&
				strcmp(s.rule.v[2].name, "^lose_*$") == 0,
			"a name");
		ok(s.rule.v[3].kind == SUPPRESSION_TYPE && strcmp(s.rule.v[3].name, "a b") == 0,
			"a type with a blank");
		ok(s.rule.v[5].kind == SUPPRESSION_MODULE && strcmp(s.rule.v[5].name, "x") == 0,
			"a module");
		ok(s.rule.v[4].bytes == 4096 && s.rule.v[4].line == 7, "a size in KiB");
	}
	suppressions_release(&s);
	ok(parse(&s, "", &e) == 0 && s.rule.nr == 0, "an empty file");
	suppressions_release(&s);
}

static void
test_wrong(void)
{
	static const char *const line[] = { "size:", "size:many", "size", "shape:square",
		"leak:", "type:", "module:", "module", "mod:x", "race:foo", "size 56", ":",
		"leak" };

	for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
		struct suppressions s = { .all = { 0 } };
		char text[64];
		struct err e = { .kind = 0 };

		snprintf(text, sizeof text, "size:1\n#\n%s\nsize:2\n", line[i]);
		ok(parse(&s, text, &e) < 0 && e.kind == ERR_USAGE &&
				strstr(e.msg, "'file', line 3: "),
			"'%s': %s", line[i], e.msg);
		suppressions_release(&s);
	}
}

static void
test_binary(void)
{
	struct suppressions s = { .all = { 0 } };
	struct text text = { strdup("size:1\n"), 8 };
	struct err e;

	ok(suppressions_parse(&s, &text, "file", &e) < 0 && e.kind == ERR_USAGE,
		"a file with a NUL: %s", e.msg);
	suppressions_release(&s);
}

int
main(void)
{
	test_names();
	test_valid();
	test_wrong();
	test_binary();
	return tap_end();
}
