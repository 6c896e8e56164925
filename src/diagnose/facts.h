/*
 * facts: the facts that verdicts are judged by.
 */
#ifndef MEMDIAG_DIAGNOSE_FACTS_H
#define MEMDIAG_DIAGNOSE_FACTS_H

#include <stdint.h>

#include "diagnose/verdict.h"

struct heap;
struct heap_arena;
struct malloc_info;
struct malloc_info_heap;
struct space;
struct target;

/*
 * Fill F, which must be zeroed or released, with facts about T from SPACE and HEAP, which may come
 * from heap_read() or heap_read_tops().  SPACE may be NULL, for a core file.  No thread is stopped.
 * Approximate arenas contribute their certain part, and is_bound is set.
 */
void verdict_facts_gather(struct verdict_facts *f, const struct target *t,
	const struct space *space, const struct heap *heap);

/*
 * Facts about an arena from malloc's own account, where ARENA, from heap_read_tops(), has PAGES:
 * bounds instead of the exact numbers of a heap that was read.  ARENA may be NULL if it was not
 * identified.
 */
struct verdict_pages {
	uint64_t resident_bytes, swapped_bytes;
};
void verdict_facts_add_account(struct verdict_facts *f, const struct malloc_info_heap *account,
	const struct heap_arena *arena, struct verdict_pages pages);

/*
 * Fill F, which must be zeroed or released, from the saved account MI; nothing else is known of its
 * process.
 */
void verdict_facts_of_account(struct verdict_facts *f, const struct malloc_info *mi);

void verdict_facts_release(struct verdict_facts *f);
#define auto_verdict_facts __attribute__((cleanup(verdict_facts_release)))

#endif
