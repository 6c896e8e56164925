/*
 * live-files: the files that names of a running process's code are in, as it has them: deleted, of
 * another mount namespace, or the kernel's own.
 */
#ifndef MEMDIAG_CAPTURE_LIVE_FILES_H
#define MEMDIAG_CAPTURE_LIVE_FILES_H

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
 * symbols_find() by the files of PROCESS, unless OPTIONS name others (program, sysroot); PROCESS
 * may be NULL: it has ended, and files are found by their names.
 */
int live_files_name(struct profile *p, const struct process *process,
	const struct symbols_options *options, struct err *e);

#endif
