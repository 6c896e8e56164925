/* The slots of the address space in which malloc has memory. */
#include <config.h>

#include "census/slots.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#define NR_SLOTS (UINT64_C(1) << (CENSUS_ADDRESS_BITS - CENSUS_SLOT_SHIFT))

int
census_slots_init(struct census_slots *s, unsigned int align_bytes, struct err *e)
{
	s->granule_shift = (unsigned int)__builtin_ctz(align_bytes);
	/* 32 MiB of addresses; only the pages of slots that are used become memory. */
	s->number = calloc(NR_SLOTS, sizeof *s->number);
	/* No granule is 0. */
	if (!s->number || !array_add(&s->start))
		return err_set(e, ENOMEM, "cannot list the memory of malloc");
	return 0;
}

void
census_slots_release(struct census_slots *s)
{
	free(s->number);
	free(s->start.v);
	*s = (struct census_slots){ 0 };
}

int
census_slots_add(struct census_slots *s, raddr start, raddr end, struct err *e)
{
	const size_t max = (size_t)1 << (32 - CENSUS_SLOT_SHIFT + s->granule_shift);
	int is_new = 0;

	if (end.v > UINT64_C(1) << CENSUS_ADDRESS_BITS)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"malloc has memory at " PRIraddr ", which is too high an address", start.v);
	for (uint64_t slot = start.v >> CENSUS_SLOT_SHIFT;
		start.v < end.v && slot <= (end.v - 1) >> CENSUS_SLOT_SHIFT; slot++) {
		uint64_t *added;

		if (s->number[slot])
			continue;
		if (s->start.nr == max)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"malloc's memory is in more than %zu ranges of 16 MiB", max - 1);
		added = array_add(&s->start);
		if (!added)
			return err_set(e, ENOMEM, "cannot list the memory of malloc");
		*added = slot << CENSUS_SLOT_SHIFT;
		s->number[slot] = (uint16_t)(s->start.nr - 1);
		is_new = 1;
	}
	return is_new;
}
