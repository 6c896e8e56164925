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

/*
 * ---- stacks: the stacks of the threads ---------------------------------------------------------
 */

/* 0x2e0 on x86-64 (glibc 2.36). */
#define THREAD_PTHREAD_BYTES 0x400

struct thread_stack {
	pid_t tid;	  /* 0: its thread has ended, and libc keeps the stack */
	raddr start, end; /* all of the stack, including the guard */
	/* at its low end; 0 for the main thread, whose guard is not a mapping */
	uint64_t guard_bytes;
	/*
	 * the page where static TLS begins; from there to the end it is libc's, struct pthread
	 * last.  0 if unknown
	 */
	raddr tls;
	/* A place in struct pthread, THREAD_PTHREAD_BYTES at most from its start; 0 if unknown. */
	raddr pthread;
	raddr sp; /* the range from the guard to here is unused; 0 if unknown */
	bool is_main;
	bool is_guess; /* guessed from the mapping around SP; else known from libc or the kernel */
};

struct thread_stacks {
	struct thread_stack *v; /* sorted by start, never overlapping */
	size_t nr, room;
};

/*
 * Find the stacks of T's THREADS, and of ended threads if libc keeps them (glibc does, for up to 40
 * MiB and for those that were not joined), into S, which must be zeroed or released.  A stack that
 * the program itself made may be anywhere, for example in malloc's heap.  No thread is stopped;
 * without WANT_SP, sp is set only if it was needed.  A stack that cannot be determined is left out.
 */
int thread_stacks_find(struct thread_stacks *s, const struct target *t, const struct regions *m,
	const struct objects *o, const struct threads *threads, bool want_sp, struct err *e);
void thread_stacks_release(struct thread_stacks *s);
#define auto_thread_stacks __attribute__((cleanup(thread_stacks_release)))

#endif
