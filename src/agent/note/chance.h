/*
 * chance: the distance to the next sample, and the weight of a sample.  Every allocated byte is
 * sampled with the same probability, 1 in PERIOD.  So a block of Z bytes is sampled with the
 * probability 1 - exp(-Z / PERIOD), and its weight is the inverse of that: sums of weights are
 * right on average, for any sizes.
 *
 * The agent does not use libm; this file defines the functions that it needs.
 */
#ifndef MEMDIAG_AGENT_NOTE_CHANCE_H
#define MEMDIAG_AGENT_NOTE_CHANCE_H

#include <stdint.h>

#include "wire/sites.h"

/* -log(X) for X in (0, 1], accurate to a few units in the last place. */
double chance_minus_log(double x);
/* 1 - exp(-X) for X >= 0. */
double chance_of(double x);

/* Return 64 random bits, and update STATE, whose first value is arbitrary. */
uint64_t chance_random(uint64_t *state);

/*
 * The number of bytes up to and including the next sampled one: at least 1, PERIOD_BYTES on
 * average.  With PERIOD_BYTES 1, each block is sampled with the weight 1.
 */
int64_t chance_step(uint64_t *state, uint64_t period_bytes);

/*
 * The amount that a sampled block of SIZE stands for.  For the probability, 0 bytes count as one
 * byte (chance_bytes()).  A fraction is randomly rounded up or down, so that sums of small blocks
 * are right, too.
 */
struct wire_amount chance_amount(uint64_t *state, uint64_t size, uint64_t period_bytes);

/* The number of bytes by which a block of SIZE reduces the distance to the next sample. */
static inline uint64_t
chance_bytes(uint64_t size)
{
	return size + 1;
}

#endif
