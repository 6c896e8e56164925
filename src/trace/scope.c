#include <config.h>

#include "trace/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/pids.h"
#include "os/ptrace.h"

/*
 * A thread appears in its process within this time after it got its number, unless the machine
 * stalls.
 */
#define AGE_NS UINT64_C(20000000)
/* Setting a filter takes about ten system calls per CPU. */
#define PAUSE_NS UINT64_C(1000000000)
/* Set another filter after this many events from other processes. */
#define MANY 64

void
trace_scope_begin(struct trace_scope *s)
{
	*s = (struct trace_scope){ .end = os_end_of_pids(), .then = -1, .last = os_last_pid() };
	s->last_ns = os_now_ns();
	if (s->end)
		os_sleep_ns(AGE_NS);
	trace_scope_look(s, os_now_ns());
	if (s->then < 0)
		s->end = 0;
}

void
trace_scope_look(struct trace_scope *s, uint64_t now_ns)
{
	const pid_t last = s->end && now_ns - s->last_ns >= AGE_NS ? os_last_pid() : -1;

	if (last < 0)
		return;
	s->then = s->last;
	s->last = last;
	s->last_ns = now_ns;
}

/*
 * Return how many of the next numbers, in the kernel's order, a filter lets pass before it must be
 * replaced.
 */
static pid_t
nr_next(const struct trace_scope *s)
{
	return (s->end - OS_FIRST_PID) / 2;
}

static pid_t
nr_given(const struct trace_scope *s)
{
	const pid_t n = s->last - s->since;

	return n >= 0 ? n : n + s->end - OS_FIRST_PID;
}

bool
trace_scope_is_due(const struct trace_scope *s, uint64_t now_ns, bool *ret_must)
{
	*ret_must = s->nr && (s->is_wrong || nr_given(s) > nr_next(s) / 2);
	return s->end && (*ret_must || (s->nr_others >= MANY && now_ns - s->set_ns >= PAUSE_NS));
}

/* ---- ranges ---- */

static int
scope_compare_pids(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/*
 * Find the MAX largest gaps, as differences, between the NR sorted numbers: all gaps above
 * *RET_GAP, and *RET_TIES gaps equal to it.
 */
static void
largest_gaps(const pid_t *tids, size_t nr, pid_t *ret_gap, size_t *ret_ties)
{
	pid_t largest[TRACE_SCOPE_RANGES - 1] = { 0 }; /* sorted in ascending order */
	const size_t max = sizeof largest / sizeof *largest;

	for (size_t i = 1; i < nr; i++) {
		pid_t gap = tids[i] - tids[i - 1];

		for (size_t k = max; k-- > 0;)
			if (gap > largest[k]) {
				const pid_t smaller = largest[k];

				largest[k] = gap;
				gap = smaller;
			}
	}
	*ret_gap = largest[0];
	*ret_ties = 0;
	for (size_t k = 0; k < max; k++)
		*ret_ties += largest[k] == largest[0];
}

/*
 * Cover the numbers with at most TRACE_SCOPE_RANGES ranges that contain the fewest other numbers,
 * by excluding the largest gaps.
 */
static void
set_threads(struct trace_scope *s, pid_t *tids, size_t nr)
{
	struct trace_scope_range *r = s->range;
	size_t nr_ties;
	pid_t gap;

	qsort(tids, nr, sizeof *tids, scope_compare_pids);
	largest_gaps(tids, nr, &gap, &nr_ties);
	*r = (struct trace_scope_range){ tids[0], tids[0] };
	for (size_t i = 1; i < nr; i++) {
		const pid_t here = tids[i] - r->last;
		const bool is_tie = here == gap && nr_ties > 0;

		nr_ties -= is_tie;
		if (here > 1 && (here > gap || is_tie))
			(++r)->first = tids[i];
		r->last = tids[i];
	}
	s->nr = (size_t)(r - s->range) + 1;
}

void
trace_scope_set(struct trace_scope *s, pid_t *tids, size_t nr, uint64_t now_ns)
{
	pid_t last;

	set_threads(s, tids, nr);
	last = s->then + nr_next(s);
	s->since = s->then;
	s->range[s->nr++] = (struct trace_scope_range){ s->then + 1, last };
	if (last >= s->end)
		s->range[s->nr++] = (struct trace_scope_range){ 0, last - s->end + OS_FIRST_PID };
	s->set_ns = now_ns;
	s->nr_others = 0;
	s->is_wrong = false;
}

void
trace_scope_let_all(struct trace_scope *s, uint64_t now_ns)
{
	s->nr = 0;
	s->set_ns = now_ns;
	s->nr_others = 0;
	s->is_wrong = false;
}

bool
trace_scope_has(const struct trace_scope *s, pid_t tid)
{
	for (size_t i = 0; i < s->nr; i++)
		if (tid >= s->range[i].first && tid <= s->range[i].last)
			return true;
	return !s->nr;
}

const char *
trace_scope_filter(
	const struct trace_scope *s, const char *own, char buf[static TRACE_SCOPE_FILTER])
{
	size_t len = 0;

	if (!s->nr)
		return own;
	if (own)
		len = (size_t)snprintf(buf, TRACE_SCOPE_FILTER, "(%s) && ", own);
	for (size_t i = 0; i < s->nr && len < TRACE_SCOPE_FILTER; i++)
		len += (size_t)snprintf(buf + len, TRACE_SCOPE_FILTER - len,
			"%s(common_pid >= %d && common_pid <= %d)", i ? " || " : "(",
			(int)s->range[i].first, (int)s->range[i].last);
	snprintf(buf + len, TRACE_SCOPE_FILTER - len, ")");
	return buf;
}
