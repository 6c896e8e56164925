#include <config.h>

#include "unwind/cache.h"

#include "unwind/objects-priv.h"
#include "unwind/rule.h"
#include "unwind/seen-priv.h"
#include "unwind/tables.h"
#include "unwind/unwind.h"

struct unwind_entry *unwind_cache;
uint64_t *unwind_quick;

static uint64_t nr_found;

/* ---- the tables ---- */

/* IS_PERMANENT becomes true if the code is never unloaded. */
static unwind_rule
cache_find(uintptr_t pc, uint64_t generation, bool *ret_is_permanent)
{
	struct unwind_object o;
	struct unwind_row row;
	enum unwind_kind kind = RULE_NONE;
	const enum unwind_found found = unwind_find_object(pc, &o);

	if (found == FOUND)
		unwind_note_seen(&o, generation);
	else if (found == FOUND_NONE)
		unwind_note_unseen(pc);
	*ret_is_permanent = found == FOUND && o.is_permanent;
	if (found == FOUND && unwind_find_row(&o, pc, &row))
		return unwind_rule_of(&row, pc);
	if (found == FOUND && unwind_is_trampoline(&o, pc + 1))
		kind = RULE_TRAMPOLINE;
	else if (found == FOUND_UNKNOWN)
		kind = RULE_UNKNOWN;
	return unwind_rule_make(kind, false, 0, 0, 0);
}

/* ---- the cache ---- */

static bool
cache_is_free(const struct unwind_entry *e, uint64_t generation)
{
	return __atomic_load_n(&e->generation, __ATOMIC_RELAXED) != generation;
}

/*
 * Choose an unused entry, else one of both by chance, so that two entries that are needed
 * alternately both stay now and then.
 */
static struct unwind_entry *
cache_choose(struct unwind_entry *e, uint64_t generation)
{
	if (cache_is_free(e, generation))
		return e;
	return cache_is_free(e + 1, generation) || (nr_found & 1) ? e + 1 : e;
}

/*
 * Store RULE for KEY.  Does nothing if another thread is writing there, or if this is a signal
 * handler that has interrupted such a write.
 */
static void
cache_put(struct unwind_entry *set, uint64_t key, uint64_t generation, unwind_rule rule)
{
	struct unwind_entry *e = cache_choose(set, generation);
	uint64_t version = __atomic_load_n(&e->version, __ATOMIC_RELAXED);

	if ((version & 1) ||
		!__atomic_compare_exchange_n(&e->version, &version, version + 1, false,
			__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&e->pc, key, __ATOMIC_RELAXED);
	__atomic_store_n(&e->generation, generation, __ATOMIC_RELAXED);
	__atomic_store_n(&e->rule, rule, __ATOMIC_RELAXED);
	__atomic_store_n(&e->version, version + 2, __ATOMIC_RELEASE);
}

/* Store RULE for KEY in one word.  False if it does not fit, or another rule is there. */
static bool
put_quickly(uint64_t key, unwind_rule rule)
{
	const uint64_t word = unwind_quick_word(key, rule);
	uint64_t none = 0;

	return word &&
		__atomic_compare_exchange_n(unwind_quick_of(key), &none, word, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

unwind_rule __attribute__((noinline, cold))
unwind_look_up(uintptr_t pc, bool is_exact, uint64_t generation)
{
	const uintptr_t key = pc - !is_exact;
	bool is_permanent;
	const unwind_rule rule = cache_find(key, generation, &is_permanent);

	__atomic_store_n(&nr_found, nr_found + 1, __ATOMIC_RELAXED);
	if (is_permanent && put_quickly(key, rule))
		return rule;
	if (generation && unwind_rule_kind(rule) != RULE_UNKNOWN)
		cache_put(unwind_set_of(pc), key, generation, rule);
	return rule;
}

bool
unwind_start(const struct unwind_host *h)
{
	unwind_objects_start(h);
	unwind_seen_start(h);
	if (!unwind_quick)
		unwind_quick = h->map(sizeof *unwind_quick << UNWIND_QUICK_BITS);
	if (unwind_quick && !unwind_cache)
		unwind_cache = h->map(UNWIND_CACHE_ENTRIES * sizeof *unwind_cache);
	return unwind_cache != NULL;
}

void
unwind_forget(void)
{
	/* Discard all rules: a known rule is not looked up, and only a lookup notes the object. */
	for (unsigned int i = 0; unwind_cache && i < UNWIND_CACHE_ENTRIES; i++)
		if (unwind_cache[i].generation)
			unwind_cache[i].generation = 0;
	for (uint32_t i = 0; unwind_quick && i < UINT32_C(1) << UNWIND_QUICK_BITS; i++)
		if (unwind_quick[i])
			unwind_quick[i] = 0;
	unwind_seen_forget();
}
