/*
 * cache: code address -> rule, for all threads, without a lock.
 *
 * Most code belongs to objects that are never unloaded.  A plain rule of such code is valid for
 * ever, and fits in one word together with its address:
 *
 *	bit 63             31        30        29       15       7        0
 *	|  bits of address  | has_fp | is_from_fp | cfa_at | ra_at | fp_at |
 *
 * All other rules are in sets:
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cache-priv.h"
#include "unwind/unwind-priv.h"

struct dl_find_object;
struct dl_phdr_info;

#pragma GCC visibility push(hidden)

struct unwind_entry {
	uint64_t pc;
	uint64_t generation; /* 0: never used */
	unwind_rule rule;
	uint64_t version; /* odd while the entry changes */
};
_Static_assert(sizeof(struct unwind_entry) == 32, "two entries fill a cache line");

#define UNWIND_CACHE_BITS 13
#define UNWIND_CACHE_ENTRIES (2u << UNWIND_CACHE_BITS)

extern struct unwind_entry *unwind_cache;

/* An address has two parts: the position of its word, and 32 bits that the word has, plus 1. */
#define UNWIND_QUICK_BITS (UNWIND_ADDRESS_BITS - 32)
extern uint64_t *unwind_quick;

static inline uint64_t *
unwind_quick_of(uint64_t key)
{
	const uint64_t mask = (UINT64_C(1) << UNWIND_QUICK_BITS) - 1;

	return &unwind_quick[(key ^ key >> UNWIND_QUICK_BITS) & mask];
}

/*
 *	bits  63..32     31       30       29..16    15..8   7..0
 *	     | key | has_fp | is_from_fp | cfa_at | ra_at | fp_at |	offsets in words
 *
 * The rule in WORD, if it is that of KEY; else 0, which is no rule.
 */
static inline __attribute__((always_inline)) unwind_rule
unwind_quick_rule(uint64_t word, uint64_t key)
{
	if (UNWIND_UNLIKELY(word >> 32 != (key >> UNWIND_QUICK_BITS) + 1))
		return 0;
	return (word & 0xc00000ff) << 32 | (word & 0xff00) << 40 | (word >> 13 & 0x1fff8);
}

/* The word for RULE of KEY; 0 if they do not fit. */
static inline uint64_t
unwind_quick_word(uint64_t key, unwind_rule rule)
{
	const uint64_t word = ((key >> UNWIND_QUICK_BITS) + 1) << 32 | (rule >> 32 & 0xc00000ff) |
		(rule >> 40 & 0xff00) | (rule << 13 & 0x3fff0000);

	return unwind_rule_kind(rule) == RULE_PLAIN && unwind_quick_rule(word, key) == rule ? word
											    : 0;
}

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

/*
 * The rule for the code at PC or, if PC is a return address, for the call that precedes it.  0: not
 * in one word.
 */
static inline __attribute__((always_inline)) unwind_rule
unwind_rule_quickly(uint64_t pc, bool is_exact)
{
	const uint64_t key = pc - !is_exact;

	return unwind_quick_rule(__atomic_load_n(unwind_quick_of(key), __ATOMIC_RELAXED), key);
}

/* The same rule, of any kind. */
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

/* ---- loaded objects ---- */

/* A mapped object in a program without a dynamic linker. */
struct unwind_image {
	const void *header; /* its ELF header */
	/* Its .eh_frame if no program header shows a table of it; else NULL. */
	const void *frames;
	size_t frames_bytes;
};

/*
 * An object that was met in a walk.  Its number distinguishes it from objects that are loaded at
 * its addresses later or were loaded there before.
 */
#define UNWIND_MAX_CODE 4
#define UNWIND_MAX_ID 32
struct unwind_seen {
	uint32_t number;  /* unique among objects at its addresses; 0 for the only one */
	const char *name; /* its path from ld.so, valid during the call; NULL if unknown */
	uint32_t nr_code, id_bytes;
	struct {
		uintptr_t start, end;
		uint64_t offset_bytes; /* offset in the file */
	} code[UNWIND_MAX_CODE];       /* its executable parts, in whole pages */
	uint8_t id[UNWIND_MAX_ID];     /* its build-id; nr_id 0: no build-id */
};

struct unwind_host {
	/* dl_iterate_phdr(); NULL in a program without a dynamic linker. */
	int (*iterate)(int (*each)(struct dl_phdr_info *, size_t, void *), void *arg);
	/* _dl_find_object() of glibc since 2.35; NULL if it is missing. */
	int (*find_object)(void *pc, struct dl_find_object *ret);
	/* Memory of at least BYTES, zeroed, page-aligned, never released; NULL on failure. */
	void *(*map)(size_t bytes);
	/* Without ITERATE: the mapped objects (program, vDSO, agent); not copied. */
	const struct unwind_image *image;
	size_t nr_images;
	size_t page_bytes;
	/* True if objects can be unloaded: with glibc. musl's dlclose() keeps them. */
	bool can_unload;
	/*
	 * Called in a walk for each object that can be unloaded, when the object is met for the
	 * first time; by several threads simultaneously, and in signal handlers.  The object's
	 * number is UNWIND_NO_NUMBER if too many objects were met: its code is then unknown.  NULL:
	 * no calls.
	 */
	void (*seen)(const struct unwind_seen *);
};

/*
 * Get ready: find the loaded objects, and map the cache.  Call this from a thread that may wait for
 * locks of ld.so, not in a hook.  HOST is copied.  False if no memory is available; walks then find
 * no frame.  A further call keeps the memory and notes the objects again.
 */
bool unwind_start(const struct unwind_host *host);

/*
 * Forget the objects that were met, so that each is met for the first time again.  No thread may be
 * walking, and earlier stacks must not be used afterwards.
 */
void unwind_forget(void);

#pragma GCC visibility pop

#endif
