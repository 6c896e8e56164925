/* Start and stop counting in a running process. */
#include <config.h>

#include "agentctl/count-job.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentctl/host.h"
#include "agentctl/large.h"
#include "base/debug.h"
#include "glibc/layout.h"
#include "glibc/params.h"
#include "glibc/process.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "inject/safety.h"
#include "os/claim.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"

/* ---- the counters, which no thread writes while nothing is hooked ---- */

#define AT(field) offsetof(struct wire_segment, field)

/* Reset the counters.  The first place is shared, and never has a grant. */
static void
begin_anew(struct wire_segment *segment, uint32_t nr_threads)
{
	struct wire_thread *t = wire_threads(segment);

	for (uint32_t i = 0; i < nr_threads; i++) {
		t[i].live_bytes = t[i].peak_bytes = t[i].first_bytes = 0;
		t[i].nr_allocated = t[i].nr_freed = 0;
		if (i)
			t[i].ceiling_bytes = t[i].granted_bytes = t[i].floor_bytes =
				t[i].slack_bytes = 0;
	}
	segment->taken_bytes = segment->taken_peak_bytes = 0;
	segment->mapped_bytes = segment->mapped_peak_bytes = 0;
	segment->nr_mappings = 0;
	segment->before_bytes = 0;
	segment->nr_before = 0;
	segment->seen_peak_bytes = 0;
	segment->has_no_before = 0;
	segment->nr_starts++;
	segment->started_ns = os_real_ns();
}

/*
 * Wait until no thread is in a hook.  No call leads into a hook any more, but a thread may be in
 * one since counting ended, and count there.  Such calls end as soon as the thread gets a
 * processor, except one that waits for memory.
 */
#define LEFT_TRIES 500
#define LEFT_PAUSE_NS 10000000

static int
wait_until_all_have_left(struct host *s, struct err *e)
{
	for (int i = 0; i < LEFT_TRIES; i++) {
		bool is_inside = false;

		if (agent_segment_read_again(&s->agent, s->target, e) < 0)
			return -1;
		for (uint32_t k = 0; k < s->agent.nr_threads; k++)
			is_inside |= wire_threads(s->agent.segment)[k].is_inside;
		if (!is_inside)
			return 0;
		os_sleep_ns(LEFT_PAUSE_NS);
	}
	return err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"a thread of %d (%s) is still in a call of malloc that began while it counted before",
		s->target->pid, s->target->comm);
}

static int
reset_counters(struct host *s, struct err *e)
{
	if (wait_until_all_have_left(s, e) < 0)
		return -1;
	begin_anew(s->agent.segment, s->agent.nr_threads);
	/*
	 * A thread that was just before its hook may have entered since: members that only it
	 * writes are left to it.
	 */
	for (uint32_t i = 0; i < s->agent.nr_threads; i++) {
		const size_t at = WIRE_SEGMENT_BYTES(i);

		if (host_write(s, at, at + offsetof(struct wire_thread, tid), e) < 0)
			return -1;
	}
	return host_write(s, AT(started_ns), AT(code_bytes), e) < 0 ||
			host_write(s, AT(taken_bytes), AT(nr_refused), e) < 0
		? -1
		: host_write(s, AT(is_counting), sizeof(struct wire_segment), e);
}

static int
set_counting(const struct host *s, bool is_counting, struct err *e)
{
	s->agent.segment->is_counting = is_counting;
	return host_write(s, AT(is_counting), AT(nr_starts), e);
}

/* ---- the bytes in use before ---- */

struct count_job_sum {
	int64_t bytes, nr;
};

/* The sums of the counters when the heap was read. */
struct count_job_moment {
	struct host *seen;
	struct count_job_sum counted;
	bool is_known;
	/* threads in a hook, whose block may be in one sum and not in the other */
	unsigned int nr_inside;
	bool has_first;		     /* one of these is in its first call since counting began */
	struct malloc_layout layout; /* zeroes if unknown */
	struct large_blocks large;
	bool is_large_known; /* all of them could be searched */
	/* owned; threads that may be in a call from before the hooks were set */
	pid_t *unmarked;
	size_t nr_unmarked;
};

static void
moment_release(struct count_job_moment *m)
{
	free(m->unmarked);
}
#define auto_moment __attribute__((cleanup(moment_release)))

/* Return whether thread TID has called the agent since counting began. */
static bool
has_come(const struct agent_segment *c, pid_t tid)
{
	for (uint32_t i = 1; i < c->nr_threads; i++) {
		const struct wire_thread *t = &wire_threads(c->segment)[i];

		if (t->tid == (uint32_t)tid && (t->is_inside || t->nr_allocated + t->nr_freed))
			return true;
	}
	return false;
}

/*
 * Update the unmarked threads.  A thread that was in malloc when it was hooked is not marked as
 * inside, and its allocation or free is not counted.  Once a thread is seen elsewhere, its later
 * calls go through the hooks.
 */
static void
note_unmarked(struct count_job_moment *m)
{
	const struct host *s = m->seen;
	size_t nr = 0;
	struct err e;

	if (!m->unmarked && os_threads(s->target, SIZE_MAX, &m->unmarked, &m->nr_unmarked, &e) < 0)
		m->is_known = false;
	for (size_t i = 0; i < m->nr_unmarked; i++)
		if (inject_is_in_malloc(s->callee, m->unmarked[i]) &&
			!has_come(&s->agent, m->unmarked[i]))
			m->unmarked[nr++] = m->unmarked[i];
	m->nr_unmarked = nr;
}

/* Return whether blocks with separate mappings exist; true if unknown. */
static bool
has_large(const struct count_job_moment *m)
{
	struct malloc_params now;
	struct err e;

	return !m->layout.mp.v || malloc_params_read(&now, m->seen->target, &m->layout, &e) < 0 ||
		now.nr_mmaps;
}

static void
note_counted(const struct regions *maps, void *arg)
{
	struct count_job_moment *m = arg;
	struct agent_segment *c = &m->seen->agent;
	struct err e;

	m->counted = (struct count_job_sum){ 0 };
	m->nr_inside = 0;
	m->has_first = false;
	m->is_known = agent_segment_read_again(c, m->seen->target, &e) == 0;
	for (uint32_t i = 0; m->is_known && i < c->nr_threads; i++) {
		const struct wire_thread *t = &wire_threads(c->segment)[i];
		const bool has_counted = t->nr_allocated + t->nr_freed;

		m->counted.bytes += t->live_bytes;
		m->counted.nr += (int64_t)(t->nr_allocated - t->nr_freed);
		m->nr_inside += t->is_inside || t->is_busy || (!i && has_counted);
		m->has_first |= t->is_inside && !has_counted;
	}
	m->counted.bytes -= m->is_known ? c->segment->mapped_bytes : 0;
	m->large = (struct large_blocks){ 0 };
	m->is_large_known = has_large(m) &&
		large_blocks_find(&m->large, m->seen->target, maps, &m->seen->process.arenas);
	debug("%zu blocks with mappings of their own, %" PRIu64 " bytes", m->large.nr,
		m->large.bytes);
	if (m->is_known)
		note_unmarked(m);
}

/*
 * Return whether the blocks found are all that malloc has: only then is the gap of aligned blocks
 * known.
 */
static bool
has_all_large(const struct heap *h, const struct count_job_moment *m)
{
	const struct malloc_params *p = &h->layout.params;

	return !p->nr_mmaps ||
		(m->is_large_known &&
			malloc_is_all_mmapped(&h->layout, p, m->large.nr, m->large.bytes));
}

/*
 * Return the words of a mapping that do not belong to the block: the header; since 2.43 the same
 * number is lost at its end.
 */
static int64_t
words_of_mapping(const struct malloc_layout *l)
{
	return l->first >= 43 ? 3 : 2;
}

/*
 * Return the bytes of the mapped blocks, as malloc_usable_size() counts them, without the gap in
 * front of aligned blocks.  malloc's account may be too high since 2.43, even if no block is left.
 */
static int64_t
count_job_large_bytes(const struct heap *h, const struct count_job_moment *m)
{
	const struct malloc_params *p = &h->layout.params;
	uint64_t bytes = has_all_large(h, m) ? m->large.bytes - m->large.lead_bytes : p->mmapped;

	if (!p->nr_mmaps)
		return 0;
	return (int64_t)bytes -
		words_of_mapping(&h->layout) * (int64_t)(h->layout.word_bytes * p->nr_mmaps);
}

/*
 * Return the bytes and blocks that the program has, as malloc_usable_size() counts them.  If an
 * arena is known only from its lists, its number of blocks is unknown: then their headers are
 * included in the bytes, and no blocks are counted.
 */
static struct count_job_sum
in_use(const struct heap *h, const struct count_job_moment *m)
{
	const int64_t word = h->layout.word_bytes;
	struct count_job_sum sum = { count_job_large_bytes(h, m),
		(int64_t)h->layout.params.nr_mmaps };
	int64_t nr_caches = 0;

	for (size_t i = 0; i < h->arena.nr; i++) {
		const struct heap_arena *a = &h->arena.v[i];
		int64_t nr = a->is_by_lists ? 0 : (int64_t)(a->in_use.count - a->cached.count);

		sum.bytes += (int64_t)(a->in_use.bytes - a->cached.bytes) - word * nr;
		sum.nr += nr;
	}
	/*
	 * Subtract malloc's own chunk for each thread's cache.  A thread that never allocated has
	 * no cache.
	 */
	for (size_t i = 0; i < h->thread.nr; i++)
		nr_caches += h->thread.v[i].has_cache;
	sum.bytes -= ((int64_t)h->layout.tcache.chunk_bytes - word) * nr_caches;
	sum.nr -= nr_caches;
	return sum;
}

/*
 * Return how many blocks the heap H may differ by from the counters at the moment M, as a rank: 0
 * if it does not differ; otherwise one block for each thread in the middle of a call; UINT_MAX for
 * any number, because of changes between two stops.
 */
static unsigned int
doubts(const struct heap *h, const struct count_job_moment *m)
{
	unsigned int nr = m->nr_inside;

	/*
	 * In its first call a thread makes its cache, in memory that may have been another's cache
	 * and looks like one for a moment (tcache_init(), malloc/malloc.c, 2.26 to 2.44).
	 */
	if (!m->is_known || h->nr_stops != 1 || !h->knows_caches || m->has_first || m->nr_unmarked)
		return UINT_MAX;
	/* Any of them may be aligned. */
	if (!has_all_large(h, m))
		nr += (unsigned int)h->layout.params.nr_mmaps;
	for (size_t i = 0; i < h->arena.nr; i++) {
		if (h->arena.v[i].is_by_lists || h->arena.v[i].certainty == HEAP_APPROXIMATE)
			return UINT_MAX;
		nr += h->arena.v[i].certainty != HEAP_EXACT;
	}
	return nr;
}

/*
 * The heap is read this often, unless that stops the target for too long in all.  While any number
 * of blocks is uncertain, it is read until UNSURE_NS are over: a thread in the middle of a call may
 * get no processor.
 */
#define EXACT_TRIES 50
#define UNSURE_NS UINT64_C(2000000000)
/*
 * Threads run for at least EXACT_PAUSE_NS between two stops, and for PAUSE_TIMES as long as the
 * last stop.
 */
#define EXACT_PAUSE_NS UINT64_C(5000000)
#define PAUSE_TIMES 4

/* Speed of a walk over chunks of a hundred bytes, including the other work in a stop. */
#define WALKED_BYTES_PER_NS 2

/*
 * Return whether the heap is so large that a walk would take many long stops. *RET is its layout.
 */
static bool
is_too_large(const struct host *s, uint64_t max_stop_ns, struct malloc_layout *ret)
{
	auto_heap struct heap h = { 0 };
	uint64_t bytes = 0;
	struct err e;

	if (heap_read_tops(&h, &s->process, &e) < 0)
		return true;
	*ret = h.layout;
	for (size_t i = 0; i < h.arena.nr; i++)
		bytes += h.arena.v[i].system_bytes;
	return bytes / WALKED_BYTES_PER_NS > max_stop_ns;
}

/* The bytes in use when counting began, from the best of several tries. */
struct guess {
	struct count_job_sum before;
	unsigned int nr_doubtful, nr_tries;
	uint64_t begun_ns, stopped_ns, last_stop_ns;
};

static int
guess_again(
	struct guess *g, struct count_job_moment *m, const struct heap_options *opt, struct err *e)
{
	const struct host *s = m->seen;
	auto_heap struct heap h = { 0 };
	unsigned int nr_doubtful;

	if (heap_read(&h, &s->process, opt, e) < 0)
		return -1;
	g->last_stop_ns = h.stopped_ns;
	g->stopped_ns += h.stopped_ns;
	nr_doubtful = doubts(&h, m);
	debug("try %u: %u blocks are uncertain; "
	      "threads: %u in a hook, %zu perhaps in an earlier call",
		g->nr_tries, nr_doubtful, m->nr_inside, m->nr_unmarked);
	if (g->nr_tries++ && nr_doubtful >= g->nr_doubtful)
		return 0;
	g->nr_doubtful = nr_doubtful;
	g->before = in_use(&h, m);
	g->before.bytes -= m->counted.bytes;
	g->before.nr -= m->counted.nr;
	return 0;
}

static bool
is_good_enough(const struct guess *g, const struct heap_options *opt)
{
	if (!g->nr_doubtful || opt->bins_only)
		return true;
	if (g->nr_doubtful == UINT_MAX)
		return os_now_ns() - g->begun_ns > UNSURE_NS;
	return g->nr_tries >= EXACT_TRIES || g->stopped_ns > opt->max_stop_ns;
}

/*
 * Find the bytes in use before.  Without HAS_ALL_CALLS the counters, too, will be wrong by any
 * number.
 */
static int
find_before(struct host *s, uint64_t max_stop_ns, bool has_all_calls, struct err *e)
{
	auto_moment struct count_job_moment moment = { .seen = s };
	const struct heap_options opt = { .max_stop_ns = max_stop_ns,
		.one_look = true,
		.bins_only = is_too_large(s, max_stop_ns, &moment.layout),
		.beside = note_counted,
		.arg = &moment };
	struct guess g = { .begun_ns = os_now_ns() };
	struct wire_segment *segment;

	for (;;) {
		uint64_t ns;

		if (guess_again(&g, &moment, &opt, e) < 0)
			return -1;
		if (is_good_enough(&g, &opt))
			break;
		ns = PAUSE_TIMES * g.last_stop_ns;
		os_sleep_ns(ns > EXACT_PAUSE_NS ? ns : EXACT_PAUSE_NS);
	}
	segment = s->agent.segment;
	segment->before_bytes = g.before.bytes;
	segment->nr_before = g.before.nr > 0 ? (uint64_t)g.before.nr : 0;
	segment->nr_doubtful = has_all_calls ? g.nr_doubtful : UINT32_MAX;
	return host_write(s, AT(is_counting), sizeof *segment, e);
}

/* Mark them as unknown: another malloc does not report its bytes in use exactly. */
static int
leave_before_unknown(const struct host *s, struct err *e)
{
	struct wire_segment *segment = s->agent.segment;

	segment->has_no_before = 1;
	segment->nr_doubtful = 0;
	return host_write(s, AT(nr_doubtful), AT(noting), e) < 0
		? -1
		: host_write(s, AT(has_no_before), AT(has_unhooked), e);
}

/* ---- starting and stopping ---- */

static int
count_job_begin(struct host *s, const struct inject_options *opt, uint64_t max_stop_ns,
	struct count_job *ret, struct err *e)
{
	struct inject_report borrowed;

	if (host_prepare(s, opt, ret->is_new, e) < 0 || reset_counters(s, e) < 0 ||
		host_set_hooks(s, true, host_noting(s), opt, &ret->hooked, &borrowed, e) < 0)
		return -1;
	if (borrowed.tid)
		ret->borrowed = borrowed;
	/*
	 * A library that is loaded later has slots that are not hooked: it may free blocks whose
	 * allocation was not counted.
	 */
	if ((s->is_other ? leave_before_unknown(s, e)
			 : find_before(s, max_stop_ns, !ret->hooked.nr_slots, e)) < 0 ||
		set_counting(s, true, e) < 0) {
		struct hook_report lifted;
		struct err ignored;

		host_end_job(s, false, host_noting(s), opt, &lifted, &ignored);
		return -1;
	}
	ret->has_no_before = s->is_other;
	ret->before_bytes = s->agent.segment->before_bytes;
	ret->nr_doubtful = s->agent.segment->nr_doubtful;
	return 0;
}

int
count_job_start(const struct target *t, const struct inject_options *opt, uint64_t max_stop_ns,
	const char *agent, struct count_job *ret, struct err *e)
{
	auto_host struct host s = { .target = t };
	struct host_arrival arrival;

	*ret = (struct count_job){ 0 };
	if (target_claim(t, opt->wait_ns, e) < 0 || host_look(&s, e) < 0)
		return -1;
	if (!agent_segment_is_counting(&s.agent) && hook_check(t, e) < 0)
		return err_hint(e, "'memdiag run' counts from a program's start");
	if (host_bring_agent(&s, opt, agent, &arrival, e) < 0)
		return -1;
	ret->is_new = arrival.is_new;
	ret->borrowed = arrival.borrowed;
	ret->nr_children = arrival.borrowed.nr_children;
	ret->child = arrival.borrowed.child;
	ret->way = (enum wire_way)s.agent.segment->way;
	ret->was_so = agent_segment_is_counting(&s.agent);
	return ret->was_so ? 0 : count_job_begin(&s, opt, max_stop_ns, ret, e);
}

int
count_job_stop(const struct target *t, const struct inject_options *opt, struct count_job *ret,
	struct err *e)
{
	auto_host struct host s = { .target = t };
	bool was_counting;

	*ret = (struct count_job){ 0 };
	if (target_claim(t, opt->wait_ns, e) < 0 || host_look(&s, e) < 0)
		return -1;
	if (s.agent.segment)
		ret->way = (enum wire_way)s.agent.segment->way;
	if (ret->way == WIRE_PRELOADED && agent_segment_is_counting(&s.agent))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) was started under the agent, and counts until it ends", t->pid,
			t->comm);
	was_counting = agent_segment_is_counting(&s.agent);
	if (host_end_job(&s, false, host_noting(&s), opt, &ret->hooked, e) < 0)
		return -1;
	ret->was_so = !was_counting && !ret->hooked.nr_entries && !ret->hooked.nr_slots;
	return s.agent.segment && !s.agent.is_parents ? set_counting(&s, false, e) : 0;
}
