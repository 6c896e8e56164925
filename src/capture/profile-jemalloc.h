/* profile-jemalloc: captures a profile by jemalloc's own profiler. */
#ifndef MEMDIAG_CAPTURE_PROFILE_JEMALLOC_H
#define MEMDIAG_CAPTURE_PROFILE_JEMALLOC_H

#include "capture/capture.h"
#include "capture/jemalloc-process.h"
#include "os/os.h"

/* Do what OPT requests in T, whose process is P.  0, or -1 with E. */
int profile_jemalloc(struct target *t, struct jemalloc_process *p,
	const struct capture_options *opt, struct capture_result *ret, struct err *e);

#endif
