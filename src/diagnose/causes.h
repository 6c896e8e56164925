/*
 * causes: the causes in malloc that a verdict can name.
 */
#ifndef MEMDIAG_DIAGNOSE_CAUSES_H
#define MEMDIAG_DIAGNOSE_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnose/verdict.h"

/* The subject of a verdict.  Two about the same would say the same twice. */
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
	SUBJECT_FREE, /* free, on pages of its own */
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
	const char *id; /* a promise to scripts: never renamed */
	enum subject subject;
	/* True if it is there, with V filled but for the id. */
	bool (*judge)(const struct verdict_facts *f, struct verdict *v);
};

/*
 * The bytes in use from which on a process is large: 256 MiB, or a quarter of what its cgroup, or
 * the machine, lets it have at most.
 */
uint64_t verdict_large_bytes(const struct verdict_facts *f);

/* In the order they are looked for; of one subject the general before the particular. */
extern const struct cause causes[];
extern const size_t nr_causes;

#endif
