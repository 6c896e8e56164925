/*
 * maps: every byte of the target's address space: what it is for, and how much of it is resident.
 */
#ifndef MEMDIAG_MAPS_MAPS_H
#define MEMDIAG_MAPS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/map-file.h"
#include "elf/objects.h"
#include "elf/smaps.h"
#include "glibc/process.h"
#include "glibc/threads.h"
#include "os/status.h"

/* An interval of addresses; mappings that the kernel has merged are cut again. */
struct leaf {
	raddr start, end;
	uint32_t region;    /* index of the region it is part of */
	uint8_t kind;	    /* enum leaf_kind */
	uint8_t confidence; /* enum confidence */
	bool is_tmpfs;	    /* pages of its file count as RssShmem */
	bool is_continued;  /* the same thing as the leaf before, in another mapping */
	int32_t object;	    /* index into objects, -1 if none */
	int32_t arena;	    /* index into arenas, -1 if none */
	pid_t tid;	    /* 0 if none */
	uint64_t rss_bytes; /* as VmRSS counts: without hugetlb, without zero pages */
	uint64_t swap_bytes;
	uint64_t hugetlb_bytes;
	uint64_t huge_bytes; /* of RSS, mapped as transparent huge pages: has_huge */
	uint64_t pss_bytes, uss_bytes, dirty_bytes, locked_bytes; /* of smaps: has_pss */
};

/* ---- space: all of an address space ---------------------------------------------------------- */

/* The source of the numbers of pages. */
enum space_rss {
	SPACE_RSS_AUTO, /* the first of these that works */
	SPACE_RSS_SCAN,
	SPACE_RSS_PAGEMAP,
	SPACE_RSS_SMAPS, /* a number for each mapping; where it has several leaves, spread */
	SPACE_RSS_NONE,	 /* the numbers are 0 */
};

struct space_totals {
	uint64_t virt_bytes, rss_bytes, swap_bytes, hugetlb_bytes, huge_bytes;
	uint64_t pss_bytes, uss_bytes, dirty_bytes, locked_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
};

struct space {
	const struct process *process; /* what was read: OWN, or that of the options */
	struct process *own;	       /* owned; NULL if the options had it */
	const struct map_file *file;   /* space_read_file(): its file; NULL for a process */
	struct threads threads;
	const struct object *malloc_object; /* of the process: objects_malloc() */
	struct {
		struct leaf *v; /* sorted by start; every byte of VmSize is in exactly one */
		size_t nr, room;
	} leaves;
	struct space_totals totals;
	enum space_rss rss_from; /* what was used */
	struct err rss_error;	 /* why nothing better was; kind is 0 if nothing failed */
	struct err memory_error; /* why its memory may not be read; kind is 0 if it may */
	bool has_kinds;		 /* rss_anon_bytes, rss_file_bytes and rss_shmem_bytes are filled */
	bool has_pss;		 /* smaps was read */
	bool has_huge;		 /* huge_bytes are filled: by PAGEMAP_SCAN or smaps */
	bool counts_zero;	 /* rss_bytes have zero pages in them: see os_pages_know_zero() */
	unsigned int linux_version;	/* that counted the pages: see OS_LINUX() */
	struct os_status before, after; /* the counting of pages */
	bool has_faulted;		/* in between: pages came, and others may have gone */
};
/* Whether the numbers of FIELD are known, if pages were counted at all. */
static inline bool
space_knows(const struct space *s, enum smaps_field field)
{
	return !s->file || s->file->fields & SMAPS_BIT(field);
}

#endif
