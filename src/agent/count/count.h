/*
 * count: who may take how many bytes.
 *
 * Each thread counts for itself, with plain additions.  The bytes up to the limit are handed out to
 * threads in grants, and the sum of all grants is never above the limit: so a thread within its
 * grant need not look at other threads.  Far from the limit grants come in batches; where one does
 * not fit any more, those of all threads are taken back to what they use (count_take_back() in
 * count.c), and then the sum is exact.  So the limit is neither passed by any interleaving nor is
 * anything refused that fits.
 *
 * A thread says that it is busy while it compares with its grant and adds.  It needs no barrier for
 * that: a thread that takes grants back makes every CPU have one (membarrier), then waits.
 */
#ifndef MEMDIAG_AGENT_COUNT_COUNT_H
#define MEMDIAG_AGENT_COUNT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "agent/base/places.h"
#include "wire/wire.h"

enum count_answer {
	COUNT_REFUSED, /* the bytes do not fit the limit, and are not counted */
	COUNT_TAKEN,
	COUNT_PASSED, /* counted, and above a limit that is only reported, for the first time */
};

/* Count BYTES more for SELF, or less. */
enum count_answer count_take_slowly(struct wire_thread *self, int64_t bytes);
void count_give_slowly(struct wire_thread *self, int64_t bytes);

/*
 * The same for BYTES of a mapping, for which the sum is changed at once: a mapping is a system call
 * anyway.  They hold no lock where the thread could be cancelled or leave by longjmp().
 */
enum count_answer count_take_mapping(struct wire_thread *self, int64_t bytes);
/* The bytes exist already and count, whatever the limit; or fewer, if BYTES is negative. */
enum count_answer count_change_mapping(struct wire_thread *self, int64_t bytes);

/* Add up all threads.  The peak is from now on at least what is live in RET. */
void count_add_up(struct wire_totals *ret);
/* The live bytes of all threads as MemTracer counts them: with those from before the agent. */
uint64_t count_live_bytes(void);
/* The most that was live is from now on what is live now. */
void count_reset_peak(void);
/* Another limit, INT64_MAX for none.  False: called by a handler that has interrupted us. */
bool count_set_limit(int64_t bytes);

/* Once, when the segment is there; again in a forked child. */
void count_init(void);
void count_init_child(void);
/*
 * Before fork(); in the child the lock is free, whichever thread held it.  False: see lock_take().
 */
bool count_lock(void);
void count_unlock(void);
void count_forget_lock(void);

/* One block more, or less; several threads may have the first place together. */
static inline void
count_block(struct wire_thread *self, uint64_t *counter)
{
	if (UNLIKELY(self == place_shared()))
		__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	else
		++*counter;
}

/* BYTES of what was counted are freed; several threads may have the first place together. */
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
