/*
 * inject: call libc inside a living target: pick a thread, prove that it can be borrowed, call,
 * give it back as it was.
 *
 * A call is dressed as a signal handler: its return address is libc's own sigreturn stub, over a
 * signal frame that holds the thread's registers.  Whenever memdiag dies, the kernel itself puts
 * the thread back.  For a call no code is written, nothing executable is mapped, no breakpoint, no
 * single step. doc/internals/inject.md draws it.  Other work in a borrowed thread is described in
 * inject/job.h.
 */
#ifndef MEMDIAG_INJECT_TARGET_H
#define MEMDIAG_INJECT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "base/text.h"
#include "glibc/arenas.h"
#include "glibc/process.h"
#include "stack/stack.h"

struct object;
struct process;

struct target;

/* Code that a borrowed thread may not be in the middle of. */
struct danger {
	raddr start, end;
	const char *what; /* "malloc", "stdio" ...; static */
};

struct inject_target {
	const struct target *target;
	const struct process *process;
	const struct arenas *arenas; /* of the call under way */
	bool needs_arena;	     /* that call fails in a thread that has no arena */
	unsigned int needs;	     /* the system calls that it takes (inject/needs.h) */
	const struct inject_allocator *allocator; /* NULL: glibc's own malloc */
	const struct object *libc;
	/* libpthread.so.0, which libc has swallowed in 2.34; NULL */
	const struct object *pthread;
	const struct object *dl; /* and libdl.so.2 */
	char version[16];
	struct walker *walker;
	raddr restorer;
	raddr pthread_restorer; /* libpthread's own, {0} if it has none */
	/* functions of libc; an optional one that is missing is {0} */
	struct {
		raddr malloc_info, malloc_trim, fflush;
		raddr mmap, munmap;
		/* what a helper is started with: does nothing; see helper.c */
		raddr labs, sigblock;
		raddr pthread_create;			/* optional */
		raddr memfd_create, fcntl, dup2, close; /* optional, for INJECT_CAPTURE_FD2 */
		raddr syscall;			    /* optional, for a sleep and inject_discard() */
		raddr lock, madvise;		    /* optional, for inject_discard() */
		raddr dlopen, dlerror, dlopen_mode; /* optional, for load_library() */
		raddr swab;
	} fn;
	/* malloc's own code, and at its beginning perhaps some more */
	raddr malloc_start, malloc_end;
	raddr hooks; /* the memory of hooks, set or lifted; {0}: there never were any */
	/* mmap() as others call it, and how it began when it was looked at: */
	raddr mmap_entry;
	uint64_t mmap_code;  /* shows whether another tool has hooked it */
	raddr stacks_lock;   /* see stack_cache_lock() */
	raddr stderr_stream; /* the FILE, _IO_2_1_stderr_ */
	struct {
		struct danger *v;
		size_t nr, room;
	} dangers; /* sorted by start */
};

/*
 * Learn it: allocator, libc, symbols.  Stops nothing.  ERR_UNSUPPORTED, with the allocator's name
 * and what to do instead, when malloc is not glibc's or memdiag cannot call into this process: so
 * ask this before the arenas are looked for.  P is borrowed and must outlive it.
 */
int inject_target_new(struct inject_target **ret, const struct process *p, struct err *e);
/*
 * Whether T may be called into as it is now: not if another tracer has it (ERR_PERMISSION), if it
 * is stopped or frozen (ERR_NO_SAFE_POINT), or runs in its parent's memory. inject_target_new()
 * asks this first, and inject_target_learn() does the rest.
 */
int inject_check_state(const struct target *t, struct err *e);
int inject_target_learn(struct inject_target **ret, const struct process *p, struct err *e);

/* Code of a target. */
struct inject_code {
	raddr start, end;
};

/*
 * Another allocator than glibc's, whose functions are to be called in a target that also has a
 * glibc.  Its arenas are none of glibc's: calls are given empty ones.
 */
struct inject_allocator {
	const char *name; /* for messages */
	/* all of it: no thread that is in the middle of it is borrowed */
	const struct inject_code *code;
	size_t nr_code;
	/*
	 * Whether a call in stopped thread TID of T, with its thread pointer at TP, makes no state
	 * for that thread that it does not have yet.
	 */
	bool (*may_be_called)(
		const struct inject_allocator *a, const struct target *t, pid_t tid, raddr tp);
};

/*
 * As inject_target_learn(), for a target whose malloc may be A's, which must outlive CALLEE.  0, or -1
 * with E: ERR_UNSUPPORTED also for one with several libcs.
 */
int inject_target_learn_other(struct inject_target **ret, const struct process *p,
	const struct inject_allocator *a, struct err *e);
void inject_target_free(struct inject_target *callee);
static inline void
inject_target_cleanup(struct inject_target **callee)
{
	inject_target_free(*callee);
}
#define auto_inject_target __attribute__((cleanup(inject_target_cleanup)))

/* Whether its libc is in the program itself: then no function can be asked for by name. */
bool inject_is_static(const struct inject_target *callee);

/*
 * Check that malloc_info and malloc_trim can be called in it, which they cannot in a static
 * program.  The functions that call them check this first. 0, or -1 with E (ERR_UNSUPPORTED).
 */
int inject_check_calls(const struct inject_target *callee, struct err *e);

/* glibc's version as its own banner has it ("2.36"), "" if it is unknown. */
const char *inject_libc_version(const struct inject_target *callee);

#endif
