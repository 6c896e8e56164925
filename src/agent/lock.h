/*
 * lock: a mutex that calls nobody.  Never held across a call of the program's or libc's.
 */
#ifndef MEMDIAG_AGENT_LOCK_H
#define MEMDIAG_AGENT_LOCK_H

#include <linux/futex.h>
#include <stddef.h>

#include "agent/agent.h"
#include "agent/sys.h"

struct lock {
	int word;	/* 0 free, 1 held, 2 held and somebody waits */
	const struct agent_self *owner;
};

/* False: this thread holds it already, so we are in a signal handler that interrupted it. */
static inline bool
lock_take(struct lock *l)
{
	int seen = 0;

	if (__atomic_load_n(&l->owner, __ATOMIC_RELAXED) == &agent_self)
		return false;
	if (!__atomic_compare_exchange_n(
		    &l->word, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (seen != 2)
			seen = __atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE);
		while (seen) {
			sys_call(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL);
			seen = __atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE);
		}
	}
	__atomic_store_n(&l->owner, &agent_self, __ATOMIC_RELAXED);
	return true;
}

static inline void
lock_drop(struct lock *l)
{
	__atomic_store_n(&l->owner, NULL, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		sys_call(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

#endif
