/* Which mapping of an earlier list is which of a later one. */
#include <config.h>

#include "account/growth.h"
#include "account/growth-mappings.h"
#include "tap.h"

static const struct growth_list mappings = {
	.member = "mappings",
	.title = "MAPPING",
	.name = growth_mapping_name,
	.column = { { "virt_bytes", "VIRT", false } },
};

/* Mappings as "START END PART PATH" up to ';', as the document has them. */
static json_t *
list_of(const char *text)
{
	json_t *list = json_array();
	unsigned int start, end;
	char part[32], path[32], from[32], to[32];
	int at;

	for (; sscanf(text, " %x %x %31s %31[^;];%n", &start, &end, part, path, &at) == 4;
		text += at) {
		snprintf(from, sizeof from, "%#x", start);
		snprintf(to, sizeof to, "%#x", end);
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:s?, s:i}", "start", from, "end", to, "part",
				part, "path", strcmp(path, "-") == 0 ? NULL : path, "virt_bytes",
				(int)(end - start)));
	}
	return list;
}

/* The growth from WAS to IS: "NAME change;", the largest first. */
static const char *
grown(const char *was, const char *is)
{
	static char text[1024];
	json_auto_t *a = list_of(was), *b = list_of(is);
	auto_growth struct growth g = { 0 };
	struct err e;
	size_t len = 0;

	text[0] = '\0';
	if (growth_match_mappings(a, b, &e) < 0 || growth_find(&g, &mappings, a, b, &e) < 0)
		return e.msg[0] ? strcpy(text, e.msg) : "?";
	for (size_t i = 0; i < g.nr; i++)
		if (growth_is_changed(&g, &g.v[i]))
			len += (size_t)snprintf(text + len, sizeof text - len, "%s %+" PRId64 ";",
				g.v[i].name, growth_change(&g.v[i], 0));
	return text;
}

int
main(void)
{
	is_str(grown("10 20 a x;30 40 a x;", "10 20 a x;30 40 a x;"), "", "nothing has changed");
	is_str(grown("10 20 heap -;", "10 38 heap -;"), "000000000010-000000000038  heap +24;",
		"a heap grew at its end");
	is_str(grown("10 20 anon -;", "8 20 anon -;"), "000000000008-000000000020  anon +8;",
		"a mapping grew at its start");
	is_str(grown("10 20 anon -;", "18 30 anon -;"), "000000000018-000000000030  anon +8;",
		"a mapping lies over its earlier place");
	is_str(grown("10 20 anon -;", "30 48 anon -;"),
		"000000000030-000000000048  anon (new) +24;000000000010-000000000020  anon (gone) "
		"-16;",
		"one is gone, another is new");
	is_str(grown("10 20 anon -;", "10 20 text f;"),
		"000000000010-000000000020  text  f (new) +16;000000000010-000000000020  anon "
		"(gone) "
		"-16;",
		"what it is for has changed");
	is_str(grown("10 20 text f;", "10 20 text g;"),
		"000000000010-000000000020  text  g (new) +16;000000000010-000000000020  text  f "
		"(gone) -16;",
		"the file has changed");
	is_str(grown("10 40 anon -;", "10 20 anon -;38 40 anon -;"),
		"000000000038-000000000040  anon (new) +8;000000000010-000000000020  anon -32;",
		"a hole was made: the first part is the old one");
	is_str(grown("10 20 anon -;20 40 anon -;", "10 40 anon -;"),
		"000000000010-000000000040  anon +32;000000000020-000000000040  anon (gone) -32;",
		"two were joined: the first is the old one");
	is_str(grown("10 40 anon -;", "8 18 anon -;28 40 anon -;"),
		"000000000008-000000000018  anon (new) +16;000000000028-000000000040  anon -24;",
		"a mapping ends where it did, and another lies over its start");
	is_str(grown("10 20 a -;20 30 b -;30 40 a -;", "8 18 a -;20 38 b -;38 40 a -;"),
		"000000000020-000000000038  b +8;000000000038-000000000040  a -8;",
		"all borders have moved");
	is_str(grown("30 40 b -;10 20 a -;", "10 28 a -;30 40 b -;"),
		"000000000010-000000000028  a +8;", "in any order");
	is_str(grown("", "10 20 a -;"), "000000000010-000000000020  a (new) +16;", "from nothing");
	is_str(grown("10 20 a -;", ""), "000000000010-000000000020  a (gone) -16;", "to nothing");
	return tap_end();
}
