/*
 * verdict: facts in, sentences out.  Why is it big, how do we know, what can be done.
 * May use: heap/, maps/, os/, base/.
 */
#ifndef MEMDIAG_VERDICT_VERDICT_H
#define MEMDIAG_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* All sizes in bytes; 0 where nothing is known, unless a has_ says so. */
struct verdict_facts {
	pid_t pid;
	int nr_cpus;
	uint64_t virt_bytes, rss_bytes, swap_bytes;
	/* malloc's own account; has_malloc false: it could not be asked */
	bool has_malloc;
	size_t nr_arenas;
	uint64_t arena_system_bytes;	/* all arenas */
	uint64_t arena_resident_bytes;
	uint64_t in_use_bytes;		/* by the program, resident or not, no mmapped blocks */
	uint64_t free_bytes;		/* fast + rest, resident or not */
	uint64_t mmap_bytes;		/* blocks malloc mapped one by one */
	bool has_top_in_rest;		/* false: free_bytes lacks the tops (before 2.31) */
	/* the address space */
	uint64_t reserve_bytes;		/* mapped, not accessible, no RSS */
	size_t nr_thread_stacks;
	uint64_t stack_virt_bytes, stack_rss_bytes;
	uint64_t huge_bytes;		/* resident in transparent huge pages, heap and anon */
	uint64_t heap_huge_bytes;	/* of which in malloc's heaps */
	uint64_t file_rss_bytes, shm_rss_bytes;
	uint64_t other_anon_rss_bytes;	/* anonymous memory that is nobody's we know */
	uint64_t unaccounted_bytes;	/* RSS minus all of the accounting's lines, if positive */
	const char *other_allocator;	/* "jemalloc" ... if one serves malloc; else NULL */
	/* the environment it was started with, /proc/PID/environ: NAME=VALUE, NUL, ... */
	const char *environment;
	size_t environment_len;
	/* limits; 0 if there is none */
	uint64_t cgroup_limit_bytes, cgroup_used_bytes;
};

struct verdict {
	const char *id;		/* stable: doc/verdicts.md */
	const char *severity;	/* "info", "warning", "critical" */
	uint64_t bytes;		/* what it is about */
	char text[400];		/* one or two sentences; fit for a terminal */
	char action[200];	/* the next command or setting, "" if nothing can be done */
};

#define VERDICT_MAX 16

/*
 * How much of the resident memory of malloc's arenas is free, at least: what the program has in
 * use cannot take more than all of its bytes.
 */
uint64_t verdict_free_resident(const struct verdict_facts *f);

/*
 * Judge FACTS: verdicts into V, the most severe first, then by bytes.  Returns how many, at most
 * VERDICT_MAX; none for a healthy program.
 */
size_t verdict_judge(const struct verdict_facts *facts, struct verdict v[VERDICT_MAX]);

#endif
