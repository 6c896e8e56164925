#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "cmd/borrow.h"
#include "cmd/command.h"
#include "cmd/from-file.h"
#include "cmd/several.h"
#include "diagnose/info.h"
#include "ui/deadline.h"
#include "ui/limits.h"
#include "view/info.h"

/* More rows than that are asked for with -n. */
#define DEFAULT_ROWS 16
/* A question that threads of a server would notice is not asked. */
#define DEFAULT_MAX_LOCK_NS 10000000

/* ---- options ---- */

enum { KEY_ARENA = 0x3000, KEY_SORT, KEY_XML, KEY_CAPTURE, KEY_METHOD, KEY_MAX_LOCK, KEY_FROM };

struct cmd_info_options {
	struct info_options info;
	const char *from; /* file name of malloc_info()'s document */
};

static const struct argp_option options[] = {
	{ "arena", KEY_ARENA, "N", 0, "only arena N, with the sizes of its free chunks", 1 },
	{ "lines", 'n', "N", 0, "print at most N arenas; 0 is all of them (16)", 1 },
	{ "sort", KEY_SORT, "KEY", 0,
		"arenas by resident (default), nr, system, in-use, free or threads", 1 },
	{ "xml", KEY_XML, NULL, 0, "malloc_info's own document and nothing else", 1 },
	{ "from", KEY_FROM, "FILE", 0,
		"read FILE, in which malloc_info()'s document is, in place of a process; - is "
		"standard input",
		1 },
	{ "method", KEY_METHOD, "METHOD", 0,
		"inject: the process calls malloc_info() itself; read: its heaps are read instead; "
		"auto: "
		"what --max-lock says (default)",
		1 },
	{ "max-lock", KEY_MAX_LOCK, "DURATION", 0,
		"rather read than let malloc_info() lock an arena for longer; nor is the process "
		"stopped "
		"for longer at a time, to be read (10ms)",
		1 },
	{ "capture", KEY_CAPTURE, "HOW", 0,
		"how the text is caught: stream, a private stream (default); fd2, what is written "
		"to "
		"standard error meanwhile",
		2 },
	{ 0 },
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

static void
cmd_info_check_options(struct argp_state *state, const struct cmd_info_options *options)
{
	const struct info_options *o = &options->info;

	if (options->from && o->ui.asked.nr)
		argp_error(state, "a file or a process, not both");
	if (options->from && o->method != INFO_AUTO)
		argp_error(state, "--method is for a process");
	if (!options->from && !o->ui.asked.nr)
		argp_error(state, "which process? use --pid PID, or --from FILE");
	if (ui_is_several(&o->ui) && (o->xml || o->arena >= 0))
		argp_error(state, "--arena and --xml take one process");
	if (o->xml && o->ui.json)
		argp_error(state, "--xml and --json: one document at a time");
}

static error_t
cmd_info_parse_option(int key, char *arg, struct argp_state *state)
{
	struct cmd_info_options *options = state->input;
	struct info_options *o = &options->info;

	switch (key) {
	case ARGP_KEY_INIT:
		o->ui.pid_optional = true;
		state->child_inputs[0] = &o->ui;
		state->child_inputs[1] = &o->inject;
		state->child_inputs[2] = &o->malloc;
		return 0;
	case KEY_ARENA:
		o->arena = (long)ui_parse_count(state, arg);
		return 0;
	case 'n':
		o->max_rows = ui_parse_count(state, arg);
		return 0;
	case KEY_SORT:
		o->sort = (enum info_sort)ui_word_option(state, arg, sort_name,
			"is no key: say resident, nr, system, in-use, free or threads");
		return 0;
	case KEY_XML:
		o->xml = true;
		return 0;
	case KEY_METHOD:
		o->method = (enum info_method)ui_word_option(
			state, arg, info_method_name, "is no method: say auto, inject or read");
		return 0;
	case KEY_MAX_LOCK:
		o->max_lock_ns = ui_duration_option(state, arg);
		return 0;
	case KEY_CAPTURE:
		o->inject.capture = (enum inject_capture)ui_word_option(
			state, arg, info_capture_name, "is no way to capture: say stream or fd2");
		return 0;
	case KEY_FROM:
		options->from = arg;
		return 0;
	case ARGP_KEY_END:
		cmd_info_check_options(state, options);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = cmd_info_parse_option,
	.children = borrow_several_malloc_children,
	.args_doc = "[PID...]",
	.doc = "Where the memory of a process is, what malloc keeps in its arenas, and what to do "
	       "about it.\n"
	       "One idle thread is borrowed for about a millisecond to call malloc_info(); no "
	       "other "
	       "thread stops. Where that would lock an arena for long, its heaps are read "
	       "instead.\v"
	       "Examples:\n"
	       "  memdiag info --pid 1234\n"
	       "  memdiag info --pid 1234 --arena 3      the free chunks of one arena\n"
	       "  memdiag info --pid postgres --all      a line for each, and the total\n"
	       "  memdiag info --pid 1234 --json -o before.json\n"
	       "  memdiag info --pid 1234 --xml          what malloc_info() itself says\n"
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

static const struct several_column columns[] = {
	{ "RSS", "data.totals.rss_bytes", "rss_bytes", SEVERAL_BYTES },
	{ "SWAP", "data.totals.swap_bytes", "swap_bytes", SEVERAL_BYTES },
	{ "IN USE", "data.accounting.malloc_in_use.bytes", "malloc_in_use_bytes", SEVERAL_BYTES },
	{ "FREE", "data.accounting.malloc_free.bytes", "malloc_free_bytes", SEVERAL_BYTES },
	{ "LARGE", "data.accounting.malloc_mmapped.bytes", "malloc_mmapped_bytes", SEVERAL_BYTES },
	{ "STACKS", "data.accounting.stacks.bytes", "stacks_bytes", SEVERAL_BYTES },
	{ "OTHER", "data.accounting.other_anonymous.bytes", "other_anonymous_bytes",
		SEVERAL_BYTES },
	{ "FILES", "data.accounting.files.bytes", "files_bytes", SEVERAL_BYTES },
	{ "SHM", "data.accounting.shared_memory.bytes", "shared_memory_bytes", SEVERAL_BYTES,
		true },
	{ "ARENAS", "data.arena_count", "arena_count", SEVERAL_COUNT },
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
cmd_info_run_several(struct info_options *opt, struct err *e)
{
	const struct several what = { "info", "asking malloc", columns, opt->max_rows, info_of_one,
		opt };

	return several_run(&what, &opt->ui, e);
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
	struct cmd_info_options options = { .info = { .arena = -1,
						    .max_rows = DEFAULT_ROWS,
						    .max_lock_ns = DEFAULT_MAX_LOCK_NS } };
	struct info_options opt;
	auto_progress struct ui_progress *progress = NULL;
	auto_info struct info info = { .mt = MALLOC_TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &options);
	if (options.from)
		return run_file(&options, e);
	opt = options.info;
	borrow_limit(&opt.inject, &opt.ui);
	if (ui_is_several(&opt.ui))
		return cmd_info_run_several(&opt, e);
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
	.run = cmd_info_run,
};
