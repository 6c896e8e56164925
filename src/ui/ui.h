/*
 * ui: the commands' interface to people and scripts: options, units, tables, JSON, exit statuses.
 * Data goes to stdout, messages go to stderr.
 */
#ifndef MEMDIAG_UI_UI_H
#define MEMDIAG_UI_UI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "os/place.h"

/* The last paragraph of every command's --help. */
#define UI_EXIT_STATUS_HELP                                                                        \
	"Exit status: 0 done, 1 failed, 2 partial, 3 no such process, 4 not permitted, 5 target "  \
	"not supported, 6 no safe moment and nothing was changed, 64 usage."

/* ---- options that every command takes -------------------------------------------------------- */

/* A process as requested. */
struct ui_process {
	pid_t pid; /* 0: requested by NAME */
	const char *name;
};

struct ui_processes {
	struct ui_process *v; /* each one once */
	size_t nr, room;
};

struct ui_options {
	pid_t pid; /* 0 until ui_find_process() */
	struct ui_processes asked;
	bool takes_several; /* the command accepts several processes: ui_several_syntax */
	bool all_of_name;   /* --all: a name selects all processes of that name */
	bool json;
	const char *output;	   /* -o FILE; NULL or "-" is stdout */
	bool force;		   /* -f: overwrite FILE */
	bool is_private;	   /* set by a command: only the owner may read FILE */
	bool bytes;		   /* -b: sizes as exact numbers of bytes */
	bool quiet;		   /* -q: no notes on stderr */
	int verbose;		   /* -v, can be repeated */
	uint64_t timeout_ns;	   /* --timeout, for the whole command; 30 s if not given */
	uint64_t files_timeout_ns; /* --timeout for reading files; 10 m if not given */
	uint64_t max_memory_bytes; /* --max-memory; 0: not given */
	bool pid_optional;	   /* set by a command that works without a process */
};

/*
 * The destination of the data.  With -o it is a temporary file in the directory of FILE that
 * ui_output_close() renames, so FILE is never incomplete.
 */
struct ui_output {
	FILE *f;
	char *path;		      /* NULL for a standard stream */
	struct os_place place;	      /* directory of PATH */
	char temporary[NAME_MAX + 1]; /* name in that directory; "" for a device or pipe */
	bool may_replace;	      /* -f */
	bool is_terminal;
	bool has_lines;	   /* set by a command: a JSON document is one line */
	bool use_colour;   /* NO_COLOR, CLICOLOR_FORCE, TERM=dumb, not a terminal */
	int columns, rows; /* size of the terminal, 0 without one */
};

#define UI_OUTPUT_NONE                                                                             \
	(struct ui_output)                                                                         \
	{                                                                                          \
		.place = {.dir_fd = -1, .held_fd = -1 }                                            \
	}
#define UI_ROUGH_LEGEND                                                                            \
	"~ is approximate: a check failed, not all could be read, it changed meanwhile, or "       \
	"others have pages there.\n"
#define UI_GUESS_LEGEND                                                                            \
	"? marks a guess: by the shape or place of a mapping, or pages spread over its parts.\n"
/* ui_table_print() prints this if a cell is "?", which means unknown. */
#define UI_UNKNOWN_LEGEND "A single ? stands for what is not known.\n"

#endif
