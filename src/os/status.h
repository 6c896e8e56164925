/*
 * status: /proc/PID/status, /proc/PID/stat, and the threads of a process.
 */
#ifndef MEMDIAG_OS_STATUS_H
#define MEMDIAG_OS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* The fields of /proc/PID/status.  Fields that a kernel does not print stay 0. */
struct os_status {
	char state; /* R S D T t Z X */
	pid_t tgid, ppid, tracer;
	uint32_t uid;		   /* effective */
	uint32_t uids[3], gids[3]; /* real, effective and saved */
	int nr_threads;
	int seccomp;	       /* 0 disabled, 1 strict, 2 filter */
	bool is_kernel_thread; /* false for zombies; from /proc/PID/stat */
	bool has_memory;       /* false for zombies and kernel threads */
	bool has_shadow_stack; /* x86_Thread_features names shstk (6.6+) */
	int nr_pid_namespaces; /* numbers on the NSpid line, 1 outside of any container */
	pid_t inner_tid;       /* the thread's number in its innermost namespace; 0 before 4.1 */
	uint64_t vm_size_bytes, vm_peak_bytes, vm_rss_bytes, vm_hwm_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
	uint64_t vm_swap_bytes, vm_pte_bytes, hugetlb_bytes;
	uint64_t vm_locked_bytes; /* by mlock(), mlockall(): addresses */
	uint64_t signals_pending; /* SigPnd | ShdPnd */
	uint64_t signals_blocked; /* SigBlk */
	uint64_t voluntary_switches;
	uint64_t capabilities; /* CapPrm */
};

int os_status(const struct target *t, pid_t tid, struct os_status *ret, struct err *e);

/*
 * Read field NR, 4 to 52 as in proc(5), of thread TID's stat file into *RET, 0 if the kernel has no
 * such field.  Returns 0, or -1 with E.
 */
int os_stat_field(const struct target *t, pid_t tid, int nr, uint64_t *ret, struct err *e);

/*
 * Fields of /proc/PID/stat.  Addresses are 0 to a caller that may not trace the target (mm_struct
 * is hidden).
 */
struct os_stat {
	raddr start_stack;    /* field 28 */
	raddr start_brk;      /* field 47 */
	raddr arg_start;      /* field 48 */
	uint64_t start_ticks; /* field 22 */
	uint64_t nr_faults;   /* fields 10 and 12: page faults of all threads so far */
};

int os_stat(const struct target *t, struct os_stat *ret, struct err *e);

/*
 * List the first MAX thread numbers in the order of /proc/PID/task: the kernel takes some time for
 * each.  *RET_TIDS is the caller's to free.
 */
int os_threads(const struct target *t, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e);

#define OS_COMM_BYTES                                                                              \
	64 /* TASK_COMM_LEN is 16; comm of a kernel thread has up to 64 (fs/proc/array.c) */

/*
 * Store the name of thread TID of a live T as the kernel has it, "?" if it is gone.  Returns BUF.
 */
const char *os_thread_comm(const struct target *t, pid_t tid, char buf[static OS_COMM_BYTES]);

/* Store the name of thread TID as text_escape() writes it, "?" if it is gone. */
const char *os_thread_name(const struct target *t, pid_t tid, char *buf, size_t size);

/*
 * Return whether TID is a thread that the kernel runs on behalf of the process, such as io_uring's
 * "iou-wrk" and "iou-sqp".  It never runs code of the program, and has no thread descriptor.
 */
bool os_is_kernel_worker(const struct target *t, pid_t tid);

#endif
