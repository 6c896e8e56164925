#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "capture/stacks.h"
#include "cmd/command.h"
#include "cmd/profile-io.h"
#include "glibc/process.h"
#include "os/claim.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/target.h"
#include "report/folded.h"
#include "ui/claim.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/ui.h"
#include "ui/warnings.h"
#include "view/stacks.h"

#define DEFAULT_MAX_STOP_NS UINT64_C(200000000)

/* ---- options ---- */

struct cmd_stacks_options {
	struct ui_options ui;
	struct {
		pid_t *v;
		size_t nr, room;
	} tids;
	uint64_t max_stop_ns;
	bool without_lines;
	int format; /* index into formats[]; -1: not given */
};

static void
cmd_stacks_add_threads(
	struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct cmd_stacks_options *o = input;
	char *rest = NULL;

	(void)row;
	for (char *word = strtok_r(arg, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		unsigned long tid = ui_parse_count(state, word);
		pid_t *added = array_add(&o->tids);

		if (!tid)
			ui_refuse(state, word, "is not the number of a thread");
		if (!added)
			argp_error(state, "no memory");
		*added = (pid_t)tid;
	}
	if (!o->tids.nr)
		argp_error(state, "which thread? say --thread TID");
}

static const char *cmd_stacks_format(size_t i);

#define AT(member) UI_AT(struct cmd_stacks_options, member)

static const struct ui_option options[] = {
	{ "thread", 0, "TID[,TID...]", 1, "only these threads", UI_NUMBER,
		.set = cmd_stacks_add_threads },
	{ "format", 0, "FORMAT", 1, "write {words} (text)", UI_WORD, AT(format),
		.word = cmd_stacks_format },
	{ "no-lines", 0, NULL, 1,
		"print functions only, from the symbol tables; do not read debug information",
		UI_FLAG, AT(without_lines) },
	{ "max-stop", 0, "DURATION", 1, "stop a thread for at most DURATION (200ms)", UI_DURATION,
		AT(max_stop_ns) },
	{ 0 },
};

static const struct ui_child children[] = {
	{ &ui_options_syntax, offsetof(struct cmd_stacks_options, ui) },
	{ &ui_memory_syntax, offsetof(struct cmd_stacks_options, ui) },
	{ 0 },
};

static const struct ui_syntax cmd_stacks_syntax = {
	.options = options,
	.children = children,
	.args_doc = "[PID]",
	.doc = "The stack of calls of each thread, with functions, inlined ones, and lines if the "
	       "program has debug information. Threads with the same stack are shown "
	       "together.\n"
	       "Nothing runs in the process. One thread after the other is stopped while its "
	       "stack is copied, for microseconds, and unwound when it runs again.\vExamples:\n"
	       "  memdiag stacks --pid 1234\n"
	       "  memdiag stacks --pid 1234 --thread 1240,1241\n"
	       "  memdiag stacks --pid 1234 --json\n"
	       "  memdiag stacks --pid 1234 --format=folded | flamegraph.pl > now.svg\n\n"
	       "Threads are not stopped at the same moment. A frame marked [by frame pointer] is "
	       "a guess: its callee has no unwind table.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

struct cmd_stacks_work {
	struct target target;
	struct process process;
	struct stacks stacks;
	struct warnings warnings;
};

static void
cmd_stacks_work_release(struct cmd_stacks_work *w)
{
	warnings_release(&w->warnings);
	stacks_release(&w->stacks);
	process_release(&w->process);
	target_release(&w->target);
}

static int
cmd_stacks_read_stacks(struct cmd_stacks_work *w, const struct cmd_stacks_options *o, struct err *e)
{
	const struct stacks_options how = { o->tids.v, o->tids.nr, o->max_stop_ns,
		o->without_lines };
	const struct stacks *s;

	if (target_open(&w->target, o->ui.pid, e) < 0 || os_check_memory(&w->target, e) < 0 ||
		process_read(&w->process, &w->target, e) < 0 || ui_claim(&w->target, &o->ui, e) < 0)
		return -1;
	if (stacks_read(&w->stacks, &w->process, &how, e) < 0)
		return -1;
	target_unclaim(&w->target);
	s = &w->stacks;
	profile_io_warn(&w->warnings, s->p);
	if (s->nr_late)
		warnings_add(&w->warnings, true, "%zu thread%s could not be stopped in time: %s",
			s->nr_late, s->nr_late == 1 ? "" : "s", s->late.msg);
	return 0;
}

/* Print one line per distinct stack of function names, with the number of threads. */
static int
cmd_stacks_print_folded(const struct cmd_stacks_work *w, struct ui_output *out, struct err *e)
{
	const struct calls_options all = { .has_allocators = true };
	auto_calls struct calls c = { 0 };

	return calls_make(&c, w->stacks.p, &all, e) < 0 ? -1 : folded_write(&c, out->f, e);
}

static int
cmd_stacks_print_json(const struct cmd_stacks_work *w, struct ui_output *out, struct err *e)
{
	json_auto_t *document = ui_json_new("stacks", &w->target);

	if (stacks_to_json(&w->stacks, json_object_get(document, "data"), e) < 0)
		return -1;
	warnings_to_json(&w->warnings, document);
	return ui_json_print(document, out, e);
}

static int
cmd_stacks_print_text(const struct cmd_stacks_work *w, struct ui_output *out, struct err *e)
{
	return stacks_print(&w->stacks, &w->target, out, e);
}

static const struct {
	const char *name;
	int (*write)(const struct cmd_stacks_work *w, struct ui_output *out, struct err *e);
} formats[] = {
	{ "text", cmd_stacks_print_text },
	{ "json", cmd_stacks_print_json },
	{ "folded", cmd_stacks_print_folded },
};

#define FORMAT_JSON 1

static const char *
cmd_stacks_format(size_t i)
{
	return i < sizeof formats / sizeof *formats ? formats[i].name : NULL;
}

static int
cmd_stacks_run(int argc, char **argv, struct err *e)
{
	struct cmd_stacks_options o = { .max_stop_ns = DEFAULT_MAX_STOP_NS, .format = -1 };
	__attribute__((cleanup(
		cmd_stacks_work_release))) struct cmd_stacks_work w = { .target = TARGET_NONE };
	auto_output struct ui_output out = { 0 };
	auto_free pid_t *tids = NULL;

	ui_parse(&cmd_stacks_syntax, argc, argv, &o);
	tids = o.tids.v;
	if (o.ui.json && o.format >= 0 && o.format != FORMAT_JSON)
		return err_set_kind(e, ERR_USAGE, 0, "--json and --format: one format at a time");
	if (o.format < 0)
		o.format = o.ui.json ? FORMAT_JSON : 0;
	deadline_set(o.ui.timeout_ns);
	limits_set_memory(&o.ui);
	if (ui_find_process(&o.ui, e) < 0 || ui_output_open(&out, &o.ui, e) < 0 ||
		cmd_stacks_read_stacks(&w, &o, e) < 0 || formats[o.format].write(&w, &out, e) < 0 ||
		ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&w.warnings, &o.ui);
	return w.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_stacks = {
	.name = "stacks",
	.summary = "where each thread of a process is: stacks of calls",
	.touch = CMD_STOPS_TARGET,
	.syntax = &cmd_stacks_syntax,
	.run = cmd_stacks_run,
};
