/*
 * Entries and returns of calls against an array by TID: random ones, by seeds, of which some are
 * lost, of threads that end.
 *
 *	trace-pairs [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "seeds.h"
#include "trace/pairs.h"

#define MAX_THREADS 4000
#define STEPS 3000

static struct world {
	struct trace_pairs pairs;
	struct trace_pending pending[MAX_THREADS];
	bool is_in[MAX_THREADS];
	size_t nr_threads, nr_in, nr_lost;
} w;

/* Numbers that are not in order, and some that are as far apart as can be. */
static pid_t
tid_of(size_t thread)
{
	return thread == 0 ? INT32_MAX
			   : (pid_t)(1 + (thread * UINT64_C(2654435761)) % UINT64_C(4194301));
}

static struct trace_pending
some_call(size_t thread)
{
	struct trace_pending p = { .tid = tid_of(thread) };

	p.entry.call = (enum trace_call)some(TRACE_NR_CALLS);
	for (size_t i = 0; i < TRACE_MAX_ARGS; i++)
		p.entry.arg[i] = some(1 << 30);
	p.stack = (uint32_t)some(1 << 30);
	p.time_ns = some(1 << 30);
	p.generation = (uint32_t)some(3);
	p.program = (struct trace_program *)(uintptr_t)(1 + some(3)); /* not looked into */
	return p;
}

static bool
is_same(const struct trace_pending *a, const struct trace_pending *b)
{
	return a->tid == b->tid && a->program == b->program && a->entry.call == b->entry.call &&
		memcmp(a->entry.arg, b->entry.arg, sizeof a->entry.arg) == 0 &&
		a->stack == b->stack && a->time_ns == b->time_ns;
}

static bool
enter(size_t thread)
{
	struct trace_pending p = some_call(thread);
	bool was_lost;

	if (trace_pairs_enter(&w.pairs, &p, &was_lost) < 0)
		return FAIL("no memory");
	if (was_lost != w.is_in[thread])
		return FAIL("a return of %d was lost: %d", (int)p.tid, was_lost);
	w.nr_lost += was_lost;
	w.nr_in += !w.is_in[thread];
	w.is_in[thread] = true;
	w.pending[thread] = p;
	memset(&p, 0xee, sizeof p); /* it was copied */
	return true;
}

/* The return from a call that the thread is in, or from another one whose entry was lost. */
static bool
leave(size_t thread, enum trace_call call)
{
	const struct trace_pending *p = &w.pending[thread];
	const bool want = w.is_in[thread] && (call == TRACE_NR_CALLS || p->entry.call == call);
	struct trace_pending got;

	if (trace_pairs_leave(&w.pairs, tid_of(thread), call, &got) != want)
		return FAIL("thread %d returns: %d", (int)tid_of(thread), !want);
	if (want && !is_same(&got, p))
		return FAIL("thread %d returns from another call than it has entered",
			(int)tid_of(thread));
	/* One that it was not in: it must have returned from the other one. */
	w.nr_in -= w.is_in[thread];
	w.is_in[thread] = false;
	return true;
}

/*
 * An event of another generation reports the call that the thread is in, or nearly that: it is in
 * that one only if the call and all of its arguments are the same.
 */
static bool
ask(size_t thread)
{
	struct trace_pending p = w.is_in[thread] ? w.pending[thread] : some_call(thread);
	const uint64_t change = some(4);

	p.generation += change > 0;
	if (change == 2)
		p.entry.call = (enum trace_call)((p.entry.call + 1) % TRACE_NR_CALLS);
	if (change == 3)
		p.entry.arg[some(TRACE_MAX_ARGS)]++;
	return trace_pairs_has(&w.pairs, &p) == (w.is_in[thread] && change == 1) ||
		FAIL("thread %d is in that call already: %d", (int)p.tid, change != 1);
}

static bool
step(void)
{
	const size_t thread = some(w.nr_threads);
	const uint64_t kind = some(20);
	bool is_good;

	if (kind == 0) /* the thread ends */
		is_good = leave(thread, TRACE_NR_CALLS);
	else if (kind == 1) /* anything, of which something may be lost */
		is_good = leave(thread, (enum trace_call)some(TRACE_NR_CALLS));
	else if (kind == 2)
		is_good = enter(thread);
	else if (w.is_in[thread])
		is_good = leave(thread, w.pending[thread].entry.call);
	else
		is_good = enter(thread);
	return is_good && ask(some(w.nr_threads)) &&
		(w.pairs.nr == w.nr_in || FAIL("%zu pending, not %zu", w.pairs.nr, w.nr_in));
}

static bool
try(void)
{
	bool is_good = true;

	memset(&w, 0, sizeof w);
	w.nr_threads = some(4) ? 1 + some(40) : MAX_THREADS;
	for (size_t i = 0; i < STEPS && is_good; i++)
		is_good = step();
	/* What is left is found again, in any order. */
	if (some(2))
		for (size_t i = 0; i < w.nr_threads && is_good; i++)
			is_good = leave(i, TRACE_NR_CALLS) && w.pairs.nr == w.nr_in;
	trace_pairs_release(&w.pairs);
	return is_good && (!w.pairs.nr && !w.pairs.root ? true : FAIL("something is left"));
}

/* All threads are in a call at once, with numbers in order, and return in the same order. */
static void
test_all_at_once(void)
{
	struct trace_pairs pairs = { 0 };
	struct trace_pending p = { .entry = { .call = TRACE_BRK } };
	size_t nr_wrong = 0;
	bool was_lost;

	for (p.tid = 1; p.tid <= 30000; p.tid++) {
		p.time_ns = (uint64_t)p.tid * 3;
		nr_wrong += trace_pairs_enter(&pairs, &p, &was_lost) < 0 || was_lost;
	}
	is_u64(pairs.nr, 30000, "all threads are in a call");
	for (pid_t tid = 1; tid <= 30000; tid++)
		nr_wrong += !trace_pairs_leave(&pairs, tid, TRACE_BRK, &p) ||
			p.time_ns != (uint64_t)tid * 3;
	is_u64(nr_wrong, 0, "each thread returns from its own call");
	ok(!pairs.nr && !pairs.root, "nothing is left");
	trace_pairs_release(&pairs);
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 300), try, "returns find what their threads have entered");
	test_all_at_once();
	return tap_end();
}
