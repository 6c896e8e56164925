#include <config.h>

#include "base/cleanup.h"
#include "cmd/census-options.h"
#include "cmd/command.h"
#include "census/types.h"
#include "diagnose/census.h"
#include "os/os.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "view/types.h"

#define DEFAULT_ROWS 16

/* ---- options ---- */

struct cmd_types_options {
	struct census_question ask;
	size_t limit;
};

#define AT(member) UI_AT(struct cmd_types_options, member)

static const struct ui_option options[] = {
	{ "lines", 'n', "N", 1, "at most N types; 0 is all of them (16)", UI_NUMBER, AT(limit) },
	{ 0 },
};

static const struct ui_child children[] = {
	{ &census_syntax, offsetof(struct cmd_types_options, ask) },
	{ 0 },
};

static const struct ui_syntax cmd_types_syntax = {
	.options = options,
	.children = children,
	.args_doc = "[PID]",
	.doc = "What the blocks of glibc's malloc are: classes of C++ and objects of Python by their "
	       "types, memory contexts of PostgreSQL by their names, pools of nginx and others by "
	       "their own words, others by the named object that they have the address of, and by the block "
	       "or the variable that leads to them.\n"
	       "Memory is read, nothing runs in the process. All its threads are stopped once, for "
	       "at most 200 ms (--max-stop).\vExamples:\n"
	       "  memdiag types --pid 1234\n"
	       "  memdiag types --pid 1234 --json -o types.json\n"
	       "  memdiag types --pid 1234 --max-stop 2s     for a heap of some gigabytes\n"
	       "  memdiag types --core core.1234\n\n"
	       "BYTES are blocks that show the type; BELOW are blocks without a type that these "
	       "lead to, in four steps at most.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

static int
cmd_types_print(const struct census_answer *s, const struct census_type_sums *sums,
	const struct cmd_types_options *o, struct ui_output *out, struct err *e)
{
	json_auto_t *document = NULL;

	if (!o->ask.ui.json)
		return types_show_text(out, &o->ask.ui, s, sums, o->limit, e);
	document = types_to_json(s, sums, e);
	return document ? ui_json_print(document, out, e) : -1;
}

static int
cmd_types_run(int argc, char **argv, struct err *e)
{
	struct cmd_types_options o = {
		.ask.wants_types = true,
		.limit = DEFAULT_ROWS,
	};
	auto_progress struct ui_progress *progress = NULL;
	auto_census_answer struct census_answer s = { .target = TARGET_NONE };
	auto_census_type_sums struct census_type_sums sums = { 0 };
	auto_output struct ui_output out = { 0 };

	census_question_begin(&o.ask);
	ui_parse(&cmd_types_syntax, argc, argv, &o);
	deadline_set(o.ask.ui.timeout_ns);
	limits_set_memory(&o.ask.ui);
	progress = ui_progress_begin(&o.ask.ui, "reading the blocks");
	if (ui_find_process(&o.ask.ui, e) < 0 || ui_output_open(&out, &o.ask.ui, e) < 0 ||
		census_ask(&s, &o.ask, e) < 0 ||
		census_types_sum(&sums, &s.census, &s.types, e) < 0)
		return -1;
	ui_progress_end(take_ptr(&progress));
	if (cmd_types_print(&s, &sums, &o, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&s.warnings, &o.ask.ui);
	return s.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_types = {
	.name = "types",
	.summary = "what the blocks of malloc are: classes, objects, and who holds the rest",
	.touch = CMD_STOPS_TARGET,
	.syntax = &cmd_types_syntax,
	.run = cmd_types_run,
};
