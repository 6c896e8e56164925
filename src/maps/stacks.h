/*
 * stacks: the stacks of a process' threads.
 */
#ifndef MEMDIAG_MAPS_STACKS_H
#define MEMDIAG_MAPS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "glibc/threads.h"
#include "os/os.h"

/* ---- stacks: where those of the threads are -------------------------------------------------- */

struct thread_stack {
	pid_t tid;	  /* 0: its thread has ended, and libc keeps it */
	raddr start, end; /* all of it, the guard included */
	/* at its low end; 0 for the main thread, whose guard is no mapping */
	uint64_t guard_bytes;
	raddr tls; /* the page where static TLS begins; from there to the end it is
				 * libc's, struct pthread last.  0 if not known */
	raddr sp;  /* between the guard and here it is unused; 0 if not known */
	bool is_main;
	bool is_guess; /* shown by the mapping around SP; else libc or the kernel says so */
};

struct thread_stacks {
	struct thread_stack *v; /* sorted by start, never overlapping */
	size_t nr, room;
};

/*
 * Find the stacks of T's THREADS, and of ended threads if libc keeps them (glibc does, for up to 40
 * MiB and for those that were not joined), into S, which must be zeroed or released.  A stack that
 * the program itself made lies where it made it, perhaps in malloc's heap.  Nothing is stopped;
 * without WANT_SP, sp is known only where it was needed.  A stack that cannot be determined is left
 * out.
 */
int thread_stacks_find(struct thread_stacks *s, const struct target *t, const struct regions *m,
	const struct objects *o, const struct threads *threads, bool want_sp, struct err *e);
void thread_stacks_release(struct thread_stacks *s);
#define auto_thread_stacks __attribute__((cleanup(thread_stacks_release)))

#endif
