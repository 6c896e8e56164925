#include <config.h>

#include "account/pair.h"
#include "base/cleanup.h"
#include "cmd/census-options.h"
#include "cmd/command.h"
#include "census/type-groups.h"
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
#include "view/diff.h"
#include "view/types.h"

#define DEFAULT_ROWS 16

/* ---- options ---- */

struct cmd_types_options {
	struct census_question ask;
	enum census_by by;
	size_t limit;
	const char *diff; /* a saved output to compare with, or NULL */
};

#define AT(member) UI_AT(struct cmd_types_options, member)

static const struct ui_option options[] = {
	{ "by", 0, "WHAT", 1, "add up by {words} (type)", UI_WORD, AT(by),
		.words = census_by_names },
	{ "lines", 'n', "N", 1, "at most N lines in each table; 0 is all of them (16)", UI_NUMBER,
		AT(limit) },
	{ "diff", 0, "FILE", 1, "what grew since FILE, a saved --json output", UI_FILE, AT(diff) },
	{ 0 },
};

#define RULE(kind, a, b, why) UI_RULE(kind, struct cmd_types_options, a, b, why)

static const struct ui_rule rules[] = {
	RULE(UI_EXCLUDES, diff, by, "--diff compares types: leave out --by"),
	{ 0 },
};

static const struct ui_child children[] = {
	{ &census_syntax, offsetof(struct cmd_types_options, ask) },
	{ 0 },
};

static const struct ui_syntax cmd_types_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.args_doc = "[PID]",
	.doc = "What the blocks of glibc's malloc are: classes of C++ and objects of Python by their "
	       "types, memory contexts of PostgreSQL by their names, pools of nginx and others by "
	       "their own words, others by the named object that they have the address of, and by the block "
	       "or the variable that leads to them.\n"
	       "Memory is read, nothing runs in the process. All its threads are stopped once, for "
	       "at most 200 ms (--max-stop); with --fork it makes a copy of itself, which is read.\v"
	       "Examples:\n"
	       "  memdiag types --pid 1234\n"
	       "  memdiag types --pid 1234 --json -o types.json\n"
	       "  memdiag types --pid 1234 --diff types.json\n"
	       "  memdiag types --pid 1234 --max-stop 2s     for a heap of some gigabytes\n"
	       "  memdiag types --pid 1234 --by=module\n"
	       "  memdiag types --pid 1234 --by=contents     for blocks without a type\n"
	       "  memdiag types --core core.1234\n\n"
	       "BYTES are blocks that show the type; BELOW are blocks without a type that these "
	       "lead to, in four steps at most.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

static int
cmd_types_print(const struct types_report *r, const struct cmd_types_options *o,
	struct ui_output *out, struct err *e)
{
	json_auto_t *document = NULL;

	if (!o->ask.ui.json)
		return types_show_text(out, &o->ask.ui, r, e);
	document = types_to_json(r, e);
	return document ? ui_json_print(document, out, e) : -1;
}

/* Compare R with the document in P, and print the changes. */
static int
cmd_types_print_changes(const struct types_report *r, struct saved_pair *p,
	const struct cmd_types_options *o, struct ui_output *out, struct err *e)
{
	json_auto_t *document = types_to_json(r, e);

	if (!document || saved_pair_end(p, document, e) < 0)
		return -1;
	if (!o->ask.ui.json)
		return types_show_changes(out, &o->ask.ui, r, p, e);
	diff_set_changes(json_object_get(document, "data"), p);
	warnings_to_json(&p->warnings, document);
	return ui_json_print(document, out, e);
}

/* Sum up the blocks of S as O requests. */
static int
cmd_types_sum(struct census_type_sums *sums, struct census_type_groups *groups,
	struct census_answer *s, const struct cmd_types_options *o, struct err *e)
{
	const struct census_groups_from from = { &s->census, &s->types, &s->heap,
		&s->process.objects };
	struct census_grouping by;

	if (census_type_groups_make(groups, o->by, &from, e) < 0)
		return -1;
	by = census_type_groups_rule(groups);
	return census_types_sum(
		sums, &s->census, &s->types, o->by == CENSUS_BY_TYPE ? NULL : &by, e);
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
	auto_census_type_groups struct census_type_groups groups = { 0 };
	auto_census_type_sums struct census_type_sums sums = { 0 };
	struct types_report report = { &s, &sums, &groups, 0 };
	auto_saved_pair struct saved_pair pair = { 0 };
	auto_output struct ui_output out = { 0 };

	census_question_begin(&o.ask);
	ui_parse(&cmd_types_syntax, argc, argv, &o);
	o.ask.wants_contents = o.by == CENSUS_BY_CONTENTS;
	report.limit = o.limit;
	deadline_set(o.ask.ui.timeout_ns);
	limits_set_memory(&o.ask.ui);
	progress = ui_progress_begin(&o.ask.ui, "reading the blocks");
	if ((o.diff && saved_pair_begin(&pair, o.diff, "types", e) < 0) ||
		ui_find_process(&o.ask.ui, e) < 0 || ui_output_open(&out, &o.ask.ui, e) < 0 ||
		census_ask(&s, &o.ask, e) < 0 || cmd_types_sum(&sums, &groups, &s, &o, e) < 0)
		return -1;
	ui_progress_end(take_ptr(&progress));
	if ((o.diff ? cmd_types_print_changes(&report, &pair, &o, &out, e)
		    : cmd_types_print(&report, &o, &out, e)) < 0 ||
		ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&s.warnings, &o.ask.ui);
	warnings_print(&pair.warnings, &o.ask.ui);
	return s.warnings.is_partial || pair.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_types = {
	.name = "types",
	.summary = "what the blocks of malloc are: classes, objects, and who holds the rest",
	.touch = CMD_STOPS_TARGET,
	.syntax = &cmd_types_syntax,
	.run = cmd_types_run,
};
