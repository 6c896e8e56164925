/* profile-file: the names of .heap files, and writing them, for the commands that take profiles. */
#ifndef MEMDIAG_CAPTURE_PROFILE_FILE_H
#define MEMDIAG_CAPTURE_PROFILE_FILE_H

#include <limits.h>

#include "agentdata/sites.h"
#include "glibc/process.h"
#include "ui/ui.h"
#include "ui/units.h"

/* The default rate of samples. */
#define PROFILE_DEFAULT_PERIOD_BYTES (UINT64_C(512) << 10)

/* The reason to write a file, as the letter in its name: jemalloc's letter if it has one. */
enum profile_kind {
	PROFILE_LAST = 'f',
	PROFILE_BY_HAND = 'm',
	PROFILE_INTERVAL = 'i',
	PROFILE_HIGH_WATER = 'u',
	PROFILE_ABOVE = 'a',
};

/* Kind and bounds, in a row of options, of an option that gives a sampling rate. */
#define PROFILE_RATE                                                                               \
	UI_SIZE, .least = 1, .most = UINT64_C(1) << 40,                                            \
		 .beyond = "is not a rate from 1 byte to 1 TiB"

/* Check that files with PREFIX, or the default if NULL, can be written.  0, or -1 with E. */
int profile_file_check(const char *prefix, struct err *e);

struct profile_file {
	const char *prefix; /* NULL: the default */
	pid_t pid;
	uint32_t number; /* of the process's files, from 0; raised if a name is taken */
	enum profile_kind kind;
	uint32_t nr_of_kind; /* from 0 */
	bool symbols_inside;
};

/*
 * The name of F: <prefix>.<pid>.<number>.<kind><n>.<timestamp>.heap.  No other writer uses its
 * number until it is released: a writer of such files, including the agent, makes
 * <prefix>.<pid>.<number>.part before it uses the number, unless a file with that number exists.
 */
struct profile_name {
	char path[PATH_MAX];
	char part[PATH_MAX]; /* private */
};

/* Take a name.  0, or -1 with E. */
int profile_name_take(struct profile_name *ret, const struct profile_file *f, struct err *e);
/* Release a name when its file exists, or will not be written.  Safe on a zeroed one. */
void profile_name_release(struct profile_name *n);
#define auto_profile_name __attribute__((cleanup(profile_name_release)))

/*
 * Write C, of the process P or of one that has ended (NULL), to a new file; store its name in PATH,
 * of SIZE.  0, or -1 with E and without a file.
 */
int profile_file_write(const struct profile_file *f, const struct sites_copy *c,
	const struct process *p, const struct ui_options *opt, char *path, size_t size,
	struct err *e);

#endif
