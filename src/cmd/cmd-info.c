#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "cmd/batch.h"
#include "cmd/borrow.h"
#include "cmd/command.h"
#include "cmd/from-file.h"
#include "diagnose/info-understand.h"
#include "diagnose/info.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "view/info.h"

/* More rows need -n. */
#define DEFAULT_ROWS 16
/* Do not ask for data if threads of a server would notice the pause. */
#define DEFAULT_MAX_LOCK_NS 10000000

/* ---- options ---- */

struct cmd_info_options {
	struct info_options info;
	const char *from; /* name of a file with malloc_info()'s document */
};

static const char *const sort_name[] = {
	[INFO_BY_RESIDENT] = "resident",
	[INFO_BY_NR] = "nr",
	[INFO_BY_SYSTEM] = "system",
	[INFO_BY_IN_USE] = "in-use",
	[INFO_BY_FREE] = "free",
	[INFO_BY_THREADS] = "threads",
	NULL,
};

#define AT(member) UI_AT(struct cmd_info_options, member)

static const struct ui_option options[] = {
	{ "arena", 0, "N", 1, "only arena N, with the sizes of its free chunks", UI_NUMBER,
		AT(info.arena) },
	{ "lines", 'n', "N", 1, "print at most N arenas; 0 is all of them (16)", UI_NUMBER,
		AT(info.max_rows) },
	{ "sort", 0, "KEY", 1, "arenas by resident (default), {other words}", UI_WORD,
		AT(info.sort), .words = sort_name, .wrong = "is no key: say " },
	{ "xml", 0, NULL, 1, "print the document of malloc_info() only", UI_FLAG, AT(info.xml) },
	{ "from", 0, "FILE", 1,
		"read the document of malloc_info() in FILE instead of a process; - is standard "
		"input",
		UI_FILE, AT(from) },
	{ "method", 0, "METHOD", 1,
		"inject: the process calls malloc_info() itself; read: its heaps are read "
		"instead; auto: --max-lock decides (default)",
		UI_WORD, AT(info.method), .words = info_method_name,
		.wrong = "is no method: say " },
	{ "max-lock", 0, "DURATION", 1,
		"read the heaps if malloc_info() would lock an arena for longer than DURATION; "
		"also limits each stop for such a read (10ms)",
		UI_DURATION, AT(info.max_lock_ns) },
	{ "capture", 0, "HOW", 2,
		"capture the text by: stream, a private stream (default); fd2, standard error",
		UI_WORD, AT(info.inject.capture), .words = info_capture_name,
		.wrong = "is no way to capture: say " },
	{ 0 },
};

#define RULE(kind, a, b, why) UI_RULE(kind, struct cmd_info_options, a, b, why)

static const struct ui_rule rules[] = {
	RULE(UI_EXCLUDES, from, info.ui.asked.nr, "a file or a process, not both"),
	RULE(UI_EXCLUDES, from, info.method, "--method is for a process"),
	RULE(UI_WANTS, from, info.ui.asked.nr, "which process? use --pid PID, or --from FILE"),
	RULE(UI_EXCLUDES, info.xml, info.ui.json, "--xml and --json: one document at a time"),
	{ 0 },
};

static void
cmd_info_check(struct argp_state *state, void *input)
{
	const struct cmd_info_options *o = input;

	if (ui_is_several(&o->info.ui) && (o->info.xml || o->info.arena >= 0))
		argp_error(state, "--arena and --xml take one process");
}

static const struct ui_child children[] = {
	{ &ui_several_syntax, offsetof(struct cmd_info_options, info.ui) },
	{ &borrow_syntax, offsetof(struct cmd_info_options, info.inject) },
	{ &borrow_malloc_syntax, offsetof(struct cmd_info_options, info.malloc) },
	{ 0 },
};

static const struct ui_syntax cmd_info_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.check = cmd_info_check,
	.args_doc = "[PID...]",
	.doc = "Where the memory of a process is, what malloc keeps in its arenas, and what to do "
	       "about it.\n"
	       "One idle thread is borrowed for about a millisecond to call malloc_info(); no "
	       "other thread stops. Where that would lock an arena for long, its heaps are read "
	       "instead.\vExamples:\n"
	       "  memdiag info --pid 1234\n"
	       "  memdiag info --pid 1234 --arena 3      the free chunks of one arena\n"
	       "  memdiag info --pid postgres --all      a line for each, and the total\n"
	       "  memdiag info --pid 1234 --json -o before.json\n"
	       "  memdiag info --pid 1234 --xml          the document of malloc_info()\n"
	       "  memdiag info --from server.log         a document that the program wrote\n\n"
	       "Memory that malloc counts as free may not be resident, and free resident memory "
	       "may not go back to the kernel: 'at most' and 'at least' are bounds, not "
	       "estimates.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- printing ---- */

static int
cmd_info_print(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e)
{
	json_auto_t *document = NULL;

	if (opt->ui.json) {
		document = info_to_json(info, opt, e);
		return document ? ui_json_print(document, out, e) : -1;
	}
	if (!opt->xml)
		return info_print_text(info, opt, out, e);
	info_print_xml(info, out);
	return 0;
}

/* ---- several processes ---- */

static const struct batch_column columns[] = {
	{ "RSS", "data.totals.rss_bytes", "rss_bytes", BATCH_BYTES },
	{ "SWAP", "data.totals.swap_bytes", "swap_bytes", BATCH_BYTES },
	{ "IN USE", "data.accounting.malloc_in_use.bytes", "malloc_in_use_bytes", BATCH_BYTES },
	{ "FREE", "data.accounting.malloc_free.bytes", "malloc_free_bytes", BATCH_BYTES },
	{ "LARGE", "data.accounting.malloc_mmapped.bytes", "malloc_mmapped_bytes", BATCH_BYTES },
	{ "STACKS", "data.accounting.stacks.bytes", "stacks_bytes", BATCH_BYTES },
	{ "OTHER", "data.accounting.other_anonymous.bytes", "other_anonymous_bytes", BATCH_BYTES },
	{ "FILES", "data.accounting.files.bytes", "files_bytes", BATCH_BYTES },
	{ "SHM", "data.accounting.shared_memory.bytes", "shared_memory_bytes", BATCH_BYTES, true },
	{ "ARENAS", "data.arena_count", "arena_count", BATCH_COUNT },
	{ 0 },
};

static json_t *
info_of_one(pid_t pid, void *arg, struct err *e)
{
	struct info_options opt = *(struct info_options *)arg;
	auto_info struct info info = { .mt = MALLOC_TARGET_NONE };

	opt.ui.pid = pid;
	if (info_ask(&info, &opt, e) < 0 || info_understand(&info, &opt, e) < 0)
		return NULL;
	return info_to_json(&info, &opt, e);
}

static int
run_file(const struct cmd_info_options *options, struct err *e)
{
	const struct info_options *opt = &options->info;
	auto_from_file struct from_file file = { 0 };
	auto_text struct text xml = { 0 };
	auto_info struct info info = { .mt = MALLOC_TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	deadline_set(opt->ui.timeout_ns);
	limits_set_memory(&opt->ui);
	if (from_file_read(&file, options->from, e) < 0)
		return -1;
	if (malloc_info_find(&xml, file.name, file.text.v, file.text.len, e) < 0)
		return e->kind == ERR_UNSUPPORTED ? from_file_explain(&file, e) : -1;
	if (info_understand_file(&info, file.name, &xml, opt, e) < 0 ||
		ui_output_open(&out, &opt->ui, e) < 0 || cmd_info_print(&info, opt, &out, e) < 0 ||
		ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&info.warnings, &opt->ui);
	return info.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

static int
cmd_info_run(int argc, char **argv, struct err *e)
{
	struct cmd_info_options options = { .info = { .ui.pid_optional = true,
						    .arena = -1,
						    .max_rows = DEFAULT_ROWS,
						    .max_lock_ns = DEFAULT_MAX_LOCK_NS } };
	struct info_options opt;
	auto_progress struct ui_progress *progress = NULL;
	auto_info struct info info = { .mt = MALLOC_TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&cmd_info_syntax, argc, argv, &options);
	if (options.from)
		return run_file(&options, e);
	opt = options.info;
	borrow_limit(&opt.inject, &opt.ui);
	if (ui_is_several(&opt.ui)) {
		const struct batch what = { "info", "asking malloc", columns, opt.max_rows,
			info_of_one, &opt };

		return batch_run(&what, &opt.ui, e);
	}
	progress = ui_progress_begin(&opt.ui, "asking malloc");
	if (ui_find_process(&opt.ui, e) < 0 || ui_output_open(&out, &opt.ui, e) < 0 ||
		info_ask(&info, &opt, e) < 0)
		return -1;
	if (!opt.xml && info_understand(&info, &opt, e) < 0)
		return -1;
	ui_progress_end(take_ptr(&progress));
	if (cmd_info_print(&info, &opt, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&info.warnings, &opt.ui);
	return info.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_info = {
	.name = "info",
	.summary = "where the memory is, malloc's arenas, what to do",
	.touch = CMD_BORROWS_THREAD,
	.syntax = &cmd_info_syntax,
	.run = cmd_info_run,
};
