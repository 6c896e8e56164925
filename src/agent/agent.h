/*
 * agent: libmemdiag-agent.so, which lives inside a stranger's process, in front of its malloc.  It
 * counts every block and mapping, and holds a limit.  Its own world: no malloc, stdio, getenv or
 * errno between a hooked call and its return, and no lock across the real one.  Ready, or
 * transparent: on any trouble of ours the program gets plain malloc.
 * May use: wire/, and not even base/.
 *
 *	hooks.c		malloc and its kin, as the program calls them
 *	mappings.c	mmap and its kin
 *	live.c		the hooks of a process that ran already
 *	count.h, count.c	who may take how many bytes
 *	real.c		the functions behind the hooks
 *	settings.c	what the environment asks for
 *	segment.c	where the counters are; fork
 *	status.c	what the kernel says of the process
 *	string.c	memory and strings
 *	limit.c		what happens at the limit
 *	say.c		lines on stderr
 *	api.c		what a program can ask
 *	absent.c	what it is answered without the agent: another library
 */
#ifndef MEMDIAG_AGENT_AGENT_H
#define MEMDIAG_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/wire.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define EXPORT __attribute__((visibility("default")))
/* Another name, by which it is called as well. */
#if __has_attribute(copy)
#define ALSO(name, of) EXPORT __typeof__(of) name __attribute__((alias(#of), copy(of)))
#else
#define ALSO(name, of) EXPORT __typeof__(of) name __attribute__((alias(#of)))
#endif
/* Not inlined, so that a hook's quick way needs no stack frame for its slow one. */
#define SLOW __attribute__((noinline, cold))

/* What is declared here is no other object's, and so can be used before ld.so has come to us. */
#pragma GCC visibility push(hidden)

/* ---- the functions behind the hooks (real.c) ---- */

struct real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	/* By their other names, __libc_malloc and so on: libc's own, whoever has put his in front. */
	void *(*libc_malloc)(size_t);
	void (*libc_free)(void *);
	void *(*libc_calloc)(size_t, size_t);
	void *(*libc_realloc)(void *, size_t);
	void *(*libc_memalign)(size_t, size_t);
	void *(*libc_valloc)(size_t);
	void *(*libc_pvalloc)(size_t);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	pid_t (*_Fork)(void);
	int (*pthread_create)(void *, const void *, void *(*)(void *), void *);
	/* Of another malloc in front of us, whose blocks come to what it does not have; else NULL. */
	void (*front_free)(void *);
	void *(*front_realloc)(void *, size_t);
};
extern struct real real;

/*
 * Find them: each in the first object behind the agent that has it, as RTLD_NEXT would, which must not
 * be asked as it may call malloc.  False when malloc is not complete; the agent is transparent then.
 */
bool real_find(void);

/* Whether nobody calls our hooks by their names: libc comes first, as when we are loaded later. */
bool real_is_behind_libc(void);

/* Whether malloc is glibc's. */
extern bool real_is_glibc;
/* And, as far as is known, its chunks have the size in front (sysmalloc, malloc/malloc.c). */
extern bool real_has_headers;

/*
 * The size of a page, if memdiag itself has put us into a program that has no dynamic linker, and has told
 * us what is behind the hooks; else 0.  Nothing of libc can be called by its name then (live.c).
 */
size_t live_page_bytes(void);

/* ---- settings (settings.c) ---- */

struct settings {
	bool is_on;		/* count; false: be transparent */
	bool is_memtracer;	/* MemTracer's contract: its lines, its sum */
	bool follows;		/* processes that this one starts are counted, too */
	enum wire_account account;
	enum wire_on_limit on_limit;
	int64_t limit_bytes;	/* INT64_MAX: none */
	uint64_t interval_ms;	/* of the line on stderr; only with prints */
	bool prints;
	const char *segment;	/* the file to use, up to a ';'; NULL: a new one */
	const char *file;	/* NULL, or a name to which ".PID" is added for one that stays */
};
extern struct settings settings;

/*
 * Read them from the environment the process was started with, which the kernel knows even before
 * libc does; where there is no /proc, from ENVP.  False: that is not known yet.
 */
bool settings_read(char **envp);

/* ---- the life of the agent (agent.c, segment.c) ---- */

/* How hooks count. */
extern enum agent_mode {
	AGENT_OFF,		/* not ready, or stopped: hooks do what the real ones do */
	AGENT_QUICK,		/* usable bytes of a plain glibc, no limit */
	AGENT_QUICK_REQUESTED,	/* the same with requested bytes */
	AGENT_GUARDED,		/* all else */
} agent_mode;

/*
 * What a thread has for itself: the place of its counters, which also says whether it is in a hook, so
 * that what the real malloc calls is not counted again.  All is zero at first: in a static program nobody
 * would make it anything else.
 */
extern __thread struct agent_self {
	struct wire_thread *place;	/* NULL before the first call, or if it found none */
	bool has_none;			/* all places were taken */
	bool is_inside;			/* without a place of its own */
	bool is_forking;		/* between the functions before and after a fork */
} agent_self __attribute__((tls_model("initial-exec")));

extern size_t agent_page_bytes;

/* For a hook that cannot count at once: get ready.  NULL: do only what the real one does. */
struct wire_thread *agent_enter_slowly(void);

/* Map the counters; falls back to some that cannot be shared, so it never fails. */
void segment_open(enum wire_way way);
/* Have fork() keep the counters of parent and child apart. */
void segment_watch_forks(void);
/* What it does then: around a fork, and in the child. */
void segment_before_fork(void);
void segment_in_parent(void);
void segment_in_child(void);

extern struct wire_segment *segment;

/* Who stops the process in between sees that as well. */
static inline void
agent_set_inside(struct wire_thread *place, bool is_inside)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&place->is_inside, is_inside, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * A hook begins and ends with these.  NULL: the call is not ours to count, do what the real one does.
 */
static inline struct wire_thread *
agent_enter(void)
{
	struct wire_thread *self;

	/* First, as thread-local storage may not be there before it is true. */
	if (UNLIKELY(agent_mode == AGENT_OFF))
		return agent_enter_slowly();
	self = agent_self.place;
	if (UNLIKELY(!self || self->is_inside))
		return agent_enter_slowly();
	agent_set_inside(self, true);
	return self;
}

static inline void
agent_leave(void)
{
	if (LIKELY(agent_self.place))
		agent_set_inside(agent_self.place, false);
	else
		agent_self.is_inside = false;
}

/*
 * What /proc/self/status has behind NAME and a colon, cut off at SIZE; "" if there is none (status.c).
 */
void status_value(const char *name, char *ret, size_t size);

/* ---- blocks from before there was a malloc (early.c) ---- */

#define EARLY_BYTES 65536
extern unsigned char early_pool[EARLY_BYTES];

/* Whether ld.so has come to this object, so that it can call others. */
bool early_is_over(void);
/* NULL when there is no more. */
void *early_alloc(size_t alignment, size_t size);
size_t early_size(const void *block);
/* What is in OLD to the block TO of SIZE bytes. */
void early_copy(void *to, const void *old, size_t size);
/* They look like chunks of glibc with a mapping of their own: such are never freed in a hurry. */

static inline bool
early_has(const void *block)
{
	return (uintptr_t)block - (uintptr_t)early_pool < EARLY_BYTES;
}

/* ---- at the limit (limit.c) ---- */

/*
 * BYTES did not fit.  Does what was asked for; if the process goes on, the call must fail with
 * ENOMEM, for which errno is set.
 */
void limit_reached(struct wire_thread *self, size_t bytes);
/* With BYTES a limit was passed that is only reported. */
void limit_passed(size_t bytes);

/* ---- talking (say.c) ---- */

/*
 * A line on descriptor 2: FMT, in which each %u is replaced by the next of the numbers.
 */
void say(const char *fmt, const uint64_t *numbers);
#define SAY(fmt, ...) say(fmt, (const uint64_t[]){ __VA_ARGS__ })
/* The same for one that names a string, a stranger's. */
void say_string(const char *before, const char *string);

/* Start the thread that prints MemTracer's line, if that is wanted. */
void say_periodically(void);

/* Bytes as MemTracer counts them. */
uint64_t agent_counted_bytes(void);

#pragma GCC visibility pop

#endif
