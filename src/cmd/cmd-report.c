#include <config.h>

#include "cmd/command.h"
#include "cmd/report-work.h"
#include "ui/options.h"
#include "ui/ui.h"

/* ---- options ---- */

/* In all other commands -f means --force. */
#define F_IS_FILE "-f is --file here; --force replaces a file that exists"

static void
cmd_report_set_file(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct report_work *o = input;

	if (row && *arg == '-' && arg[1])
		argp_error(state, "'%s' is not a profile: " F_IS_FILE, arg);
	if (o->file)
		argp_error(state,
			"two profiles: one at a time; --base subtracts another, and " F_IS_FILE);
	o->file = arg;
}

static error_t
cmd_report_take_file(struct argp_state *state, void *input, char *arg)
{
	cmd_report_set_file(state, NULL, input, arg);
	return 0;
}

static void
cmd_report_set_process(
	struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct report_work *o = input;

	(void)row;
	ui_process_option(state, &o->ui, arg);
}

#define AT(member) UI_AT(struct report_work, member)
#define FORMAT(name)                                                                               \
	UI_FLAG, offsetof(struct report_work, io.format),                                          \
		.words = (const char *const[]){ name, NULL }, .set = report_work_set_format

static const struct ui_option options[] = {
	{ "file", 'f', "FILE", 1, "the profile; '-' is standard input", UI_FILE,
		.set = cmd_report_set_file },
	{ "program", 'p', "BIN", 1, "the program that was profiled, if it was moved", UI_FILE,
		AT(io.symbols.program) },
	{ "pid", 0, "PID", 1,
		"instead of a file: the samples or the record so far of the process PID, which is "
		"being profiled or recorded",
		UI_PROCESS, .set = cmd_report_set_process },
	{ "base", 0, "OLD", 1, "subtract the profile OLD: show what grew", UI_FILE, AT(base) },
	{ "text", 't', NULL, 2, "write a table (the default)", FORMAT("text") },
	{ "svg", 's', NULL, 2, "write the graph of calls as SVG, by dot of graphviz",
		FORMAT("graph") },
	{ 0 },
};

static const struct ui_rule rules[] = {
	UI_RULE(UI_WANTS, struct report_work, file, ui.asked.nr,
		"which profile? say FILE, or --pid PID"),
	UI_RULE(UI_EXCLUDES, struct report_work, file, ui.asked.nr,
		"a file and a process: one at a time"),
	{ 0 },
};

static const struct ui_child children[] = {
	{ &ui_file_syntax, offsetof(struct report_work, ui) },
	{ &ui_memory_syntax, offsetof(struct report_work, ui) },
	{ &report_work_syntax, 0 },
	{ 0 },
};

static const struct ui_syntax cmd_report_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.argument = cmd_report_take_file,
	.args_doc = "FILE\n--pid PID",
	.doc = "Which code holds the memory, from a saved profile of memdiag, gperftools, "
	       "jemalloc, pprof or heaptrack.\vExamples:\n"
	       "  memdiag report app.heap\n"
	       "  memdiag report --pid 1234\n"
	       "  memdiag report app.heap --format=tree --focus=parse\n"
	       "  memdiag report new.heap --base old.heap\n"
	       "  memdiag report -p bin/app -f app.heap -t -o app.txt\n"
	       "  memdiag report -p bin/app -f app.heap -s -o app.svg\n"
	       "  memdiag report app.heap --format=html -o app.html\n"
	       "  memdiag report app.heap --format=pprof -o app.pb.gz\n"
	       "  memdiag report app.heap --redact --keep=libc --format=pprof -o app.pb.gz\n\n"
	       "FLAT is what a function allocated itself, CUM includes the functions that it "
	       "called; SUM% adds up FLAT%.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

static int
cmd_report_run(int argc, char **argv, struct err *e)
{
	struct report_work w = { .io = PROFILE_IO_BEGIN };

	ui_parse(&cmd_report_syntax, argc, argv, &w);
	return report_work_run(&w, e);
}

const struct command cmd_report = {
	.name = "report",
	.summary = "which code holds the memory, from a profile",
	.touch = CMD_TOUCHES_NOTHING,
	.syntax = &cmd_report_syntax,
	.run = cmd_report_run,
};
