#include <config.h>

#include "ui/options.h"

#include "base/array.h"
#include "base/debug.h"
#include "ui/exit.h"
#include "ui/option.h"
#include "ui/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_NS (UINT64_C(30) * 1000000000)
/* A log may have gigabytes, and debug information may come from the network. */
#define DEFAULT_FILES_TIMEOUT_NS (UINT64_C(600) * 1000000000)
/* A smaller limit would not suffice for a thread's stack and small files. */
#define LEAST_MEMORY_BYTES (UINT64_C(32) << 20)
/* PID_MAX_LIMIT on 64 bit (include/linux/threads.h): PIDs cannot be larger. */
#define PID_MAX 4194304

/* ---- processes ---- */

/* Add a process unless it was already named. */
static void
options_add_process(struct argp_state *state, struct ui_options *o, struct ui_process new)
{
	struct ui_process *p;

	for (size_t i = 0; i < o->asked.nr; i++) {
		p = &o->asked.v[i];
		if (p->pid == new.pid && (new.pid || strcmp(p->name, new.name) == 0))
			return;
	}
	if (o->asked.nr && !o->takes_several)
		argp_error(state,
			"two processes: one at a time; maps, info, heap, trim and status take several");
	p = array_add(&o->asked);
	if (!p)
		argp_failure(state, UI_FAILED, ENOMEM, "cannot keep the processes");
	else
		*p = new;
}

/* True if ARG is a number, which is always a PID. */
static bool
options_is_number(const char *arg)
{
	return arg[strspn(arg, "0123456789,+- ")] == '\0';
}

void
ui_process_option(struct argp_state *state, struct ui_options *o, const char *arg)
{
	const char *at = arg;
	char *end;
	long n;

	if (!options_is_number(arg)) {
		options_add_process(state, o, (struct ui_process){ .name = arg });
		return;
	}
	do {
		n = strtol(at, &end, 10);
		if (!isdigit((unsigned char)at[0]) || (*end && *end != ',') || n < 1 || n > PID_MAX)
			ui_refuse(state, arg,
				"is not a process id: that is a number from 1 to 4194304");
		options_add_process(state, o, (struct ui_process){ .pid = (pid_t)n });
		at = end + 1;
	} while (*end);
}

#define AT(member) UI_AT(struct ui_options, member)

/* ---- commands for a process ---- */

static void
options_set_process(struct argp_state *state, const struct ui_option *o, void *input, char *arg)
{
	(void)o;
	ui_process_option(state, input, arg);
}

static error_t
options_take_process(struct argp_state *state, void *input, char *arg)
{
	ui_process_option(state, input, arg);
	return 0;
}

static void
options_set_timeout(struct argp_state *state, const struct ui_option *o, void *input, char *arg)
{
	struct ui_options *options = input;

	(void)state, (void)o, (void)arg;
	options->files_timeout_ns = options->timeout_ns;
}

/* Set the defaults before options are parsed. */
static void
options_begin(void *input)
{
	struct ui_options *o = input;

	if (!o->timeout_ns)
		o->timeout_ns = DEFAULT_TIMEOUT_NS;
	if (!o->files_timeout_ns)
		o->files_timeout_ns = DEFAULT_FILES_TIMEOUT_NS;
}

static void
options_check_process(struct argp_state *state, void *input)
{
	const struct ui_options *o = input;

	if (!o->asked.nr && !o->pid_optional)
		argp_error(state, "which process? use --pid PID, or --pid NAME");
}

#define TIMEOUT(help)                                                                              \
	{                                                                                          \
		"timeout", 0, "DURATION", 0, help, UI_DURATION, AT(timeout_ns),                    \
			.least = 1, .beyond = "is too short: say 500ms, 10s or 2m",                \
			.set = options_set_timeout                                                 \
	}

/* A command's own options have group 0 or 1, those of the borrowed thread have group 2. */
static const struct ui_option target_options[] = {
	{ "pid", 'p', "PID", 0,
		"the process: its number, or its name if no other process has it; a bare word "
		"without -p means the same",
		UI_PROCESS, .set = options_set_process },
	TIMEOUT("give up after this long: 500ms, 10s, 2m (30s if not given)"),
	{ 0 },
};

/* ---- commands that read files ---- */

static const struct ui_option file_options[] = {
	TIMEOUT("give up after this long: 500ms, 10s, 2m (10m if not given)"),
	{ 0 },
};

static const struct ui_option memory_options[] = {
	{ "max-memory", 0, "SIZE", 0,
		"limit the memory for the input: 512M, 8G (half of the available memory)", UI_SIZE,
		AT(max_memory_bytes), .least = LEAST_MEMORY_BYTES,
		.beyond = "is too little memory: say 32M or more" },
	{ 0 },
};

/* ---- several processes ---- */

bool
ui_is_several(const struct ui_options *o)
{
	return o->all_of_name || o->asked.nr > 1;
}

static bool
options_has_name(const struct ui_processes *asked)
{
	for (size_t i = 0; i < asked->nr; i++)
		if (!asked->v[i].pid)
			return true;
	return false;
}

static void
options_take_several(void *input)
{
	struct ui_options *o = input;

	o->takes_several = true;
}

static void
options_check_several(struct argp_state *state, void *input)
{
	const struct ui_options *o = input;

	if (o->all_of_name && !options_has_name(&o->asked))
		argp_error(state, "--all is for the name of processes, as in -p NAME --all");
}

static const struct ui_option several_options[] = {
	{ "all", 0, NULL, 0,
		"with -p NAME: all processes of that name; several processes are a line each, and "
		"a total",
		UI_FLAG, AT(all_of_name) },
	{ 0 },
};

/* ---- output ---- */

static void
options_print_help(struct argp_state *state, const struct ui_option *o, void *input, char *arg)
{
	const unsigned int what = o->letter ? ARGP_HELP_STD_HELP : ARGP_HELP_STD_USAGE;

	(void)input, (void)arg;
	argp_state_help(state, stdout, what & ~(unsigned int)ARGP_HELP_EXIT_OK);
	exit(fflush(stdout) ? UI_FAILED : UI_DONE);
}

static void
options_debug(struct argp_state *state, const struct ui_option *o, void *input, char *arg)
{
	(void)state, (void)o, (void)input, (void)arg;
	debug_enable();
}

static const struct ui_option output_options[] = {
	{ .group = 3, .help = "Output:" },
	{ "json", 'j', NULL, 3, "write JSON; sizes are bytes", UI_FLAG, AT(json) },
	{ "output", 'o', "FILE", 3, "write to FILE instead of standard output", UI_FILE,
		AT(output) },
	{ "force", 'f', NULL, 3, "overwrite FILE if it exists", UI_FLAG, AT(force) },
	{ "bytes", 'b', NULL, 3, "sizes as exact numbers of bytes", UI_FLAG, AT(bytes) },
	{ "quiet", 'q', NULL, 3, "no notes on standard error", UI_FLAG, AT(quiet) },
	{ "verbose", 'v', NULL, 3, "print more", UI_TIMES, AT(verbose) },
	{ .group = -1, .help = "Other:" },
	{ "help", 'h', NULL, -1, "print this help", UI_FLAG, .set = options_print_help },
	{ "usage", 0, NULL, -1, "print a short usage message", UI_FLAG, .set = options_print_help },
	{ "debug", 0, NULL, -1, "print what memdiag does, on standard error", UI_FLAG,
		.set = options_debug },
	{ 0 },
};

/* ---- syntaxes ---- */

const struct ui_syntax ui_output_syntax = { .options = output_options };

static const struct ui_child output_children[] = { { &ui_output_syntax, 0 }, { 0 } };

const struct ui_syntax ui_options_syntax = {
	.options = target_options,
	.children = output_children,
	.begin = options_begin,
	.argument = options_take_process,
	.check = options_check_process,
};

const struct ui_syntax ui_memory_syntax = { .options = memory_options };

const struct ui_syntax ui_file_syntax = {
	.options = file_options,
	.children = output_children,
	.begin = options_begin,
};

static const struct ui_child options_children[] = { { &ui_options_syntax, 0 }, { 0 } };

const struct ui_syntax ui_several_syntax = {
	.options = several_options,
	.children = options_children,
	.begin = options_take_several,
	.check = options_check_several,
};
