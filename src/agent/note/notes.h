/*
 * notes: the common part of the jobs that record stacks: the sites, the data of each thread, and
 * the rule that a thread records one event at a time.
 */
#ifndef MEMDIAG_AGENT_NOTE_NOTES_H
#define MEMDIAG_AGENT_NOTE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "agent/base/mode.h"
#include "agent/base/places.h"
#include "agent/base/segment.h"
#include "agent/base/thread.h"
#include "agent/note/log.h"
#include "agent/note/sites.h"
#include "agent/note/stack.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* ---- beginning ---- */

/*
 * Reserve the right to begin or end recording, until notes_unclaim().  False if another caller has
 * it: memdiag from outside, or the program itself.  This never waits, since the owner may need a
 * lock that the caller holds, for example ld.so's.
 */
bool notes_claim(void);
void notes_unclaim(void);

struct notes_start {
	/* The notes are written to FD from OFFSET_BYTES on, where the file has enough zeroes. */
	int fd; /* negative: use private memory */
	uint64_t offset_bytes;
	struct wire_sites_size size;
	uint64_t period_bytes;	       /* of samples; wire_capture_of() */
	uint64_t max_bytes;	       /* for all data but that of threads; 0: unlimited */
	enum wire_live_set live_set;   /* how a record keeps its live blocks */
	bool opens_log;		       /* append events from the first one on */
	struct wire_triggers triggers; /* events that request a file */
};

/*
 * Get ready to record.  A further call starts again without any notes.  No hook of a job that
 * records may be set meanwhile.  False if no memory is available or a thread does not finish its
 * event; nothing may be recorded then.
 */
bool notes_begin(const struct notes_start *s);
/*
 * Release the memory that only recording needs; the sites stay readable.  No hook of a job that
 * records may be set.  False if a thread does not finish its event.
 */
bool notes_end(void);
/*
 * In a forked child, call BEGIN_CHILD, which calls notes_begin_child() or sets sites to NULL.
 * FORKER is the place of the thread that forked, in the parent; NULL if it had no place.  If the
 * thread forked in a signal handler that interrupted an event, the event continues after the
 * handler has returned; BEGIN_CHILD is then called at its end, and nothing is recorded before.
 */
void notes_after_fork(struct wire_thread *forker, void (*begin_child)(void));
/* In the child, forget all notes of the parent.  PARENTS are its mapped sites, or NULL. */
void notes_forget_parents(struct wire_sites *parents);
/* As notes_forget_parents(), then as notes_begin(). */
bool notes_begin_child(const struct notes_start *s, struct wire_sites *parents);

/* ---- data of a thread ---- */

/* The state of the sampler. */
struct notes_sampler {
	uint64_t random;
	uint64_t drawn_bytes; /* all steps so far; minus the rest of the last one, the clock */
	uint64_t ahead_bytes; /* rest of the last step, in addition to the thread's countdown */
};

/* The state of the recorder. */
struct notes_recorder {
	uint32_t tid;	  /* the thread to which the other members belong */
	const void *last; /* the block that it has allocated last */
	struct log_queue log;
	/*
	 * The live bytes of the blocks that the thread has allocated minus those that it has freed,
	 * except while it was alone. sites->live_bytes includes TOLD_BYTES of them, which other
	 * threads may write.  The last two limit how far LIVE_BYTES may be above and below
	 * TOLD_BYTES.
	 */
	int64_t live_bytes, told_bytes, most_ahead_bytes, most_behind_bytes;
};

/* One for each place of the segment, initially zero.  Only the place's thread uses it. */
struct notes {
	uintptr_t noter; /* thread_stack() of the recording thread; 0: no thread is */
	uint32_t turn;	 /* turn of the other members; reset if it is not notes_turn */
	union {
		struct notes_sampler sampler;
		struct notes_recorder recorder;
	} of;
	struct last_stacks stack; /* has STACK_BYTES */
};
#define NOTES_BYTES (offsetof(struct notes, stack) + STACK_BYTES)
_Static_assert(sizeof(void *) != 8 || NOTES_BYTES >> 10 == 75,
	"segment.c and doc/internals/profile.md say how much a thread takes");
_Static_assert(sizeof(void *) != 8 || sizeof(struct stack_more) >> 10 == 232,
	"doc/internals/profile.md says how much this takes");

/* The number of times that recording has started. */
extern uint32_t notes_turn;
extern unsigned char *notes_of_all;    /* private */
extern bool notes_have_table;	       /* the live blocks of a record are in table.h */
extern bool notes_are_closed;	       /* private: the sites are about to be replaced */
extern void (*notes_after_note)(void); /* private: see notes_after_fork() */

static inline struct notes *
notes_of(const struct wire_thread *self)
{
	const size_t i = (size_t)(self - wire_threads(segment));

	return (struct notes *)(void *)(notes_of_all + i * NOTES_BYTES);
}

/* More memory for N's stacks (stack.h); NULL: none. */
struct stack_more *notes_more(const struct notes *n);

/* ---- one event at a time ---- */

/*
 * True if nothing is to be recorded.  In a child that is not followed, the sites are its parent's.
 */
static inline bool
notes_are_off(void)
{
	return !notes_of_all || !sites || agent_mode == AGENT_OFF ||
		__atomic_load_n(&notes_are_closed, __ATOMIC_RELAXED);
}

SLOW bool notes_enter_shared(struct notes *n);
SLOW void notes_leave_slowly(void);

static inline void
notes_leave(struct notes *n)
{
	void (*const after)(void) = notes_after_note;

	__atomic_store_n(&n->noter, 0, __ATOMIC_RELEASE);
	if (UNLIKELY(after))
		notes_leave_slowly();
}

/*
 * Let SELF, which has N, record an event.  False if it must not, and the sites may not exist.
 * Either the thread is already recording and this is a signal handler, which would wait for a lock
 * of its own thread; or the sites are about to be replaced.  The thread that replaces them waits
 * until each thread has seen that or its mark is visible, so no fence is needed.
 */
static inline bool
notes_enter(const struct wire_thread *self, struct notes *n)
{
	if (UNLIKELY(self == place_shared())) {
		if (!notes_enter_shared(n))
			return false;
	} else {
		if (UNLIKELY(n->noter))
			return false;
		__atomic_store_n(&n->noter, thread_stack(), __ATOMIC_RELAXED);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (LIKELY(!__atomic_load_n(&notes_are_closed, __ATOMIC_RELAXED) && sites))
		return true;
	notes_leave(n);
	return false;
}

/* Count BYTES of a block that should have been recorded but was not, if sites exist. */
void notes_lose(uint64_t bytes);
/* Count a free that was not recorded. */
void notes_miss(void);

#pragma GCC visibility pop

#endif
