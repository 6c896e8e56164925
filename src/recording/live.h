/*
 * live: the live amount of a site, and which events can follow.  The drain and the writer of a log,
 * histories and choices keep it for each site, and change it only by these functions.
 */
#ifndef MEMDIAG_RECORDING_LIVE_H
#define MEMDIAG_RECORDING_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/event.h"

/* Blocks of a site or of all sites, and their bytes. */
struct amount {
	int64_t blocks, bytes;
};

static inline void
amount_add(struct amount *a, const struct amount *more)
{
	a->blocks += more->blocks;
	a->bytes += more->bytes;
}

static inline struct amount
amount_less(const struct amount *a, const struct amount *b)
{
	return (struct amount){ a->blocks - b->blocks, a->bytes - b->bytes };
}

/* Return whether MORE is a valid amount, and A, which is valid, has room for it. */
static inline bool
amount_has_room(const struct amount *a, const struct amount *more)
{
	return more->blocks >= 0 && more->bytes >= 0 && more->blocks <= INT64_MAX - a->blocks &&
		more->bytes <= INT64_MAX - a->bytes;
}

/* Empty if zeroed. */
struct live {
	struct amount amount;
	enum live_kind { LIVE_OF_NOTHING, LIVE_OF_BLOCKS, LIVE_OF_MAPPINGS } kind; /* so far */
};

/* Result of adding an event; unless it is LIVE_ADDED, nothing has changed. */
enum live_result {
	LIVE_ADDED,
	LIVE_IS_OTHER,	 /* the site has blocks, and the event is of a mapping, or the reverse */
	LIVE_TOO_LITTLE, /* less than that was live */
	LIVE_TOO_MUCH,	 /* more than any process has */
};

/* Return whether one of the blocks may have BYTES: the last one has all bytes. */
static inline bool
live_has_block(const struct live *l, uint64_t bytes)
{
	return l->amount.blocks > 0 && bytes <= (uint64_t)l->amount.bytes &&
		(l->amount.blocks > 1 || bytes == (uint64_t)l->amount.bytes);
}

/*
 * Both numbers of an amount are changed in the same order: gcc combines them into one instruction,
 * which has to wait if one number was written alone before.
 */
static inline enum live_result
live_add_block(struct live *l, uint64_t bytes)
{
	if (bytes > EVENT_MAX_BYTES || l->amount.bytes > INT64_MAX - (int64_t)bytes)
		return LIVE_TOO_MUCH;
	if (l->kind != LIVE_OF_BLOCKS) {
		if (l->kind == LIVE_OF_MAPPINGS)
			return LIVE_IS_OTHER;
		l->kind = LIVE_OF_BLOCKS;
	}
	l->amount.blocks++;
	l->amount.bytes += (int64_t)bytes;
	return LIVE_ADDED;
}

static inline enum live_result
live_take_block(struct live *l, uint64_t bytes)
{
	if (!live_has_block(l, bytes))
		return LIVE_TOO_LITTLE;
	if (l->kind == LIVE_OF_MAPPINGS)
		return LIVE_IS_OTHER;
	l->amount.blocks--;
	l->amount.bytes -= (int64_t)bytes;
	return LIVE_ADDED;
}

/* Add an event of a mapping, or of an amount that was live before. */
enum live_result live_add_rare(struct live *l, const struct event *v);

/* Add V, which is of the site of L, and is not EVENT_RSS, EVENT_TIME or EVENT_UNORDERED. */
static inline enum live_result
live_add(struct live *l, const struct event *v)
{
	if (v->kind == EVENT_ALLOCATED)
		return live_add_block(l, v->bytes);
	if (v->kind <= EVENT_FREED_SOON)
		return live_take_block(l, v->bytes);
	return live_add_rare(l, v);
}

/* Return the amount that V, EVENT_LIVE or an event of a mapping, adds or removes. */
static inline struct amount
live_amount_of(const struct event *v)
{
	const bool is_begin = v->kind == EVENT_LIVE || v->kind == EVENT_LIVE_MAPPED;

	return (struct amount){ is_begin ? (int64_t)v->blocks
					 : v->kind != EVENT_GROWN && v->kind != EVENT_SHRUNK,
		(int64_t)v->bytes };
}

#endif
