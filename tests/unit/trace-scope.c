/*
 * Which threads the kernel's filters let pass: for random threads and numbers given last, all
 * threads of the process, the numbers that are given next, and as few others as can be.
 *
 *	trace-scope [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/pids.h"
#include "trace/scope.h"
#include "tap.h"

#define MAX_TIDS 300

static unsigned int seed;

static pid_t
some(pid_t n)
{
	return (pid_t)(((unsigned int)rand_r(&seed) * 32768U + (unsigned int)rand_r(&seed)) %
		(unsigned int)n);
}

struct world {
	struct trace_scope scope;
	pid_t tid[MAX_TIDS];
	size_t nr;
	char filter[TRACE_SCOPE_FILTER];
};

/* The threads of a program: runs of numbers, with gaps. */
static void
make_world(struct world *w)
{
	pid_t at;

	memset(w, 0, sizeof *w);
	w->scope.end = some(2) ? 32768 : 4194304;
	w->scope.then = OS_FIRST_PID + some(w->scope.end - OS_FIRST_PID);
	if (some(4) == 0)
		w->scope.then = w->scope.end - 1 - some(3);
	w->scope.last = w->scope.then;
	at = 1 + some(w->scope.end - 1);
	for (size_t n = 1 + (size_t)some(some(2) ? 20 : MAX_TIDS); w->nr < n;) {
		w->tid[w->nr++] = at;
		at += 1 + (some(3) ? 0 : some(some(2) ? 30 : 3000));
		if (at >= w->scope.end)
			break;
	}
	for (size_t i = w->nr; i-- > 1;) { /* the kernel lists them in no order */
		const size_t k = (size_t)some((pid_t)i + 1);
		const pid_t t = w->tid[i];

		w->tid[i] = w->tid[k];
		w->tid[k] = t;
	}
}

/* Whether the text lets TID pass: "(common_pid >= A && common_pid <= B) || ...". */
static bool
passes(const char *filter, pid_t tid)
{
	const char *at = filter;
	int first, last;

	while ((at = strstr(at, "(common_pid >= "))) {
		if (sscanf(at, "(common_pid >= %d && common_pid <= %d)", &first, &last) != 2)
			return false;
		if (tid >= first && tid <= last)
			return true;
		at++;
	}
	return false;
}

/* The number that the kernel gives N after that of the past (kernel/pid.c, alloc_pid()). */
static pid_t
given_next(const struct world *w, pid_t n)
{
	const pid_t at = w->scope.then + n;

	return at < w->scope.end ? at : at - w->scope.end + OS_FIRST_PID;
}

static bool
next_pass(const struct world *w)
{
	const pid_t half = (w->scope.end - OS_FIRST_PID) / 2;

	for (int i = 0; i < 40; i++)
		if (!passes(w->filter, given_next(w, 1 + some(half))))
			return false;
	return passes(w->filter, given_next(w, 1)) && passes(w->filter, given_next(w, half));
}

static int
descending(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x < y) - (x > y);
}

/* The fewest others that TRACE_SCOPE_RANGES ranges can have: all gaps but the largest. */
static long
fewest_others(const struct world *w)
{
	pid_t gap[MAX_TIDS];
	long sum = 0;

	for (size_t i = 1; i < w->nr; i++)
		gap[i - 1] = w->tid[i] - w->tid[i - 1] - 1;
	qsort(gap, w->nr - 1, sizeof *gap, descending);
	for (size_t i = TRACE_SCOPE_RANGES - 1; i + 1 < w->nr; i++)
		sum += gap[i];
	return sum;
}

/* In the ranges of threads, which come first. */
static long
nr_others(const struct world *w)
{
	long sum = 0;

	for (size_t i = 0; i < w->scope.nr && w->scope.range[i].first != w->scope.since + 1 &&
		w->scope.range[i].first != 0;
		i++)
		sum += w->scope.range[i].last - w->scope.range[i].first + 1;
	return sum - (long)w->nr;
}

struct result {
	bool threads, next, few, same, fits;
};

static void
try_seed(unsigned int n, struct result *r)
{
	static struct world w;
	const char *own = n % 2 ? "len >= 4096" : NULL;

	seed = n;
	make_world(&w);
	trace_scope_set(&w.scope, w.tid, w.nr, 1);
	r->fits &= trace_scope_filter(&w.scope, own, w.filter) == w.filter &&
		strlen(w.filter) < TRACE_SCOPE_FILTER - 160 &&
		strcmp(w.filter + strlen(w.filter) - 2, "))") == 0 &&
		(!own || strncmp(w.filter, "(len >= 4096) && ((", 19) == 0);
	for (size_t i = 0; i < w.nr; i++)
		r->threads &= passes(w.filter, w.tid[i]);
	r->next &= next_pass(&w);
	for (int i = 0; i < 40; i++) {
		const pid_t tid = 1 + some(w.scope.end - 1);

		r->same &= passes(w.filter, tid) == trace_scope_has(&w.scope, tid);
	}
	if (nr_others(&w) != fewest_others(&w)) {
		printf("# seed %u: %ld others pass, not %ld\n", n, nr_others(&w),
			fewest_others(&w));
		r->few = false;
	}
}

/* A filter is set again before the numbers that pass are used up, also where they begin anew. */
static bool
is_due_in_time(pid_t then)
{
	struct world w = { .scope = { .end = 32768, .then = then, .last = then }, .nr = 1 };
	const pid_t half = (w.scope.end - OS_FIRST_PID) / 2;
	bool must;

	w.tid[0] = 1000;
	trace_scope_set(&w.scope, w.tid, w.nr, 1);
	for (pid_t n = 1; n <= half; n++) {
		w.scope.last = given_next(&w, n);
		trace_scope_is_due(&w.scope, 2, &must);
		if (must != (n > half / 2))
			return false;
	}
	return true;
}

static bool
is_due_for_others(void)
{
	struct trace_scope s = { .end = 32768, .then = 5000, .last = 5000 };
	pid_t tid = 1000;
	bool must;

	trace_scope_set(&s, &tid, 1, 1);
	if (trace_scope_is_due(&s, UINT64_C(5000000000), &must))
		return false;
	s.nr_others = 1000000;
	if (!trace_scope_is_due(&s, UINT64_C(5000000000), &must) || must ||
		trace_scope_is_due(&s, 1000, &must))
		return false;
	s.is_wrong = true;
	if (!trace_scope_is_due(&s, 1000, &must) || !must)
		return false;
	trace_scope_set(&s, &tid, 1, 1);
	return !trace_scope_is_due(&s, UINT64_C(5000000000), &must);
}

static bool
lets_all_pass(void)
{
	struct trace_scope s = { .end = 32768, .then = 5000, .last = 5000 };
	char buf[TRACE_SCOPE_FILTER];
	pid_t tid = 1000;

	trace_scope_set(&s, &tid, 1, 1);
	if (trace_scope_has(&s, 4000))
		return false;
	trace_scope_let_all(&s, 2);
	return trace_scope_has(&s, 4000) && !trace_scope_filter(&s, NULL, buf) &&
		strcmp(trace_scope_filter(&s, "len > 0", buf), "len > 0") == 0;
}

/* Where numbers are not those of the kernel, or unknown, nothing is ever due. */
static bool
is_never_due(void)
{
	const struct trace_scope s = { .nr_others = 1000000 };
	bool must;

	return !trace_scope_is_due(&s, UINT64_C(5000000000), &must);
}

int
main(int argc, char **argv)
{
	const unsigned int first = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	const unsigned int nr = argc > 2 ? (unsigned int)atoi(argv[2]) : 3000;
	struct result r = { true, true, true, true, true };

	for (unsigned int i = 0; i < nr; i++)
		try_seed(first + i, &r);
	ok(r.threads, "all threads of the process pass");
	ok(r.next, "so do the numbers that are given next");
	ok(r.few, "of other numbers as few pass as can be");
	ok(r.same, "it is known which pass");
	ok(r.fits, "the filter is whole, and has that of the call");
	ok(is_due_in_time(5000), "it is set again before numbers are used up");
	ok(is_due_in_time(32700), "also where they begin anew");
	ok(is_due_for_others(), "it is set again for many events of others, but not too often");
	ok(lets_all_pass(), "all threads can pass");
	ok(is_never_due(), "where numbers are unknown, no filter is set");
	return tap_end();
}
