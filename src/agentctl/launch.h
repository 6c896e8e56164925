/*
 * launch: start a program with the agent intercepting its malloc: its environment, and the files in
 * memory that contain its counters.
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
	char **environment; /* owned, but not its strings; with two places for ours */
	size_t nr_environment;
	char agent[PATH_MAX];
	int segment_fd;
	char segment_path[64];
	struct wire_segment *segment; /* NULL: the agent makes its own */
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
 * L must be LAUNCH_NONE, and must be released in any case.  0, or -1 with E.
 */
int launch_keep_environment(struct launch *l, struct err *e);
/* Return whether that copy has a variable called NAME. */
bool launch_has_variable(const struct launch *l, const char *name);

/*
 * Find the agent and the program l->argv[0], and check that ld.so will load the agent into the
 * program.  0, or -1 with E: that of program_find() and program_check(), or no agent can be
 * preloaded.
 */
int launch_find(struct launch *l, struct err *e);

/*
 * Make the file for the program's counters, which stay in it however the program ends.  0, or -1
 * with E, which is EFBIG under a low RLIMIT_FSIZE.
 */
int launch_make_segment(struct launch *l, struct err *e);
/*
 * Make the file for the counters of the program and of all processes that it starts, which may have
 * LIMIT_BYTES together; INT64_MAX: unlimited.  0, or -1 with E.
 */
int launch_make_family(struct launch *l, int64_t limit_bytes, struct err *e);

/*
 * Execute the program in place of this process, with the agent and SETTINGS, whose PID, segment and
 * family are filled in here.  Returns only on failure: -1 with E, ERR_NOT_FOUND or
 * ERR_NOT_EXECUTABLE if the program is the cause.
 */
int launch_become(const struct launch *l, const struct wire_settings *settings, struct err *e);

/*
 * Copy the agent's counters in the program, which was process PID, to COPY, which has room for
 * WIRE_WHOLE_BYTES.  They are in the file of all processes if that exists.  False if the agent did
 * not start in it.
 */
bool launch_read(const struct launch *l, pid_t pid, struct wire_segment *copy);

void launch_release(struct launch *l);

#endif
