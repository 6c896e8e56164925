/*
 * scope: which threads of the machine the kernel shall report events of.
 *
 * The kernel's filter of a tracepoint knows threads, not processes.  But it gives numbers to new
 * threads one after the other, so that a filter can let pass those that a process has, and the
 * numbers that are given next: then no thread of the process is missed, and of other processes
 * only those that begin from now on are reported, until the filter is made anew.
 *
 * A thread gets its number a moment before it is seen in its process.  So the numbers that are
 * given next are those after the last one of a while ago.
 */
#ifndef MEMDIAG_TRACE_SCOPE_H
#define MEMDIAG_TRACE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The kernel before 4.17 takes 127 comparisons. */
#define TRACE_SCOPE_RANGES 16
#define TRACE_SCOPE_FILTER 1536

/* Zeroed all threads pass, always. */
struct trace_scope {
	pid_t end; /* numbers of threads are below it; 0: all threads pass */
	/* the number given last at two moments, the former a while ago */
	pid_t then, last;
	uint64_t last_ns;
	/* the filter, when there is one: numbers FIRST to LAST */
	struct trace_scope_range {
		pid_t first, last;
	} range[TRACE_SCOPE_RANGES + 2]; /* of the process, and those that are given next */
	size_t nr;
	pid_t since;	    /* those given next are the ones after it */
	uint64_t set_ns;    /* when it was made */
	bool is_wrong;	    /* the kernel has given a number out of turn, which does not pass */
	uint64_t nr_others; /* events of other processes since then */
};

/*
 * Begin, where the numbers that we see are those of the kernel; else all threads pass.  Takes
 * some 20 ms.
 */
void trace_scope_begin(struct trace_scope *s);

/* Look at the number that was given last; to be called often. */
void trace_scope_look(struct trace_scope *s, uint64_t now_ns);

/*
 * Whether a filter shall be made now: many events are of others, or many of the numbers that are
 * given next have been given.  *RET_MUST: threads may be missed soon, or are.
 */
bool trace_scope_is_due(const struct trace_scope *s, uint64_t now_ns, bool *ret_must);

/* Let pass the NR threads TIDS, which are sorted by this, and those that begin from now on. */
void trace_scope_set(struct trace_scope *s, pid_t *tids, size_t nr, uint64_t now_ns);

/* Let all threads pass. */
void trace_scope_let_all(struct trace_scope *s, uint64_t now_ns);

/* Whether events of thread TID pass. */
bool trace_scope_has(const struct trace_scope *s, pid_t tid);

/* The filter of the kernel: those of OWN (NULL: all) in the scope, in BUF, or OWN. */
const char *trace_scope_filter(
	const struct trace_scope *s, const char *own, char buf[static TRACE_SCOPE_FILTER]);

#endif
