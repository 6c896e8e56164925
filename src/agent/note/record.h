/*
 * record: the recorder as a job: each block is noted with its stack when it is taken, and is
 * subtracted there when it is given back.  Each thread adds to sites of its own, so no thread
 * waits for another one, and cache lines are shared by threads that free each other's blocks, or
 * add to the sum of all.
 */
#ifndef MEMDIAG_AGENT_NOTE_RECORD_H
#define MEMDIAG_AGENT_NOTE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* SELF, which may note something, is about to ask for a stack: begin anew if need be. */
void record_prepare(struct wire_thread *self);

/* ---- what hooks call ---- */

/* BLOCK was taken for SIZE; NULL: the call failed.  Returns it. */
void *record_taken(struct wire_thread *self, void *block, size_t size);
/* BLOCK is about to be freed.  Returns it. */
void *record_giving(struct wire_thread *self, void *block);

/* The note of a block that may stay as it is after all. */
struct record_resize {
	uint64_t bytes; /* 0, and no site: nothing was noted */
	uint32_t site;	/* 0: none, it is from before the record */
	uint32_t turn;	/* of the notes, when it was */
};
/* OLD is about to be resized. */
void record_resizing(struct wire_thread *self, void *old, struct record_resize *ret);
/* OLD has become BLOCK of SIZE; NULL: it is still there or, if SIZE is 0, freed.. */
void *record_resized(struct wire_thread *self, void *old, void *block, size_t size,
	const struct record_resize *r);

#pragma GCC visibility pop

#endif
