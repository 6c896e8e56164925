#include <config.h>

#include "account/pair.h"
#include "cmd/command.h"
#include "ui/exit.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/ui.h"
#include "view/diff.h"

#define DEFAULT_ROWS 16

/* ---- options ---- */

struct cmd_diff_options {
	struct ui_options ui;
	size_t limit;
	const char *file[2];
};

static const struct ui_option options[] = {
	{ "lines", 'n', "N", 1, "at most N lines in each table; 0 is all of them (16)", UI_NUMBER,
		UI_AT(struct cmd_diff_options, limit) },
	{ 0 },
};

static error_t
cmd_diff_add_file(struct argp_state *state, void *input, char *arg)
{
	struct cmd_diff_options *o = input;

	if (o->file[1])
		argp_error(state, "more than two files");
	o->file[o->file[0] != NULL] = arg;
	return 0;
}

static void
cmd_diff_check(struct argp_state *state, void *input)
{
	const struct cmd_diff_options *o = input;

	if (!o->file[1])
		argp_error(state, "which two files? They are what --json wrote");
}

static const struct ui_child children[] = {
	{ &ui_file_syntax, offsetof(struct cmd_diff_options, ui) },
	{ &ui_memory_syntax, offsetof(struct cmd_diff_options, ui) },
	{ 0 },
};

static const struct ui_syntax cmd_diff_syntax = {
	.options = options,
	.children = children,
	.argument = cmd_diff_add_file,
	.check = cmd_diff_check,
	.args_doc = "BEFORE AFTER",
	.doc = "What grew between two outputs of info, maps, heap, types or retained that were saved with --json.\v"
	       "Examples:\n"
	       "  memdiag info 1234 --json -o monday.json\n"
	       "  memdiag info 1234 --json -o tuesday.json\n"
	       "  memdiag diff monday.json tuesday.json\n\n"
	       "The largest growth comes first. Lines without a change are left out.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

static int
cmd_diff_run(int argc, char **argv, struct err *e)
{
	struct cmd_diff_options o = { .limit = DEFAULT_ROWS };
	auto_saved_pair struct saved_pair p = { 0 };
	auto_output struct ui_output out = { 0 };

	ui_parse(&cmd_diff_syntax, argc, argv, &o);
	limits_set(&o.ui);
	if (saved_pair_compare(&p, o.file[0], o.file[1], e) < 0 ||
		ui_output_open(&out, &o.ui, e) < 0)
		return -1;
	if ((o.ui.json ? diff_show_json(&out, &p, e)
		       : diff_show_text(&out, &o.ui, &p, o.limit, e)) < 0 ||
		ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&p.warnings, &o.ui);
	return p.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "what grew between two saved --json outputs",
	.touch = CMD_TOUCHES_NOTHING,
	.syntax = &cmd_diff_syntax,
	.run = cmd_diff_run,
};
