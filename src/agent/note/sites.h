/*
 * sites: the tree of stacks and the counters of its leaves (wire/sites.h), as jobs write them.  A
 * node is found without a lock; a site is locked for the few additions of one event.
 */
#ifndef MEMDIAG_AGENT_NOTE_SITES_H
#define MEMDIAG_AGENT_NOTE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/sites.h"

#pragma GCC visibility push(hidden)

/* NULL: nothing is recorded, as in a forked child. */
extern struct wire_sites *sites;

/*
 * Keep SITES and the memory that it points to, for a reader outside all hooks, until
 * sites_let_go().  False if SITES is NULL or is about to become NULL.
 */
bool sites_hold(void);
/* In a forked child, forget the parent's readers. */
void sites_begin_child(void);
void sites_let_go(void);
/*
 * Set sites to NULL when no reader holds them; no thread may be recording.  False if a reader does
 * not let go.
 */
bool sites_drop(void);

/*
 * Reduce SIZE so that everything together takes at most LIMIT_BYTES, but not below the smallest
 * useful size (SITES_LEAST_BYTES).
 */
#define SITES_LEAST_BYTES (UINT64_C(4) << 20)
struct wire_sites_size sites_fit(struct wire_sites_size size, uint64_t limit_bytes);

/*
 * The child of node PARENT for ADDRESS, which is created if needed.  UINT32_MAX if no room is left
 * or PARENT is UINT32_MAX.
 */
uint32_t sites_child(uint32_t parent, uint64_t address);
/*
 * Write the function with NUMBER (WIRE_LABEL_CODE) to TEXT: its file, a NUL, its name, a NUL.
 * Returns a pointer to the name; NULL if the function is unknown.
 */
const char *sites_function(uint32_t number, char text[WIRE_MAX_TEXT_BYTES], uint32_t *ret_line);
/* The site of NODE; WIRE_SITE_OF_NONE if no room is left or NODE is UINT32_MAX. */
uint32_t sites_of(uint32_t node);
/*
 * The site of mappings at a node that was created for them; WIRE_SITE_OF_NO_MAPPING under the same
 * conditions.
 */
uint32_t sites_of_mapping(uint32_t node);

/*
 * AMOUNT was allocated at SITE, or AMOUNT of the blocks from SITE was freed: the event stands for
 * this amount.
 */
void sites_add(uint32_t site, struct wire_amount amount);
void sites_subtract(uint32_t site, struct wire_amount amount, bool is_temporary);
/*
 * Add BYTES, which may be negative, to the live bytes of all sites, and raise the peak if needed.
 * Returns the live bytes.
 */
int64_t sites_change_live(int64_t bytes);
/* As sites_change_live(), but the peak stays. */
int64_t sites_add_live(int64_t bytes);

/*
 * AMOUNT was mapped at SITE, or AMOUNT of the mappings from SITE was unmapped.  One thread at a
 * time may call these.
 */
void sites_map(uint32_t site, struct wire_amount amount);
void sites_unmap(uint32_t site, struct wire_amount amount);

#pragma GCC visibility pop

#endif
