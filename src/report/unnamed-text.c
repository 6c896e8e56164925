#include <config.h>

#include "report/unnamed-text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "report/unnamed.h"
#include "ui/json.h"

/* A smaller share of the shown total is not worth a remark. */
#define LEAST_SHARE 0.01
#define MAX_OBJECTS 3

static int
unnamed_text_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot write which functions have no names");
}

static const char *
unnamed_text_name_of(const struct unnamed_object *o, char *buf, size_t size)
{
	const char *slash = strrchr(o->path, '/');

	if (!*o->path)
		return "code that is in no file";
	return text_printable(slash && slash[1] ? slash + 1 : o->path, buf, size);
}

static double
unnamed_text_percent(const struct report_view *v, int64_t value)
{
	return 100 * calls_share_of_shown(v->c, value);
}

/*
 * Print the large objects in U, and return whether any of them is a file, and whether any is code
 * outside files.
 */
static void
put_objects(FILE *f, const struct report_view *v, const struct unnamed *u, bool *ret_has_files,
	bool *ret_has_code)
{
	char name[512], id[160];

	*ret_has_files = *ret_has_code = false;
	for (size_t i = 0; i < u->nr && i < MAX_OBJECTS; i++) {
		const struct unnamed_object *o = &u->v[i];

		*(*o->path ? ret_has_files : ret_has_code) = true;
		fprintf(f, "  %5.1f%%  %s", unnamed_text_percent(v, o->value),
			unnamed_text_name_of(o, name, sizeof name));
		if (*o->build_id)
			fprintf(f, "  build-id %s", text_printable(o->build_id, id, sizeof id));
		fputc('\n', f);
	}
	if (u->nr > MAX_OBJECTS)
		fprintf(f, "  and %zu more\n", u->nr - MAX_OBJECTS);
}

/* Return the sum of samples without a stack. */
static int64_t
without_stack(const struct calls *c)
{
	for (size_t i = 0; i < c->nodes.nr; i++)
		if (strcmp(c->nodes.v[i].function, CALLS_NO_STACK) == 0)
			return c->nodes.v[i].flat;
	return 0;
}

static bool
is_worth_it(const struct report_view *v, const struct unnamed *u)
{
	return u->nr && calls_share_of_shown(v->c, u->value) >= LEAST_SHARE;
}

static void
put_text(FILE *f, const struct report_view *v, const struct unnamed *u)
{
	const int64_t no_stack = without_stack(v->c);
	bool has_files, has_code;

	if (no_stack)
		fprintf(f, "\n%.1f%% has no stack: the file says how much that is, not where.\n",
			unnamed_text_percent(v, no_stack));
	if (!is_worth_it(v, u))
		return;
	fprintf(f, "\n%.1f%% is in functions without names:\n", unnamed_text_percent(v, u->value));
	put_objects(f, v, u, &has_files, &has_code);
	if (has_files)
		fputs("The names are in the object's debug information: install its package "
		      "(NAME-dbgsym on Debian,\nNAME-debuginfo on Fedora), set DEBUGINFOD_URLS, or "
		      "give --sysroot=DIR with files that have them.\n",
			f);
	if (has_code)
		fputs("Code made at run time has names if its compiler writes them to "
		      "/tmp/perf-PID.map, as node does\nwith --perf-basic-prof.\n",
			f);
}

static void
unnamed_text_put_line(FILE *f, const struct report_view *v, const struct unnamed *u)
{
	char name[512];

	if (!is_worth_it(v, u))
		return;
	fprintf(f, "%.1f%% is in functions without names, most of it in %s",
		unnamed_text_percent(v, u->value),
		unnamed_text_name_of(&u->v[0], name, sizeof name));
}

/* Store PUT's text about functions without names in *RET. */
static int
make_text(char **ret, const struct report_view *v,
	void (*put)(FILE *f, const struct report_view *v, const struct unnamed *u), struct err *e)
{
	auto_unnamed struct unnamed u = { 0 };
	auto_free char *text = NULL;
	size_t size;
	FILE *f;

	if (unnamed_find(&u, v->c, e) < 0)
		return -1;
	f = open_memstream(&text, &size);
	if (!f)
		return unnamed_text_no_memory(e);
	put(f, v, &u);
	if (fclose(f) != 0)
		return unnamed_text_no_memory(e);
	*ret = take_ptr(&text);
	return 0;
}

int
report_unnamed_text(char **ret, const struct report_view *v, struct err *e)
{
	return make_text(ret, v, put_text, e);
}

int
report_unnamed_line(char **ret, const struct report_view *v, struct err *e)
{
	return make_text(ret, v, unnamed_text_put_line, e);
}

int
report_unnamed_json(const struct report_view *v, json_t *data, struct err *e)
{
	auto_unnamed struct unnamed u = { 0 };
	json_t *list = json_array();

	json_object_set_new(data, "unnamed", list);
	if (!list)
		return unnamed_text_no_memory(e);
	if (unnamed_find(&u, v->c, e) < 0)
		return -1;
	for (size_t i = 0; i < u.nr; i++)
		json_array_append_new(list,
			json_pack("{s:o, s:o, s:I, s:f}", "object",
				*u.v[i].path ? ui_json_string(u.v[i].path) : json_null(),
				"build_id",
				*u.v[i].build_id ? ui_json_string(u.v[i].build_id) : json_null(),
				"value", (json_int_t)u.v[i].value, "share",
				calls_share_of_shown(v->c, u.v[i].value)));
	return 0;
}
