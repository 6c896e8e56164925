/*
 * live-files: the files that names of a running process's code are in, as it has them: deleted, of
 * another mount namespace, or the kernel's own.
 */
#ifndef MEMDIAG_PROFILE_LIVE_FILES_H
#define MEMDIAG_PROFILE_LIVE_FILES_H

#include "glibc/process.h"
#include "report/profile.h"

struct live_files {
	const struct process *process; /* borrowed */
};

/* The functions of struct symbols_files, with a struct live_files as ARG. */
int live_files_mapped(const struct profile_mapping *m, void *arg);
int live_files_perf_map(void *arg);

#endif
