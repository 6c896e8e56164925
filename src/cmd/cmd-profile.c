#include <config.h>

#include <string.h>

#include "capture/options.h"
#include "capture/profile-file.h"
#include "capture/triggers.h"
#include "cmd/borrow.h"
#include "cmd/command.h"
#include "cmd/noting.h"

/* ---- options ---- */

enum { KEY_SAMPLER = 0x3100 };

static const struct argp_option options[] = {
	{ "rate", 'c', "SIZE", 0, "take one sample for SIZE bytes allocated, on average (512K)",
		1 },
	{ "sampler", KEY_SAMPLER, "WHICH", 0,
		"take the samples of jemalloc by: auto: its own profiler (default); agent", 1 },
	{ 0 },
};

static void
cmd_profile_check(struct argp_state *state, const struct profile_options *o)
{
	if (o->has_period && o->verb != PROFILE_ONE_SHOT && o->verb != PROFILE_START)
		argp_error(state, "--rate is for a profile that begins");
	if (o->ui.output && o->verb == PROFILE_START)
		argp_error(
			state, "start writes no file: say --output with dump, stop or --seconds");
	if (o->verb != PROFILE_ONE_SHOT && o->triggers.is_any)
		argp_error(state,
			"files are written while memdiag waits: add --seconds or --at-exit instead "
			"of start or stop");
}

static error_t
cmd_profile_parse_option(int key, char *arg, struct argp_state *state)
{
	struct profile_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		state->child_inputs[1] = &o->ui;
		state->child_inputs[2] = &o->inject;
		state->child_inputs[3] = &o->triggers;
		state->child_inputs[4] = &o->malloc;
		return 0;
	case 'c':
		o->period_bytes = profile_rate_option(state, arg);
		o->has_period = true;
		return 0;
	case KEY_SAMPLER:
		o->by_agent = strcmp(arg, "agent") == 0;
		if (!o->by_agent && strcmp(arg, "auto") != 0)
			ui_refuse(state, arg, "is no sampler: say auto or agent");
		return 0;
	case ARGP_KEY_SUCCESS:
		cmd_profile_check(state, o);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
	{ &noting_argp, 0, NULL, 0 },
	{ &ui_options_argp, 0, NULL, 0 },
	{ &borrow_argp, 0, NULL, 0 },
	{ &triggers_argp, 0, NULL, 0 },
	{ &borrow_malloc_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = cmd_profile_parse_option,
	.children = children,
	.args_doc = "start|stop|dump|status [PID]\n[PID] --seconds DURATION",
	.doc = "Find out which code allocates the memory that a process has, from now on.\n"
	       "The agent is loaded into it, and notes the stack of one allocation for each 512 "
	       "KiB "
	       "(--rate); when a block is freed, it is subtracted.  All threads are stopped for a "
	       "moment when the profile begins and when it ends.  With --seconds memdiag waits for "
	       "so long, ends the profile and writes PREFIX.PID.SEQ.KINDn.TIME.heap (--output "
	       "PREFIX, default 'memdiag'); Ctrl-C ends it early.  'stop' and 'dump' write such a "
	       "file, too.  'memdiag report' reads it, and so do go tool pprof, jeprof and "
	       "google-pprof.\v"
	       "Examples:\n"
	       "  memdiag profile --pid 1234 --seconds 60\n"
	       "  memdiag profile -p 1234 -s 60 -c 1024 -o /tmp/custom_\n"
	       "  memdiag profile start --pid 1234\n"
	       "  memdiag profile stop --pid 1234\n\n"
	       "Starting or stopping twice prints a note and changes "
	       "nothing.\n\n" UI_EXIT_STATUS_HELP,
};

static int
cmd_profile_run(int argc, char **argv, struct err *e)
{
	struct profile_options opt = { .capture = WIRE_PROFILE,
		.period_bytes = PROFILE_DEFAULT_PERIOD_BYTES };

	ui_parse(&argp, argc, argv, &opt);
	return noting_run(&opt, e);
}

const struct command cmd_profile = {
	.name = "profile",
	.summary = "find out which code holds the memory, of a running process",
	.touch = CMD_CHANGES_TARGET,
	.run = cmd_profile_run,
};
