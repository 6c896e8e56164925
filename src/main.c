/*
 * main: find the command, run it, print the one error.
 */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>
#include <elfutils/version.h>
#include <jansson.h>
#include <libsmartcols.h>
#include <libunwind.h>

#include "cmd/command.h"
#include "ui/ui.h"

static void
print_help(FILE *f)
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
	      "'memdiag COMMAND --help' tells more; so does the manual, memdiag(1).\n"
	      "Other options: --version, --list-commands.\n",
		f);
}

static void
print_version(void)
{
	const XML_Expat_Version expat = XML_ExpatVersionInfo();

	puts(PACKAGE_STRING "\nLicence MIT: no warranty.");
	printf("Calls into " MD_HOST_CPU " processes.  With expat %d.%d.%d, jansson %s, libelf 0.%d, "
	       "libsmartcols %s,\nlibunwind %d.%d.\n",
		expat.major, expat.minor, expat.micro, JANSSON_VERSION, _ELFUTILS_VERSION,
		LIBSMARTCOLS_VERSION, UNW_VERSION_MAJOR, UNW_VERSION_MINOR);
}

static void
list_commands(void)
{
	for (size_t i = 0; commands[i]; i++)
		puts(commands[i]->name);
}

static int
unknown_command(const char *name)
{
	const struct command *guess = command_guess(name);

	fprintf(stderr, "memdiag: there is no command '%s'", name);
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

	/* A reader that went away is an error of the write, told like any other. */
	if (c->touch != CMD_STARTS_PROGRAM)
		signal(SIGPIPE, SIG_IGN);
	snprintf(name, sizeof name, "memdiag %s", c->name);
	argv[0] = name;
	status = c->run(argc, argv, &e);
	if (status >= 0)
		return status;
	if (e.code == ESRCH)	/* whatever failed by it, this is why */
		err_hint(&e, "It has ended meanwhile");
	fprintf(stderr, "memdiag %s: %s\n", c->name, e.msg);
	return ui_exit_of(&e);
}

/*
 * The command may stand after options ("memdiag --pid 1 info"): the first word that names one is
 * it, and it is taken out.  Returns its index, 0 if there is none.
 */
static int
find_command(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (command_find(argv[i]))
			return i;
	return 0;
}

int
main(int argc, char **argv)
{
	const struct command *c;
	int at;

	/* Our few threads share one: an arena for each takes longer to make than they work. */
	mallopt(M_ARENA_MAX, 1);
	if (ui_keep_standard_files() < 0)
		return UI_FAILED;
	if (argc < 2) {
		print_help(stderr);
		return UI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		static char help[] = "--help";

		if (argc > 2 && command_find(argv[2])) {	/* memdiag help COMMAND */
			char *forward[] = { argv[0], help, NULL };

			return run_command(command_find(argv[2]), 2, forward);
		}
		print_help(stdout);
		return fflush(stdout) ? UI_FAILED : UI_DONE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		print_version();
		return fflush(stdout) ? UI_FAILED : UI_DONE;
	}
	if (!strcmp(argv[1], "--list-commands")) {
		list_commands();
		return fflush(stdout) ? UI_FAILED : UI_DONE;
	}
	at = find_command(argc, argv);
	if (!at)
		return unknown_command(argv[1]);
	c = command_find(argv[at]);
	memmove(&argv[at], &argv[at + 1], (size_t)(argc - at) * sizeof *argv);
	return run_command(c, argc - 1, argv);
}
