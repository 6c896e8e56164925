/*
 * draw: numbers for random tests, the same ones for each SEED, which is not 0 (Marsaglia's
 * xorshift).
 */
#ifndef MEMDIAG_TESTS_DRAW_H
#define MEMDIAG_TESTS_DRAW_H

#include <stdint.h>

static uint64_t seed;

/* Return a number below BELOW. */
static inline uint64_t
draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

#endif
