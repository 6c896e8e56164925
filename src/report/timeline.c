#include <config.h>

#include "report/timeline.h"

#include <inttypes.h>
#include <stdio.h>

#include "ui/json.h"
#include "ui/units.h"

const char *
timeline_time(uint64_t ns, uint64_t interval_ns, char *buf, size_t size)
{
	uint64_t unit = 1000000000;
	int digits = 0;

	for (; digits < 6 && interval_ns % unit; unit /= 10)
		digits++;
	/* Truncate: the time must be in the same interval when given to --at. */
	ns -= ns % unit;
	snprintf(buf, size, "%.*f s", digits, (double)ns / 1e9);
	return buf;
}

size_t
timeline_peak(const struct history *h)
{
	return (size_t)(h->peak.at_ns / h->interval_ns);
}

struct timeline_column
timeline_column(const struct history *h, size_t i, size_t nr)
{
	struct timeline_column c = { .first = i * h->intervals.nr / nr,
		.end = (i + 1) * h->intervals.nr / nr };

	/* With more columns than intervals, an interval fills several columns. */
	if (c.end <= c.first)
		c.end = c.first + 1;
	for (size_t k = c.first; k < c.end; k++) {
		const struct history_interval *v = &h->intervals.v[k];

		if (v->max.live.bytes > c.live_bytes)
			c.live_bytes = v->max.live.bytes;
		if (v->rss_bytes > c.rss_bytes)
			c.rss_bytes = v->rss_bytes;
		if (v->mapped_bytes > c.mapped_bytes)
			c.mapped_bytes = v->mapped_bytes;
	}
	return c;
}

void
timeline_print_csv_head(FILE *f)
{
	fputs("time_s,live_max_bytes,live_max_blocks,live_max_time_s,allocated_bytes,"
	      "allocated_blocks,freed_bytes,freed_blocks,rss_bytes,mapped_max_bytes,"
	      "live_max_uncertain_bytes\n",
		f);
}

void
timeline_print_csv_line(
	const struct timeline_view *v, const struct history_interval *k, uint64_t time_ns, FILE *f)
{
	fprintf(f,
		"%.3f,%" PRId64 ",%" PRId64 ",%.3f,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
		",",
		(double)time_ns / 1e9, k->max.live.bytes, k->max.live.blocks,
		(double)k->max.at_ns / 1e9, k->allocated.bytes, k->allocated.blocks, k->freed.bytes,
		k->freed.blocks);
	if (k->rss_bytes)
		fprintf(f, "%" PRId64, k->rss_bytes);
	fputc(',', f);
	if (v->r->has_mappings && k->mapped_bytes >= 0)
		fprintf(f, "%" PRId64, k->mapped_bytes);
	fprintf(f, ",%" PRId64 "\n", k->unordered_bytes);
}

void
timeline_print_csv(const struct timeline_view *v, FILE *f)
{
	const struct history *h = v->h;

	timeline_print_csv_head(f);
	for (size_t i = 0; i < h->intervals.nr; i++)
		timeline_print_csv_line(v, &h->intervals.v[i], i * h->interval_ns, f);
}

/* ---- lines ---- */

#define LINE_FORMAT "%12s %12s %10s %12s %12s %12s\n"

void
timeline_print_line_head(FILE *f)
{
	fprintf(f, LINE_FORMAT, "TIME", "LIVE", "BLOCKS", "ALLOCATED", "FREED", "RSS");
}

void
timeline_print_line(
	const struct timeline_view *v, const struct history_interval *k, uint64_t time_ns, FILE *f)
{
	const struct ui_options *ui = v->ui;
	char time[32], blocks[24], live[40];

	timeline_time(time_ns, v->h->interval_ns, time, sizeof time);
	snprintf(blocks, sizeof blocks, "%" PRId64, k->max.live.blocks);
	snprintf(live, sizeof live, "%s%s", k->unordered_bytes ? "~" : "",
		UI_SIZE(ui, (uint64_t)k->max.live.bytes));
	fprintf(f, LINE_FORMAT, time, live, blocks, UI_SIZE(ui, (uint64_t)k->allocated.bytes),
		UI_SIZE(ui, (uint64_t)k->freed.bytes),
		k->rss_bytes ? UI_SIZE(ui, (uint64_t)k->rss_bytes) : "?");
}

/* ---- JSON ---- */

static json_t *
timeline_amount_json(const struct amount *a)
{
	return json_pack(
		"{s:I, s:I}", "blocks", (json_int_t)a->blocks, "bytes", (json_int_t)a->bytes);
}

static json_t *
known_or_null(int64_t bytes)
{
	return bytes ? json_integer(bytes) : json_null();
}

/* Return the amount A of mappings; null if R has no mappings. */
static json_t *
mapped_json(const struct recording *r, const struct amount *a)
{
	return r->has_mappings ? timeline_amount_json(a) : json_null();
}

json_t *
timeline_interval_json(
	const struct timeline_view *v, const struct history_interval *k, uint64_t time_ns)
{
	return json_pack("{s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:o}", "time_ns", (json_int_t)time_ns,
		"live_max_time_ns", (json_int_t)k->max.at_ns, "live_max",
		timeline_amount_json(&k->max.live), "live_max_uncertain_bytes",
		(json_int_t)k->unordered_bytes, "allocated", timeline_amount_json(&k->allocated),
		"freed", timeline_amount_json(&k->freed), "rss_bytes", known_or_null(k->rss_bytes),
		"mapped_max_bytes",
		v->r->has_mappings && k->mapped_bytes >= 0 ? json_integer(k->mapped_bytes)
							   : json_null());
}

static json_t *
timeline_moment_json(const struct recording *r, const struct history_moment *m)
{
	return m ? json_pack("{s:I, s:o, s:o}", "time_ns", (json_int_t)m->max.at_ns, "live",
			   timeline_amount_json(&m->max.live), "mapped", mapped_json(r, &m->mapped))
		 : json_null();
}

static json_t *
timeline_comments_json(const struct profile *facts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < facts->comments.nr; i++)
		json_array_append_new(list, ui_json_string(facts->comments.v[i]));
	return list;
}

/* The intervals not yet printed. */
struct timeline_rest {
	const struct timeline_view *v;
	size_t next;
};

static json_t *
timeline_next_interval(void *arg)
{
	struct timeline_rest *r = arg;

	const struct history *h = r->v->h;
	const size_t i = r->next;

	if (i == h->intervals.nr)
		return NULL;
	r->next++;
	return timeline_interval_json(r->v, &h->intervals.v[i], i * h->interval_ns);
}

int
timeline_print_json(
	const struct timeline_view *v, json_t *document, struct ui_output *out, struct err *e)
{
	struct timeline_rest r = { .v = v };

	return ui_json_print_with(document, "intervals", timeline_next_interval, &r, out, e);
}

void
timeline_to_json(const struct timeline_view *v, const struct history_moment *from,
	const struct history_moment *to, json_t *data)
{
	const struct history *h = v->h;

	json_object_set_new(data, "file", ui_json_string(v->file));
	json_object_set_new(data, "format", json_string(v->r->format));
	json_object_set_new(data, "comments", timeline_comments_json(v->r->facts));
	json_object_set_new(data, "duration_ns", json_integer((json_int_t)h->end_ns));
	json_object_set_new(data, "interval_ns", json_integer((json_int_t)h->interval_ns));
	json_object_set_new(data, "peak_time_ns", json_integer((json_int_t)h->peak.at_ns));
	json_object_set_new(data, "peak", timeline_amount_json(&h->peak.live));
	json_object_set_new(data, "live", timeline_amount_json(&h->live));
	json_object_set_new(data, "allocated", timeline_amount_json(&h->allocated));
	json_object_set_new(data, "temporary", timeline_amount_json(&h->temporary));
	json_object_set_new(data, "freed", timeline_amount_json(&h->freed));
	json_object_set_new(data, "rss_peak_bytes", known_or_null(h->rss_peak_bytes));
	json_object_set_new(data, "mapped", mapped_json(v->r, &h->mapped));
	json_object_set_new(data, "mapped_allocated", mapped_json(v->r, &h->mapped_allocated));
	json_object_set_new(data, "mapped_peak", mapped_json(v->r, &h->mapped_peak.live));
	json_object_set_new(data, "mapped_peak_time_ns",
		v->r->has_mappings ? json_integer((json_int_t)h->mapped_peak.at_ns) : json_null());
	json_object_set_new(data, "from", timeline_moment_json(v->r, from));
	json_object_set_new(data, "to", timeline_moment_json(v->r, to));
	json_object_set_new(data, "report", json_null());
	json_object_set_new(data, "intervals", to ? json_null() : json_array());
}
