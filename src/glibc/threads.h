/*
 * threads: the threads of a target, and their struct pthread.
 */
#ifndef MEMDIAG_GLIBC_THREADS_H
#define MEMDIAG_GLIBC_THREADS_H

#include <sys/types.h>

#include "elf/objects.h"

struct target;

/*
 * A thread of the target, and the start of its robust futex list, which is in libc's struct
 * pthread.
 */
struct thread {
	pid_t tid;
	raddr head; /* {0}: unknown */
};

struct threads {
	struct thread *v;
	size_t nr, room;
};

/* List the first MAX of T's threads into THREADS, which must be zeroed or released. */
int threads_list(struct threads *threads, const struct target *t, size_t max, struct err *e);
void threads_release(struct threads *threads);
#define auto_threads __attribute__((cleanup(threads_release)))

/*
 * Return the head of thread TID's robust futex list, {0} if unknown.  It lies in struct pthread, at
 * the same distance from its start and from a variable of TLS in all threads.
 */
raddr thread_robust_head(const struct target *t, pid_t tid);

/*
 * Return the address of libc's lock for its lists of stacks, which pthread_create() takes, and
 * which setuid() and related functions hold until every thread has taken part: the word is 0 if the
 * lock is free.  {0}: unknown (before 2.34, or when the first thread has ended).
 */
raddr stack_cache_lock(const struct target *t, const struct objects *o);

#endif
