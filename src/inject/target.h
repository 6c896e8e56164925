/*
 * inject: call libc inside a live target: pick a thread, prove that it can be borrowed, make the
 * call, give the thread back unchanged.
 *
 * A call is dressed as a signal handler: its return address is libc's own sigreturn stub, over a
 * signal frame that holds the thread's registers.  Whenever memdiag dies, the kernel itself
 * restores the thread.  A call writes no code, maps nothing executable and sets no breakpoint or
 * single step.  doc/internals/inject.md draws it.  Other work in a borrowed thread is described in
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
	unsigned int needs;	     /* its system calls (inject/needs.h) */
	const struct inject_allocator *allocator; /* NULL for glibc's own malloc */
	const struct object *libc;
	/* libpthread.so.0; NULL since 2.34, which has it in libc */
	const struct object *pthread;
	const struct object *dl; /* libdl.so.2; NULL likewise */
	char version[16];
	struct walker *walker;
	raddr restorer;
	raddr pthread_restorer; /* libpthread's own; {0} if it does not exist */
	/* functions of libc; an optional one that is missing is {0} */
	struct {
		raddr malloc_info, malloc_trim, fflush;
		raddr mmap, munmap;
		/* start routine of a helper, which does nothing; see helper.c */
		raddr labs, sigblock;
		raddr pthread_create;			/* optional */
		raddr memfd_create, fcntl, dup2, close; /* optional, for INJECT_CAPTURE_FD2 */
		raddr syscall;			    /* optional, for a sleep and inject_discard() */
		raddr lock, madvise;		    /* optional, for inject_discard() */
		raddr dlopen, dlerror, dlopen_mode; /* optional, for load_library() */
		raddr swab;
	} fn;
	/* malloc's own code, perhaps with some more at its beginning */
	raddr malloc_start, malloc_end;
	raddr hooks; /* memory of hooks, set or lifted; {0} if no hook was ever set */
	/* mmap() as other code calls it, and its first bytes when it was examined, */
	raddr mmap_entry;
	uint64_t mmap_code;  /* which show whether another tool has hooked it */
	raddr stacks_lock;   /* see stack_cache_lock() */
	raddr stderr_stream; /* the FILE, _IO_2_1_stderr_ */
	struct {
		struct danger *v;
		size_t nr, room;
	} dangers; /* sorted by start */
};

/*
 * Determine the target's allocator, libc and symbols.  Stops nothing.  Fails with ERR_UNSUPPORTED,
 * the allocator's name and an alternative, if malloc is not glibc's or memdiag cannot call into
 * this process: so call this before looking for the arenas.  P is borrowed and must outlive *RET.
 */
int inject_target_new(struct inject_target **ret, const struct process *p, struct err *e);
/*
 * Check that T may be called into in its present state.  Fails if another tracer has it
 * (ERR_PERMISSION), if it is stopped or frozen (ERR_NO_SAFE_POINT), or if it runs in its parent's
 * memory.  inject_target_new() calls this first, and inject_target_learn() does the rest.
 */
int inject_check_state(const struct target *t, struct err *e);
int inject_target_learn(struct inject_target **ret, const struct process *p, struct err *e);

/* Code of a target. */
struct inject_code {
	raddr start, end;
};

/*
 * An allocator other than glibc's, whose functions are to be called in a target that also has a
 * glibc.  Its arenas are not glibc's: calls are given empty ones.
 */
struct inject_allocator {
	const char *name; /* for messages */
	/* all of its code: a thread in the middle of it is not borrowed */
	const struct inject_code *code;
	size_t nr_code;
	/*
	 * Return whether a call in stopped thread TID of T, with its thread pointer at TP, makes no
	 * new state for that thread.
	 */
	bool (*may_be_called)(
		const struct inject_allocator *a, const struct target *t, pid_t tid, raddr tp);
};

/*
 * As inject_target_learn(), for a target whose malloc may be A's; A must outlive *RET.  0, or -1
 * with E: ERR_UNSUPPORTED also for a target with several libcs.
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

/* Return whether its libc is in the program itself: then no function can be looked up by name. */
bool inject_is_static(const struct inject_target *callee);

/*
 * Check that malloc_info and malloc_trim can be called in it, which is impossible in a static
 * program.  The functions that call them check this first.  0, or -1 with E (ERR_UNSUPPORTED).
 */
int inject_check_calls(const struct inject_target *callee, struct err *e);

/* Return glibc's version as in its own banner ("2.36"), "" if unknown. */
const char *inject_libc_version(const struct inject_target *callee);

#endif
