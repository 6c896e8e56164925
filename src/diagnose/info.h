/* info: collect the data of memdiag info before it is printed. */
#ifndef MEMDIAG_DIAGNOSE_INFO_H
#define MEMDIAG_DIAGNOSE_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/checks.h"
#include "account/mmapped.h"
#include "base/err.h"
#include "base/text.h"
#include "capture/top.h"
#include "diagnose/malloc-target.h"
#include "diagnose/verdict.h"
#include "glibc/arenas.h"
#include "heap/heap.h"
#include "heap/malloc-info.h"
#include "inject/malloc.h"
#include "jemalloc/ask.h"
#include "jemalloc/find.h"
#include "maps/maps.h"
#include "ui/ui.h"
#include "ui/warnings.h"

enum info_sort {
	INFO_BY_RESIDENT,
	INFO_BY_NR,
	INFO_BY_SYSTEM,
	INFO_BY_IN_USE,
	INFO_BY_FREE,
	INFO_BY_THREADS,
};

/* The source of malloc's own account. */
enum info_method {
	INFO_AUTO,
	INFO_INJECT, /* malloc_info(), called in the process */
	INFO_READ,   /* the heap reader, which writes the same document */
};

struct info_options {
	struct ui_options ui;
	struct inject_options inject;
	enum malloc_choice malloc;
	long arena;	 /* the only one requested; -1: all */
	size_t max_rows; /* 0: unlimited */
	enum info_sort sort;
	bool xml; /* print the document unchanged */
	enum info_method method;
	uint64_t max_lock_ns; /* for AUTO; also the longest stop of READ */
};

/* The use of every resident byte, in the order of the output. */
enum account_kind {
	ACCOUNT_IN_USE,	 /* in malloc's arenas and not known to be free */
	ACCOUNT_FREE,	 /* in malloc's arenas and free, at least */
	ACCOUNT_MMAPPED, /* blocks that malloc mapped individually */
	ACCOUNT_STACKS,
	ACCOUNT_OTHER_ANON,
	ACCOUNT_FILES,
	ACCOUNT_SHM,
	ACCOUNT_KERNEL,
	ACCOUNT_UNACCOUNTED, /* VmRSS minus all of the above; negative if it shrank meanwhile */
	NR_ACCOUNTS,
};

struct account {
	int64_t bytes[NR_ACCOUNTS];
	size_t nr_other; /* pieces of memory in OTHER_ANON */
	/* of MMAPPED: malloc counts them, but their mappings were not recognised */
	int64_t unlocated_bytes;
};

/* A heap of the document, and its arena in memory. */
struct info_arena {
	const struct malloc_info_heap *heap;
	const struct arena *arena; /* of the space; NULL if unknown */
	bool has_resident;
	uint64_t resident_bytes, swapped_bytes;
	bool is_rough; /* the resident bytes and the free part of them */
};

/* Resident memory of a process that uses jemalloc, by jemalloc's statistics. */
enum jemalloc_account_kind {
	JEMALLOC_IN_USE,  /* blocks */
	JEMALLOC_CACHED,  /* freed, kept by threads */
	JEMALLOC_BETWEEN, /* free, on pages that have blocks */
	JEMALLOC_DIRTY,	  /* free pages */
	JEMALLOC_MUZZY,
	JEMALLOC_METADATA,
	/* negative: jemalloc's pages that were never touched, or that the kernel has reclaimed */
	JEMALLOC_NOT_RESIDENT,
	JEMALLOC_STACKS,
	JEMALLOC_OTHER_ANON,
	JEMALLOC_FILES,
	JEMALLOC_SHM,
	JEMALLOC_KERNEL,
	JEMALLOC_UNACCOUNTED, /* VmRSS minus all of the above */
	NR_JEMALLOC_ACCOUNTS,
};

struct info {
	/*
	 * The file of a saved account, made printable; NULL for a process.  Then method, mt, space
	 * and all members derived from them are empty.
	 */
	const char *file;
	struct malloc_target mt;
	enum info_method method;     /* INJECT or READ */
	bool is_slow;		     /* its lists are too long for a quick read */
	struct inject_report report; /* of INJECT */
	struct heap heap;	     /* of READ */
	unsigned int nr_stops;	     /* of READ */
	uint64_t stopped_ns, longest_stop_ns;
	struct text xml;
	struct malloc_info mi;
	struct space space; /* read after the call */
	struct {
		struct info_arena *v; /* in the document's order */
		size_t nr, room;
	} arena;
	struct account account;
	/* if mt.is_jemalloc; then the members for glibc's malloc are empty */
	struct jemalloc_stats jemalloc;
	int64_t jemalloc_account[NR_JEMALLOC_ACCOUNTS];
	struct heap_mmapped mmapped;
	struct profile_top top; /* if a profile is running */
	struct checks checks;
	struct verdict verdict[VERDICT_MAX];
	size_t nr_verdicts;
	struct warnings warnings;
};

/*
 * info.c: identify the process and get its malloc's account, xml.  INFO must be zeroed except for
 * .mt = MALLOC_TARGET_NONE; release it in any case.  Returns 0, or -1 with E.
 */
int info_ask(struct info *info, const struct info_options *opt, struct err *e);

#endif
