#include <config.h>

#include "base/cleanup.h"
#include "cmd/batch.h"
#include "cmd/borrow.h"
#include "cmd/command.h"
#include "diagnose/trim.h"
#include "heap/heap.h"
#include "os/claim.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "ui/units.h"
#include "view/trim.h"

/*
 * Clients that allow a server one second tolerate this, and gigabytes can be released in that time.
 */
#define DEFAULT_MAX_LOCK_NS (UINT64_C(500) * 1000000)
#define DEFAULT_ROWS 16

/* ---- options ---- */

#define AT(member) UI_AT(struct trim_options, member)

static const struct ui_option options[] = {
	{ "dry-run", 'n', NULL, 1, "change nothing: predict what would go back, and what it costs",
		UI_FLAG, AT(dry_run) },
	{ "tops", 0, NULL, 1,
		"also give back the ends of thread arenas, which malloc_trim() leaves", UI_FLAG,
		AT(tops) },
	{ "pad", 0, "SIZE", 1, "leave this much free at the end of the main heap (0)", UI_SIZE,
		AT(pad_bytes) },
	{ "max-lock", 0, "DURATION", 1,
		"refuse if an arena would stay locked longer than DURATION (500ms)", UI_DURATION,
		AT(max_lock_ns) },
	{ "recheck", 0, "DURATION", 1, "measure again after DURATION and report how much came back",
		UI_DURATION, AT(recheck_ns) },
	{ "max-stop", 0, "DURATION", 1,
		"stop the process for at most DURATION at a time, to predict (200ms)", UI_DURATION,
		AT(max_stop_ns) },
	/* name in memdiag 0.1 */
	{ "max-stop-ms", 0, "N", 1, NULL, UI_NUMBER, AT(max_stop_ns), .scale = 1000000 },
	{ "lines", 0, "N", 1, "with -n print at most N arenas; 0 is all of them (16)", UI_NUMBER,
		AT(max_rows) },
	{ 0 },
};

static const struct ui_rule rules[] = {
	UI_RULE(UI_EXCLUDES, struct trim_options, dry_run, recheck_ns,
		"--dry-run changes nothing that --recheck could look at"),
	{ 0 },
};

static void
cmd_trim_check(struct argp_state *state, void *input)
{
	const struct trim_options *o = input;

	if (ui_is_several(&o->ui) && o->recheck_ns)
		argp_error(state, "--recheck takes one process");
}

static const struct ui_child children[] = {
	{ &ui_several_syntax, offsetof(struct trim_options, ui) },
	{ &borrow_syntax, offsetof(struct trim_options, inject) },
	{ &borrow_malloc_syntax, offsetof(struct trim_options, malloc) },
	{ 0 },
};

static const struct ui_syntax cmd_trim_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.check = cmd_trim_check,
	.args_doc = "[PID...]",
	.doc = "Give back what malloc keeps: call malloc_trim() in the process.\n"
	       "One idle thread is borrowed for about a millisecond; the only thread of a process "
	       "for as long as malloc_trim() takes. While an arena is trimmed, threads that "
	       "allocate from it wait; the time grows with the memory that goes back.  For a prediction (-n, or "
	       "if the arenas are large) all threads are stopped, for at most 200 ms at a time "
	       "(--max-stop).\vExamples:\n"
	       "  memdiag trim -n --pid 1234             predict only; changes nothing\n"
	       "  memdiag trim --pid 1234\n"
	       "  memdiag trim --pid postgres --all      one after another, and the total\n"
	       "  memdiag trim --pid 1234 --recheck 60   how much came back within a minute?\n"
	       "  memdiag trim --pid 1234 --tops         with the ends of thread arenas\n"
	       "  memdiag trim --pid 1234 --pad 64M\n"
	       "  memdiag trim --pid 1234 --max-lock 2s\n\n"
	       "Exits 0 even if nothing could be released.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- printing ---- */

/* Print the first result before --recheck waits. */
static int
cmd_trim_print(struct trim *t, const struct trim_options *opt, struct ui_output *out, struct err *e)
{
	json_auto_t *document = NULL;

	if (!opt->ui.json && trim_print_text(t, opt, out, e) < 0)
		return -1;
	if (opt->recheck_ns) {
		fflush(out->f);
		trim_measure_again(t, opt);
	}
	if (opt->ui.json) {
		document = trim_to_json(t, opt, e);
		return document ? ui_json_print(document, out, e) : -1;
	}
	if (t->has_later)
		trim_print_later(t, opt, out);
	return 0;
}

/* ---- several processes ---- */

static const struct batch_column columns_done[] = {
	{ "RSS BEFORE", "data.before.rss_bytes", "before_rss_bytes", BATCH_BYTES },
	{ "AFTER", "data.after.rss_bytes", "after_rss_bytes", BATCH_BYTES },
	{ "RELEASED", "data.released_bytes", "released_bytes", BATCH_BYTES },
	{ "LOCKED", "data.locked_ns", "locked_ns", BATCH_NS },
	{ "ARENAS", "data.arena_count", "arena_count", BATCH_COUNT },
	{ 0 },
};

static const struct batch_column columns_predicted[] = {
	{ "RSS", "data.before.rss_bytes", "before_rss_bytes", BATCH_BYTES },
	{ "WOULD RELEASE", "data.predicted.rss_bytes", "predicted_rss_bytes", BATCH_BYTES },
	{ "TOPS", "data.predicted.top_bytes", "top_bytes", BATCH_BYTES },
	{ "WOULD LOCK", "data.predicted.lock_ns", "lock_ns", BATCH_NS },
	{ "ARENAS", "data.arena_count", "arena_count", BATCH_COUNT },
	{ 0 },
};

static json_t *
trim_one(pid_t pid, void *arg, struct err *e)
{
	struct trim_options opt = *(struct trim_options *)arg;
	auto_trim struct trim t = { .mt = MALLOC_TARGET_NONE };

	opt.ui.pid = pid;
	return trim_or_predict(&t, &opt, e) < 0 ? NULL : trim_to_json(&t, &opt, e);
}

/* ---- one process ---- */

static int
cmd_trim_run(int argc, char **argv, struct err *e)
{
	struct trim_options opt = {
		.max_lock_ns = DEFAULT_MAX_LOCK_NS,
		.max_stop_ns = HEAP_DEFAULT_STOP_NS,
		.max_rows = DEFAULT_ROWS,
	};
	auto_progress struct ui_progress *progress = NULL;
	auto_trim struct trim t = { .mt = MALLOC_TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&cmd_trim_syntax, argc, argv, &opt);
	borrow_limit(&opt.inject, &opt.ui);
	if (ui_is_several(&opt.ui)) {
		const struct batch what = { "trim",
			opt.dry_run ? "reading the heaps" : "trimming the heaps",
			opt.dry_run ? columns_predicted : columns_done, 0, trim_one, &opt };

		return batch_run(&what, &opt.ui, e);
	}
	progress =
		ui_progress_begin(&opt.ui, opt.dry_run ? "reading the heap" : "trimming the heap");
	if (ui_find_process(&opt.ui, e) < 0 || ui_output_open(&out, &opt.ui, e) < 0 ||
		trim_or_predict(&t, &opt, e) < 0)
		return -1;
	target_unclaim(&t.mt.target);
	ui_progress_end(take_ptr(&progress));
	if (cmd_trim_print(&t, &opt, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&t.warnings, &opt.ui);
	return t.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_trim = {
	.name = "trim",
	.summary = "give back what malloc keeps",
	.touch = CMD_CHANGES_TARGET,
	.syntax = &cmd_trim_syntax,
	.run = cmd_trim_run,
};
