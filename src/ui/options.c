#include <config.h>

#include "ui/ui.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/debug.h"
#include "base/text.h"

#define DEFAULT_TIMEOUT_NS (UINT64_C(30) * 1000000000)
/* A log has gigabytes, and debug information may come from the net. */
#define DEFAULT_FILES_TIMEOUT_NS (UINT64_C(600) * 1000000000)
/* A thread's stack and the smallest of files need less. */
#define LEAST_MEMORY_BYTES (UINT64_C(32) << 20)
/* PID_MAX_LIMIT on 64 bit (include/linux/threads.h): no process can have a greater number. */
#define PID_MAX 4194304

enum { KEY_TIMEOUT = 0x1000, KEY_DEBUG, KEY_USAGE, KEY_ALL, KEY_MAX_MEMORY };

/* A command's own options are of group 0 or 1, those of the borrowed thread of 2. */
static const struct argp_option target_options[] = {
	{ "pid", 'p', "PID", 0,
		"the process to look at: its number, or its name if no other process has it; "
		"without -p a bare word means the same",
		0 },
	{ "timeout", KEY_TIMEOUT, "DURATION", 0,
		"give up after this long: 500ms, 10s, 2m (30s if not given)", 0 },
	{ 0 },
};
static const struct argp_option file_timeout_options[] = {
	{ "timeout", KEY_TIMEOUT, "DURATION", 0,
		"give up after this long: 500ms, 10s, 2m (10m if not given)", 0 },
	{ 0 },
};
static const struct argp_option memory_options[] = {
	{ "max-memory", KEY_MAX_MEMORY, "SIZE", 0,
		"take no more memory for what is read: 512M, 8G (half of what is available if "
		"not given)",
		0 },
	{ 0 },
};
static const struct argp_option several_options[] = {
	{ "all", KEY_ALL, NULL, 0,
		"with -p NAME: all processes of that name; several processes are a line each, and "
		"a total",
		0 },
	{ 0 },
};
static const struct argp_option output_options[] = {
	{ NULL, 0, NULL, 0, "Output:", 3 },
	{ "json", 'j', NULL, 0, "write JSON; sizes are bytes", 3 },
	{ "output", 'o', "FILE", 0, "write to FILE instead of standard output", 3 },
	{ "force", 'f', NULL, 0, "overwrite FILE if it is there", 3 },
	{ "bytes", 'b', NULL, 0, "sizes as exact numbers of bytes", 3 },
	{ "quiet", 'q', NULL, 0, "no notes on standard error", 3 },
	{ "verbose", 'v', NULL, 0, "print more", 3 },
	{ NULL, 0, NULL, 0, "Other:", -1 },
	{ "help", 'h', NULL, 0, "print this help", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "print a short usage message", -1 },
	{ "debug", KEY_DEBUG, NULL, 0, "print what memdiag does, on standard error", -1 },
	{ 0 },
};

/* ---- numbers ---- */

struct unit {
	const char *name;
	double factor;
};

/* A decimal number and the name of one of UNITS (up to NULL) behind it, in the base unit. */
static bool
parse_with_unit(const char *text, const struct unit *units, uint64_t *ret)
{
	double value;
	char *end;

	/* strtod() also takes blanks, signs, hexadecimal and "inf". */
	if (tolower((unsigned char)text[strspn(text, "0123456789.")]) == 'x' ||
		!isdigit((unsigned char)text[0]))
		return false;
	value = strtod(text, &end);
	for (; units->name; units++)
		if (strcasecmp(end, units->name) == 0)
			break;
	if (!units->name || !(value * units->factor < 0x1p63))
		return false;
	*ret = (uint64_t)(value * units->factor);
	return true;
}

bool
ui_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "K", 0x1p10 },
		{ "KB", 0x1p10 },
		{ "KiB", 0x1p10 },
		{ "M", 0x1p20 },
		{ "MB", 0x1p20 },
		{ "MiB", 0x1p20 },
		{ "G", 0x1p30 },
		{ "GB", 0x1p30 },
		{ "GiB", 0x1p30 },
		{ "T", 0x1p40 },
		{ "TB", 0x1p40 },
		{ "TiB", 0x1p40 },
		{ NULL, 0 },
	};

	return parse_with_unit(text, units, ret_bytes);
}

bool
ui_parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "", 1e9 },
		{ "s", 1e9 },
		{ "ms", 1e6 },
		{ "us", 1e3 },
		{ "m", 60e9 },
		{ "h", 3600e9 },
		{ NULL, 0 },
	};

	return parse_with_unit(text, units, ret_ns);
}

int
ui_word_option(struct argp_state *state, const char *arg, const char *const *names, const char *why)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(arg, names[i]) == 0)
			return i;
	ui_refuse(state, arg, why);
	return 0;
}

unsigned long
ui_parse_count(struct argp_state *state, const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (!isdigit((unsigned char)arg[0]) || *end || n > INT32_MAX)
		ui_refuse(state, arg, "is not a number");
	return n;
}

uint64_t
ui_size_option(struct argp_state *state, const char *arg)
{
	uint64_t bytes = 0;

	if (!ui_parse_size(arg, &bytes))
		ui_refuse(state, arg, "is not a size: say 512K, 64M or 2G");
	return bytes;
}

uint64_t
ui_duration_option(struct argp_state *state, const char *arg)
{
	uint64_t ns = 0;

	if (!ui_parse_duration(arg, &ns))
		ui_refuse(state, arg, "is not a duration: say 500ms, 10s, 2m or 1h");
	return ns;
}

/* ---- options ---- */

/* argp exits with UI_USAGE. */
void
ui_refuse(struct argp_state *state, const char *arg, const char *why)
{
	char shown[80];

	argp_error(state, "'%s' %s", text_printable(arg, shown, sizeof shown), why);
}

/* Add a process that was not named yet. */
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
			"two processes: one at a time; maps, info, heap, trim and status take "
			"several");
	p = array_add(&o->asked);
	if (!p)
		argp_failure(state, UI_FAILED, ENOMEM, "cannot keep the processes");
	else
		*p = new;
}

/* A number is always a PID. */
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

static void
options_print_help(struct argp_state *state, unsigned int what)
{
	argp_state_help(state, stdout, what & ~(unsigned int)ARGP_HELP_EXIT_OK);
	exit(fflush(stdout) ? UI_FAILED : UI_DONE);
}

static void
set_timeout(struct argp_state *state, struct ui_options *o, const char *arg)
{
	o->timeout_ns = ui_duration_option(state, arg);
	if (!o->timeout_ns)
		ui_refuse(state, arg, "is no time at all: say 500ms, 10s or 2m");
	o->files_timeout_ns = o->timeout_ns;
}

/* Before options are read. */
static void
set_timeouts(struct ui_options *o)
{
	if (!o->timeout_ns)
		o->timeout_ns = DEFAULT_TIMEOUT_NS;
	if (!o->files_timeout_ns)
		o->files_timeout_ns = DEFAULT_FILES_TIMEOUT_NS;
}

static error_t
parse_target(int key, char *arg, struct argp_state *state)
{
	struct ui_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		set_timeouts(o);
		return 0;
	case 'p':
	case ARGP_KEY_ARG:
		ui_process_option(state, o, arg);
		return 0;
	case KEY_TIMEOUT:
		set_timeout(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->asked.nr && !o->pid_optional)
			argp_error(state, "which process? use --pid PID, or --pid NAME");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t
parse_file_timeout(int key, char *arg, struct argp_state *state)
{
	struct ui_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		set_timeouts(o);
		return 0;
	case KEY_TIMEOUT:
		set_timeout(state, o, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t
parse_memory(int key, char *arg, struct argp_state *state)
{
	struct ui_options *o = state->input;

	if (key != KEY_MAX_MEMORY)
		return ARGP_ERR_UNKNOWN;
	o->max_memory_bytes = ui_size_option(state, arg);
	if (o->max_memory_bytes < LEAST_MEMORY_BYTES)
		ui_refuse(state, arg, "is too little memory: say 32M or more");
	return 0;
}

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

static error_t
parse_several(int key, char *arg, struct argp_state *state)
{
	struct ui_options *o = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		o->takes_several = true;
		return 0;
	case KEY_ALL:
		o->all_of_name = true;
		return 0;
	case ARGP_KEY_END:
		if (o->all_of_name && !options_has_name(&o->asked))
			argp_error(
				state, "--all is for the name of processes, as in -p NAME --all");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t
parse_output(int key, char *arg, struct argp_state *state)
{
	struct ui_options *o = state->input;

	switch (key) {
	case 'j':
		o->json = true;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	case 'b':
		o->bytes = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose++;
		return 0;
	case KEY_DEBUG:
		debug_enable();
		return 0;
	case 'h':
		options_print_help(state, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		options_print_help(state, ARGP_HELP_STD_USAGE);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp ui_output_argp = { .options = output_options, .parser = parse_output };

static const struct argp_child output_children[] = { { &ui_output_argp, 0, NULL, 0 }, { 0 } };

const struct argp ui_options_argp = {
	.options = target_options,
	.parser = parse_target,
	.children = output_children,
};

const struct argp_child ui_options_children[] = { { &ui_options_argp, 0, NULL, 0 }, { 0 } };

const struct argp ui_memory_argp = { .options = memory_options, .parser = parse_memory };

const struct argp ui_file_argp = {
	.options = file_timeout_options,
	.parser = parse_file_timeout,
	.children = output_children,
};

const struct argp ui_several_argp = {
	.options = several_options,
	.parser = parse_several,
	.children = ui_options_children,
};

const struct argp_child ui_several_children[] = { { &ui_several_argp, 0, NULL, 0 }, { 0 } };

/* The behaviour that argp cannot be configured for. */
static void
options_parse(
	const struct argp *argp, int argc, char **argv, unsigned int flags, int *index, void *input)
{
	static const char format[] = "ARGP_HELP_FMT";
	const bool is_free = !getenv(format);

	/* Letters of names are the user's; numbers stay as scripts expect them. */
	setlocale(LC_CTYPE, "");
	/* argp wraps each help in a paragraph on arguments that no filter can take out. */
	if (is_free)
		setenv(format, "no-dup-args-note", 1);
	argp_parse(argp, argc, argv, flags | ARGP_NO_HELP, index, input);
	if (is_free) /* programs that we start find the environment as we did */
		unsetenv(format);
}

void
ui_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	options_parse(argp, argc, argv, 0, NULL, input);
}

void
ui_parse_in_order(const struct argp *argp, int argc, char **argv, void *input)
{
	options_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, input);
}

int
ui_parse_until_word(const struct argp *argp, int argc, char **argv, void *input)
{
	int index = argc;

	/* No parser takes ARGP_KEY_ARG, so argp ends there and returns the index. */
	options_parse(argp, argc, argv, ARGP_IN_ORDER, &index, input);
	return index;
}
