#include <config.h>

#include "ui/ui.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"

/* The greatest that json_int_t holds. */
#define NUMBER_MAX INT64_MAX

json_t *
ui_json_string(const char *s)
{
	size_t size = strlen(s) * 4 + 2;	/* each byte may become \ooo */
	auto_free char *printable = malloc(size);

	return printable ? json_string(text_printable(s, printable, size)) : NULL;
}

json_t *
ui_json_address(raddr a)
{
	return json_sprintf(PRIraddr, a.v);
}

json_t *
ui_json_number(uint64_t n)
{
	return json_integer(n < NUMBER_MAX ? (json_int_t)n : NUMBER_MAX);
}

/* The members of "target". */
static json_t *
target_of(const struct target *t)
{
	char exe[PATH_MAX];
	struct err e;
	json_t *target = json_pack("{s:i, s:I, s:o}", "pid", (int)t->pid, "start_ticks",
		(json_int_t)t->start_ticks, "comm", ui_json_string(t->comm));

	if (target && os_proc_link(t, "exe", exe, sizeof exe, &e) == 0)
		json_object_set_new(target, "exe", ui_json_string(exe));
	return target;
}

json_t *
ui_json_new(const char *name, const struct target *t)
{
	char now[32];
	time_t seconds = time(NULL);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:o, s:s, s:s, s:o, s:{}, s:[], s:[], s:b}", "schema",
		json_sprintf("memdiag.%s/1", name), "memdiag", PACKAGE_VERSION, "generated_at", now,
		"target", t ? target_of(t) : json_null(), "data", "verdicts", "warnings",
		"partial", 0);
}

void
ui_json_warn(json_t *document, bool is_partial, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	json_array_append_new(json_object_get(document, "warnings"), ui_json_string(text));
	if (is_partial)
		json_object_set_new(document, "partial", json_true());
}

/* Whether ui_json_number() has cut a number anywhere in V. */
static bool
has_cut(json_t *v)
{
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_integer(v))
		return json_integer_value(v) == NUMBER_MAX;
	json_object_foreach(v, key, part)
		if (has_cut(part))
			return true;
	json_array_foreach(v, i, part)
		if (has_cut(part))
			return true;
	return false;
}

int
ui_json_print(json_t *document, struct ui_output *o, struct err *e)
{
	auto_free char *text = NULL;

	if (has_cut(document))
		ui_json_warn(document, false,
			"a number is larger than can be written here and was cut to %" PRId64
			": memory is damaged", NUMBER_MAX);
	text = json_dumps(document, JSON_INDENT(2));

	if (!text)
		return err_set(e, ENOMEM, "cannot write JSON");
	/* What cannot be written is told by ui_output_close(). */
	fprintf(o->f, "%s\n", text);
	return 0;
}
