#include <config.h>

#include "agent/note/trigger.h"

#include "agent/note/sites.h"

static void
trigger_ask(enum wire_trigger what)
{
	__atomic_fetch_or(&sites->triggers.asked, UINT32_C(1) << what, __ATOMIC_RELEASE);
}

/* If several threads pass the end of an interval, the first of them requests the file. */
static void
check_interval(struct wire_triggers *t)
{
	const uint64_t all = __atomic_load_n(&sites->allocated_bytes, __ATOMIC_RELAXED);
	uint64_t next = __atomic_load_n(&t->next_bytes, __ATOMIC_RELAXED);

	if (all >= next &&
		__atomic_compare_exchange_n(&t->next_bytes, &next,
			all - all % t->interval_bytes + t->interval_bytes, false, __ATOMIC_RELAXED,
			__ATOMIC_RELAXED))
		trigger_ask(WIRE_TRIGGER_INTERVAL);
}

static void
check_high_water(struct wire_triggers *t, int64_t live)
{
	const int64_t part = live / WIRE_HIGH_PART;
	int64_t next = __atomic_load_n(&t->next_high_bytes, __ATOMIC_RELAXED);

	if (live > next &&
		__atomic_compare_exchange_n(&t->next_high_bytes, &next,
			live + (part > WIRE_HIGH_LEAST_BYTES ? part : WIRE_HIGH_LEAST_BYTES), false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		trigger_ask(WIRE_TRIGGER_HIGH_WATER);
}

/*
 * Request a file once, until an eighth less is live: otherwise a program that stays above the
 * threshold would request files continuously.
 */
static void
check_above(struct wire_triggers *t, int64_t live)
{
	const int64_t above = (int64_t)t->above_bytes;

	if (live > above) {
		if (!__atomic_exchange_n(&t->is_above, 1, __ATOMIC_RELAXED))
			trigger_ask(WIRE_TRIGGER_ABOVE);
	} else if (live < above - above / 8) {
		__atomic_store_n(&t->is_above, 0, __ATOMIC_RELAXED);
	}
}

void
trigger_check(void)
{
	struct wire_triggers *t = &sites->triggers;
	const int64_t live = __atomic_load_n(&sites->live_bytes, __ATOMIC_RELAXED);

	if (t->interval_bytes)
		check_interval(t);
	if (t->high_water)
		check_high_water(t, live);
	if (t->above_bytes)
		check_above(t, live);
}

/*
 * The number of an entry is written last: a reader takes an entry with the number that it expects.
 */
void
trigger_large(size_t size, uint32_t node, uint32_t tid)
{
	struct wire_triggers *t = &sites->triggers;
	const uint32_t number = __atomic_add_fetch(&t->nr_large, 1, __ATOMIC_RELAXED);
	struct wire_large *l = &t->large[number % WIRE_NR_LARGE];

	__atomic_store_n(&l->number, 0, __ATOMIC_RELEASE);
	l->bytes = size;
	l->node = node;
	l->tid = tid;
	__atomic_store_n(&l->number, number, __ATOMIC_RELEASE);
}
