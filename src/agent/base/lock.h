/*
 * lock: a mutex that calls no other function.  A thread never holds it across a call of a function
 * of the program or of libc.
 */
#ifndef MEMDIAG_AGENT_BASE_LOCK_H
#define MEMDIAG_AGENT_BASE_LOCK_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/state.h"
#include "agent/base/sys.h"

/*
 * Take WORD: 0 free, 1 held, 2 held and another thread waits.  A waiting thread sleeps: a spinning
 * thread with a real-time priority could keep the holder from its processor forever.
 */
static inline void
lock_take_word(uint32_t *word)
{
	uint32_t seen = 0;

	if (__atomic_compare_exchange_n(word, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	if (seen != 2)
		seen = __atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE);
	while (seen) {
		sys_call(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL);
		seen = __atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE);
	}
}

static inline void
lock_drop_word(uint32_t *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		sys_call(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

struct lock {
	uint32_t word;
	const struct agent_self *owner;
};

/* False: this thread already holds the lock, so this is a signal handler that interrupted it. */
static inline bool
lock_take(struct lock *l)
{
	if (__atomic_load_n(&l->owner, __ATOMIC_RELAXED) == &agent_self)
		return false;
	lock_take_word(&l->word);
	__atomic_store_n(&l->owner, &agent_self, __ATOMIC_RELAXED);
	return true;
}

static inline void
lock_drop(struct lock *l)
{
	__atomic_store_n(&l->owner, NULL, __ATOMIC_RELAXED);
	lock_drop_word(&l->word);
}

#endif
