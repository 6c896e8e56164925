/*
 * speedscope: a profile as speedscope.app reads it (its file-format-schema.json, version 1.25): a
 * list of frames, and for each type of values a "sampled" profile with a stack and a weight for
 * each sample.
 */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "profile/profile.h"
#include "report/calls.h"
#include "report/format.h"
#include "report/text.h"
#include "ui/json.h"
#include "ui/ui.h"

static int
put_frame(const struct calls_node *n, FILE *f, struct err *e)
{
	fputs("{\"name\":", f);
	if (ui_json_put_string(n->name, f, e) < 0)
		return -1;
	if (*n->file || *n->object) {
		fputs(",\"file\":", f);
		if (ui_json_put_string(*n->file ? n->file : n->object, f, e) < 0)
			return -1;
	}
	if (*n->file && n->line)
		fprintf(f, ",\"line\":%" PRIu32, n->line);
	putc('}', f);
	return 0;
}

/* Return the sum of the values of TYPE; -1 with E if one is negative, which has no width. */
static int64_t
speedscope_total(const struct calls *c, size_t type, struct err *e)
{
	int64_t total = 0;

	for (size_t i = 0; i < c->paths.nr; i++) {
		const int64_t value = profile_values(c->p, c->paths.v[i].sample)[type];

		if (value < 0)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"speedscope cannot show negative values; --format=html can");
		total = profile_sum(total, value);
	}
	return total;
}

static void
put_scope_stack(const struct calls *c, const struct calls_path *path, FILE *f)
{
	putc('[', f);
	for (uint32_t k = 0; k < path->nr; k++)
		fprintf(f, "%s%" PRIu32, k ? "," : "", c->steps.v[path->first + k]);
	putc(']', f);
}

/* Print the samples with a value of TYPE: their stacks, root first, and the values. */
static int
speedscope_put_type(const struct calls *c, size_t type, FILE *f, struct err *e)
{
	const struct profile_type *t = &c->p->types.v[type];
	const int64_t total = speedscope_total(c, type, e);
	bool is_next = false;
	char text[160];

	if (total < 0)
		return -1;
	fputs("{\"type\":\"sampled\",\"name\":", f);
	if (ui_json_put_string(report_type_text(t, text, sizeof text), f, e) < 0)
		return -1;
	fprintf(f, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRId64 ",\n\"samples\":[",
		profile_is_bytes(t) ? "bytes" : "none", total);
	for (size_t i = 0; i < c->paths.nr; i++) {
		if (!profile_values(c->p, c->paths.v[i].sample)[type])
			continue;
		fputs(is_next ? "," : "", f);
		put_scope_stack(c, &c->paths.v[i], f);
		is_next = true;
	}
	fputs("],\n\"weights\":[", f);
	is_next = false;
	for (size_t i = 0; i < c->paths.nr; i++) {
		const int64_t value = profile_values(c->p, c->paths.v[i].sample)[type];

		if (value)
			fprintf(f, "%s%" PRId64, is_next ? "," : "", value);
		is_next |= value != 0;
	}
	fputs("]}", f);
	return 0;
}

static int
speedscope_put(const struct report_view *v, const struct calls *c, FILE *f, struct err *e)
{
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":", f);
	if (ui_json_put_string(v->file, f, e) < 0)
		return -1;
	fprintf(f,
		",\"exporter\":\"memdiag " PACKAGE_VERSION "\",\"activeProfileIndex\":%zu,\n"
		"\"shared\":{\"frames\":[",
		c->options.type);
	for (size_t i = 0; i < c->nodes.nr; i++) {
		fputs(i ? ",\n" : "", f);
		if (put_frame(&c->nodes.v[i], f, e) < 0)
			return -1;
	}
	fputs("]},\n\"profiles\":[", f);
	for (size_t type = 0; type < c->p->types.nr; type++) {
		fputs(type ? ",\n" : "", f);
		if (speedscope_put_type(c, type, f, e) < 0)
			return -1;
	}
	fputs("]}\n", f);
	return 0;
}

static int
report_print_speedscope(const struct report_view *v, struct ui_output *out, struct err *e)
{
	auto_calls struct calls c = { 0 };

	return calls_make_whole(&c, v->c, e) < 0 ? -1 : speedscope_put(v, &c, out->f, e);
}

const struct report_format report_format_speedscope = { "speedscope", 0, 0, report_print_speedscope,
	"file for speedscope.app" };
