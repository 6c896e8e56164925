/*
 * arena-threads: the arena of each thread, read from its thread-local storage.
 */
#ifndef MEMDIAG_GLIBC_ARENA_THREADS_H
#define MEMDIAG_GLIBC_ARENA_THREADS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "glibc/arenas.h"

struct target;
struct threads;

/* Find which of THREADS uses which arena by the pointer in its TLS. */
int arenas_find_threads(
	struct arenas *a, const struct target *t, const struct threads *threads, struct err *e);

/* Return the address of the pointer to its arena in the TLS of thread TID; {0} if unknown. */
raddr arenas_slot_of_thread(const struct arenas *a, const struct target *t, pid_t tid);

/*
 * Return the arena of thread TID, read from its TLS; {0} if it has no arena yet or it is unknown.
 */
raddr arenas_of_thread(const struct arenas *a, const struct target *t, pid_t tid);

#endif
