#include <config.h>

#include "view/counters.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "ui/units.h"

/* ---- shared by text and JSON ---- */

static bool
counters_has_limit(const struct wire_segment *s)
{
	return s->limit_bytes != INT64_MAX;
}

/* Return name I of NAMES, "?" if it does not exist: the number is untrusted. */
static const char *
counters_name_of(const char *const *names, uint32_t i)
{
	for (; *names; names++)
		if (!i--)
			return *names;
	return "?";
}

static bool
has_stopped(const struct wire_segment *s)
{
	return !s->is_counting;
}

static const char *const way_names[] = {
	[WIRE_PRELOADED] = "preloaded",
	[WIRE_LOADED] = "loaded",
	NULL,
};

static const char *
counters_started_at(const struct wire_segment *s, char *buf, size_t size)
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
	if (!counters_has_limit(s)) {
		fputs("limit      none\n", f);
		return;
	}
	fprintf(f, "limit      %s (on limit: %s)", UI_SIZE(opt, (uint64_t)s->limit_bytes),
		counters_name_of(wire_on_limit_names, s->on_limit));
	if (s->nr_refused)
		fprintf(f, "; %" PRIu64 " calls were refused", s->nr_refused);
	fputs(s->is_reported ? "; it was passed\n" : "\n", f);
}

/* Return false if counting began with a large heap: the number of its blocks is unknown. */
static bool
knows_blocks(const struct wire_segment *s)
{
	return s->nr_doubtful != UINT32_MAX && !s->has_no_before;
}

/* Print the bytes in use when a running process began to count. */
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

/*
 * Return live bytes in blocks.  Text shows blocks and mappings separately; live_bytes of JSON is
 * their sum.
 */
static uint64_t
blocks_bytes(const struct wire_totals *sum)
{
	return sum->live_bytes > sum->mapped_bytes ? sum->live_bytes - sum->mapped_bytes : 0;
}

void
counters_print_legend(uint32_t nr_doubtful, FILE *f)
{
	if (nr_doubtful == UINT32_MAX)
		fputs("~ is approximate: not all blocks could be counted when counting began\n", f);
	else if (nr_doubtful)
		fprintf(f,
			"~ is approximate: %" PRIu32
			" block%s could not be counted exactly when counting began\n",
			nr_doubtful, nr_doubtful == 1 ? "" : "s");
}

void
counters_print_unhooked(const struct wire_segment *s, FILE *f)
{
	if (s->has_unhooked)
		fputs("the program calls functions that only its malloc has (mallocx, tc_malloc, "
		      "mi_malloc ...): what these allocate is not counted\n",
			f);
}

/* True if the agent is loaded for another purpose and does not count. */
static bool
has_never_counted(const struct wire_segment *s)
{
	return has_stopped(s) && !s->nr_starts;
}

static uint64_t
magnitude(int64_t n)
{
	return n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
}

static void
counters_print_live(const struct wire_segment *s, const struct wire_totals *sum,
	const struct ui_options *opt, FILE *f)
{
	fprintf(f, "live       %s%s", s->nr_doubtful ? "~" : "", UI_SIZE(opt, blocks_bytes(sum)));
	if (knows_blocks(s))
		fprintf(f, " in %s%" PRIu64 " blocks", s->nr_doubtful ? "~" : "", sum->nr_live);
	fprintf(f, ", and %s mapped\n", UI_SIZE(opt, sum->mapped_bytes));
	print_before(s, opt, f);
	fprintf(f, "peak       %s%s of both\n", s->nr_doubtful ? "~" : "",
		UI_SIZE(opt, sum->peak_bytes));
}

void
counters_print(const struct wire_segment *s, const struct wire_totals *sum,
	const struct ui_options *opt, FILE *f)
{
	char when[64];

	if (has_never_counted(s)) {
		fputs("counted    nothing: the agent is there for a profile\n", f);
		return;
	}
	fprintf(f, "counted    %s bytes, since %s; the agent was %s\n",
		counters_name_of(wire_account_names, s->account),
		counters_started_at(s, when, sizeof when), counters_name_of(way_names, s->way));
	if (has_stopped(s))
		fputs("stopped    numbers are from when it stopped\n", f);
	if (s->has_no_before) {
		fprintf(f, "grown      by %s%s in %+" PRId64 " blocks since then, and %s mapped\n",
			sum->grown_bytes < 0 ? "-" : "", UI_SIZE(opt, magnitude(sum->grown_bytes)),
			sum->nr_grown, UI_SIZE(opt, sum->mapped_bytes));
		fputs("before     not known: the malloc of this process is not glibc's\n", f);
	} else {
		counters_print_live(s, sum, opt, f);
	}
	fprintf(f,
		"so far     %" PRIu64 " blocks allocated, %" PRIu64 " freed; %" PRIu64
		" mappings made\n",
		sum->nr_allocated, sum->nr_freed, s->nr_mappings);
	fprintf(f, "code       %s, %s\n", UI_SIZE(opt, s->code_bytes),
		s->base_bytes ? "counts for the limit" : "not counted");
	print_limit(s, opt, f);
	counters_print_legend(s->nr_doubtful, f);
	counters_print_unhooked(s, f);
}

/* Return N, or null if the amount in use when counting began is unknown. */
static json_t *
known_json(const struct wire_segment *s, uint64_t n)
{
	return s->has_no_before ? json_null() : json_integer((json_int_t)n);
}

static json_t *
counters_blocks_json(const struct wire_segment *s, uint64_t nr)
{
	return knows_blocks(s) ? json_integer((json_int_t)nr) : json_null();
}

int
counters_to_json(
	const struct wire_segment *s, const struct wire_totals *sum, json_t *data, struct err *e)
{
	char when[64];
	json_t *limit = !counters_has_limit(s)
		? json_null()
		: json_pack("{s:I, s:s, s:I, s:b}", "bytes", (json_int_t)s->limit_bytes, "on_limit",
			  counters_name_of(wire_on_limit_names, s->on_limit), "refused",
			  (json_int_t)s->nr_refused, "passed", s->is_reported != 0);
	json_t *more = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:b, s:o, "
				 "s:o, s:o, s:I, s:I, s:I, s:o, s:b, s:I, s:I, s:b}",
		"way", counters_name_of(way_names, s->way), "since",
		counters_started_at(s, when, sizeof when), "account",
		counters_name_of(wire_account_names, s->account), "live_bytes",
		known_json(s, sum->live_bytes), "before_bytes",
		known_json(s, (uint64_t)s->before_bytes), "peak_bytes",
		known_json(s, sum->peak_bytes), "blocks_bytes", known_json(s, blocks_bytes(sum)),
		"mapped_bytes", (json_int_t)sum->mapped_bytes, "mapped_peak_bytes",
		(json_int_t)s->mapped_peak_bytes, "code_bytes", (json_int_t)s->code_bytes,
		"code_counts", s->base_bytes != 0, "blocks", counters_blocks_json(s, sum->nr_live),
		"blocks_before", counters_blocks_json(s, s->nr_before), "blocks_doubtful",
		counters_blocks_json(s, s->nr_doubtful), "blocks_allocated",
		(json_int_t)sum->nr_allocated, "blocks_freed", (json_int_t)sum->nr_freed,
		"mappings_made", (json_int_t)s->nr_mappings, "limit", limit, "is_counting",
		!has_stopped(s), "grown_bytes", (json_int_t)sum->grown_bytes, "grown_blocks",
		(json_int_t)sum->nr_grown, "has_uncounted_calls", s->has_unhooked != 0);

	if (json_object_update_new(data, more) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	return 0;
}

/* ---- the sampler ---- */

static const struct {
	const char *label, *member;
} memory_names[WIRE_NR_MEMORY_KINDS] = {
	[WIRE_MEMORY_TABLES] = { "unwind tables", "tables_bytes" },
	[WIRE_MEMORY_SITES] = { "sites", "sites_bytes" },
	[WIRE_MEMORY_LIVE_SET] = { "live set", "live_set_bytes" },
	[WIRE_MEMORY_THREADS] = { "threads", "threads_bytes" },
};

void
counters_print_sampler(const struct sampler_memory *m, const struct ui_options *opt, FILE *f)
{
	if (!m->is_there)
		return;
	fprintf(f, "sampler    %s%s resident%s", m->is_partial ? "at least " : "",
		UI_SIZE(opt, m->total_bytes), m->is_sampling ? "" : ", stopped");
	for (int kind = 0; kind < WIRE_NR_MEMORY_KINDS; kind++)
		fprintf(f, "%s %s %s", kind ? "," : ":", memory_names[kind].label,
			UI_SIZE(opt, m->resident_bytes[kind]));
	fputc('\n', f);
}

json_t *
counters_sampler_to_json(const struct sampler_memory *m)
{
	json_t *o;

	if (!m->is_there)
		return json_null();
	o = json_pack("{s:b, s:b, s:I}", "is_sampling", m->is_sampling, "is_lower_bound",
		m->is_partial, "resident_bytes", (json_int_t)m->total_bytes);
	for (int kind = 0; kind < WIRE_NR_MEMORY_KINDS; kind++)
		json_object_set_new(o, memory_names[kind].member,
			json_integer((json_int_t)m->resident_bytes[kind]));
	return o;
}
