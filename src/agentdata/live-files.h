/*
 * live-files: the files with the names of a running process's code, as the process sees them:
 * deleted, in another mount namespace, or the kernel's own.
 */
#ifndef MEMDIAG_AGENTDATA_LIVE_FILES_H
#define MEMDIAG_AGENTDATA_LIVE_FILES_H

#include "glibc/process.h"
#include "profile/profile.h"
#include "profile/symbols.h"

struct live_files {
	const struct process *process; /* borrowed */
};

/* The functions of struct symbols_files, with a struct live_files as ARG. */
int live_files_mapped(const struct profile_mapping *m, void *arg);
int live_files_perf_map(void *arg);

/*
 * Call symbols_find() with the files of PROCESS, unless OPTIONS give others (program, sysroot).
 * PROCESS is NULL if it has ended; files are then found by their names.
 */
int live_files_name(struct profile *p, const struct process *process,
	const struct symbols_options *options, struct err *e);

#endif
