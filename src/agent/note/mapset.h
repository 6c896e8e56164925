/*
 * mapset: the mappings that the program has made while it is sampled, by address, with the site of
 * each mapping.  It handles parts of mappings: the rest after an munmap() of a part, and the pages
 * that mprotect() changes.
 *
 * A mapping counts while it is the program's memory (pages.h): with the bytes that are such memory,
 * and as one object while it has such bytes.
 *
 * Addresses that are unmapped are marked before the kernel gets them back, and removed after it has
 * them; they stay if the call fails.  If another thread meanwhile puts a mapping there, the old
 * entries end.
 *
 * All functions but mapset_may_have() take a lock, for the time of a few comparisons and never
 * across a call of the program.  A call is lost, and counted as lost in the sites, if it finds no
 * room or if a thread does not release the lock because it was ended in between.
 */
#ifndef MEMDIAG_AGENT_NOTE_MAPSET_H
#define MEMDIAG_AGENT_NOTE_MAPSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct mapset_part {
	uintptr_t start, end;
	unsigned int state; /* enum page_state; not recorded if PAGE_NOTHING or 0 */
};

/* True if the set has any entry.  Without entries, only mapset_put() has an effect. */
bool mapset_may_have(void);

/*
 * Record that [START, END) was mapped, which ends the previous states there.  Set the states of the
 * NR PARTS within it, in order, which are one mapping of SITE.
 */
void mapset_put(
	uintptr_t start, uintptr_t end, const struct mapset_part *parts, size_t nr, uint32_t site);

/*
 * mapset_leave() records that the call CALL, a number that no other active call has, is about to
 * unmap [START, END). mapset_end() records the result of the call.
 */
enum mapset_end {
	MAPSET_LEFT,	/* it was unmapped */
	MAPSET_STAYED,	/* the call failed */
	MAPSET_UNKNOWN, /* it failed, and a part may be unmapped: the kernel is asked */
};
void mapset_leave(uintptr_t start, uintptr_t end, uint32_t call);
void mapset_end(uintptr_t start, uintptr_t end, uint32_t call, enum mapset_end how);

/* Record that [START, END) has the protection PROT. */
void mapset_protect(uintptr_t start, uintptr_t end, int prot);

/*
 * Read the states of [START, END), in order, into RET, which has room for ROOM parts; the last part
 * covers the rest.  Adjacent ranges with the same state form one part.  Returns the number of
 * parts.
 */
size_t mapset_read(uintptr_t start, uintptr_t end, struct mapset_part *ret, size_t room);

/*
 * Get ready, in a process that may have LIMIT_BYTES of addresses (UINT64_MAX: unlimited).  A second
 * call has no effect.  False if no memory is available.
 */
bool mapset_begin(uint64_t limit_bytes);
/* Remove all entries.  No other thread may use the set, and the sites are about to be replaced. */
void mapset_forget(void);

#pragma GCC visibility pop

#endif
