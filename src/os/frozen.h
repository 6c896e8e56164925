/*
 * frozen: a copy of a process, which a fork has made, as a target: its memory is that of the copy,
 * its threads are those of the process at that moment.
 */
#ifndef MEMDIAG_OS_FROZEN_H
#define MEMDIAG_OS_FROZEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* The threads of a process at a moment. */
struct os_frozen;

/*
 * Open process PID, the copy of the process of F, as a target.  F stays the caller's, and must
 * outlive T.  Returns 0, or -1 with E.
 */
int target_open_frozen(struct target *t, pid_t pid, const struct os_frozen *f, struct err *e);

/* Return the process of which T is a copy, or NULL if T is none. */
const struct target *os_frozen_of(const struct target *t);

/* Return the main thread of T: that of a copy is the one of the process. */
pid_t os_main_thread(const struct target *t);

/* Return the thread of memdiag that made the copy T; 0 if T is no copy. */
pid_t os_frozen_helper(const struct target *t);

/* Return whether the memory of T does not change: that of a copy or of a core file. */
bool os_is_still(const struct target *t);

/*
 * Call FN with ARG for each set of registers of thread TID of T, a copy or a core file: BYTES at
 * AT, words of the processor and some numbers of the kernel.  *RET_SP is its stack pointer.
 * Returns 0, or -1 without such a thread.
 */
int os_each_regset(const struct target *t, pid_t tid,
	void (*fn)(const char *at, size_t bytes, void *arg), void *arg, raddr *ret_sp);

#endif
