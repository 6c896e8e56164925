/*
 * sched: whether a thread sleeps, and whether it has slept since.
 */
#ifndef MEMDIAG_OS_SCHED_H
#define MEMDIAG_OS_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct target;

/* Since when a thread sleeps. */
struct os_asleep {
	/* of os_now_ns(); some microseconds too late, rather than too early */
	uint64_t since_ns;
	uint64_t nr_sleeps; /* how often it has gone to sleep or has been stopped so far */
	uint64_t nr_preempted, run_ns; /* how often and how long it has run so far */
	uint64_t at_ns;		       /* SINCE_NS on the clock of processor CPU; 0: not known */
	int cpu;
};

/*
 * Since when thread TID, which is asleep, has slept without waking up, if only inside the kernel.
 * Runs on that thread's processor for a moment.  0, or -1 with E: ERR_UNSUPPORTED where the kernel
 * does not show it (CONFIG_SCHED_DEBUG before 6.15) or we may not run there.
 */
int os_thread_asleep(const struct target *t, pid_t tid, struct os_asleep *ret, struct err *e);

/*
 * Whether thread TID, which A is of and which has been stopped since, has slept until UNTIL_NS of
 * os_now_ns() at least.  False if that is not known.
 */
bool os_thread_has_slept(
	const struct target *t, pid_t tid, const struct os_asleep *a, uint64_t until_ns);

#endif
