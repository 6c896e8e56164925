/* slots: addresses in malloc's memory as 32 bits. */
#ifndef MEMDIAG_CENSUS_SLOTS_H
#define MEMDIAG_CENSUS_SLOTS_H

#include "base/err.h"
#include "census/census.h"

/*
 * Prepare S for blocks that are aligned to ALIGN_BYTES, a power of two.  Returns 0, or -1 with E.
 */
int census_slots_init(struct census_slots *s, unsigned int align_bytes, struct err *e);
void census_slots_release(struct census_slots *s);

/*
 * Add the slots of [START, END).  Returns 0, 1 if one of them was new, or -1 with E if there are
 * too many: 64 GiB.
 */
int census_slots_add(struct census_slots *s, raddr start, raddr end, struct err *e);

/* Return the granule of ADDR; 0: malloc has nothing there. */
static inline uint32_t
census_granule(const struct census_slots *s, uint64_t addr)
{
	const uint64_t slot = addr >> CENSUS_SLOT_SHIFT;
	uint32_t number;

	if (slot >> (CENSUS_ADDRESS_BITS - CENSUS_SLOT_SHIFT))
		return 0;
	number = s->number[slot];
	return number ? number << (CENSUS_SLOT_SHIFT - s->granule_shift) |
			(uint32_t)(addr & ((1U << CENSUS_SLOT_SHIFT) - 1)) >> s->granule_shift
		      : 0;
}

/* Return the address of a granule. */
static inline uint64_t
census_granule_address(const struct census_slots *s, uint32_t granule)
{
	const unsigned int bits = CENSUS_SLOT_SHIFT - s->granule_shift;

	return s->start.v[granule >> bits] +
		((uint64_t)(granule & ((1U << bits) - 1)) << s->granule_shift);
}

#endif
