/*
 * verdict: turn facts into sentences: why the process is large, how this is known, what can be
 * done.
 */
#ifndef MEMDIAG_DIAGNOSE_VERDICT_H
#define MEMDIAG_DIAGNOSE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/raddr.h"
#include "base/text.h"

/* A file in memory that a process holds by a descriptor, and that is not mapped in the target. */
struct verdict_held {
	uint64_t bytes;
	pid_t pid;
	int fd;
	char name[64], comm[16]; /* name of the file, not yet printable; name of the process */
};

/* /sys/kernel/mm/transparent_hugepage/enabled */
enum verdict_thp {
	VERDICT_THP_UNKNOWN,
	VERDICT_THP_ALWAYS,  /* for all memory that is large enough */
	VERDICT_THP_MADVISE, /* for memory with madvise(MADV_HUGEPAGE) */
	VERDICT_THP_NEVER,
};

/* All sizes in bytes; 0 if unknown, unless a has_ member shows it. */
struct verdict_facts {
	pid_t pid;
	bool is_core; /* no command can run on the process any more */
	/*
	 * Only malloc's own account is known: every byte of it counts as resident, so numbers are
	 * upper bounds.
	 */
	bool is_account;
	int nr_cpus;
	uint64_t virt_bytes, rss_bytes, swap_bytes;
	uint64_t locked_bytes;	/* VmLck: mapped and locked into memory */
	uint64_t hugetlb_bytes; /* pages of the hugetlb pool, which RSS does not count */

	/* malloc's arenas; unknown if has_malloc is false */
	bool has_malloc;
	bool is_bound; /* the free and resident bytes are a lower bound */
	size_t nr_arenas;
	uint64_t arena_resident_bytes;
	uint64_t free_bytes; /* malloc's count: resident or not */
	/* free and resident */
	uint64_t trimmable_bytes; /* malloc_trim(0) releases it */
	/* malloc_trim(0) would release it without mlock(); 0 if unknown */
	uint64_t mlocked_bytes;
	uint64_t top_bytes;    /* in tops of thread arenas, which malloc_trim(0) keeps ... */
	bool has_trim_of_tops; /* ... unless libc supports memdiag trim --tops */
	/* in the top of the main arena, which malloc_trim(0) keeps if the break is elsewhere */
	uint64_t main_top_bytes;
	uint64_t stranded_bytes; /* on partly used pages ... */
	uint64_t mixed_bytes;	 /* ... whose total size is this */
	/* part of the trimmable bytes */
	uint64_t large_bytes;  /* in chunks that by default would have a separate mapping */
	uint64_t main_bytes;   /* in the main arena */
	uint64_t orphan_bytes; /* in arenas that no thread uses */
	uint64_t pinned_bytes; /* directly below a chunk that ends its heap */
	bool has_shared;
	uint64_t shared_bytes; /* on pages shared with other processes */
	/* not resident */
	uint64_t returned_bytes;  /* free, and already returned to the kernel */
	uint64_t free_swap_bytes; /* free and in swap */
	/* in swap, in arenas whose free part is unknown */
	uint64_t unread_swap_bytes;

	uint64_t cached_bytes; /* freed, cached by threads */
	size_t nr_caches;
	size_t nr_orphans;	/* arenas that no thread uses */
	bool is_main_in_pieces; /* brk was blocked, so mmap() provided memory for the main arena */
	struct {
		raddr addr;
		uint64_t bytes;
	} pin; /* the chunk in use with the most free memory below it */
	/* blocks that malloc mapped individually */
	uint64_t mmap_bytes;		 /* resident */
	uint64_t nr_mmaps, nr_mmaps_max; /* max 0: unknown */
	/* current settings; 0: unknown */
	uint64_t mmap_threshold, trim_threshold;
	bool no_dyn_threshold;
	uint64_t hp_page; /* page size if the heap consists of hugetlb pages */

	/* the address space */
	uint64_t reserve_bytes;		       /* mapped, not accessible, not resident */
	uint64_t nr_mappings, nr_mappings_max; /* max 0: unknown (vm.max_map_count) */
	size_t nr_thread_stacks;
	uint64_t stack_virt_bytes, stack_rss_bytes; /* of living threads */
	size_t nr_ended_stacks;			    /* of ended threads */
	uint64_t ended_virt_bytes, ended_rss_bytes;
	enum verdict_thp thp;	  /* programs that get transparent huge pages */
	uint64_t huge_bytes;	  /* resident in them, without files */
	uint64_t heap_huge_bytes; /* part of it in malloc's heaps */
	uint64_t java_huge_bytes; /* part of it in Java's heap */
	/* anonymous memory that malloc did not map, with these parts: */
	uint64_t other_anon_rss_bytes;
	uint64_t java_bytes, go_bytes; /* heaps of Java and Go, as far as maps recognises them */
	uint64_t forbidden_bytes;      /* resident memory without any access (PROT_NONE) */
	uint64_t sbrk_bytes;	       /* from sbrk() calls of the program */
	uint64_t sysv_bytes, memfd_bytes, other_shm_bytes; /* resident shared memory */
	uint64_t java_shm_bytes;			   /* the part with Java's heap */
	uint64_t file_bytes;	     /* resident pages of files other than programs and libraries */
	uint64_t changed_file_bytes; /* the part that the process has changed, as private copies */
	/* resident .data and .bss of the program and its libraries */
	uint64_t static_bytes;
	uint64_t page_table_bytes; /* VmPTE, which RSS does not count */
	size_t nr_children;	   /* descendants ... */
	/* ... and their RSS, with shared pages counted in each */
	uint64_t children_rss_bytes;
	pid_t largest_child;	    /* the one with the largest RSS */
	uint64_t unaccounted_bytes; /* RSS minus all of the accounting's lines, if positive */
	/* the initial environment, /proc/PID/environ: NAME=VALUE, NUL, ... */
	struct text environment; /* owned */
	/* limits; 0 if unlimited */
	uint64_t cgroup_limit_bytes, cgroup_used_bytes;
	/* parts of the cgroup's memory; false: unknown, or not near the limit */
	bool has_cgroup_parts;
	uint64_t cgroup_shmem_bytes, cgroup_kernel_bytes;
	uint64_t rss_anon_bytes, rss_shmem_bytes;
	/* files in memory held by descriptors and not mapped by the process: its own ... */
	uint64_t held_bytes;
	struct verdict_held held;	 /* ... the largest of these, ... */
	struct verdict_held cgroup_held; /* ... and the largest of all processes in the cgroup */
	uint64_t machine_bytes;		 /* all memory that the kernel manages; 0: unknown */
};

#define VERDICT_ACTIONS 3

struct verdict {
	const char *id;	      /* stable: doc/verdicts.md */
	const char *severity; /* "info", "warning", "critical" */
	uint64_t bytes;	      /* the amount that it concerns */
	enum verdict_rank {
		VERDICT_OF_MEMORY,    /* bytes that are the process's memory */
		VERDICT_ASIDE,	      /* bytes that another verdict covers, or no bytes */
		VERDICT_OF_ADDRESSES, /* VIRT without memory */
	} rank;
	char text[700]; /* one or two sentences; safe to print on a terminal */
	/* the next command, then the permanent setting; "" if missing */
	char action[VERDICT_ACTIONS][160];
};

#define VERDICT_MAX 24

#endif
