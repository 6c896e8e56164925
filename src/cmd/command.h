/*
 * cmd: one file per command.  A command parses its own options, asks the rooms below for facts,
 * and prints them.
 */
#ifndef MEMDIAG_CMD_COMMAND_H
#define MEMDIAG_CMD_COMMAND_H

#include "base/err.h"
#include "ui/option.h"

/* The effect of a command on its target; --help prints it. */
enum command_touch {
	CMD_TOUCHES_NOTHING, /* has no target */
	CMD_READS_TARGET,    /* only looks */
	CMD_STOPS_TARGET,    /* stops it for a bounded time, and runs nothing in it */
	CMD_BORROWS_THREAD,  /* stops one thread for about a millisecond and calls libc in it */
	CMD_CHANGES_TARGET,  /* as above, and the process is meant to be different afterwards */
	CMD_STARTS_PROGRAM,  /* which is to find signals as we found them */
	/*
	 * only looks, also at a program that it starts: it calls os_ignore_failed_writes() and
	 * os_die_first() when that cannot inherit it
	 */
	CMD_MAY_START_PROGRAM,
};

struct command {
	const char *name;
	const char *summary; /* one line, lower case, no full stop */
	enum command_touch touch;
	const struct ui_syntax *syntax;
	/* A word that makes it another command, with a syntax of that; NULL: there is none. */
	const char *verb;
	const struct ui_syntax *verb_syntax;
	/* ARGV[0] is "memdiag NAME".  The exit status (ui/ui.h), or -1 with E set. */
	int (*run)(int argc, char **argv, struct err *e);
};

/* All commands in the order of the help text, NULL at the end. */
extern const struct command *const commands[];

/* The command called NAME, NULL if none. */
const struct command *command_find(const char *name);

/* The command whose name is nearest to NAME, at most two letters away, else NULL. */
const struct command *command_guess(const char *name);

#endif
