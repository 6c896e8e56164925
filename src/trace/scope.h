/*
 * scope: the threads of the machine whose events the kernel reports.
 *
 * The kernel's filter of a tracepoint knows threads, not processes.  It numbers new threads in
 * sequence, so a filter can let pass the threads of a process and the next numbers: then no thread
 * of the process is missed, and other processes are reported only if they start from now on, until
 * the next filter is set.
 *
 * A thread gets its number a moment before it appears in its process.  So the next numbers are
 * those after the last number of a while ago.
 */
#ifndef MEMDIAG_TRACE_SCOPE_H
#define MEMDIAG_TRACE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Kernels before 4.17 accept 127 comparisons. */
#define TRACE_SCOPE_RANGES 16
#define TRACE_SCOPE_FILTER 1536

/* If zeroed, all threads always pass. */
struct trace_scope {
	pid_t end; /* upper bound of thread numbers; 0: all threads pass */
	/* the last assigned number at two times, THEN a while ago */
	pid_t then, last;
	uint64_t last_ns;
	/* the filter, if set: numbers FIRST to LAST */
	struct trace_scope_range {
		pid_t first, last;
	} range[TRACE_SCOPE_RANGES + 2]; /* threads of the process, and the next numbers */
	size_t nr;
	pid_t since;	    /* the next numbers follow this one */
	uint64_t set_ns;    /* when the filter was set */
	bool is_wrong;	    /* the kernel assigned a number out of sequence, which does not pass */
	uint64_t nr_others; /* events of other processes since SET_NS */
};

/*
 * Begin, if the visible thread numbers are the kernel's; else all threads pass.  Takes about 20 ms.
 */
void trace_scope_begin(struct trace_scope *s);

/* Read the last assigned number; call this often. */
void trace_scope_look(struct trace_scope *s, uint64_t now_ns);

/*
 * True if a new filter should be set now: many events come from other processes, or most of the
 * next numbers are used up.  *RET_MUST is set if threads may soon be missed, or already are.
 */
bool trace_scope_is_due(const struct trace_scope *s, uint64_t now_ns, bool *ret_must);

/* Let the NR threads TIDS pass, and all threads that start from now on.  Sorts TIDS. */
void trace_scope_set(struct trace_scope *s, pid_t *tids, size_t nr, uint64_t now_ns);

/* Let all threads pass. */
void trace_scope_let_all(struct trace_scope *s, uint64_t now_ns);

/* True if events of thread TID pass. */
bool trace_scope_has(const struct trace_scope *s, pid_t tid);

/*
 * Return the kernel filter for events that match OWN (NULL: all) and are in the scope, in BUF, or
 * OWN.
 */
const char *trace_scope_filter(
	const struct trace_scope *s, const char *own, char buf[static TRACE_SCOPE_FILTER]);

#endif
