/*
 * threads: the threads of a target, and what each of them is doing, without stopping it.
 */
#ifndef MEMDIAG_OS_THREADS_H
#define MEMDIAG_OS_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/*
 * The thread numbers in the order of /proc/PID/task, the first MAX of them: the kernel takes its
 * time for each.  *RET_TIDS is the caller's to free.
 */
int os_threads(const struct target *t, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e);

#define OS_COMM_BYTES                                                                              \
	64 /* TASK_COMM_LEN is 16; of a kernel thread comm shows up to 64 (fs/proc/array.c) */

/* The name of thread TID of a live T as the kernel has it, "?" if it is gone.  Returns BUF. */
const char *os_thread_comm(const struct target *t, pid_t tid, char buf[static OS_COMM_BYTES]);

/* The name of thread TID as text_escape() writes it, "?" if it is gone. */
const char *os_thread_name(const struct target *t, pid_t tid, char *buf, size_t size);

/* The system call that thread TID is in, without stopping it (/proc/PID/task/TID/syscall). */
struct os_syscall {
	bool is_running; /* then nothing else is known */
	long nr;	 /* -1: blocked, but not in a system call (page fault, stopped) */
	uint64_t arg[6];
	raddr sp, pc;
};

int os_thread_syscall(const struct target *t, pid_t tid, struct os_syscall *ret, struct err *e);

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

/*
 * "futex()" for system call NR, "system call 4711" for one without a name here, into BUF; returns
 * BUF.
 */
const char *os_call_name(long nr, char *buf, size_t size);

/*
 * The head of thread TID's robust futex list: it lies in glibc's struct pthread, at the top of the
 * thread's stack.  Works on running threads, stops none.  Returns 0 or -1 (no list, no right).
 */
int os_robust_list(const struct target *t, pid_t tid, raddr *ret_head);

/*
 * The thread pointer of TID, which glibc's struct pthread is found by: in core files of 64 bit
 * only, for one would have to stop the thread of a process.  Returns 0 or -1.
 */
int os_thread_pointer(const struct target *t, pid_t tid, raddr *ret);

/*
 * Whether TID is a thread that the kernel runs on behalf of the process, as io_uring's "iou-wrk"
 * and "iou-sqp".  It never runs code of the program, and has no thread descriptor.
 */
bool os_is_kernel_worker(const struct target *t, pid_t tid);

#endif
