#include <config.h>

#include "base/cleanup.h"
#include "cmd/command.h"
#include "cmd/several.h"
#include "diagnose/heap.h"
#include "ui/deadline.h"
#include "ui/limits.h"
#include "ui/ui.h"
#include "view/heap.h"

#define DEFAULT_ROWS 16
#define ALL_VIEWS (2 * HEAP_MMAPPED - 1)

/* ---- options ---- */

struct cmd_heap_options {
	struct heap_question ask;
	unsigned int views;
	size_t limit;
};

enum {
	KEY_XML = 0x3000,
	KEY_CORE,
	KEY_SYSROOT,
	KEY_MAX_STOP,
	KEY_MAX_STOP_MS,
	KEY_NO_STOP,
	KEY_BINS_ONLY,
	KEY_VIEW = 0x4000
};

static const struct argp_option options[] = {
	{ "arenas", KEY_VIEW + HEAP_ARENAS, NULL, 0, "each arena in a line", 1 },
	{ "pages", KEY_VIEW + HEAP_PAGES, NULL, 0, "the pages of each arena, by use", 1 },
	{ "histogram", KEY_VIEW + HEAP_HISTOGRAM, NULL, 0, "chunks in use and free, by size", 1 },
	{ "free", KEY_VIEW + HEAP_FREE, NULL, 0, "the largest free chunks", 1 },
	{ "pins", KEY_VIEW + HEAP_PINS, NULL, 0,
		"the chunk that keeps a heap from shrinking, and what is free below it", 1 },
	{ "threads", KEY_VIEW + HEAP_THREADS, NULL, 0,
		"each thread: its arena, and what it has freed and keeps", 1 },
	{ "mmapped", KEY_VIEW + HEAP_MMAPPED, NULL, 0,
		"the largest blocks that have a mapping of their own", 1 },
	{ "lines", 'n', "N", 0, "at most N lines in each table; 0 is all of them (16)", 1 },
	{ "xml", KEY_XML, NULL, 0, "the document that malloc_info() would write, nothing else", 1 },
	{ NULL, 0, NULL, 0, "How it is read:", 2 },
	{ "max-stop", KEY_MAX_STOP, "DURATION", 0,
		"stop the process for at most DURATION at a time (200ms)", 2 },
	{ "max-stop-ms", KEY_MAX_STOP_MS, "N", OPTION_HIDDEN, NULL, 2 },
	{ "no-stop", KEY_NO_STOP, NULL, 0, "do not stop it: what changes meanwhile is approximate",
		2 },
	{ "bins-only", KEY_BINS_ONLY, NULL, 0,
		"only malloc's lists of free chunks where that takes less than a walk over all "
		"chunks",
		2 },
	{ "core", KEY_CORE, "FILE", 0, "read a core file instead of a process", 2 },
	{ "sysroot", KEY_SYSROOT, "DIR", 0,
		"look below DIR for the program and the libraries that the core names", 2 },
	{ 0 },
};

static void
cmd_heap_check_options(struct argp_state *state, const struct cmd_heap_options *o)
{
	if (o->ask.core && o->ask.ui.asked.nr)
		argp_error(state, "a core file or a process, not both");
	if (o->ask.sysroot && !o->ask.core)
		argp_error(state, "--sysroot is for --core");
	if (o->ask.ui.max_memory_bytes && !o->ask.core)
		argp_error(state, "--max-memory is for --core");
	if (!o->ask.core && !o->ask.ui.asked.nr)
		argp_error(state, "which process? use --pid PID, or --core FILE");
	if (ui_is_several(&o->ask.ui) && (o->ask.xml || o->views))
		argp_error(state, "--xml, and tables such as --arenas, take one process");
	if (o->ask.xml && o->ask.ui.json)
		argp_error(state, "--xml and --json: one document at a time");
}

static error_t
cmd_heap_parse_option(int key, char *arg, struct argp_state *state)
{
	struct cmd_heap_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &o->ask.ui;
		return 0;
	case 'n':
		o->limit = ui_parse_count(state, arg);
		return 0;
	case KEY_XML:
		o->ask.xml = true;
		return 0;
	case KEY_MAX_STOP:
		o->ask.how.max_stop_ns = ui_duration_option(state, arg);
		return 0;
	case KEY_MAX_STOP_MS: /* of memdiag 0.1 */
		o->ask.how.max_stop_ns = ui_parse_count(state, arg) * UINT64_C(1000000);
		return 0;
	case KEY_NO_STOP:
		o->ask.how.max_stop_ns = 0;
		return 0;
	case KEY_BINS_ONLY:
		o->ask.how.bins_only = true;
		return 0;
	case KEY_CORE:
		o->ask.core = arg;
		return 0;
	case KEY_SYSROOT:
		o->ask.sysroot = arg;
		return 0;
	case ARGP_KEY_END:
		cmd_heap_check_options(state, o);
		return 0;
	}
	if (key <= KEY_VIEW || key > KEY_VIEW + ALL_VIEWS)
		return ARGP_ERR_UNKNOWN;
	o->views |= (unsigned int)(key - KEY_VIEW);
	return 0;
}

static const struct argp_child children[] = {
	{ &ui_several_argp, 0, NULL, 0 },
	{ &ui_memory_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = cmd_heap_parse_option,
	.children = children,
	.args_doc = "[PID...]",
	.doc = "What is in the heaps of glibc's malloc: in use, cached, free; and of what is free, "
	       "what malloc_trim() would give back and what it cannot.\n"
	       "Memory is read, nothing runs in the process. All its threads are stopped while it "
	       "is "
	       "read, for at most 200 ms at a time (--max-stop).\v"
	       "Examples:\n"
	       "  memdiag heap --pid 1234\n"
	       "  memdiag heap --pid 1234 --arenas --threads\n"
	       "  memdiag heap --pid postgres --all     a line for each, and the total\n"
	       "  memdiag heap --pid 1234 --no-stop     may be approximate\n"
	       "  memdiag heap --pid 1234 --json -o monday.json\n"
	       "  memdiag heap --core core.1234 --pins\n\n"
	       "An arena is exact: all threads stood still and none held its lock; consistent: "
	       "all checks passed; or approximate. If any is approximate the exit status is "
	       "2.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- printing ---- */

static int
cmd_heap_print(const struct heap_answer *s, const struct cmd_heap_options *o, struct ui_output *out,
	struct err *e)
{
	const struct heap_report report = heap_report_of(s, o->views, o->limit);
	json_auto_t *document = NULL;

	if (o->ask.xml)
		return heap_print_xml(s, out, e);
	if (!o->ask.ui.json)
		return heap_show_text(out, &o->ask.ui, &report, e);
	document = heap_to_json(&report, e);
	return document ? ui_json_print(document, out, e) : -1;
}

/* ---- several processes ---- */

static const struct several_column columns[] = {
	{ "RSS", "process.rss_bytes", "rss_bytes", SEVERAL_BYTES },
	{ "RESIDENT", "data.totals.resident_bytes", "resident_bytes", SEVERAL_BYTES },
	{ "IN USE", "data.totals.in_use_bytes", "in_use_bytes", SEVERAL_BYTES },
	{ "CACHED", "data.totals.cached_bytes", "cached_bytes", SEVERAL_BYTES },
	{ "FREE", "data.totals.free_bytes", "free_bytes", SEVERAL_BYTES },
	{ "TRIMMABLE", "data.totals.pages.trimmable_bytes", "trimmable_bytes", SEVERAL_BYTES },
	{ "LARGE", "data.mmapped.bytes", "mmapped_bytes", SEVERAL_BYTES },
	{ "ARENAS", "data.arena_count", "arena_count", SEVERAL_COUNT },
	{ 0 },
};

static json_t *
heap_of_one(pid_t pid, void *arg, struct err *e)
{
	struct cmd_heap_options o = *(struct cmd_heap_options *)arg;
	auto_heap_answer struct heap_answer s = { .target = TARGET_NONE };
	struct heap_report report;

	o.ask.ui.pid = pid;
	deadline_set(o.ask.ui.timeout_ns);
	if (heap_ask(&s, &o.ask, e) < 0)
		return NULL;
	report = heap_report_of(&s, o.views, o.limit);
	return heap_to_json(&report, e);
}

static int
cmd_heap_run_several(struct cmd_heap_options *o, struct err *e)
{
	const struct several what = { "heap", "reading the heaps", columns, o->limit, heap_of_one,
		o };

	return several_run(&what, &o->ask.ui, e);
}

/* ---- all of it ---- */

static int
cmd_heap_run(int argc, char **argv, struct err *e)
{
	struct cmd_heap_options o = {
		.ask.ui.pid_optional = true,
		.ask.how = { .max_stop_ns = HEAP_DEFAULT_STOP_NS, .want_uss = true },
		.limit = DEFAULT_ROWS,
	};
	auto_progress struct ui_progress *progress = NULL;
	auto_heap_answer struct heap_answer s = { .target = TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &o);
	deadline_set(o.ask.ui.timeout_ns);
	if (o.ask.core)
		limits_set_memory(&o.ask.ui);
	if (ui_is_several(&o.ask.ui))
		return cmd_heap_run_several(&o, e);
	progress = ui_progress_begin(&o.ask.ui, "reading the heap");
	if (ui_find_process(&o.ask.ui, e) < 0 || ui_output_open(&out, &o.ask.ui, e) < 0 ||
		heap_ask(&s, &o.ask, e) < 0)
		return -1;
	ui_progress_end(take_ptr(&progress));
	if (cmd_heap_print(&s, &o, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&s.warnings, &o.ask.ui);
	return s.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_heap = {
	.name = "heap",
	.summary = "read malloc's heaps: in use, free, what a trim would give back",
	.touch = CMD_STOPS_TARGET,
	.run = cmd_heap_run,
};
