/*
 * target: what is known of a target before anything in it stops.  For inject/ and the rooms that
 * work in a borrowed thread; all others take it as it is.
 */
#ifndef MEMDIAG_INJECT_TARGET_H
#define MEMDIAG_INJECT_TARGET_H

#include "glibc/process.h"
#include "inject/inject.h"
#include "stack/stack.h"

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

#endif
