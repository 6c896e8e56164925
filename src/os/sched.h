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

/* A thread's sleep. */
struct os_asleep {
	/* as os_now_ns(); an error of some microseconds makes it late, not early */
	uint64_t since_ns;
	uint64_t nr_sleeps;	       /* how often it went to sleep or was stopped so far */
	uint64_t nr_preempted, run_ns; /* involuntary switches, and time on a processor, so far */
	uint64_t at_ns;		       /* SINCE_NS on the clock of processor CPU; 0: unknown */
	int cpu;
};

/*
 * Get since when the sleeping thread TID has slept without waking up, even inside the kernel.  Runs
 * on that thread's processor for a moment.  0, or -1 with E: ERR_UNSUPPORTED if the kernel does not
 * show it (CONFIG_SCHED_DEBUG before 6.15) or we may not run there.
 */
int os_thread_asleep(const struct target *t, pid_t tid, struct os_asleep *ret, struct err *e);

/*
 * Return whether thread TID, which A describes and which has been stopped since, slept at least
 * until UNTIL_NS of os_now_ns().  False if unknown.
 */
bool os_thread_has_slept(
	const struct target *t, pid_t tid, const struct os_asleep *a, uint64_t until_ns);

#endif
