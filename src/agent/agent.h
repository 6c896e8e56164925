/*
 * agent: libmemdiag-agent.so, which lives inside a stranger's process, in front of its malloc.  It
 * counts every block and mapping, and holds a limit.  Its own world: no malloc, stdio, getenv or
 * errno between a hooked call and its return, and no lock across the real one.  Ready, or
 * transparent: on any trouble of ours the program gets plain malloc.
 *
 *	begin.c			the constructor
 *	live.c			the hooks of a process that ran already
 *	others.h, others.c	and of those whose malloc is not glibc's
 *	operators.c		operator new and delete of C++
 *	hooks.c			malloc and related functions, as the program calls them
 *	sampling.c		the hooks that take samples, or record
 *	mapping-hooks.h, mappings.c	mmap and related functions
 *	exec.c			the environment of programs that are started
 *	api.c			what a program can ask
 *	event.h			what happens in hooks, for each job
 *	count-blocks.h, .c	the counter as a job: blocks
 *	count-mappings.h, .c	and mappings
 *	sample-mappings.h, .c	the sampler as a job: mappings
 *	mapset.h, mapset.c	what the program has mapped, and whose it is
 *	block.h			how many bytes a block counts for
 *	mapping.h, mapping.c	a call of mmap(), and what of it is memory
 *	pages.h, pages.c	what each page of the address space is
 *	sample.h, record.h, .c	the sampler and the recorder as jobs
 *	recording.h, .c		a record that the program itself begins
 *	notes.h, notes.c	what these two have in common
 *	sampled.h, shadow.h, table.h, .c	the live blocks that they know
 *	log.h, log.c		the log that the recorder appends to
 *	sites.h, stack.h, .c	the stacks that they note
 *	limit.c			what happens at the limit
 *	periodic.c		the line that comes again and again, and files of a profile
 *	agent.c			its life: how it gets ready, and each thread
 *	fork.c			parent and child count apart
 *	profile.h, profile.c	samples from the first call on
 *	heap-file.h, .c		a file of them that the agent writes itself
 *	large.h, large.c	and lines of large calls
 *	count.h, count.c	who may take how many bytes
 *	trigger.h, trigger.c	what a file is to be written for
 *	mapped.h, mapped.c	which code is mapped
 *	mode.c			how hooks count
 *	places.c		where each thread counts
 *	segment.c		where the counters are
 *	family.c		what the processes of one run share
 *	settings.c		what the environment asks for
 *	real.c			the functions behind the hooks
 *	say.c			lines on stderr
 *	python.h, python.c	functions of Python that a thread is in
 *	memory.h, memory.c	what the sampler has mapped
 *	status.c		what the kernel says of the process
 *	early.c			blocks from before there was a malloc
 *	lock.h, thread.h	a mutex; which thread this is
 *	state.c			what all of them may read
 *	sys.h, string.c		system calls; memory and strings
 *
 *	absent.c		what api.c answers without the agent: another library
 *
 * From top to bottom: each needs only files below it.
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
/* Compiled into each caller, with the constants that it passes. */
#define INLINE static inline __attribute__((always_inline))

/*
 * The functions declared here are hidden, and so can be called before ld.so has relocated the
 * agent.
 */
#pragma GCC visibility push(hidden)

/* ---- what all of it may read (state.c) ---- */

/*
 * The agent's data of a thread: the place of its counters, which also shows whether it is in a
 * hook, so that calls by the real malloc are not counted again.  All is zero at first: in a static
 * program no code would initialise it otherwise.
 */
extern __thread struct agent_self {
	struct wire_thread *place; /* NULL before the first call, or if it found none */
	bool has_none;		   /* all places were taken */
	bool is_inside;		   /* without a place of its own */
	bool is_forking;	   /* between the functions before and after a fork */
} agent_self __attribute__((tls_model("initial-exec")));

/*
 * It has got ready, or found that it cannot: from then on AGENT_OFF means to do what the real ones
 * do.
 */
extern bool agent_has_started;

/*
 * memdiag itself has put us into a program that has no dynamic linker, and has found what is behind
 * the hooks: nothing of libc can be called by its name.
 */
extern bool agent_is_static;
extern size_t agent_page_bytes;

/*
 * Code that maps for itself, and not for the program: libc's.  In a static program malloc and the
 * related functions that a program calls, which call others of libc that are elsewhere.  memdiag
 * writes it where the hooks are in front of libc's calls to itself; elsewhere it is not used.
 */
extern struct agent_code {
	uintptr_t start, bytes;
} agent_libc;

static inline bool
agent_is_libc(uintptr_t pc)
{
	return pc - agent_libc.start < agent_libc.bytes;
}

/* ---- what the kernel says of the process (status.c) ---- */

/* The text behind NAME and a colon in /proc/self/status, cut off at SIZE; "" if none. */
void status_value(const char *name, char *ret, size_t size);

/* ---- blocks from before there was a malloc (early.c) ---- */

#define EARLY_BYTES 65536
extern unsigned char early_pool[EARLY_BYTES];

/* Whether ld.so has come to this object, so that it can call others. */
bool early_is_over(void);
/* NULL when there is no more. */
void *early_alloc(size_t alignment, size_t size);
size_t early_size(const void *block);
/* Copy the content of OLD to the block TO of SIZE bytes. */
void early_copy(void *to, const void *old, size_t size);
/* They look like chunks of glibc with a mapping of their own: such are never freed in a hurry. */

static inline bool
early_has(const void *block)
{
	return (uintptr_t)block - (uintptr_t)early_pool < EARLY_BYTES;
}

/* ---- talking (say.c) ---- */

/*
 * A line on descriptor 2: FMT, in which each %u is replaced by the next of the numbers.
 */
void say(const char *fmt, const uint64_t *numbers);
#define SAY(fmt, ...) say(fmt, (const uint64_t[]){ __VA_ARGS__ })
/* The same for a setting that names a string, which is untrusted. */
void say_string(const char *before, const char *string);

/* ---- the functions behind the hooks (real.c) ---- */

struct dl_find_object;

/*
 * Operator new and delete: of one object or an array, nothrow, sized, and aligned
 * (Itanium C++ ABI, 5.1.5: size_t is m where it is unsigned long).
 */
#define REAL_OPERATORS(X)                                                                          \
	X(_Znwm)                                                                                   \
	X(_Znam)                                                                                   \
	X(_ZnwmRKSt9nothrow_t)                                                                     \
	X(_ZnamRKSt9nothrow_t)                                                                     \
	X(_ZnwmSt11align_val_t)                                                                    \
	X(_ZnamSt11align_val_t)                                                                    \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                      \
	X(_ZnamSt11align_val_tRKSt9nothrow_t)                                                      \
	X(_ZdlPv)                                                                                  \
	X(_ZdaPv)                                                                                  \
	X(_ZdlPvRKSt9nothrow_t)                                                                    \
	X(_ZdaPvRKSt9nothrow_t)                                                                    \
	X(_ZdlPvm)                                                                                 \
	X(_ZdaPvm)                                                                                 \
	X(_ZdlPvSt11align_val_t)                                                                   \
	X(_ZdaPvSt11align_val_t)                                                                   \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                     \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t)                                                     \
	X(_ZdlPvmSt11align_val_t)                                                                  \
	X(_ZdaPvmSt11align_val_t)

enum real_operator {
#define X(name) OPERATOR##name,
	REAL_OPERATORS(X)
#undef X
		NR_OPERATORS,
};

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
	/*
	 * By their other names, __libc_malloc and so on: libc's own, even if another library has
	 * put its own in front.
	 */
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
	int (*mprotect)(void *, size_t, int);
	int (*pkey_mprotect)(void *, size_t, int, int);
	pid_t (*_Fork)(void);
	int (*execve)(const char *, char *const *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*fexecve)(int, char *const *, char *const *);
	int (*posix_spawn)(
		pid_t *, const char *, const void *, const void *, char *const *, char *const *);
	int (*posix_spawnp)(
		pid_t *, const char *, const void *, const void *, char *const *, char *const *);
	int (*pthread_create)(void *, const void *, void *(*)(void *), void *);
	int (*_dl_find_object)(void *, struct dl_find_object *); /* since 2.35 */
	void (*operator[NR_OPERATORS])(void); /* enum real_operator; NULL if they are malloc's */
	/*
	 * The name of another malloc in front of the agent, whose blocks may reach functions that
	 * it does not have; else NULL.
	 */
	void (*front_free)(void *);
	void *(*front_realloc)(void *, size_t);
};
extern struct real real;

/*
 * Find them: each in the first object behind the agent that has it, as RTLD_NEXT would, which must
 * not be asked as it may call malloc.  False when malloc is not complete; the agent is transparent
 * then.
 */
bool real_find(void);

/*
 * Whether no code calls the hooks by their names: libc comes first, as when the agent is loaded
 * later.
 */
bool real_is_behind_libc(void);

/*
 * Which operators new and delete the program has: those of the C++ library, which call malloc and
 * free, or of the malloc behind us, which do the same; or others, of the program or a library.
 */
extern enum real_operators {
	REAL_OPERATORS_UNKNOWN, /* real_find() has not been called */
	REAL_OPERATORS_PLAIN,
	REAL_OPERATORS_REPLACED, /* those that REAL has must be called */
} real_operators;

/*
 * The function NAME of the C++ library that the code at CALLER uses: that of its own object, which
 * may have been linked with -static-libstdc++; else of a library that is loaded now; else of
 * whichever object has it.  With no CALLER, of a library alone.  NULL: none.  Not in a
 * hook: it takes ld.so's lock.
 */
void (*real_find_cxx(const char *name, const void *caller))(void);

/* The address at which INFO defines NAME of TYPE, STT_FUNC or STT_OBJECT; 0: it does not. */
struct dl_phdr_info;
uintptr_t real_symbol(const struct dl_phdr_info *info, const char *name, unsigned int type);

/* Whether malloc is glibc's. */
extern bool real_is_glibc;
/*
 * Whether what is loaded calls a malloc that is not, also by functions that only this one has, and
 * which a preloaded agent does not hook: a program finds out by their names which malloc it has.
 */
extern bool real_has_unhooked;
/* And, as far as is known, its chunks have the size in front (sysmalloc, malloc/malloc.c). */
extern bool real_has_headers;

/* ---- settings (settings.c) ---- */

extern struct wire_settings settings;
extern bool settings_is_on;	   /* count or take samples; false: be transparent */
extern bool settings_is_counting;  /* false: take samples alone */
extern bool settings_is_memtracer; /* MemTracer's contract: its lines, its sum */

/*
 * Read them from the environment the process was started with, which the kernel knows even before
 * libc does; where there is no /proc, from ENVP.  False: that is not known yet.
 */
bool settings_read(char **envp);

/* ---- the processes of one run (family.c) ---- */

/*
 * Get an entry in the table of settings.family, also in a forked child. Returns a descriptor of the
 * file in which this process' segment is at *RET_OFFSET, or less than 0.
 */
long family_join(uint64_t *ret_offset);
/*
 * Take BYTES, which may be negative, for this process. False if that would pass the limit for all.
 */
bool family_take(int64_t bytes, bool has_limit);
/* The bytes that each of the processes could still take; INT64_MAX without a limit for all. */
int64_t family_share(void);

/* ---- where the counters are (segment.c) ---- */

extern struct wire_segment *segment;
/* The device of files in memory that have no name, if the segment is one of them; else 0. */
extern uint64_t segment_device;

/*
 * RLIMIT_AS and RLIMIT_DATA: how many bytes of addresses the process may have; UINT64_MAX: any
 * number.  Not in a hook, but when the agent gets ready.
 */
uint64_t segment_address_limit(void);
/* Map the counters; falls back to some that cannot be shared, so it never fails. */
void segment_open(enum wire_way way);
/* For the limit and what happens at it, as the segment has them. */
void segment_set_reserve(void);

/* Whether a forked child has a copy of its own anyway. */
bool segment_is_copied_by_fork(void);
/* A copy of what is in it, for a child that is about to be forked; NULL: there is no memory. */
struct wire_segment *segment_copy(void);
void segment_drop_copy(struct wire_segment *copy);
/*
 * In the child: put a mapping of its own in the place of its parent's, or a private one, with the
 * content of COPY.  False: that failed, and the counters are still the parent's.
 */
bool segment_part(const struct wire_segment *copy);

/* ---- where each thread counts (places.c) ---- */

/* Once, when the segment is there. */
void place_init(void);

/* A place for a thread that has none yet; NULL: all are taken.  Takes no lock. */
struct wire_thread *place_register(void);

/* The one for threads that have none. */
static inline struct wire_thread *
place_shared(void)
{
	return wire_threads(segment);
}

/* ---- how hooks count (mode.c) ---- */

extern enum agent_mode {
	AGENT_OFF,	       /* not ready, or stopped: hooks do what the real ones do */
	AGENT_QUICK,	       /* count usable bytes of a plain glibc, no limit */
	AGENT_QUICK_REQUESTED, /* the same with requested bytes */
	AGENT_GUARDED,	       /* count all else */
	AGENT_UNCOUNTED,       /* count nothing, of a plain glibc; of another malloc: */
	AGENT_UNCOUNTED_GUARDED,
	/*
	 * One of these is added: samples are taken, too, or all is recorded.  memdiag writes this
	 * half of the word, and the agent the other one, so neither undoes what the other has
	 * changed.
	 */
	AGENT_SAMPLES = WIRE_NOTE_SAMPLES << 16,
	AGENT_RECORDS = WIRE_NOTE_ALL << 16,
} agent_mode;

/* By the settings, when the segment is there and after the limit has changed. */
void mode_choose(void);
/* The offset in agent_mode of the half that memdiag writes: 1 or 0. */
#define MODE_NOTING_AT sizeof(uint16_t)

/* How calls are counted, whether or not samples are taken as well. */
static inline enum agent_mode
mode_of_counter(void)
{
	return (enum agent_mode)(agent_mode & (AGENT_SAMPLES - 1));
}

/* Whether they are. */
static inline bool
mode_counts(void)
{
	const enum agent_mode counter = mode_of_counter();

	return counter != AGENT_OFF && counter < AGENT_UNCOUNTED;
}

/* Have samples taken, or all recorded, as memdiag would; the segment says so. */
void mode_note(enum wire_noting what);

/* In a child it is AGENT_OFF, whichever way that was made, until fork() has ended. */
void mode_turn_off_in_children(void);

/* ---- fork (fork.c) ---- */

/* Have fork() keep the counters of parent and child apart. */
void fork_watch(void);

/* ---- the life of the agent (agent.c) ---- */

/* The agent is loaded, and the process was started with ENVP: get ready, if no hook has done so. */
void agent_begin(char **envp);

/* For a hook that cannot count at once: get ready.  NULL: do only what the real one does. */
struct wire_thread *agent_enter_slowly(void);

/* Whether calls are not ours to count, now and later: in a child that is not followed. */
static inline bool
agent_is_off(void)
{
	return agent_mode == AGENT_OFF && agent_has_started;
}

/* memdiag reads it when it has stopped the process. */
static inline void
agent_set_inside(struct wire_thread *place, bool is_inside)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&place->is_inside, is_inside, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * A hook begins and ends with these.  NULL: the call is not ours to count, do what the real one
 * does.
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

/* ---- the line that comes again and again (periodic.c) ---- */

/*
 * Print the line now, and start the thread that prints it from now on and writes files of a
 * profile: if either is asked for.
 */
void periodic_start(void);

/* ---- at the limit (limit.c) ---- */

/*
 * BYTES did not fit.  Does what was asked for; if the process goes on, the call must fail with
 * ENOMEM, for which errno is set.
 */
void limit_reached(struct wire_thread *self, size_t bytes);
/* With BYTES a limit was passed that is only reported. */
void limit_passed(int64_t bytes);
/* Count BYTES more for SELF, the slow way; false: they do not fit. */
bool limit_take(struct wire_thread *self, int64_t bytes);

/* Bytes as MemTracer counts them. */
uint64_t agent_counted_bytes(void);

/* ---- the hooks of a process that ran already (live.c) ---- */

/*
 * The size of a page, which memdiag has written before the constructor runs in a program that has
 * no dynamic linker; else 0.
 */
size_t live_page_bytes(void);

#pragma GCC visibility pop

#endif
