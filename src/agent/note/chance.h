/*
 * chance: how far it is to the next sample, and what a sample stands for.  Every byte that is
 * allocated has the same chance to be sampled, 1 in PERIOD.  So a block of Z bytes is sampled with
 * the chance 1 - exp(-Z / PERIOD), and stands for as many blocks like it as that is smaller than 1:
 * sums of these are right on average, for any sizes.
 *
 * The agent has no libm; what is needed of it is here.
 */
#ifndef MEMDIAG_AGENT_NOTE_CHANCE_H
#define MEMDIAG_AGENT_NOTE_CHANCE_H

#include <stdint.h>

#include "wire/sites.h"
#include "wire/wire.h"

/* -log(X), X in (0, 1]; right to a few units of the last place. */
double chance_minus_log(double x);
/* 1 - exp(-X), X >= 0. */
double chance_of(double x);

/* A number of 64 random bits; STATE, which is any, is another one afterwards. */
uint64_t chance_random(uint64_t *state);

/*
 * Bytes up to and with the next that is sampled: 1 or more, PERIOD_BYTES on average.  With 1 each
 * block is sampled, and stands for itself.
 */
int64_t chance_step(uint64_t *state, uint64_t period_bytes);

/*
 * The amount that a sampled block of SIZE stands for.  0 bytes count as one byte for the chance
 * (chance_bytes()), so that it has one.  A fraction is rounded up or down by chance, so that sums
 * of small blocks are right, too.
 */
struct wire_amount chance_amount(uint64_t *state, uint64_t size, uint64_t period_bytes);

/* By how much a block of SIZE brings the next sample nearer. */
static inline uint64_t
chance_bytes(uint64_t size)
{
	return size + 1;
}

#endif
