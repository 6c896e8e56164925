/*
 * launch: a program that memdiag starts with the agent in front of its malloc: its environment, and
 * the files in memory that its counters are in.
 */
#ifndef MEMDIAG_AGENTCTL_LAUNCH_H
#define MEMDIAG_AGENTCTL_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/settings.h"
#include "wire/wire.h"

struct launch {
	char **argv; /* of the program, borrowed */
	char path[PATH_MAX];
	char **environment; /* owned, but not what it points to; with two places for ours */
	size_t nr_environment;
	char agent[PATH_MAX];
	int segment_fd;
	char segment_path[64];
	struct wire_segment *segment; /* NULL: the agent makes one of its own */
	/* -1: children are not followed, or no memdiag stays to read it */
	int family_fd;
	char family_path[64];
};
#define LAUNCH_NONE                                                                                \
	{                                                                                          \
		.segment_fd = -1, .family_fd = -1                                                  \
	}

/*
 * Copy memdiag's environment, before argp adds to it, without LD_PRELOAD and the agent's settings.
 * L must be LAUNCH_NONE, and is to be released in any case.  0, or -1 with E.
 */
int launch_keep_environment(struct launch *l, struct err *e);
/* Whether that copy has a variable called NAME. */
bool launch_has_variable(const struct launch *l, const char *name);

/*
 * Find the agent and the program l->argv[0], and whether ld.so will load the one into the other.
 * 0, or -1 with E: that of program_find() and program_check(), or no agent can be preloaded.
 */
int launch_find(struct launch *l, struct err *e);

/*
 * Make the file for the program's counters, which stay in it when the program has ended in whatever
 * way.  0, or -1 with E, which is EFBIG under a low RLIMIT_FSIZE.
 */
int launch_make_segment(struct launch *l, struct err *e);
/*
 * Make the file for the counters of it and of all processes that it starts, which may have
 * LIMIT_BYTES together; INT64_MAX: no limit.  0, or -1 with E.
 */
int launch_make_family(struct launch *l, int64_t limit_bytes, struct err *e);

/*
 * Execute the program in place of this process, with the agent and SETTINGS, whose PID, segment and
 * family are filled in here.  Returns only if that fails: -1 with E, ERR_NOT_FOUND or
 * ERR_NOT_EXECUTABLE if it is the program's fault.
 */
int launch_become(const struct launch *l, const struct wire_settings *settings, struct err *e);

/*
 * Copy what the agent has counted in the program, which was process PID, into COPY, which has room
 * for WIRE_WHOLE_BYTES.  Its counters are in the file of all processes if there is one.  False: the
 * agent did not start in it.
 */
bool launch_read(const struct launch *l, pid_t pid, struct wire_segment *copy);

void launch_release(struct launch *l);

#endif
