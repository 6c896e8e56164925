/*
 * mapset: what the program has mapped since it is sampled, by addresses, and the site of each
 * mapping.  It knows parts of mappings: what munmap() of a part leaves, and what mprotect()
 * changes.
 *
 * A mapping counts while it is the program's memory (pages.h), with the bytes that are, and as one
 * object while any of them are.
 *
 * Addresses that leave are marked before the kernel gets them back, and taken out after it has
 * them, or stay if the call fails; a mapping that is put there meanwhile, by another thread, ends
 * what was there.
 *
 * All but mapset_may_have() take a lock, for the time of a few comparisons and never across a call
 * of the program's.  A call is lost, and counted in the sites, where there is no room for it, or a
 * thread does not give the lock back: it was ended in between.
 */
#ifndef MEMDIAG_AGENT_NOTE_MAPSET_H
#define MEMDIAG_AGENT_NOTE_MAPSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct mapset_part {
	uintptr_t start, end;
	unsigned int state; /* enum page_state; with PAGE_NOTHING, or 0, nothing is to be known */
};

/* Whether there is anything in it.  Without, none of the others but mapset_put() has an effect. */
bool mapset_may_have(void);

/*
 * [START, END) was mapped: the states there before are gone.  Set those of the NR PARTS within, in
 * order, which are one mapping of SITE.
 */
void mapset_put(
	uintptr_t start, uintptr_t end, const struct mapset_part *parts, size_t nr, uint32_t site);

/*
 * [START, END) is about to leave, by the call CALL, a number that no other call under way has; and
 * the call has ended.
 */
enum mapset_end {
	MAPSET_LEFT,	/* it has left */
	MAPSET_STAYED,	/* the call failed */
	MAPSET_UNKNOWN, /* it failed, and some may have left: the kernel is asked */
};
void mapset_leave(uintptr_t start, uintptr_t end, uint32_t call);
void mapset_end(uintptr_t start, uintptr_t end, uint32_t call, enum mapset_end how);

/* [START, END) has the protection PROT. */
void mapset_protect(uintptr_t start, uintptr_t end, int prot);

/*
 * Read the states of [START, END), in order, into RET, which has room for ROOM parts; the rest goes
 * to the last one.  Neighbours with one state are one part.  Returns how many they are.
 */
size_t mapset_read(uintptr_t start, uintptr_t end, struct mapset_part *ret, size_t room);

/*
 * Get ready, in a process that may have LIMIT_BYTES of addresses (UINT64_MAX: any number).  Again
 * it has no effect.  False: there is no memory.
 */
bool mapset_begin(uint64_t limit_bytes);
/* Forget all: nobody else is at it, and the sites are about to be others. */
void mapset_forget(void);

#pragma GCC visibility pop

#endif
