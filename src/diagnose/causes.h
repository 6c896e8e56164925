/*
 * causes: the causes in malloc that a verdict can name.
 */
#ifndef MEMDIAG_DIAGNOSE_CAUSES_H
#define MEMDIAG_DIAGNOSE_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnose/verdict.h"

/* The subject of a verdict.  Two verdicts on one subject would repeat each other. */
enum subject {
	SUBJECT_LIMIT,
	SUBJECT_HELD,
	SUBJECT_OTHERS,
	SUBJECT_SHARED,
	SUBJECT_FILES,
	SUBJECT_STATIC,
	SUBJECT_PAGE_TABLES,
	SUBJECT_CHILDREN,
	SUBJECT_RESERVE,
	SUBJECT_LIVE, /* in use */
	SUBJECT_RETURNED,
	SUBJECT_FREE, /* free, on separate pages */
	SUBJECT_TOPS,
	SUBJECT_STRANDED, /* free, on pages in use */
	SUBJECT_CACHES,
	SUBJECT_HUGE,
	SUBJECT_SWAP,
	SUBJECT_MMAP_LIMIT,
	SUBJECT_MAPPINGS,
	SUBJECT_STACKS,
	SUBJECT_SETTINGS,
	SUBJECT_UNKNOWN,
	NR_SUBJECTS,
};

struct cause {
	const char *id; /* stable: scripts rely on it */
	enum subject subject;
	/* Returns true if the cause applies; V is then complete except for the id. */
	bool (*judge)(const struct verdict_facts *f, struct verdict *v);
};

/*
 * Return the number of bytes in use that makes a process large: 256 MiB, or a quarter of its
 * cgroup's limit or of the machine's memory, whichever is smaller.
 */
uint64_t verdict_large_bytes(const struct verdict_facts *f);

/* In the order of the search; for one subject the specific causes come last. */
extern const struct cause causes[];
extern const size_t nr_causes;

#endif
