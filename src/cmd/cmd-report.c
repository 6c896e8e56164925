#include <config.h>

#include "cmd/command.h"
#include "cmd/report-work.h"

/* ---- options ---- */

enum {
	KEY_BASE = 0x2000,
	KEY_PID,
};

static const struct argp_option options[] = {
	{ "file", 'f', "FILE", 0, "the profile; '-' is standard input", 1 },
	{ "program", 'p', "BIN", 0, "the program that was profiled, if it is elsewhere now", 1 },
	{ "pid", KEY_PID, "PID", 0,
		"instead of a file: what was noted so far in the process PID, which is profiled or "
		"recorded",
		1 },
	{ "base", KEY_BASE, "OLD", 0, "subtract the profile OLD: show what grew", 1 },
	{ "text", 't', NULL, 0, "write a table (the default)", 2 },
	{ "svg", 's', NULL, 0, "write the graph of calls as SVG, by dot of graphviz", 2 },
	{ 0 },
};

/* -f is --force in all other commands. */
#define F_IS_FILE "-f is --file here; --force replaces a file that exists"

static void
set_file(struct argp_state *state, struct report_work *o, int key, const char *arg)
{
	if (key == 'f' && *arg == '-' && arg[1])
		argp_error(state, "'%s' is not a profile: " F_IS_FILE, arg);
	if (o->file)
		argp_error(state,
			"two profiles: one at a time; --base subtracts another, and " F_IS_FILE);
	o->file = arg;
}

static error_t
cmd_report_parse_option(int key, char *arg, struct argp_state *state)
{
	struct report_work *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &o->ui;
		state->child_inputs[2] = o;
		return 0;
	case 'f':
	case ARGP_KEY_ARG:
		set_file(state, o, key, arg);
		return 0;
	case 'p':
		o->reporting.symbols.program = arg;
		return 0;
	case KEY_PID:
		ui_process_option(state, &o->ui, arg);
		return 0;
	case KEY_BASE:
		o->base = arg;
		return 0;
	case 't':
		report_work_set_format(state, o, FORMAT_TEXT);
		return 0;
	case 's':
		report_work_set_format(state, o, FORMAT_GRAPH);
		return 0;
	case ARGP_KEY_END:
		if (!o->file && !o->ui.asked.nr)
			argp_error(state, "which profile? say FILE, or --pid PID");
		if (o->file && o->ui.asked.nr)
			argp_error(state, "a file and a process: one at a time");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
	{ &ui_file_argp, 0, NULL, 0 },
	{ &ui_memory_argp, 0, NULL, 0 },
	{ &report_work_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = cmd_report_parse_option,
	.children = children,
	.args_doc = "FILE\n--pid PID",
	.doc = "Who holds the memory, by a profile that was saved: of memdiag, gperftools, "
	       "jemalloc, pprof "
	       "or heaptrack.\v"
	       "Examples:\n"
	       "  memdiag report app.heap\n"
	       "  memdiag report --pid 1234\n"
	       "  memdiag report app.heap --format=tree --focus=parse\n"
	       "  memdiag report new.heap --base old.heap\n"
	       "  memdiag report -p bin/app -f app.heap -t -o app.txt\n"
	       "  memdiag report -p bin/app -f app.heap -s -o app.svg\n"
	       "  memdiag report app.heap --format=html -o app.html\n"
	       "  memdiag report app.heap --format=pprof -o app.pb.gz\n\n"
	       "FLAT is what a function allocated itself, CUM with what it called; SUM% adds "
	       "up FLAT%.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the work ---- */

static int
cmd_report_run(int argc, char **argv, struct err *e)
{
	struct report_work w = { .reporting = REPORTING_BEGIN };

	ui_parse(&argp, argc, argv, &w);
	return report_work_run(&w, e);
}

const struct command cmd_report = {
	.name = "report",
	.summary = "who holds the memory, by a profile",
	.touch = CMD_TOUCHES_NOTHING,
	.run = cmd_report_run,
};
