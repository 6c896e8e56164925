/*
 * mode: how hooks count.
 */
#ifndef MEMDIAG_AGENT_BASE_MODE_H
#define MEMDIAG_AGENT_BASE_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

#pragma GCC visibility push(hidden)

extern enum agent_mode {
	AGENT_OFF,	       /* not ready, or stopped: hooks only call the real functions */
	AGENT_QUICK,	       /* count usable bytes under a plain glibc without a limit */
	AGENT_QUICK_REQUESTED, /* like AGENT_QUICK, for requested bytes */
	AGENT_GUARDED,	       /* count in all other cases */
	AGENT_UNCOUNTED,       /* count nothing under a plain glibc; under another malloc: */
	AGENT_UNCOUNTED_GUARDED,
	/*
	 * One of these is added if samples are taken or all blocks are recorded. memdiag writes
	 * this half of the word and the agent writes the other half, so neither overwrites a change
	 * by the other.
	 */
	AGENT_SAMPLES = WIRE_NOTE_SAMPLES << 16,
	AGENT_RECORDS = WIRE_NOTE_ALL << 16,
} agent_mode;

/*
 * Choose the mode from the settings: once the segment exists, and after each change of the limit.
 */
void mode_choose(void);
/* The offset in agent_mode of the half that memdiag writes: an enum wire_noting. */
#define MODE_NOTING_AT sizeof(uint16_t)

/* The mode of the counter, regardless of samples. */
static inline enum agent_mode
mode_of_counter(void)
{
	return (enum agent_mode)(agent_mode & (AGENT_SAMPLES - 1));
}

/* True if calls are counted. */
static inline bool
mode_counts(void)
{
	const enum agent_mode counter = mode_of_counter();

	return counter != AGENT_OFF && counter < AGENT_UNCOUNTED;
}

/* Start WHAT as memdiag would, and record it in the segment. */
void mode_note(enum wire_noting what);

/* Set agent_mode to AGENT_OFF in every child, however it was made, until fork() has ended. */
void mode_turn_off_in_children(void);

#pragma GCC visibility pop

#endif
