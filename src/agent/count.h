/*
 * count: who may take how many bytes.
 *
 * Each thread counts for itself, with plain additions.  What the sum may be is handed out to threads
 * in grants, and the sum of all grants is never above the limit: so a thread within its grant need
 * not look at anybody else.  Far from the limit grants come in batches; where one does not fit any
 * more, those of all threads are taken back to what they use (revoke() in count.c), and then the sum is
 * exact.  So the limit is neither passed by any interleaving nor is anything refused that fits.
 *
 * A thread says that it is busy while it compares with its grant and adds.  It needs no barrier for
 * that: who takes grants back makes every CPU have one (membarrier), then waits for the busy.
 */
#ifndef MEMDIAG_AGENT_COUNT_H
#define MEMDIAG_AGENT_COUNT_H

#include "agent/agent.h"

bool count_take_slowly(struct wire_thread *self, int64_t bytes);
void count_give_slowly(struct wire_thread *self, int64_t bytes);

/* A place for a thread that has none yet; NULL: there are no more. */
struct wire_thread *count_register(void);
/* The one for those that have none. */
struct wire_thread *count_shared(void);
/* Once, when the segment is there; again in a forked child. */
void count_init(void);
void count_init_child(void);
/* Before fork(); in the child nobody holds it, whoever did.  False: see lock_take(). */
bool count_lock(void);
void count_unlock(void);
void count_forget_lock(void);

/* One block more, or less; several threads may have the first place together. */
static inline void
count_block(struct wire_thread *self, uint64_t *counter)
{
	if (UNLIKELY(self == count_shared()))
		__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	else
		++*counter;
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

/* Count BYTES more for SELF; false, and nothing is counted, when they do not fit the limit. */
static inline bool
count_take(struct wire_thread *self, int64_t bytes)
{
	int64_t live;

	count_begin(self);
	live = self->live_bytes + bytes;
	if (UNLIKELY(live > __atomic_load_n(&self->ceiling_bytes, __ATOMIC_RELAXED))) {
		count_end(self);
		return count_take_slowly(self, bytes);
	}
	__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
	count_end(self);
	return true;
}

/*
 * The same where there is no limit: then grants are never taken back, and nobody has to know that the
 * thread is busy.
 */
static inline void
count_add(struct wire_thread *self, int64_t bytes)
{
	int64_t live = self->live_bytes + bytes;

	if (UNLIKELY(live > self->ceiling_bytes))
		count_take_slowly(self, bytes);
	else
		__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
}

static inline void
count_subtract(struct wire_thread *self, int64_t bytes)
{
	int64_t live = self->live_bytes - bytes;

	if (UNLIKELY(live < self->floor_bytes))
		count_give_slowly(self, bytes);
	else
		__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
}

/* Count BYTES less. */
static inline void
count_give(struct wire_thread *self, int64_t bytes)
{
	int64_t live;

	count_begin(self);
	live = self->live_bytes - bytes;
	if (UNLIKELY(live < __atomic_load_n(&self->floor_bytes, __ATOMIC_RELAXED))) {
		count_end(self);
		count_give_slowly(self, bytes);
		return;
	}
	__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
	count_end(self);
}

#endif
