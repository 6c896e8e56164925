/* main: find the command, run it, print its error. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <expat.h>
#include <elfutils/version.h>
#include <jansson.h>
#include <libsmartcols.h>
#include <libunwind.h>

#include "base/text.h"
#include "cmd/command.h"
#include "os/child.h"
#include "ui/begin.h"
#include "ui/exit.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/ui.h"

static void
main_print_help(FILE *f)
{
	fputs("Usage: memdiag COMMAND --pid PID [OPTION...]\n"
	      "       memdiag run [OPTION...] PROGRAM [ARGUMENT...]\n"
	      "Why is this process so big, and what can be done about it without restarting it.\n\n"
	      "Commands:\n",
		f);
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nExamples:\n"
	      "  memdiag info --pid 1234      where the memory is, and what to do\n"
	      "  memdiag trim --pid 1234      give back what malloc keeps\n"
	      "  memdiag maps --pid 1234      break down VIRT and RSS\n"
	      "  memdiag run ./observer       count every byte it allocates, or hold a limit\n\n"
	      "'memdiag COMMAND --help' prints more, and so does the manual, memdiag(1).\n"
	      "Other options: --version, --list-commands.\n",
		f);
}

static void
print_version(FILE *f)
{
	const XML_Expat_Version expat = XML_ExpatVersionInfo();

	fputs(PACKAGE_STRING "\nLicence MIT: no warranty.\n", f);
	fprintf(f,
		"Calls into " MD_HOST_CPU
		" processes.  With expat %d.%d.%d, jansson %s, libelf 0.%d, "
		"libsmartcols %s,\nlibunwind %d.%d.\n",
		expat.major, expat.minor, expat.micro, JANSSON_VERSION, _ELFUTILS_VERSION,
		LIBSMARTCOLS_VERSION, UNW_VERSION_MAJOR, UNW_VERSION_MINOR);
}

static void
list_commands(FILE *f)
{
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "%s\n", commands[i]->name);
}

static int
unknown_command(const char *name)
{
	const struct command *guess = command_guess(name);

	char shown[80];

	fprintf(stderr, "memdiag: there is no command '%s'",
		text_printable(name, shown, sizeof shown));
	if (guess)
		fprintf(stderr, "; did you mean '%s'?", guess->name);
	fputs("\nTry 'memdiag --help'.\n", stderr);
	return UI_USAGE;
}

static int
run_command(const struct command *c, int argc, char **argv)
{
	struct err e = { 0 };
	char name[64];
	int status;

	/* A closed pipe is detected when the output is closed: ui_output_close(). */
	if (c->touch != CMD_STARTS_PROGRAM && c->touch != CMD_MAY_START_PROGRAM) {
		os_ignore_failed_writes();
		os_take_sigint();
	}
	if (c->touch == CMD_READS_TARGET || c->touch == CMD_STOPS_TARGET ||
		c->touch == CMD_BORROWS_THREAD || c->touch == CMD_CHANGES_TARGET)
		os_die_first();
	snprintf(name, sizeof name, "memdiag %s", c->name);
	argv[0] = name;
	status = c->run(argc, argv, &e);
	if (status >= 0)
		return status;
	if (e.code == ESRCH) /* this is the reason for any failure */
		err_hint(&e, "It has ended meanwhile");
	limits_hint(&e);
	fprintf(stderr, "memdiag %s: %s\n", c->name, e.msg);
	return ui_exit_of(&e);
}

/* ---- options before the command ---- */

/* The command line up to the command, which every command parses again with its own options. */
struct front {
	struct ui_options ui;
	int command_at; /* its index, 0 if not found */
};

static void
main_print_and_exit(void (*print)(FILE *f))
{
	print(stdout);
	exit(fflush(stdout) ? UI_FAILED : UI_DONE);
}

/* Handle an option that prints something and exits. */
static void
main_print(struct argp_state *state, const struct ui_option *o, void *input, char *arg)
{
	(void)state, (void)input, (void)arg;
	main_print_and_exit(strcmp(o->name, "version") == 0	? print_version
			: strcmp(o->name, "list-commands") == 0 ? list_commands
								: main_print_help);
}

static void main_list_options(
	struct argp_state *state, const struct ui_option *o, void *input, char *arg);

static const struct ui_option front_options[] = {
	{ "help", 'h', NULL, -1, "print this help", UI_FLAG, .set = main_print },
	{ "usage", 0, NULL, -1, "print this help", UI_FLAG, .set = main_print },
	{ "version", 'V', NULL, -1, "print the version", UI_FLAG, .set = main_print },
	{ "list-commands", 0, NULL, -1, "print the names of all commands", UI_FLAG,
		.set = main_print },
	/* for completion and tests */
	{ "list-options", 0, "COMMAND", -1, NULL, UI_STRING, .set = main_list_options,
		.wrong = "is not a command" },
	{ 0 },
};

static error_t
main_take_command(struct argp_state *state, void *input, char *arg)
{
	struct front *front = input;

	/* Parse a number as a PID. */
	if (arg[strspn(arg, "0123456789,")] == '\0' && *arg)
		return ARGP_ERR_UNKNOWN;
	front->command_at = state->next - 1;
	state->next = state->argc;
	return 0;
}

static const struct ui_child front_children[] = {
	{ &ui_options_syntax, offsetof(struct front, ui) },
	{ 0 },
};

/* The common options of all commands, which may come before the command. */
static const struct ui_syntax front_syntax = {
	.options = front_options,
	.children = front_children,
	.argument = main_take_command,
};

/* List options.  ARG is "COMMAND" or "COMMAND VERB"; "" means the options before a command. */
static void
main_list_options(struct argp_state *state, const struct ui_option *o, void *input, char *arg)
{
	char *rest = NULL, *name = strtok_r(arg, " ", &rest), *verb = strtok_r(NULL, " ", &rest);
	const struct command *c = name ? command_find(name) : NULL;
	const struct ui_syntax *syntax = c ? c->syntax : NULL;

	(void)input;
	if (verb)
		syntax = c && c->verb && strcmp(verb, c->verb) == 0 ? c->verb_syntax : NULL;
	if (!name)
		syntax = &front_syntax;
	if (syntax)
		ui_option_list(syntax, stdout);
	else
		ui_option_refuse(state, o, verb ? verb : name);
	exit(fflush(stdout) ? UI_FAILED : UI_DONE);
}

/*
 * Return the index of the word that is the command, 0 if not found.  The common options may come
 * before it, and an option's argument is not a command: "-o trim info".
 */
static int
find_command(int argc, char **argv)
{
	static char name[] = "memdiag";
	struct front front = { .ui = { .pid_optional = true, .takes_several = true } };

	argv[0] = name; /* for argp's messages */
	ui_parse_in_order(&front_syntax, argc, argv, &front);
	free(front.ui.asked.v);
	return front.command_at;
}

/* Handle memdiag help COMMAND. */
static int
help(int argc, char **argv)
{
	static char option[] = "--help";
	const struct command *c = argc > 2 ? command_find(argv[2]) : NULL;
	char *forward[] = { argv[0], option, NULL };

	if (argc > 2 && !c)
		return unknown_command(argv[2]);
	if (c)
		return run_command(c, 2, forward);
	main_print_and_exit(main_print_help);
	return UI_DONE;
}

int
main(int argc, char **argv)
{
	const enum ui_exit begun = ui_begin();
	const struct command *c;
	int at;

	if (begun != UI_DONE)
		return (int)begun;
	if (argc < 2) {
		main_print_help(stderr);
		return UI_USAGE;
	}
	if (strcmp(argv[1], "help") == 0)
		return help(argc, argv);
	at = find_command(argc, argv);
	if (!at) {
		fputs("memdiag: which command?\nTry 'memdiag --help'.\n", stderr);
		return UI_USAGE;
	}
	c = command_find(argv[at]);
	if (!c)
		return unknown_command(argv[at]);
	memmove(&argv[at], &argv[at + 1], (size_t)(argc - at) * sizeof *argv);
	return run_command(c, argc - 1, argv);
}
