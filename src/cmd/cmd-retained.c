#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cmd/census-options.h"
#include "cmd/command.h"
#include "cmd/profile-io.h"
#include "cmd/report-work.h"
#include "census/dominators.h"
#include "census/layers.h"
#include "census/owners.h"
#include "census/paths.h"
#include "census/reach.h"
#include "census/retained.h"
#include "diagnose/census.h"
#include "diagnose/suppressions.h"
#include "os/os.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "view/retained-graph.h"
#include "view/retained.h"
#include "view/type-name.h"

#define DEFAULT_ROWS 16
/* The graph joins frames of less than one part in so many. */
#define GRAPH_PARTS 2000

/* ---- options ---- */

struct cmd_retained_options {
	struct census_question ask;
	const char *holds; /* show what leads to this: an address or a type; NULL: show sums */
	raddr addr;	   /* in HOLDS, if that is an address */
	struct profile_io_options io;
};

#define AT(member) UI_AT(struct cmd_retained_options, member)

static const struct ui_option options[] = {
	{ "lines", 'n', "N", 1, "at most N lines in each table; 0 is all of them (16)", UI_NUMBER,
		AT(io.limit), UI_GIVEN(struct cmd_retained_options, io.has_limit) },
	{ "holds", 0, "ADDRESS|TYPE", 1,
		"show what leads to the block at ADDRESS, or to the blocks of TYPE, instead",
		UI_STRING, AT(holds) },
	{ "format", 0, "FORMAT", 1, "write {words} (text)", UI_WORD,
		offsetof(struct cmd_retained_options, io.format),
		.word = report_format_word_of_types, .set = report_work_set_format,
		.wrong = "is not one of the formats --help names" },
	{ 0 },
};

static const struct ui_rule rules[] = {
	UI_RULE(UI_EXCLUDES, struct cmd_retained_options, holds, io.format,
		"--holds shows a path, and --format sums: one of them"),
	{ 0 },
};

/* Return whether --holds has an address: no name of a type begins with a digit. */
static bool
holds_address(const struct cmd_retained_options *o)
{
	return o->holds && isdigit((unsigned char)*o->holds);
}

static void
cmd_retained_check(struct argp_state *state, void *input)
{
	struct cmd_retained_options *o = input;
	const struct report_format *format = o->io.format;
	const char *end;

	if (o->ask.ui.json && format && format != &report_format_json)
		argp_error(state, "--json and --format: one format at a time");
	if (format && format->can & (FORMAT_NEEDS_CALLS | FORMAT_CUTS_NAMES))
		argp_error(state,
			"--format=%s shows calls, which retained does not have: --help lists the other formats",
			format->name);
	if (holds_address(o) && (!ui_parse_address(o->holds, &o->addr.v, &end) || *end))
		argp_error(state, "--holds: '%s' is not an address, nor a type: say 0x7f12345678",
			o->holds);
	if (o->holds && !*o->holds)
		argp_error(state, "--holds needs an address or a type");
}

static const struct ui_child children[] = {
	{ &census_syntax, offsetof(struct cmd_retained_options, ask) },
	{ 0 },
};

static const struct ui_syntax cmd_retained_syntax = {
	.options = options,
	.rules = rules,
	.check = cmd_retained_check,
	.children = children,
	.args_doc = "[PID]",
	.doc = "What holds the blocks of glibc's malloc: for each global variable and each thread, "
	       "and for each type, what would be free if its pointers were cleared and all that "
	       "only it leads to were freed.\n"
	       "Memory is read, nothing runs in the process. All its threads are stopped once, for "
	       "at most 200 ms (--max-stop); with --fork it makes a copy of itself, which is read.\v"
	       "Examples:\n"
	       "  memdiag retained --pid 1234\n"
	       "  memdiag retained --pid 1234 --holds 0x55d0c1a2b010\n"
	       "  memdiag retained --pid 1234 --holds 'std::vector<*>'\n"
	       "  memdiag retained --pid 1234 --format=flame -o held.svg\n"
	       "  memdiag retained --core core.1234 --json\n\n"
	       "Sums of types overlap with those of variables and of other types. A stack counts "
	       "only for what no variable leads to.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

/* The results, for any format. */
struct cmd_retained_work {
	struct census_owners owners;
	struct census_dominators dominators;
	struct census_retained retained;
	struct census_reach reach;
	struct census_ways ways;
	struct census_layers layers;
};

static void
cmd_retained_work_release(struct cmd_retained_work *w)
{
	census_owners_release(&w->owners);
	census_dominators_release(&w->dominators);
	census_retained_release(&w->retained);
	census_reach_release(&w->reach);
	census_ways_release(&w->ways);
	census_layers_release(&w->layers);
}

static bool
wants_graph(const struct cmd_retained_options *o)
{
	return o->io.format != &report_format_text && o->io.format != &report_format_json;
}

/* Find the frames of the graph. */
static int
cmd_retained_find_layers(struct cmd_retained_work *w, const struct census_answer *s, struct err *e)
{
	const bool has_rss = retained_graph_has_rss(s);

	if (has_rss)
		census_dominators_count_resident(&w->dominators, &s->census);
	return census_layers_make(&w->layers, &s->census, &w->dominators, &s->types, has_rss,
		retained_graph_bytes(s) / GRAPH_PARTS, e);
}

/* Set IS_WANTED of each type of S that has blocks and whose name matches NAME. */
static int
cmd_retained_match(bool *is_wanted, const struct census_answer *s, const char *name, struct err *e)
{
	auto_free char *pattern = NULL;

	if (asprintf(&pattern, "^%s$", name) < 0) {
		pattern = NULL;
		return err_set(e, ENOMEM, "cannot look for the type");
	}
	for (size_t i = 0; i < s->census.type_of.nr; i++)
		is_wanted[s->census.type_of.v[i] & CENSUS_TYPE_MASK] = true;
	is_wanted[CENSUS_NO_TYPE] = false;
	for (size_t i = 1; i < s->types.type.nr; i++) {
		const struct census_type *type = &s->types.type.v[i];
		auto_free char *source = is_wanted[i] ? type_name_of(type) : NULL;

		is_wanted[i] = is_wanted[i] &&
			((source && suppression_matches(pattern, source)) ||
				suppression_matches(pattern, type->name));
	}
	return 0;
}

/* Find what leads to the blocks of a type. */
static int
cmd_retained_find_ways(struct cmd_retained_work *w, struct retained_report *r,
	const struct cmd_retained_options *o, struct census_answer *s, struct err *e)
{
	auto_free bool *is_wanted = calloc(s->types.type.nr + 1, sizeof *is_wanted);

	if (!is_wanted)
		return err_set(e, ENOMEM, "cannot look for the type");
	if (cmd_retained_match(is_wanted, s, o->holds, e) < 0 ||
		census_ways_find(&w->ways, &s->census, &w->reach, is_wanted, e) < 0)
		return -1;
	if (!w->ways.way.nr) {
		err_set_kind(e, ERR_USAGE, 0, "no block is of the type '%s'", o->holds);
		err_hint(e, "'memdiag types' lists the types; * stands for any text");
		return -1;
	}
	r->name = o->holds;
	r->ways = &w->ways;
	return 0;
}

/* Find out what O asks for. */
static int
cmd_retained_find(struct cmd_retained_work *w, struct retained_report *r,
	const struct cmd_retained_options *o, struct census_answer *s, struct err *e)
{
	if ((holds_address(o) && census_find_block(s, o->addr, &r->chunk, e) < 0) ||
		census_owners_find(&w->owners, &s->census, &s->process.objects, e) < 0 ||
		census_check_dominators(s, e) < 0 ||
		census_dominators_find(&w->dominators, &s->census, &w->owners, e) < 0)
		return -1;
	if (o->holds) {
		r->reach = &w->reach;
		if (census_reach_all(&w->reach, &s->census, &w->owners, e) < 0)
			return -1;
		return holds_address(o) ? 0 : cmd_retained_find_ways(w, r, o, s, e);
	}
	if (wants_graph(o))
		return cmd_retained_find_layers(w, s, e);
	return census_retained_sum(&w->retained, &s->census, &w->dominators, &s->types, e);
}

static int
cmd_retained_draw(const struct cmd_retained_work *w, const struct retained_report *r,
	const struct cmd_retained_options *o, struct ui_output *out, struct err *e)
{
	auto_profile struct profile *p = NULL;
	char title[64];
	struct report_view view = { .words = &retained_graph_words,
		.file = retained_graph_title(r->of, title, sizeof title),
		.ui = &o->ask.ui };

	if (retained_graph_make(&p, r, &w->layers, e) < 0)
		return -1;
	view.p = p;
	return profile_io_write(&view, &o->io, &r->of->warnings, out, e);
}

static int
cmd_retained_print(const struct cmd_retained_work *w, const struct retained_report *r,
	const struct cmd_retained_options *o, struct ui_output *out, struct err *e)
{
	json_auto_t *document = NULL;

	if (wants_graph(o))
		return cmd_retained_draw(w, r, o, out, e);
	if (o->io.format == &report_format_text)
		return retained_show_text(out, &o->ask.ui, r, e);
	document = retained_to_json(r, e);
	return document ? ui_json_print(document, out, e) : -1;
}

/* Find out what O asks for, and print it. */
static int
cmd_retained_show(const struct cmd_retained_options *o, struct census_answer *s,
	struct ui_output *out, struct ui_progress **progress, struct err *e)
{
	__attribute__((cleanup(cmd_retained_work_release))) struct cmd_retained_work w = { 0 };
	struct retained_report r = { .of = s,
		.owners = &w.owners,
		.dominators = &w.dominators,
		.retained = &w.retained,
		.limit = o->io.limit };

	if (cmd_retained_find(&w, &r, o, s, e) < 0)
		return -1;
	ui_progress_end(take_ptr(progress));
	return cmd_retained_print(&w, &r, o, out, e);
}

static int
cmd_retained_run(int argc, char **argv, struct err *e)
{
	struct cmd_retained_options o = {
		.ask.wants_types = true,
		/* Frames may have the name of a function that allocates. */
		.io = { .limit = DEFAULT_ROWS, .calls.has_allocators = true },
	};
	auto_progress struct ui_progress *progress = NULL;
	auto_census_answer struct census_answer s = { .target = TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	census_question_begin(&o.ask);
	ui_parse(&cmd_retained_syntax, argc, argv, &o);
	if (profile_io_begin(&o.io, &o.ask.ui, e) < 0)
		return -1;
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
