/*
 * fronts: the first words of blocks that look like those of a pool, or of another structure that
 * its own words prove.  They are kept in the stop, and judged when the process runs again
 * (type-pools.h).
 */
#ifndef MEMDIAG_CENSUS_FRONTS_H
#define MEMDIAG_CENSUS_FRONTS_H

#include "base/err.h"
#include "census/census.h"

struct target;

/* Rules for blocks of CENSUS_POOL_MIN_BYTES and more, in programs that have such pools. */
#define CENSUS_RULES_POOL                                                                          \
	(CENSUS_RULE_CONTEXT | CENSUS_RULE_CONTEXT_BLOCK | CENSUS_RULE_SLAB_BLOCK |                \
		CENSUS_RULE_NGINX | CENSUS_RULE_APR | CENSUS_RULE_MEM_ROOT)

/* Sizes of blocks for which there are rules; see fronts.c. */
#define CENSUS_POOL_MIN_BYTES 128
#define CENSUS_OBSTACK_MIN_BYTES 1024

/* Return whether RULES (enum census_rule) need the words of a block of BYTES. */
static inline bool
census_fronts_want(unsigned int rules, uint64_t bytes)
{
	return bytes >= CENSUS_OBSTACK_MIN_BYTES ||
		(rules & CENSUS_RULES_POOL && bytes >= CENSUS_POOL_MIN_BYTES);
}

/*
 * Keep BLOCK in C if its words allow one of RULES (enum census_rule), which are
 * set in the copy; at most CENSUS_FRONTS_MAX are kept.  Returns 0, or -1 without memory.
 */
#define CENSUS_FRONTS_MAX ((size_t)1 << 18)
int census_fronts_take(struct census *c, unsigned int rules, const struct census_front *block);

/*
 * Return whether word NR of B is its end, but for what malloc() gave in addition, and the word
 * before it a place in B after that word.
 */
bool census_front_has_end(const struct census_front *b, unsigned int nr);

/* Return whether B may have been requested with SIZE bytes. */
bool census_front_has_size(const struct census_front *b, uint64_t size);

/*
 * Read from T, which is stopped, the words elsewhere that should have the address of a block,
 * for at most CENSUS_PAIRS_MAX of them, and set is_paired.  Returns 0, or -1 with E.
 */
#define CENSUS_PAIRS_MAX 4096
int census_fronts_pair(struct census *c, const struct target *t, struct err *e);

#endif
