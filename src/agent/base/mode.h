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
	AGENT_OFF,	       /* not ready, or stopped: hooks do what the real ones do */
	AGENT_QUICK,	       /* count usable bytes of a plain glibc, no limit */
	AGENT_QUICK_REQUESTED, /* the same with requested bytes */
	AGENT_GUARDED,	       /* count all else */
	AGENT_UNCOUNTED,       /* count nothing, of a plain glibc; of another malloc: */
	AGENT_UNCOUNTED_GUARDED,
	/*
	 * One of these is added: samples are taken, too, or all is recorded.  memdiag writes this
	 * half of the word, and the agent the other one, so neither undoes what the other has
	 * changed.
	 */
	AGENT_SAMPLES = WIRE_NOTE_SAMPLES << 16,
	AGENT_RECORDS = WIRE_NOTE_ALL << 16,
} agent_mode;

/* By the settings, when the segment is there and after the limit has changed. */
void mode_choose(void);
/* The offset in agent_mode of the half that memdiag writes: 1 or 0. */
#define MODE_NOTING_AT sizeof(uint16_t)

/* How calls are counted, whether or not samples are taken as well. */
static inline enum agent_mode
mode_of_counter(void)
{
	return (enum agent_mode)(agent_mode & (AGENT_SAMPLES - 1));
}

/* Whether they are. */
static inline bool
mode_counts(void)
{
	const enum agent_mode counter = mode_of_counter();

	return counter != AGENT_OFF && counter < AGENT_UNCOUNTED;
}

/* Have samples taken, or all recorded, as memdiag would; the segment says so. */
void mode_note(enum wire_noting what);

/* In a child it is AGENT_OFF, whichever way that was made, until fork() has ended. */
void mode_turn_off_in_children(void);

#pragma GCC visibility pop

#endif
