/*
 * sites: the tree of stacks and the counters of its leaves (wire/sites.h), as jobs write them.  No
 * lock is needed to find a node; a site is locked for the few additions of one event.
 */
#ifndef MEMDIAG_AGENT_NOTE_SITES_H
#define MEMDIAG_AGENT_NOTE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/sites.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* NULL: nothing is noted, as in a forked child. */
extern struct wire_sites *sites;

/*
 * Keep SITES and what it points to, for a reader that is in no hook, until sites_let_go().  False:
 * it is NULL, or about to become so.
 */
bool sites_hold(void);
/* In a forked child nobody does. */
void sites_begin_child(void);
void sites_let_go(void);
/* Have no sites any more, once nobody holds them; nobody notes anything.  False: one does. */
bool sites_drop(void);

/*
 * SIZE or less of it, so that all takes no more than LIMIT_BYTES; but for the least that is of any
 * use (SITES_LEAST_BYTES).
 */
#define SITES_LEAST_BYTES (UINT64_C(4) << 20)
struct wire_sites_size sites_fit(struct wire_sites_size size, uint64_t limit_bytes);

/*
 * The child of node PARENT for ADDRESS, made if it is not there.  UINT32_MAX: there is no room; and
 * of that there is no child.
 */
uint32_t sites_child(uint32_t parent, uint64_t address);
/*
 * The function that has NUMBER (WIRE_LABEL_CODE), into TEXT: its file, a NUL, its name, a NUL.
 * Returns where the name is; NULL if it has none.
 */
const char *sites_function(uint32_t number, char text[WIRE_MAX_TEXT_BYTES], uint32_t *ret_line);
/* The site of a node; WIRE_SITE_OF_NONE if there is no room, or NODE is UINT32_MAX. */
uint32_t sites_of(uint32_t node);
/* The site of mappings of a node that was made for them; WIRE_SITE_OF_NO_MAPPING likewise. */
uint32_t sites_of_mapping(uint32_t node);

/* AMOUNT was allocated at, or freed of what was allocated at, SITE: so many events stand for it. */
void sites_add(uint32_t site, struct wire_amount amount);
void sites_subtract(uint32_t site, struct wire_amount amount, bool is_temporary);
/* BYTES more are live of all sites, or less: there may be a new peak.  Returns what is live. */
int64_t sites_change_live(int64_t bytes);
/* The same without a new peak. */
int64_t sites_add_live(int64_t bytes);

/*
 * The same for mappings: AMOUNT was mapped at, or unmapped of what was mapped at, SITE.  One thread
 * at a time.
 */
void sites_map(uint32_t site, struct wire_amount amount);
void sites_unmap(uint32_t site, struct wire_amount amount);

#pragma GCC visibility pop

#endif
