/*
 * verdict: facts in, sentences out.  Why is it big, how do we know, what can be done.
 */
#ifndef MEMDIAG_DIAGNOSE_VERDICT_H
#define MEMDIAG_DIAGNOSE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/raddr.h"
#include "base/text.h"

/* A file in memory that a process holds by a descriptor and that the target has not mapped. */
struct verdict_held {
	uint64_t bytes;
	pid_t pid;
	int fd;
	char name[64], comm[16]; /* of the file, not printable yet; of the process */
};

/* /sys/kernel/mm/transparent_hugepage/enabled */
enum verdict_thp {
	VERDICT_THP_UNKNOWN,
	VERDICT_THP_ALWAYS,  /* all memory that is large enough */
	VERDICT_THP_MADVISE, /* what asks for them by madvise(MADV_HUGEPAGE) */
	VERDICT_THP_NEVER,
};

/* All sizes in bytes; 0 where nothing is known, unless a has_ says so. */
struct verdict_facts {
	pid_t pid;
	bool is_core; /* nothing can be run on it any more */
	/*
	 * Malloc's own account is all there is: every byte of it counts as resident, so numbers are
	 * upper bounds.
	 */
	bool is_account;
	int nr_cpus;
	uint64_t virt_bytes, rss_bytes, swap_bytes;
	uint64_t locked_bytes;	/* VmLck: mapped and locked into memory */
	uint64_t hugetlb_bytes; /* pages of the hugetlb pool, which RSS does not count */

	/* malloc's arenas; has_malloc false: nothing is known of them */
	bool has_malloc;
	bool is_bound; /* what is free and resident is at least that */
	size_t nr_arenas;
	uint64_t arena_resident_bytes;
	uint64_t free_bytes; /* as malloc counts: resident or not */
	/* free and resident */
	uint64_t trimmable_bytes; /* malloc_trim(0) gives it back */
	uint64_t mlocked_bytes;	  /* it would, but for mlock(); 0 if that is not known */
	uint64_t top_bytes;	  /* in tops of thread arenas, which it leaves ... */
	bool has_trim_of_tops;	  /* ... and memdiag trim --tops does not */
	/* in that of the main arena, which it leaves if brk is not there */
	uint64_t main_top_bytes;
	uint64_t stranded_bytes; /* on pages that are in use in part ... */
	uint64_t mixed_bytes;	 /* ... which together are this large */
	/* of what is trimmable */
	uint64_t large_bytes;  /* in chunks that by default would have had a mapping */
	uint64_t main_bytes;   /* in the main arena */
	uint64_t orphan_bytes; /* in arenas that no thread uses */
	uint64_t pinned_bytes; /* right below a chunk that ends its heap */
	bool has_shared;
	uint64_t shared_bytes; /* other processes have these pages too */
	/* not resident */
	uint64_t returned_bytes;  /* free, and given back to the kernel before */
	uint64_t free_swap_bytes; /* free and in swap */
	/* in swap, in arenas of which it is unknown what is free there */
	uint64_t unread_swap_bytes;

	uint64_t cached_bytes; /* freed, kept by threads for themselves */
	size_t nr_caches;
	size_t nr_orphans;	/* arenas that no thread uses */
	bool is_main_in_pieces; /* brk was blocked, so mmap() served the main arena */
	struct {
		raddr addr;
		uint64_t bytes;
	} pin; /* the chunk in use with most free below it */
	/* blocks malloc mapped one by one */
	uint64_t mmap_bytes;		 /* resident */
	uint64_t nr_mmaps, nr_mmaps_max; /* max 0: not known */
	/* settings as of now; 0: not known */
	uint64_t mmap_threshold, trim_threshold;
	bool no_dyn_threshold;
	uint64_t hp_page; /* the heap is made of hugetlb pages */

	/* the address space */
	uint64_t reserve_bytes;		       /* mapped, not accessible, not resident */
	uint64_t nr_mappings, nr_mappings_max; /* max 0: not known (vm.max_map_count) */
	size_t nr_thread_stacks;
	uint64_t stack_virt_bytes, stack_rss_bytes; /* of threads that there are */
	size_t nr_ended_stacks;			    /* of threads that have ended */
	uint64_t ended_virt_bytes, ended_rss_bytes;
	enum verdict_thp thp;	       /* which programs get transparent huge pages */
	uint64_t huge_bytes;	       /* resident in them, but for files */
	uint64_t heap_huge_bytes;      /* of which in malloc's heaps */
	uint64_t java_huge_bytes;      /* and in Java's */
	uint64_t other_anon_rss_bytes; /* anonymous memory that malloc did not map; of which: */
	uint64_t java_bytes, go_bytes; /* heaps of these, as far as maps sees them */
	uint64_t forbidden_bytes;      /* resident memory without any access (PROT_NONE) */
	uint64_t sbrk_bytes;	       /* the program's own, from sbrk() */
	uint64_t sysv_bytes, memfd_bytes, other_shm_bytes; /* resident shared memory */
	uint64_t java_shm_bytes;			   /* the same, that Java's heap is in */
	uint64_t file_bytes;	     /* resident pages of files but programs and libraries */
	uint64_t changed_file_bytes; /* of which the process has changed copies of its own */
	/* resident .data and .bss of the program and its libraries */
	uint64_t static_bytes;
	uint64_t page_table_bytes; /* VmPTE, which RSS does not count */
	size_t nr_children;	   /* descendants ... */
	/* ... and their RSS, with what they share counted in each */
	uint64_t children_rss_bytes;
	pid_t largest_child;	    /* the one with the most */
	uint64_t unaccounted_bytes; /* RSS minus all of the accounting's lines, if positive */
	/* the environment it was started with, /proc/PID/environ: NAME=VALUE, NUL, ... */
	struct text environment; /* owned */
	/* limits; 0 if none */
	uint64_t cgroup_limit_bytes, cgroup_used_bytes;
	/* parts of what the cgroup uses; false: not known, or not near the limit */
	bool has_cgroup_parts;
	uint64_t cgroup_shmem_bytes, cgroup_kernel_bytes;
	uint64_t rss_anon_bytes, rss_shmem_bytes;
	/* files in memory that descriptors hold and the process has not mapped: its own ... */
	uint64_t held_bytes;
	struct verdict_held held;	 /* ... the largest of these, ... */
	struct verdict_held cgroup_held; /* ... and of those of all processes of the cgroup */
	uint64_t machine_bytes;		 /* all memory that the kernel manages; 0: not known */
};

#define VERDICT_ACTIONS 2

struct verdict {
	const char *id;	      /* stable: doc/verdicts.md */
	const char *severity; /* "info", "warning", "critical" */
	uint64_t bytes;	      /* what it is about */
	enum verdict_rank {
		VERDICT_OF_MEMORY,    /* bytes that are the process's memory */
		VERDICT_ASIDE,	      /* bytes that others speak of already, or none */
		VERDICT_OF_ADDRESSES, /* VIRT without memory */
	} rank;
	char text[700]; /* one or two sentences; fit for a terminal */
	/* the next command, then the permanent setting; "" if none */
	char action[VERDICT_ACTIONS][160];
};

#define VERDICT_MAX 24

#endif
