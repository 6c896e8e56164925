#include <config.h>

#include <limits.h>
#include <string.h>

#include "agentctl/count-job.h"
#include "base/cleanup.h"
#include "cmd/borrow.h"
#include "cmd/command.h"
#include "heap/heap.h"
#include "inject/malloc.h"
#include "os/claim.h"
#include "os/installed.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/target.h"
#include "ui/claim.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "view/count.h"

struct count_options {
	struct ui_options ui;
	struct inject_options inject;
	bool is_stop, has_verb;
	uint64_t max_stop_ns;
};

/* ---- options ---- */

#define AT(member) UI_AT(struct count_options, member)

static const struct ui_option options[] = {
	{ "max-stop", 0, "DURATION", 1,
		"stop the process for at most DURATION at a time, to see what is in use (200ms)",
		UI_DURATION, AT(max_stop_ns) },
	/* name in memdiag 0.1 */
	{ "max-stop-ms", 0, "N", 1, NULL, UI_NUMBER, AT(max_stop_ns), .scale = 1000000 },
	{ 0 },
};

static error_t
cmd_count_parse_verb(struct argp_state *state, void *input, char *arg)
{
	struct count_options *o = input;

	if (o->has_verb)
		return ARGP_ERR_UNKNOWN; /* it is a process */
	o->is_stop = strcmp(arg, "stop") == 0;
	if (!o->is_stop && strcmp(arg, "start") != 0)
		ui_refuse(state, arg, "is neither start nor stop");
	o->has_verb = true;
	return 0;
}

static void
cmd_count_check(struct argp_state *state, void *input)
{
	const struct count_options *o = input;

	if (!o->has_verb)
		argp_error(state, "what is to be done? say start or stop");
}

static const struct ui_child children[] = {
	{ &ui_options_syntax, offsetof(struct count_options, ui) },
	{ &borrow_syntax, offsetof(struct count_options, inject) },
	{ 0 },
};

static const struct ui_syntax cmd_count_syntax = {
	.options = options,
	.children = children,
	.argument = cmd_count_parse_verb,
	.check = cmd_count_check,
	.args_doc = "start|stop [PID]",
	.doc = "Count the allocations of a running process from now on.\n"
	       "The agent is loaded into it, and all calls of malloc and related functions go to "
	       "it.  All threads are stopped for that, and then, for at most 200 ms at a time "
	       "(--max-stop), while memdiag reads the blocks already in use. 'memdiag status' "
	       "shows the numbers at any time and stops no thread. 'stop' restores every byte "
	       "that was changed; the agent stays loaded and idle.\vExamples:\n"
	       "  memdiag count start --pid 1234\n"
	       "  memdiag status --pid 1234\n"
	       "  memdiag count stop --pid 1234\n\n"
	       "Starting or stopping twice, or stopping without a start, prints a note and "
	       "changes nothing.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

static int
cmd_count_run(int argc, char **argv, struct err *e)
{
	struct count_options opt = { .max_stop_ns = HEAP_DEFAULT_STOP_NS };
	auto_progress struct ui_progress *progress = NULL;
	auto_target struct target t = TARGET_NONE;
	auto_output struct ui_output out = { 0 };
	struct count_job c;
	char agent[PATH_MAX];

	ui_parse(&cmd_count_syntax, argc, argv, &opt);
	borrow_limit(&opt.inject, &opt.ui);
	progress = ui_progress_begin(
		&opt.ui, opt.is_stop ? "stopping the count" : "starting the count");
	/* an upper limit, as in malloc_target_open() */
	deadline_set(2 * opt.ui.timeout_ns + 1000000000);
	if (ui_find_process(&opt.ui, e) < 0 || ui_output_open(&out, &opt.ui, e) < 0 ||
		os_find_installed(agent, sizeof agent, OS_AGENT_FILE, e) < 0 ||
		target_open(&t, opt.ui.pid, e) < 0 || ui_claim(&t, &opt.ui, e) < 0 ||
		os_check_memory(&t, e) < 0)
		return -1;
	if ((opt.is_stop ? count_job_stop(&t, &opt.inject, &c, e)
			 : count_job_start(&t, &opt.inject, opt.max_stop_ns, agent, &c, e)) < 0)
		return -1;
	target_unclaim(&t);
	ui_progress_end(take_ptr(&progress));
	if (!opt.ui.json)
		count_show_text(&out, &opt.ui, &t, &c, opt.is_stop);
	else if (count_show_json(&out, &t, &c, opt.is_stop, e) < 0)
		return -1;
	if (ui_output_close(&out, e) < 0)
		return -1;
	return UI_DONE;
}

const struct command cmd_count = {
	.name = "count",
	.summary = "count what a running process allocates, from now on",
	.touch = CMD_CHANGES_TARGET,
	.syntax = &cmd_count_syntax,
	.run = cmd_count_run,
};
