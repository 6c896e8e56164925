#include <config.h>

#include "base/cleanup.h"
#include "cmd/batch.h"
#include "cmd/command.h"
#include "diagnose/heap.h"
#include "heap/heap.h"
#include "os/os.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "view/heap-json.h"
#include "view/heap-text.h"
#include "view/heap.h"

#define DEFAULT_ROWS 16

/* ---- options ---- */

struct cmd_heap_options {
	struct heap_question ask;
	unsigned int views;
	size_t limit;
};

#define AT(member) UI_AT(struct cmd_heap_options, member)
#define VIEW(bits) UI_BITS, AT(views), .value = bits

static const struct ui_option options[] = {
	{ "arenas", 0, NULL, 1, "each arena in a line", VIEW(HEAP_ARENAS) },
	{ "pages", 0, NULL, 1, "the pages of each arena, by use", VIEW(HEAP_PAGES) },
	{ "histogram", 0, NULL, 1, "chunks in use and free, by size", VIEW(HEAP_HISTOGRAM) },
	{ "free", 0, NULL, 1, "the largest free chunks", VIEW(HEAP_FREE) },
	{ "pins", 0, NULL, 1,
		"the chunk that keeps a heap from shrinking, and the free memory below it",
		VIEW(HEAP_PINS) },
	{ "threads", 0, NULL, 1, "each thread: its arena, and the freed chunks in its cache",
		VIEW(HEAP_THREADS) },
	{ "mmapped", 0, NULL, 1, "the largest blocks with separate mappings", VIEW(HEAP_MMAPPED) },
	{ "lines", 'n', "N", 1, "at most N lines in each table; 0 is all of them (16)", UI_NUMBER,
		AT(limit) },
	{ "xml", 0, NULL, 1, "the document that malloc_info() would write, nothing else", UI_FLAG,
		AT(ask.xml) },
	{ .group = 2, .help = "How it is read:" },
	{ "max-stop", 0, "DURATION", 2, "stop the process for at most DURATION at a time (200ms)",
		UI_DURATION, AT(ask.how.max_stop_ns) },
	/* name in memdiag 0.1 */
	{ "max-stop-ms", 0, "N", 2, NULL, UI_NUMBER, AT(ask.how.max_stop_ns), .scale = 1000000 },
	{ "no-stop", 0, NULL, 2,
		"do not stop the process: parts that change during the read are "
		"approximate",
		UI_VALUE, AT(ask.how.max_stop_ns), .value = 0 },
	{ "bins-only", 0, NULL, 2,
		"only malloc's lists of free chunks where that takes less than a walk over all "
		"chunks",
		UI_FLAG, AT(ask.how.bins_only) },
	{ "core", 0, "FILE", 2, "read a core file instead of a process", UI_FILE, AT(ask.core) },
	{ "sysroot", 0, "DIR", 2, "find the program and the libraries of the core file below DIR",
		UI_DIRECTORY, AT(ask.sysroot) },
	{ 0 },
};

#define RULE(kind, a, b, why) UI_RULE(kind, struct cmd_heap_options, a, b, why)

static const struct ui_rule rules[] = {
	RULE(UI_EXCLUDES, ask.core, ask.ui.asked.nr, "a core file or a process, not both"),
	RULE(UI_NEEDS, ask.sysroot, ask.core, "--sysroot is for --core"),
	RULE(UI_NEEDS, ask.ui.max_memory_bytes, ask.core, "--max-memory is for --core"),
	RULE(UI_WANTS, ask.core, ask.ui.asked.nr, "which process? use --pid PID, or --core FILE"),
	RULE(UI_EXCLUDES, ask.xml, ask.ui.json, "--xml and --json: one document at a time"),
	{ 0 },
};

static void
cmd_heap_check(struct argp_state *state, void *input)
{
	const struct cmd_heap_options *o = input;

	if (ui_is_several(&o->ask.ui) && (o->ask.xml || o->views))
		argp_error(state, "--xml, and tables such as --arenas, take one process");
}

static const struct ui_child children[] = {
	{ &ui_several_syntax, offsetof(struct cmd_heap_options, ask.ui) },
	{ &ui_memory_syntax, offsetof(struct cmd_heap_options, ask.ui) },
	{ 0 },
};

static const struct ui_syntax cmd_heap_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.check = cmd_heap_check,
	.args_doc = "[PID...]",
	.doc = "The content of the heaps of glibc's malloc: in use, cached and free; and how much "
	       "of the free memory malloc_trim() would give back.\n"
	       "Memory is read, nothing runs in the process. All its threads are stopped while it "
	       "is read, for at most 200 ms at a time (--max-stop).\vExamples:\n"
	       "  memdiag heap --pid 1234\n"
	       "  memdiag heap --pid 1234 --arenas --threads\n"
	       "  memdiag heap --pid postgres --all     a line for each, and the total\n"
	       "  memdiag heap --pid 1234 --no-stop     may be approximate\n"
	       "  memdiag heap --pid 1234 --json -o monday.json\n"
	       "  memdiag heap --core core.1234 --pins\n\n"
	       "An arena is exact: all threads stood still and none held its lock; consistent: "
	       "all checks passed; or approximate. If any is approximate the exit status is 2.\n\n" UI_EXIT_STATUS_HELP,
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

static const struct batch_column columns[] = {
	{ "RSS", "process.rss_bytes", "rss_bytes", BATCH_BYTES },
	{ "RESIDENT", "data.totals.resident_bytes", "resident_bytes", BATCH_BYTES },
	{ "IN USE", "data.totals.in_use_bytes", "in_use_bytes", BATCH_BYTES },
	{ "CACHED", "data.totals.cached_bytes", "cached_bytes", BATCH_BYTES },
	{ "FREE", "data.totals.free_bytes", "free_bytes", BATCH_BYTES },
	{ "TRIMMABLE", "data.totals.pages.trimmable_bytes", "trimmable_bytes", BATCH_BYTES },
	{ "LARGE", "data.mmapped.bytes", "mmapped_bytes", BATCH_BYTES },
	{ "ARENAS", "data.arena_count", "arena_count", BATCH_COUNT },
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

/* ---- the command ---- */

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

	ui_parse(&cmd_heap_syntax, argc, argv, &o);
	deadline_set(o.ask.ui.timeout_ns);
	if (o.ask.core)
		limits_set_memory(&o.ask.ui);
	if (ui_is_several(&o.ask.ui)) {
		const struct batch what = { "heap", "reading the heaps", columns, o.limit,
			heap_of_one, &o };

		return batch_run(&what, &o.ask.ui, e);
	}
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
	.syntax = &cmd_heap_syntax,
	.run = cmd_heap_run,
};
