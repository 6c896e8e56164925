/*
 * notes: what jobs that note stacks have in common: the sites that they note in, what each thread
 * keeps meanwhile, and that a thread notes one thing at a time.
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
 * Whether the caller alone may begin or end what is noted, until notes_unclaim(): memdiag from
 * outside, or the program itself.  It does not wait: whoever has it may need a lock that the caller
 * holds, ld.so's for example.
 */
bool notes_claim(void);
void notes_unclaim(void);

struct notes_start {
	/* The notes go into FD from OFFSET_BYTES on, where all is zero and there is room. */
	int fd; /* less than 0: into memory that nobody else has */
	uint64_t offset_bytes;
	struct wire_sites_size size;
	uint64_t period_bytes;	       /* of samples; wire_capture_of() */
	uint64_t max_bytes;	       /* that all may take, but for threads; 0: any number */
	enum wire_live_set live_set;   /* of a record */
	bool opens_log;		       /* events are appended from the first one on */
	struct wire_triggers triggers; /* what is asked for */
};

/*
 * Get ready to note.  Called again, start anew with nothing noted.  No hook of a job that notes is
 * set meanwhile.  False: there is no memory, or a thread does not get on with what it notes, and
 * nothing may be noted.
 */
bool notes_begin(const struct notes_start *s);
/*
 * Give back what is needed only while something is noted; the sites stay, to be read.  No hook of a
 * job that notes is set.  False: a thread does not get on with what it notes.
 */
bool notes_end(void);
/*
 * In a forked child: call BEGIN_CHILD, which calls notes_begin_child() or sets sites to NULL.  The
 * place of the thread that forked was FORKER in the parent; NULL: it had none.  If it forked in a
 * signal handler that came while it noted something, that goes on when the handler has returned;
 * then BEGIN_CHILD is called at its end, and nothing is noted before.
 */
void notes_after_fork(struct wire_thread *forker, void (*begin_child)(void));
/* There, where PARENTS sites are mapped, or NULL: forget all that the parent has noted. */
void notes_forget_parents(struct wire_sites *parents);
/* The same, and then as notes_begin(). */
bool notes_begin_child(const struct notes_start *s, struct wire_sites *parents);

/* ---- what a thread keeps ---- */

/* The state of the sampler. */
struct notes_sampler {
	uint64_t random;
	uint64_t drawn_bytes; /* all steps so far; less what is left of the last, the clock */
	uint64_t ahead_bytes; /* left of the last step, besides the thread's countdown */
};

/* The state of the recorder. */
#define NOTES_KNOWN_SITES 512
struct notes_recorder {
	uint32_t tid;	  /* of the thread that the rest is about */
	const void *last; /* the block that it has taken last */
	struct log_queue log;
	/*
	 * Live by what the thread has allocated and freed, unless it was alone; of that
	 * sites->live_bytes knows of TOLD_BYTES, which others may write.  The most that it may be
	 * above that, and below.
	 */
	int64_t live_bytes, told_bytes, most_ahead_bytes, most_behind_bytes;
	struct {
		uint32_t node, site;
	} known[NOTES_KNOWN_SITES];
};

/* For each place of the segment, zero at first.  Only the place's thread uses it. */
struct notes {
	uintptr_t noter; /* thread_stack() of the thread that notes something; 0: nobody */
	uint32_t turn;	 /* that the rest is of; if it is not notes_turn, it begins anew */
	union {
		struct notes_sampler sampler;
		struct notes_recorder recorder;
	} of;
	struct last_stacks stack; /* STACK_BYTES of it */
};
#define NOTES_BYTES (offsetof(struct notes, stack) + STACK_BYTES)
_Static_assert(sizeof(void *) != 8 || NOTES_BYTES >> 10 == 74,
	"segment.c and doc/internals/profile.md say how much a thread takes");
_Static_assert(sizeof(void *) != 8 || STACK_RECENT_BYTES >> 10 == 110,
	"doc/internals/profile.md says how much recent stacks take");

/* How often notes have begun, or begun anew. */
extern uint32_t notes_turn;
extern unsigned char *notes_of_all;    /* private */
extern bool notes_have_table;	       /* the live blocks of a record are in table.h */
extern bool notes_are_closed;	       /* private: the sites are about to change */
extern void (*notes_after_note)(void); /* private: see notes_after_fork() */

static inline struct notes *
notes_of(const struct wire_thread *self)
{
	const size_t i = (size_t)(self - wire_threads(segment));

	return (struct notes *)(void *)(notes_of_all + i * NOTES_BYTES);
}

/* The recent stacks of N (stack.h); NULL: none. */
struct stack_recent *notes_recent(const struct notes *n);

/* ---- one thing at a time ---- */

/* Whether nothing is to be noted; of a child that nobody follows the sites are its parent's. */
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
 * SELF, which has N, is about to note something.  False: it may not, and there may be no sites.  It
 * does already, and this is in a signal handler, which would wait for what its own thread holds; or
 * the sites are about to change.  Their changer waits until each thread has seen so, or is seen
 * here: so no fence is needed.
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

/* Count BYTES of a block that was not noted, though it should have been; if there are sites. */
void notes_lose(uint64_t bytes);
/* Count a free that was not noted. */
void notes_miss(void);

#pragma GCC visibility pop

#endif
