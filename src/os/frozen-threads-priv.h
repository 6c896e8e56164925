/*
 * frozen-threads-priv: the threads of a process of which there is a copy, for other files of os/.
 */
#ifndef MEMDIAG_OS_FROZEN_THREADS_PRIV_H
#define MEMDIAG_OS_FROZEN_THREADS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "os/proc.h"
#include "os/status.h"

struct target;

struct frozen_thread {
	pid_t tid;
	char comm[OS_COMM_BYTES];
	struct os_syscall syscall;
	bool has_robust_list;
	raddr robust_list;
	size_t first, nr_sets; /* in the sets */
};

struct frozen_set {
	size_t at, bytes; /* in the bytes of all sets */
};

struct os_frozen {
	const struct target *of;
	pid_t helper;
	struct {
		struct frozen_thread *v; /* by tid */
		size_t nr, room;
	} thread;
	struct {
		struct frozen_set *v;
		size_t nr, room;
	} set;
	struct {
		char *v;
		size_t nr, room;
	} bytes;
};

/* Return thread TID of F, or NULL. */
const struct frozen_thread *frozen_find(const struct os_frozen *f, pid_t tid);

/* As os_threads(), os_thread_syscall() and os_robust_list(). */
int frozen_threads(
	const struct os_frozen *f, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e);
int frozen_syscall(const struct os_frozen *f, pid_t tid, struct os_syscall *ret, struct err *e);
int frozen_robust_list(const struct os_frozen *f, pid_t tid, raddr *ret);

#endif
