#include <config.h>

#include "account/pair.h"
#include "cmd/command.h"
#include "ui/limits.h"
#include "ui/ui.h"
#include "view/diff.h"

#define DEFAULT_ROWS 16

/* ---- options ---- */

struct cmd_diff_options {
	struct ui_options ui;
	size_t limit;
	const char *file[2];
};

static const struct argp_option options[] = {
	{ "lines", 'n', "N", 0, "at most N lines in each table; 0 is all of them (16)", 1 },
	{ 0 },
};

static void
cmd_diff_add_file(struct argp_state *state, struct cmd_diff_options *o, const char *arg)
{
	if (o->file[1])
		argp_error(state, "more than two files");
	o->file[o->file[0] != NULL] = arg;
}

static error_t
cmd_diff_parse_option(int key, char *arg, struct argp_state *state)
{
	struct cmd_diff_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &o->ui;
		return 0;
	case 'n':
		o->limit = ui_parse_count(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		cmd_diff_add_file(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->file[1])
			argp_error(state, "which two files? They are what --json wrote");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
	{ &ui_file_argp, 0, NULL, 0 },
	{ &ui_memory_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = cmd_diff_parse_option,
	.children = children,
	.args_doc = "BEFORE AFTER",
	.doc = "What grew between two outputs of info, maps or heap that were saved with --json.\v"
	       "Examples:\n"
	       "  memdiag info 1234 --json -o monday.json\n"
	       "  memdiag info 1234 --json -o tuesday.json\n"
	       "  memdiag diff monday.json tuesday.json\n\n"
	       "What grew most comes first. Lines in which no size changed are left "
	       "out.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- all of it ---- */

static int
cmd_diff_run(int argc, char **argv, struct err *e)
{
	struct cmd_diff_options o = { .limit = DEFAULT_ROWS };
	auto_saved_pair struct saved_pair p = { 0 };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &o);
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
	.run = cmd_diff_run,
};
