/*
 * kinds: the kinds of memory that are exported: each resident page of a process is in exactly one.
 */
#ifndef MEMDIAG_EXPORT_KINDS_H
#define MEMDIAG_EXPORT_KINDS_H

#include <stdint.h>

#include "maps/maps.h"

enum export_kind {
	EXPORT_HEAP,	/* of glibc's malloc: brk and arenas */
	EXPORT_MMAPPED, /* blocks of glibc's malloc with a mapping of their own */
	EXPORT_STACK,
	EXPORT_FILE, /* programs, libraries and mapped files */
	EXPORT_SHMEM,
	EXPORT_ANON,  /* other anonymous memory */
	EXPORT_OTHER, /* the kernel's own mappings, and devices */
	NR_EXPORT_KINDS,
};

/* As the value of the label "kind". */
const char *export_kind_name(enum export_kind kind);

/* Sums over processes.  Everything is in bytes unless its name says otherwise. */
struct export_sums {
	uint64_t resident[NR_EXPORT_KINDS], swapped[NR_EXPORT_KINDS];
	uint64_t virt, hugetlb;
	uint64_t heap_virt; /* address space of EXPORT_HEAP */
	uint64_t thp;	    /* on transparent huge pages, as far as known */
	uint64_t nr_arenas, nr_threads, nr_processes;
	uint64_t nr_glibc;    /* processes whose malloc is glibc's */
	uint64_t nr_profiled; /* processes with a running profile or recording of memdiag */
	uint64_t limit;	      /* the smallest of their cgroups; 0: none */
};

/* Add the process with the address space S. */
void export_sums_add_space(struct export_sums *sums, const struct space *s);

/* Add the sums OTHER. */
void export_sums_add(struct export_sums *sums, const struct export_sums *other);

#endif
