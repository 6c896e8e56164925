/*
 * record: the recorder as a job.  It records each block with its stack when it is allocated, and
 * subtracts it there when it is freed.  Each thread adds to its own sites, so no thread waits for
 * another.  Threads share cache lines only if they free each other's blocks or add to the global
 * sum.
 */
#ifndef MEMDIAG_AGENT_NOTE_RECORD_H
#define MEMDIAG_AGENT_NOTE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* SELF may record and is about to get a stack: reset its data if recording has started again. */
void record_prepare(struct wire_thread *self);

/* ---- functions for hooks ---- */

/* BLOCK was allocated for SIZE; NULL: the call failed.  Returns BLOCK. */
void *record_taken(struct wire_thread *self, void *block, size_t size);
/* BLOCK is about to be freed.  Returns BLOCK. */
void *record_giving(struct wire_thread *self, void *block);

/* The data of a block that stays unchanged if the resize fails. */
struct record_resize {
	uint64_t bytes; /* 0, and site 0: nothing was recorded */
	uint32_t site;	/* 0: the block is older than the record */
	uint32_t turn;	/* turn of the notes at that time */
};
/* OLD is about to be resized. */
void record_resizing(struct wire_thread *self, void *old, struct record_resize *ret);
/* OLD was resized to BLOCK of SIZE.  NULL: OLD still exists or, if SIZE is 0, was freed. */
void *record_resized(struct wire_thread *self, void *old, void *block, size_t size,
	const struct record_resize *r);

#pragma GCC visibility pop

#endif
