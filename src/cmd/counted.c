#include <config.h>

#include "cmd/counted.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

/* ---- what they share ---- */

static bool
has_limit(const struct wire_segment *s)
{
	return s->limit_bytes != INT64_MAX;
}

/* The name with number I of NAMES, "?" when there is none: the number is a stranger's. */
static const char *
name_of(const char *const *names, uint32_t i)
{
	for (; *names; names++)
		if (!i--)
			return *names;
	return "?";
}

static bool
has_stopped(const struct wire_segment *s)
{
	return s->way == WIRE_LOADED && !s->is_counting;
}

static const char *const way_names[] = {
	[WIRE_PRELOADED] = "preloaded",
	[WIRE_LOADED] = "loaded",
	NULL,
};

static const char *
started_at(const struct wire_segment *s, char *buf, size_t size)
{
	time_t seconds = (time_t)(s->started_ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(buf, size, "?");
	return buf;
}

/* ---- printing ---- */

static void
print_limit(const struct wire_segment *s, const struct ui_options *opt, FILE *f)
{
	if (!has_limit(s)) {
		fputs("limit      none\n", f);
		return;
	}
	fprintf(f, "limit      %s, on which: %s", UI_SIZE(opt, (uint64_t)s->limit_bytes),
		name_of(wire_on_limit_names, s->on_limit));
	if (s->nr_refused)
		fprintf(f, "; %" PRIu64 " calls were refused", s->nr_refused);
	fputs(s->is_reported ? "; it was passed\n" : "\n", f);
}

/* Of a large heap that began to count it is not known how many blocks it had. */
static bool
knows_blocks(const struct wire_segment *s)
{
	return s->nr_doubtful != UINT32_MAX;
}

/* What was there when a running process began to count. */
static void
print_before(const struct wire_segment *s, const struct ui_options *opt, FILE *f)
{
	if (s->way != WIRE_LOADED)
		return;
	fprintf(f, "before     %s%s", s->nr_doubtful ? "~" : "",
		UI_SIZE(opt, s->before_bytes > 0 ? (uint64_t)s->before_bytes : 0));
	if (knows_blocks(s))
		fprintf(f, " in %s%" PRIu64 " blocks", s->nr_doubtful ? "~" : "", s->nr_before);
	fputs(" were in use when counting began\n", f);
}

void
counted_print(const struct wire_segment *s, const struct wire_totals *sum,
	const struct ui_options *opt, FILE *f)
{
	uint64_t blocks_bytes =
		sum->live_bytes > sum->mapped_bytes ? sum->live_bytes - sum->mapped_bytes : 0;
	char when[64];

	fprintf(f, "counted    %s bytes, since %s; the agent was %s\n",
		name_of(wire_account_names, s->account), started_at(s, when, sizeof when),
		name_of(way_names, s->way));
	if (has_stopped(s))
		fputs("stopped    it counts no more: what follows is of when it did\n", f);
	fprintf(f, "live       %s%s", s->nr_doubtful ? "~" : "", UI_SIZE(opt, blocks_bytes));
	if (knows_blocks(s))
		fprintf(f, " in %s%" PRIu64 " blocks", s->nr_doubtful ? "~" : "", sum->nr_live);
	fprintf(f, ", and %s mapped\n", UI_SIZE(opt, sum->mapped_bytes));
	print_before(s, opt, f);
	fprintf(f, "peak       %s of both\n", UI_SIZE(opt, sum->peak_bytes));
	fprintf(f, "so far     %" PRIu64 " blocks allocated, %" PRIu64 " freed; %" PRIu64
		" mappings made\n", sum->nr_allocated, sum->nr_freed, s->nr_mappings);
	fprintf(f, "code       %s, %s\n", UI_SIZE(opt, s->code_bytes),
		s->base_bytes ? "counts for the limit" : "not counted");
	print_limit(s, opt, f);
}

static json_t *
blocks_json(const struct wire_segment *s, uint64_t nr)
{
	return knows_blocks(s) ? json_integer((json_int_t)nr) : json_null();
}

int
counted_to_json(const struct wire_segment *s, const struct wire_totals *sum, json_t *data,
	struct err *e)
{
	char when[64];
	json_t *limit = !has_limit(s) ? json_null() : json_pack("{s:I, s:s, s:I, s:b}",
		"bytes", (json_int_t)s->limit_bytes,
		"on_limit", name_of(wire_on_limit_names, s->on_limit),
		"refused", (json_int_t)s->nr_refused,
		"passed", s->is_reported != 0);
	json_t *more = json_pack(
		"{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:b}",
		"way", name_of(way_names, s->way),
		"since", started_at(s, when, sizeof when),
		"account", name_of(wire_account_names, s->account),
		"live_bytes", (json_int_t)sum->live_bytes,
		"before_bytes", (json_int_t)s->before_bytes,
		"peak_bytes", (json_int_t)sum->peak_bytes,
		"mapped_bytes", (json_int_t)sum->mapped_bytes,
		"mapped_peak_bytes", (json_int_t)s->mapped_peak_bytes,
		"code_bytes", (json_int_t)s->code_bytes,
		"code_counts", s->base_bytes != 0,
		"blocks", blocks_json(s, sum->nr_live),
		"blocks_before", blocks_json(s, s->nr_before),
		"blocks_doubtful", blocks_json(s, s->nr_doubtful),
		"blocks_allocated", (json_int_t)sum->nr_allocated,
		"blocks_freed", (json_int_t)sum->nr_freed,
		"mappings_made", (json_int_t)s->nr_mappings,
		"limit", limit,
		"is_counting", !has_stopped(s));

	if (json_object_update_new(data, more) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	return 0;
}
