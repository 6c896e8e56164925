#include <config.h>

#include "ui/json.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The largest value of json_int_t. */
#define NUMBER_MAX INT64_MAX

json_t *
ui_json_string(const char *s)
{
	size_t size = strlen(s) * 4 + 2; /* each byte may become \ooo */
	auto_free char *printable = malloc(size);

	return printable ? json_string(text_escape(s, printable, size)) : NULL;
}

json_t *
ui_json_text(const char *s)
{
	size_t size = strlen(s) * 4 + 2;
	auto_free char *printable = malloc(size);

	return printable ? json_string(text_printable(s, printable, size)) : NULL;
}

int
ui_json_put_string(const char *s, FILE *f, struct err *e)
{
	json_auto_t *string = ui_json_text(s);

	if (!string || (json_dumpf(string, f, JSON_ENCODE_ANY) < 0 && !ferror(f)))
		return err_set(e, ENOMEM, "cannot write JSON");
	return 0;
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

/* Return the members of "target". */
static json_t *
target_of(const struct target *t)
{
	char exe[PATH_MAX];
	struct err e;
	json_t *target = json_pack("{s:i, s:I, s:o}", "pid", (int)t->pid, "start_ticks",
		(json_int_t)t->start_ticks, "comm", ui_json_text(t->comm));

	if (target && os_proc_link(t, "exe", exe, sizeof exe, &e) == 0)
		json_object_set_new(target, "exe", ui_json_string(exe));
	return target;
}

/* Return "process": T's present size; null if it has ended, or if its core file lacks it. */
static json_t *
process_of(const struct target *t)
{
	struct os_status s;
	struct err e;

	if (os_status(t, 0, &s, &e) < 0 || !s.has_memory)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "virt_bytes", ui_json_number(s.vm_size_bytes),
		"rss_bytes", ui_json_number(s.vm_rss_bytes), "swap_bytes",
		ui_json_number(s.vm_swap_bytes));
}

json_t *
ui_json_new(const char *name, const struct target *t)
{
	char now[32];
	time_t seconds = time(NULL);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:o, s:s, s:s, s:o, s:o, s:{}, s:[], s:[], s:b}", "schema",
		json_sprintf("memdiag.%s/1", name), "memdiag", PACKAGE_VERSION, "generated_at", now,
		"target", t ? target_of(t) : json_null(), "process",
		t ? process_of(t) : json_null(), "data", "verdicts", "warnings", "partial", 0);
}

void
ui_json_warn(json_t *document, bool is_partial, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	json_array_append_new(json_object_get(document, "warnings"), ui_json_text(text));
	if (is_partial)
		json_object_set_new(document, "partial", json_true());
}

/* True if ui_json_number() has limited a number anywhere in V. */
static bool
has_cut(json_t *v)
{
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_integer(v))
		return json_integer_value(v) == NUMBER_MAX;
	json_object_foreach(v, key, part) if (has_cut(part)) return true;
	json_array_foreach(v, i, part) if (has_cut(part)) return true;
	return false;
}

/*
 * Return the position after the bracket of the empty array KEY in TEXT.  Quotes within strings are
 * always escaped.
 */
static char *
find_array(char *text, const char *key)
{
	char mark[64], *found;

	snprintf(mark, sizeof mark, "\"%s\": []", key);
	found = strstr(text, mark);
	return found ? found + strlen(mark) - 1 : NULL;
}

/*
 * Write V to F in one call: jansson itself writes every comma separately.  TEXT is a reusable
 * buffer.
 */
static int
print_compact(const json_t *v, FILE *f, struct text *text)
{
	size_t size = json_dumpb(v, text->v, text->len, JSON_COMPACT);

	if (size > text->len) {
		char *bigger = realloc(text->v, 2 * size);

		if (!bigger)
			return -1;
		text->v = bigger;
		text->len = 2 * size;
		size = json_dumpb(v, text->v, text->len, JSON_COMPACT);
	}
	fwrite(text->v, 1, size, f);
	return size ? 0 : -1;
}

int
ui_json_print_with(json_t *document, const char *key, json_t *(*next)(void *arg), void *arg,
	struct ui_output *o, struct err *e)
{
	auto_free char *text = json_dumps(document, JSON_INDENT(2));
	char *rest = text ? find_array(text, key) : NULL;
	const char *before = "\n      ";
	auto_text struct text line = { 0 };
	json_t *row;
	int failed = 0;

	if (!rest)
		return err_set(e, ENOMEM, "cannot write JSON");
	fwrite(text, 1, (size_t)(rest - text), o->f);
	while (!failed && (row = next(arg))) {
		fputs(before, o->f);
		failed = print_compact(row, o->f, &line);
		before = ",\n      ";
		json_decref(row);
	}
	fprintf(o->f, "%s%s\n", before[0] == ',' ? "\n    " : "", rest);
	/* ui_output_close() reports write errors. */
	return failed ? err_set(e, ENOMEM, "cannot write JSON") : 0;
}

int
ui_json_print(json_t *document, struct ui_output *o, struct err *e)
{
	auto_free char *text = NULL;

	if (has_cut(document))
		ui_json_warn(document, false,
			"a number is larger than can be written here and was cut to %" PRId64
			": memory is damaged",
			NUMBER_MAX);
	text = json_dumps(document, o->has_lines ? JSON_COMPACT : JSON_INDENT(2));

	if (!text)
		return err_set(e, ENOMEM, "cannot write JSON");
	/* ui_output_close() reports write errors. */
	fprintf(o->f, "%s\n", text);
	return 0;
}
