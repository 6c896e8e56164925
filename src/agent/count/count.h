/*
 * count: how many bytes each thread may take.
 *
 * Each thread counts for itself, with plain additions.  Threads get the bytes up to the limit in
 * grants, and the sum of all grants never exceeds the limit, so a thread within its grant need not
 * read the counters of other threads.  Far from the limit, grants come in batches.  When a grant no
 * longer fits, the unused part of every grant is taken back (count_take_back() in count.c), and
 * then the sum is exact.  Thus no interleaving exceeds the limit, and a request that fits is never
 * refused.
 *
 * A thread sets is_busy while it compares its count with its grant and adds.  It needs no barrier
 * for this: a thread that takes grants back makes every CPU execute a barrier (membarrier), then
 * waits.
 */
#ifndef MEMDIAG_AGENT_COUNT_COUNT_H
#define MEMDIAG_AGENT_COUNT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "agent/base/places.h"
#include "wire/totals.h"
#include "wire/wire.h"

enum count_answer {
	COUNT_REFUSED, /* the bytes do not fit the limit, and are not counted */
	COUNT_TAKEN,
	COUNT_PASSED, /* counted; exceeds, for the first time, a limit that is only reported */
};

/* Add BYTES to SELF's count, or subtract them. */
enum count_answer count_take_slowly(struct wire_thread *self, int64_t bytes);
void count_give_slowly(struct wire_thread *self, int64_t bytes);

/*
 * The two functions above for BYTES of a mapping.  They change the sum immediately, since a mapping
 * costs a system call anyway.  They hold no lock where the thread could be cancelled or leave by
 * longjmp().
 */
enum count_answer count_take_mapping(struct wire_thread *self, int64_t bytes);
/* Count BYTES that already exist, whatever the limit.  A negative number is subtracted. */
enum count_answer count_change_mapping(struct wire_thread *self, int64_t bytes);

/* Add up all threads.  From now on the peak is at least the live bytes in RET. */
void count_add_up(struct wire_totals *ret);
/* The live bytes of all threads as MemTracer counts them, including those from before the agent. */
uint64_t count_live_bytes(void);
/* Set the peak to the bytes that are live now. */
void count_reset_peak(void);
/*
 * Set another limit; INT64_MAX means no limit.  False if called by a signal handler that has
 * interrupted this function.
 */
bool count_set_limit(int64_t bytes);

/* Call this once, when the segment exists, and again in a forked child. */
void count_init(void);
void count_init_child(void);
/*
 * Take the lock before fork().  In the child the lock is free, whichever thread held it.  False:
 * see lock_take().
 */
bool count_lock(void);
void count_unlock(void);
void count_forget_lock(void);

/* Add 1 to COUNTER of SELF.  Several threads may share the first place. */
static inline void
count_block(struct wire_thread *self, uint64_t *counter)
{
	if (UNLIKELY(self == place_shared()))
		__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	else
		++*counter;
}

/* Record that BYTES of the counted ones were freed.  Several threads may share the first place. */
static inline void
count_freed(struct wire_thread *self, int64_t bytes)
{
	if (UNLIKELY(self == place_shared()))
		__atomic_add_fetch(&self->freed_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);
	else
		self->freed_bytes += (uint64_t)bytes;
}

static inline void
count_begin(struct wire_thread *self)
{
	__atomic_store_n(&self->is_busy, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void
count_end(struct wire_thread *self)
{
	__atomic_store_n(&self->is_busy, 0, __ATOMIC_RELEASE);
}

#endif
