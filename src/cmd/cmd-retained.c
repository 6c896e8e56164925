#include <config.h>

#include "base/cleanup.h"
#include "cmd/census-options.h"
#include "cmd/command.h"
#include "census/dominators.h"
#include "census/owners.h"
#include "census/paths.h"
#include "census/retained.h"
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
#include "view/retained.h"

#define DEFAULT_ROWS 16

/* ---- options ---- */

struct cmd_retained_options {
	struct census_question ask;
	size_t limit;
	raddr holds; /* show what leads to the block at this address; 0: show sums */
};

#define AT(member) UI_AT(struct cmd_retained_options, member)

static const struct ui_option options[] = {
	{ "lines", 'n', "N", 1, "at most N lines in each table; 0 is all of them (16)", UI_NUMBER,
		AT(limit) },
	{ "holds", 0, "ADDRESS", 1, "show what leads to the block at ADDRESS instead", UI_ADDRESS,
		AT(holds) },
	{ 0 },
};

static const struct ui_child children[] = {
	{ &census_syntax, offsetof(struct cmd_retained_options, ask) },
	{ 0 },
};

static const struct ui_syntax cmd_retained_syntax = {
	.options = options,
	.children = children,
	.args_doc = "[PID]",
	.doc = "What holds the blocks of glibc's malloc: for each global variable and each thread, "
	       "and for each type, what would be free if its pointers were cleared and all that "
	       "only it leads to were freed.\n"
	       "Memory is read, nothing runs in the process. All its threads are stopped once, for "
	       "at most 200 ms (--max-stop).\vExamples:\n"
	       "  memdiag retained --pid 1234\n"
	       "  memdiag retained --pid 1234 --holds 0x55d0c1a2b010\n"
	       "  memdiag retained --core core.1234 --json\n\n"
	       "Sums of types overlap with those of variables and of other types. A stack counts "
	       "only for what no variable leads to.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

static int
cmd_retained_print(const struct retained_report *r, const struct cmd_retained_options *o,
	struct ui_output *out, struct err *e)
{
	json_auto_t *document = NULL;

	if (!o->ask.ui.json)
		return retained_show_text(out, &o->ask.ui, r, e);
	document = retained_to_json(r, e);
	return document ? ui_json_print(document, out, e) : -1;
}

/* Find out what O asks for, and print it. */
static int
cmd_retained_show(const struct cmd_retained_options *o, struct census_answer *s,
	struct ui_output *out, struct ui_progress **progress, struct err *e)
{
	auto_census_owners struct census_owners owners = { 0 };
	auto_census_dominators struct census_dominators dominators = { 0 };
	auto_census_retained struct census_retained retained = { 0 };
	auto_census_path struct census_path path = { 0 };
	struct retained_report r = { .of = s,
		.owners = &owners,
		.dominators = &dominators,
		.retained = &retained,
		.path = o->holds.v ? &path : NULL,
		.limit = o->limit };

	if ((o->holds.v && census_find_block(s, o->holds, &r.chunk, e) < 0) ||
		census_owners_find(&owners, &s->census, &s->process.objects, e) < 0 ||
		census_check_dominators(s, e) < 0 ||
		census_dominators_find(&dominators, &s->census, &owners, e) < 0)
		return -1;
	if (o->holds.v ? census_path_find(&path, &s->census, &owners, r.chunk, e) < 0
		       : census_retained_sum(&retained, &s->census, &dominators, &s->types, e) < 0)
		return -1;
	ui_progress_end(take_ptr(progress));
	return cmd_retained_print(&r, o, out, e);
}

static int
cmd_retained_run(int argc, char **argv, struct err *e)
{
	struct cmd_retained_options o = {
		.ask.wants_types = true,
		.limit = DEFAULT_ROWS,
	};
	auto_progress struct ui_progress *progress = NULL;
	auto_census_answer struct census_answer s = { .target = TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	census_question_begin(&o.ask);
	ui_parse(&cmd_retained_syntax, argc, argv, &o);
	deadline_set(o.ask.ui.timeout_ns);
	limits_set_memory(&o.ask.ui);
	progress = ui_progress_begin(&o.ask.ui, "reading the blocks");
	if (ui_find_process(&o.ask.ui, e) < 0 || ui_output_open(&out, &o.ask.ui, e) < 0 ||
		census_ask(&s, &o.ask, e) < 0 ||
		cmd_retained_show(&o, &s, &out, &progress, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&s.warnings, &o.ask.ui);
	return s.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_retained = {
	.name = "retained",
	.summary = "what each variable, thread and type holds of the blocks of malloc",
	.touch = CMD_STOPS_TARGET,
	.syntax = &cmd_retained_syntax,
	.run = cmd_retained_run,
};
