/*
 * maps: the use of every byte of the target's address space, and how much is resident.
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

/* The numbers of a leaf that only smaps has. */
struct leaf_smaps {
	uint64_t pss_bytes, uss_bytes, dirty_bytes, locked_bytes;
};

/* An interval of addresses; mappings that the kernel has merged are separated. */
struct leaf {
	raddr start, end;
	uint32_t region;    /* index of its region */
	uint8_t kind;	    /* enum leaf_kind */
	uint8_t confidence; /* enum confidence */
	bool is_tmpfs;	    /* pages of its file count as RssShmem */
	bool is_continued;  /* continues the previous leaf, in another mapping */
	int32_t object;	    /* index into objects, or -1 */
	int32_t arena;	    /* index into arenas, or -1 */
	pid_t tid;	    /* 0 if it is not a thread's */
	uint64_t rss_bytes; /* as in VmRSS: without hugetlb, without zero pages */
	uint64_t swap_bytes;
	uint64_t hugetlb_bytes;
	uint64_t huge_bytes; /* part of RSS that is mapped as transparent huge pages: has_huge */
	struct leaf_smaps *smaps; /* owned by the space: has_pss; else NULL */
};

/* ---- space: all of an address space ---------------------------------------------------------- */

/* The source of the page counts. */
enum space_rss {
	SPACE_RSS_AUTO, /* the first of the next three that works */
	SPACE_RSS_SCAN,
	SPACE_RSS_PAGEMAP,
	SPACE_RSS_SMAPS, /* a number for each mapping; spread if it has several leaves */
	SPACE_RSS_NONE,	 /* not counted: the numbers are 0 */
};

struct space_totals {
	uint64_t virt_bytes, rss_bytes, swap_bytes, hugetlb_bytes, huge_bytes;
	uint64_t pss_bytes, uss_bytes, dirty_bytes, locked_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
};

struct space {
	const struct process *process; /* OWN, or that of the options */
	struct process *own;	       /* owned; NULL if the options contain it */
	const struct map_file *file;   /* of space_read_file(); NULL for a process */
	struct threads threads;
	const struct object *malloc_object; /* objects_malloc() of the process */
	raddr brk;			    /* arenas_brk() of the process */
	struct {
		struct leaf *v; /* sorted by start; every byte of VmSize is in exactly one leaf */
		size_t nr, room;
	} leaves;
	struct leaf_smaps *smaps; /* owned; parallel to the leaves, or NULL */
	struct space_totals totals;
	enum space_rss rss_from;    /* the source that was used */
	struct err rss_error;	    /* why a better source failed; kind is 0 without an error */
	struct err memory_error;    /* why its memory may not be read; kind is 0 if it may */
	bool has_kinds;		    /* rss_anon_bytes, rss_file_bytes and rss_shmem_bytes are set */
	bool has_pss;		    /* smaps was read */
	bool has_huge;		    /* huge_bytes are set: by PAGEMAP_SCAN or smaps */
	bool counts_zero;	    /* rss_bytes include zero pages: see os_pages_know_zero() */
	unsigned int linux_version; /* of the kernel that counted the pages: see OS_LINUX() */
	struct os_status before, after; /* counting the pages */
	/* page faults in between: pages came, and others may have gone */
	bool has_faulted;
};
/* Return whether the numbers of FIELD are known, if pages were counted at all. */
static inline bool
space_knows(const struct space *s, enum smaps_field field)
{
	return !s->file || s->file->fields & SMAPS_BIT(field);
}

#endif
