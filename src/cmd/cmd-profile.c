#include <config.h>

#include <stdlib.h>

#include "capture/capture.h"
#include "capture/profile-file.h"
#include "cmd/borrow.h"
#include "cmd/capture-work.h"
#include "cmd/command.h"
#include "cmd/push-work.h"
#include "cmd/triggers.h"
#include "ui/options.h"
#include "ui/ui.h"

/* ---- options ---- */

struct profile_command {
	struct capture_options capture; /* first: some of the syntax takes it as its input */
	struct push_work_options push;
};

#define AT(member) UI_AT(struct capture_options, member)

/* By profile_options.by_agent. */
static const char *const sampler_names[] = { "auto", "agent", NULL };

static const struct ui_option options[] = {
	{ "rate", 'c', "SIZE", 1, "take one sample for SIZE bytes allocated, on average (512K)",
		PROFILE_RATE, AT(period_bytes), UI_GIVEN(struct capture_options, has_period) },
	{ "sampler", 0, "WHICH", 1,
		"take the samples of jemalloc by: auto: its own profiler (default); agent", UI_WORD,
		AT(by_agent), .words = sampler_names, .wrong = "is not a sampler: say " },
	{ "push", 0, "URL", 4,
		"send the samples to the server URL, Pyroscope or Parca, until --seconds, Ctrl-C or "
		"the end of the process; a file is written only with --output",
		UI_STRING, UI_AT(struct profile_command, push.url),
		UI_GIVEN(struct profile_command, capture.is_endless), .set = push_work_set_url,
		.wrong = "does not begin with http:// or https://" },
	{ 0 },
};

static void
cmd_profile_check(struct argp_state *state, void *input)
{
	struct profile_command *c = input;
	struct capture_options *o = &c->capture;

	if (c->push.url && o->has_verb)
		argp_error(state, "--push does all by itself, without start and stop");
	/* jemalloc's profiler has no samples to read while it runs. */
	o->by_agent |= c->push.url != NULL;
	if (o->has_period && o->verb != CAPTURE_ONE_SHOT && o->verb != CAPTURE_START)
		argp_error(state, "--rate is for a profile that begins");
	if (o->ui.output && o->verb == CAPTURE_START)
		argp_error(
			state, "start writes no file: say --output with dump, stop or --seconds");
	if (o->verb != CAPTURE_ONE_SHOT && o->triggers.is_any)
		argp_error(state,
			"files are written while memdiag waits: add --seconds or --at-exit instead of start or stop");
}

static const struct ui_child children[] = {
	{ &capture_work_syntax, 0 },
	{ &ui_options_syntax, offsetof(struct capture_options, ui) },
	{ &borrow_syntax, offsetof(struct capture_options, inject) },
	{ &triggers_syntax, offsetof(struct capture_options, triggers) },
	{ &borrow_malloc_syntax, offsetof(struct capture_options, malloc) },
	{ &push_work_syntax, offsetof(struct profile_command, push) },
	{ 0 },
};

static const struct ui_syntax cmd_profile_syntax = {
	.options = options,
	.children = children,
	.conclude = cmd_profile_check,
	.args_doc = "start|stop|dump|status [PID]\n[PID] --seconds DURATION\n[PID] --push URL",
	.doc = "Show which code allocates the memory of a process, from now on. The agent is "
	       "loaded into it, and records the stack of one allocation for each 512 KiB (--rate); a "
	       "block that is freed is subtracted.  All threads are stopped "
	       "for a moment when the profile begins and when it ends.  With --seconds memdiag "
	       "waits for DURATION, ends the profile and writes PREFIX.PID.SEQ.KINDn.TIME.heap "
	       "(--output PREFIX, default 'memdiag'); Ctrl-C ends it early.  'stop' and 'dump' "
	       "write such a file, too.  'memdiag report', go tool pprof, jeprof and google-pprof "
	       "read it.\vExamples:\n"
	       "  memdiag profile --pid 1234 --seconds 60\n"
	       "  memdiag profile -p 1234 -s 60 -c 1024 -o /tmp/custom_\n"
	       "  memdiag profile -p 1234 --push http://pyroscope:4040 --push-name shop\n"
	       "  memdiag profile start --pid 1234\n"
	       "  memdiag profile stop --pid 1234\n\n"
	       "Starting or stopping twice prints a note and changes nothing.\n\n" UI_EXIT_STATUS_HELP,
};

static int
cmd_profile_run(int argc, char **argv, struct err *e)
{
	struct profile_command c = { .capture = { .capture = WIRE_PROFILE,
					     .period_bytes = PROFILE_DEFAULT_PERIOD_BYTES } };
	int status;

	ui_parse(&cmd_profile_syntax, argc, argv, &c);
	status = capture_work_run(&c.capture, &c.push, e);
	free(c.push.labels.v);
	return status;
}

const struct command cmd_profile = {
	.name = "profile",
	.summary = "find out which code holds the memory, of a running process",
	.touch = CMD_CHANGES_TARGET,
	.syntax = &cmd_profile_syntax,
	.run = cmd_profile_run,
};
