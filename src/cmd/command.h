/*
 * cmd: one file per command.  A command parses its options, asks the lower rooms for facts, and
 * prints them.
 */
#ifndef MEMDIAG_CMD_COMMAND_H
#define MEMDIAG_CMD_COMMAND_H

#include "base/err.h"
#include "ui/option.h"

/* The effect of a command on its target; --help prints it. */
enum command_touch {
	CMD_TOUCHES_NOTHING, /* has no target */
	CMD_READS_TARGET,    /* only reads */
	CMD_STOPS_TARGET,    /* stops it for a bounded time, and runs no code in it */
	CMD_BORROWS_THREAD,  /* stops one thread for about a millisecond and calls libc in it */
	CMD_CHANGES_TARGET,  /* as above, and changes the process permanently */
	/* the program must inherit the signal settings that memdiag inherited */
	CMD_STARTS_PROGRAM,
	/*
	 * only reads, and can start a program to read from; calls os_ignore_failed_writes() and
	 * os_die_first() once that program cannot inherit their effect
	 */
	CMD_MAY_START_PROGRAM,
};

struct command {
	const char *name;
	const char *summary; /* one line, lower case, no full stop */
	enum command_touch touch;
	const struct ui_syntax *syntax;
	/*
	 * A word that selects another command, with the syntax VERB_SYNTAX; NULL if the command has
	 * no verb.
	 */
	const char *verb;
	const struct ui_syntax *verb_syntax;
	/*
	 * Run the command; ARGV[0] is "memdiag NAME".  Returns the exit status (ui/exit.h), or -1
	 * with E set.
	 */
	int (*run)(int argc, char **argv, struct err *e);
};

/* All commands in the order of the help text, NULL at the end. */
extern const struct command *const commands[];

/* Return the command called NAME; NULL if it does not exist. */
const struct command *command_find(const char *name);

/* Return the command whose name is nearest to NAME, at most two edits away, else NULL. */
const struct command *command_guess(const char *name);

#endif
