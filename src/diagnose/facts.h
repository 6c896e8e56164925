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
 * Fill F, which must be zeroed or released, with what SPACE and HEAP say of T: any HEAP, of
 * heap_read() or of heap_read_tops().  SPACE may be NULL, of a core file.  Nothing is stopped.
 * Arenas that are approximate count for what is sure of them, and is_bound says so.
 */
void verdict_facts_gather(struct verdict_facts *f, const struct target *t,
	const struct space *space, const struct heap *heap);

/*
 * malloc's own account of an arena, where ARENA, of heap_read_tops(), has PAGES: bounds, where a
 * heap that was read has numbers.  ARENA may be NULL: it is unknown which one it is.
 */
struct verdict_pages {
	uint64_t resident_bytes, swapped_bytes;
};
void verdict_facts_add_account(struct verdict_facts *f, const struct malloc_info_heap *account,
	const struct heap_arena *arena, struct verdict_pages pages);

/*
 * Fill F, which must be zeroed or released, with the account MI, which was saved: nothing else is
 * known of its process.
 */
void verdict_facts_of_account(struct verdict_facts *f, const struct malloc_info *mi);

void verdict_facts_release(struct verdict_facts *f);
#define auto_verdict_facts __attribute__((cleanup(verdict_facts_release)))

#endif
