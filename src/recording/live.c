#include <config.h>

#include "recording/live.h"

/* Add A of KIND to L. */
static enum live_result
live_more(struct live *l, const struct amount *a, enum live_kind kind)
{
	if (l->kind != LIVE_OF_NOTHING && l->kind != kind)
		return LIVE_IS_OTHER;
	if (!amount_has_room(&l->amount, a))
		return LIVE_TOO_MUCH;
	l->kind = kind;
	amount_add(&l->amount, a);
	return LIVE_ADDED;
}

/* Subtract A.  Every mapping has bytes, and none are left after the last one. */
static enum live_result
live_less(struct live *l, const struct amount *a)
{
	const struct amount left = amount_less(&l->amount, a);

	if (l->kind != LIVE_OF_MAPPINGS || l->amount.blocks < 1 || a->bytes < 0 || left.bytes < 0 ||
		(left.bytes > 0) != (left.blocks > 0))
		return LIVE_TOO_LITTLE;
	l->amount = left;
	return LIVE_ADDED;
}

enum live_result
live_add_rare(struct live *l, const struct event *v)
{
	const struct amount a = live_amount_of(v);

	switch (v->kind) {
	case EVENT_LIVE:
		return live_more(l, &a, LIVE_OF_BLOCKS);
	case EVENT_LIVE_MAPPED:
		return live_more(l, &a, LIVE_OF_MAPPINGS);
	case EVENT_MAPPED:
	case EVENT_GROWN:
		if (v->kind == EVENT_GROWN && l->amount.blocks < 1)
			return LIVE_TOO_LITTLE;
		if (v->bytes > EVENT_MAX_BYTES)
			return LIVE_TOO_MUCH;
		return live_more(l, &a, LIVE_OF_MAPPINGS);
	case EVENT_UNMAPPED:
	case EVENT_SHRUNK:
		return live_less(l, &a);
	default:
		return LIVE_ADDED;
	}
}
