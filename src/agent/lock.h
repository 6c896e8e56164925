/*
 * lock: a mutex of one word that calls nobody.  Never held across a call of the program's or libc's.
 */
#ifndef MEMDIAG_AGENT_LOCK_H
#define MEMDIAG_AGENT_LOCK_H

#include <linux/futex.h>
#include <stddef.h>

#include "agent/sys.h"

struct lock {
	int word;	/* 0 free, 1 held, 2 held and somebody waits */
};

static inline void
lock_take(struct lock *l)
{
	int seen = 0;

	if (__atomic_compare_exchange_n(
		    &l->word, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	if (seen != 2)
		seen = __atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE);
	while (seen) {
		sys_call(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL);
		seen = __atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE);
	}
}

static inline void
lock_drop(struct lock *l)
{
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		sys_call(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

#endif
