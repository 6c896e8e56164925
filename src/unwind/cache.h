/*
 * cache: code address -> rule, for all threads, without a lock.
 *
 *	set -> +-- 64 bytes, a cache line ------+
 *	       | version pc generation rule | * |   two entries
 *	       +--------------------------------+
 *
 * An entry is valid only in the generation in which it was found, so the rule of an unloaded object
 * is never used for another object at the same address.  The version shows a reader whether a
 * writer changed the entry meanwhile.
 */
#ifndef MEMDIAG_UNWIND_CACHE_H
#define MEMDIAG_UNWIND_CACHE_H

#include "unwind/unwind-priv.h"

struct unwind_entry {
	uint64_t pc;
	uint64_t generation; /* 0: never used */
	unwind_rule rule;
	uint64_t version; /* odd while the entry changes */
};
_Static_assert(sizeof(struct unwind_entry) == 32, "two entries fill a cache line");

#define UNWIND_CACHE_BITS 13
#define UNWIND_CACHE_ENTRIES (2u << UNWIND_CACHE_BITS)

#pragma GCC visibility push(hidden)
extern struct unwind_entry *unwind_cache;
#pragma GCC visibility pop

/*
 * The first of the two entries for PC.  The lowest bits of PC work as well as a hash and are
 * quicker: each frame waits for the load of the previous one.
 */
static inline struct unwind_entry *
unwind_set_of(uint64_t pc)
{
	const uint64_t set_bytes = 2 * sizeof *unwind_cache;
	const uint64_t at = pc * set_bytes & ((set_bytes << UNWIND_CACHE_BITS) - set_bytes);

	return (struct unwind_entry *)((char *)unwind_cache + at);
}

/* Get the rule for PC into *RET.  False if E does not have it. */
static inline __attribute__((always_inline)) bool
unwind_entry_read(const struct unwind_entry *e, uint64_t pc, uint64_t generation, unwind_rule *ret)
{
	const uint64_t version = __atomic_load_n(&e->version, __ATOMIC_ACQUIRE);

	if (UNWIND_UNLIKELY(__atomic_load_n(&e->pc, __ATOMIC_RELAXED) != pc ||
		    __atomic_load_n(&e->generation, __ATOMIC_RELAXED) != generation))
		return false;
	*ret = __atomic_load_n(&e->rule, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return UNWIND_LIKELY(
		!(version & 1) && __atomic_load_n(&e->version, __ATOMIC_RELAXED) == version);
}

/* The rule for the code at PC or, if PC is a return address, for the call that precedes it. */
static inline __attribute__((always_inline)) unwind_rule
unwind_rule_for(uint64_t pc, bool is_exact, uint64_t generation)
{
	const struct unwind_entry *e = unwind_set_of(pc);
	const uint64_t key = pc - !is_exact;
	unwind_rule rule;

	if (UNWIND_LIKELY(unwind_entry_read(e, key, generation, &rule)) ||
		unwind_entry_read(e + 1, key, generation, &rule))
		return rule;
	return unwind_look_up(pc, is_exact, generation);
}

#endif
