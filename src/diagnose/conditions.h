/*
 * conditions: the conditions of 'memdiag check', such as "rss>80%limit": their parser, and the
 * values that they allow.
 */
#ifndef MEMDIAG_DIAGNOSE_CONDITIONS_H
#define MEMDIAG_DIAGNOSE_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The values that can be compared, in the order of --help. */
enum metric {
	METRIC_RSS, /* of the kernel */
	METRIC_SWAP,
	METRIC_VIRT,
	METRIC_THREADS,
	METRIC_STACK, /* resident bytes of a class of maps */
	METRIC_HEAP,
	METRIC_EXE,
	METRIC_SO,
	METRIC_FILE,
	METRIC_SHM,
	METRIC_ANON,
	METRIC_ARENAS,
	METRIC_TRIMMABLE, /* in glibc's arenas */
	METRIC_STRANDED,
	METRIC_TOPS,
	METRIC_IN_USE,
	NR_METRICS
};

/* The reading that a metric takes; a later one includes those before. */
enum metric_source {
	METRIC_FROM_STATUS,
	METRIC_FROM_MAPS, /* reads the address space; nothing stops */
	METRIC_FROM_HEAP, /* stops the process for a bounded time */
};

const char *metric_name(enum metric m);
enum metric_source metric_source(enum metric m);
/* Return whether M is in bytes; otherwise it is a number. */
bool metric_is_bytes(enum metric m);

/* The whole of a percentage; with CONDITION_OF_NOTHING the number is bytes or a count. */
enum condition_whole {
	CONDITION_OF_NOTHING,
	CONDITION_OF_LIMIT, /* the memory limit of the cgroup */
	CONDITION_OF_RSS,
	CONDITION_OF_RAM, /* of the machine */
	NR_CONDITION_WHOLES
};

const char *condition_whole_name(enum condition_whole whole);

enum condition_compare { CONDITION_OVER, CONDITION_FROM, CONDITION_UNDER, CONDITION_TO };

struct condition {
	bool is_critical; /* set by the caller */
	enum metric metric;
	enum condition_compare compare; /* > >= < <= */
	enum condition_whole whole;
	uint64_t number; /* bytes or a count; thousandths of a percent of WHOLE */
};

/*
 * Parse TEXT, "METRIC OPERATOR VALUE", into RET; blanks between them are skipped.  VALUE is a size
 * (see ui_parse_size()), a count, or "N%limit", "N%rss" or "N%ram" with at most three decimals.
 * Returns 0, or -1 with E, ERR_USAGE, which quotes what was read and lists what is possible.
 */
int condition_parse(struct condition *ret, const char *text, struct err *e);

/* The operator of C, as it is spelled. */
const char *condition_operator(const struct condition *c);

/* Values from LEAST to MOST: a condition holds outside of them. */
struct condition_range {
	uint64_t least, most;
	bool is_empty; /* a condition always holds */
};

/*
 * Return the values for which C does not hold; a percentage is of WHOLE_BYTES.  Exact: nothing is
 * rounded.
 */
struct condition_range condition_range(const struct condition *c, uint64_t whole_bytes);

/* Return the values that are in A and in B. */
struct condition_range condition_both(struct condition_range a, struct condition_range b);

static inline bool
condition_has(const struct condition_range *r, uint64_t value)
{
	return !r->is_empty && value >= r->least && value <= r->most;
}

/*
 * Return the number that C compares with: its part of WHOLE_BYTES, cut to a whole number, or its
 * own.
 */
uint64_t condition_threshold(const struct condition *c, uint64_t whole_bytes);

#endif
