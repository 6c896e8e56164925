#include <config.h>

#include "view/run.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/wait.h>

#include "base/text.h"
#include "ui/json.h"
#include "ui/units.h"
#include "view/counters.h"
#include "view/family.h"

#define MAX_PROCESS_ROWS 16

/*
 * The uncounted part of the RSS peak is reported above this size, which exceeds what a program, its
 * libraries and their data usually take: the limit then did not cover all memory.  Below it, 0 is
 * reported.
 */
#define USUAL_UNCOUNTED_BYTES (UINT64_C(128) << 20)

/*
 * The uncounted part of a small program.  With a limit, more than this above the limit is reported.
 */
#define LEAST_UNCOUNTED_BYTES (UINT64_C(16) << 20)

static uint64_t
uncounted_bytes(const struct run_report *r)
{
	const uint64_t rss = r->end->max_rss_bytes, peak = r->sum.peak_bytes;
	const bool is_much = rss > peak + peak / 2 + USUAL_UNCOUNTED_BYTES;

	return rss > peak &&
			(is_much ||
				(r->limit_bytes != INT64_MAX &&
					r->end->max_rss_bytes >
						(uint64_t)r->limit_bytes + LEAST_UNCOUNTED_BYTES))
		? rss - peak
		: 0;
}

static void
print_uncounted(const struct run_report *r, const struct ui_options *opt, FILE *f)
{
	const uint64_t bytes = uncounted_bytes(r);

	if (bytes)
		fprintf(f,
			"memdiag: %s of the RSS peak were not counted: files, stacks, System V "
			"shared memory, other processes that it started, or memory that it got by "
			"its own system calls\n",
			UI_SIZE(opt, bytes));
}

int
run_print_text(const struct run_report *r, const struct ui_options *opt, struct ui_output *out,
	struct err *e)
{
	const struct wire_totals *sum = &r->sum;
	char shown[300], elapsed[32];
	FILE *f = out->f;
	const uint64_t blocks_bytes =
		sum->live_bytes > sum->mapped_bytes ? sum->live_bytes - sum->mapped_bytes : 0;

	fprintf(f, "memdiag: %s: ", text_printable(r->program, shown, sizeof shown));
	if (!r->segment) {
		fputs("was not counted: the agent did not start in it\n", f);
		return 0;
	}
	fprintf(f, "peak %s, at the end ", UI_SIZE(opt, sum->peak_bytes));
	/* Print the bytes counted in blocks and in mappings. */
	fprintf(f, "%s in %" PRIu64 " blocks", UI_SIZE(opt, blocks_bytes), sum->nr_live);
	if (sum->mapped_bytes)
		fprintf(f, " and %s mapped", UI_SIZE(opt, sum->mapped_bytes));
	fprintf(f, ", %" PRIu64 " blocks allocated", sum->nr_allocated);
	if (r->segment->nr_refused)
		fprintf(f, ", %" PRIu64 " call%s refused", r->segment->nr_refused,
			r->segment->nr_refused == 1 ? "" : "s");
	fprintf(f, "; RSS peak of the largest process %s, %s\n",
		UI_SIZE(opt, r->end->max_rss_bytes),
		ui_duration(r->end->elapsed_ns, elapsed, sizeof elapsed));
	print_uncounted(r, opt, f);
	if (r->segment->has_unhooked)
		fputs("memdiag: ", f);
	counters_print_unhooked(r->segment, f);
	if (opt->verbose)
		counters_print(r->segment, sum, opt, f);
	if (!r->family || (r->family->nr < 2 && !r->has_limit_for_all))
		return 0;
	fputs("memdiag: ", f);
	family_print_sum(r->family, opt, f);
	return family_print(r->family, opt, out, opt->verbose ? 0 : MAX_PROCESS_ROWS, "-v", e);
}

/* Return how the program ended. */
static json_t *
end_json(const struct run_report *r)
{
	const struct os_end *end = r->end;
	const int status = end->status;

	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "program",
		ui_json_string(r->program), "exit_status",
		WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null(), "signal",
		WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null(), "elapsed_ns",
		(json_int_t)end->elapsed_ns, "user_ns", (json_int_t)end->user_ns, "system_ns",
		(json_int_t)end->system_ns, "max_rss_bytes", (json_int_t)end->max_rss_bytes);
}

json_t *
run_to_json(const struct run_report *r, struct err *e)
{
	json_auto_t *document = ui_json_new("run", NULL);
	json_t *data = json_object_get(document, "data");

	if (json_object_update_new(data, end_json(r)) < 0) {
		err_set(e, ENOMEM, "cannot write JSON");
		return NULL;
	}
	if (!r->segment)
		ui_json_warn(document, true, "not counted: the agent did not start in it");
	else if (counters_to_json(r->segment, &r->sum, data, e) < 0)
		return NULL;
	if (r->segment && uncounted_bytes(r))
		ui_json_warn(document, false, "much of the RSS peak was not counted");
	if (r->family && family_to_json(r->family, data, e) < 0)
		return NULL;
	return json_incref(document);
}
