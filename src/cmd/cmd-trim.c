#include <config.h>

#include "base/cleanup.h"
#include "cmd/borrow.h"
#include "cmd/command.h"
#include "cmd/several.h"
#include "diagnose/trim.h"
#include "view/trim.h"

/* Clients that give a server a second get through it, and gigabytes go back in that time. */
#define DEFAULT_MAX_LOCK_NS (UINT64_C(500) * 1000000)
#define DEFAULT_ROWS 16

/* ---- options ---- */

enum {
	KEY_PAD = 0x3000,
	KEY_MAX_LOCK,
	KEY_MAX_STOP,
	KEY_MAX_STOP_MS,
	KEY_RECHECK,
	KEY_LINES,
	KEY_TOPS
};

static const struct argp_option options[] = {
	{ "dry-run", 'n', NULL, 0, "change nothing: predict what would go back, and what it costs",
		1 },
	{ "tops", KEY_TOPS, NULL, 0,
		"also give back the ends of thread arenas, which malloc_trim() leaves", 1 },
	{ "pad", KEY_PAD, "SIZE", 0, "leave this much free at the end of the main heap (0)", 1 },
	{ "max-lock", KEY_MAX_LOCK, "DURATION", 0,
		"refuse if an arena would stay locked longer than DURATION (500ms)", 1 },
	{ "recheck", KEY_RECHECK, "DURATION", 0,
		"measure again after DURATION and report how much came back", 1 },
	{ "max-stop", KEY_MAX_STOP, "DURATION", 0,
		"stop the process for at most DURATION at a time, to predict (200ms)", 1 },
	{ "max-stop-ms", KEY_MAX_STOP_MS, "N", OPTION_HIDDEN, NULL, 1 },
	{ "lines", KEY_LINES, "N", 0, "with -n print at most N arenas; 0 is all of them (16)", 1 },
	{ 0 },
};

static error_t
cmd_trim_parse_option(int key, char *arg, struct argp_state *state)
{
	struct trim_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		state->child_inputs[1] = &o->inject;
		state->child_inputs[2] = &o->malloc;
		return 0;
	case 'n':
		o->dry_run = true;
		return 0;
	case KEY_TOPS:
		o->tops = true;
		return 0;
	case KEY_PAD:
		o->pad_bytes = ui_size_option(state, arg);
		return 0;
	case KEY_MAX_LOCK:
		o->max_lock_ns = ui_duration_option(state, arg);
		return 0;
	case KEY_RECHECK:
		o->recheck_ns = ui_duration_option(state, arg);
		return 0;
	case KEY_MAX_STOP:
		o->max_stop_ns = ui_duration_option(state, arg);
		return 0;
	case KEY_MAX_STOP_MS: /* of memdiag 0.1 */
		o->max_stop_ns = ui_parse_count(state, arg) * UINT64_C(1000000);
		return 0;
	case KEY_LINES:
		o->max_rows = ui_parse_count(state, arg);
		return 0;
	case ARGP_KEY_END:
		if (ui_is_several(&o->ui) && o->recheck_ns)
			argp_error(state, "--recheck takes one process");
		if (o->dry_run && o->recheck_ns)
			argp_error(state, "--dry-run changes nothing that --recheck could look at");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = cmd_trim_parse_option,
	.children = borrow_several_malloc_children,
	.args_doc = "[PID...]",
	.doc = "Give back what malloc keeps: call malloc_trim() in the process.\n"
	       "One idle thread is borrowed for about a millisecond; the only thread of a process "
	       "for as long as malloc_trim() takes.  While an arena is trimmed, threads that "
	       "allocate from it wait; the more goes back, the longer.  For a prediction (-n, or "
	       "if the arenas are large) all threads are stopped, for at most 200 ms at a time "
	       "(--max-stop).\v"
	       "Examples:\n"
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

static const struct several_column columns_done[] = {
	{ "RSS BEFORE", "data.before.rss_bytes", "before_rss_bytes", SEVERAL_BYTES },
	{ "AFTER", "data.after.rss_bytes", "after_rss_bytes", SEVERAL_BYTES },
	{ "RELEASED", "data.released_bytes", "released_bytes", SEVERAL_BYTES },
	{ "LOCKED", "data.locked_ns", "locked_ns", SEVERAL_NS },
	{ "ARENAS", "data.arena_count", "arena_count", SEVERAL_COUNT },
	{ 0 },
};

static const struct several_column columns_predicted[] = {
	{ "RSS", "data.before.rss_bytes", "before_rss_bytes", SEVERAL_BYTES },
	{ "WOULD RELEASE", "data.predicted.rss_bytes", "predicted_rss_bytes", SEVERAL_BYTES },
	{ "TOPS", "data.predicted.top_bytes", "top_bytes", SEVERAL_BYTES },
	{ "WOULD LOCK", "data.predicted.lock_ns", "lock_ns", SEVERAL_NS },
	{ "ARENAS", "data.arena_count", "arena_count", SEVERAL_COUNT },
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

/* All of them are printed: -n is --dry-run here. */
static int
cmd_trim_run_several(struct trim_options *opt, struct err *e)
{
	const struct several what = { "trim",
		opt->dry_run ? "reading the heaps" : "trimming the heaps",
		opt->dry_run ? columns_predicted : columns_done, 0, trim_one, opt };

	return several_run(&what, &opt->ui, e);
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

	ui_parse(&argp, argc, argv, &opt);
	borrow_limit(&opt.inject, &opt.ui);
	if (ui_is_several(&opt.ui))
		return cmd_trim_run_several(&opt, e);
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
	.run = cmd_trim_run,
};
