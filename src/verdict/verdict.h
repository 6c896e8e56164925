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
	uint64_t arena_resident_bytes;
	uint64_t free_resident_bytes;	/* of it free, at least */
	uint64_t mmap_bytes;		/* blocks malloc mapped one by one, resident */
	/* the address space */
	uint64_t reserve_bytes;		/* mapped, not accessible, no RSS */
	size_t nr_thread_stacks;
	uint64_t stack_virt_bytes, stack_rss_bytes;
	uint64_t huge_bytes;		/* resident in transparent huge pages */
	uint64_t heap_huge_bytes;	/* of which in malloc's heaps */
	uint64_t other_anon_rss_bytes;	/* anonymous memory that malloc did not map */
	uint64_t unaccounted_bytes;	/* RSS minus all of the accounting's lines, if positive */
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
 * Judge FACTS: verdicts into V, the most severe first, then by bytes.  Returns how many, at most
 * VERDICT_MAX; none for a healthy program.
 */
size_t verdict_judge(const struct verdict_facts *facts, struct verdict v[VERDICT_MAX]);

#endif
