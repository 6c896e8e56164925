#include <config.h>

#include "recording/parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/thread.h"

#define MAX_THREADS 64

/* Moments of one part, in their order. */
struct parts_taken {
	struct history_moment *v;
	size_t nr, room;
};

/*
 * Threads read parts, and each adds its part to the sum when it is its turn: in the order of the
 * parts.  So at most one history per thread exists, and the sum.
 */
struct parts {
	struct history *h; /* the sum */
	struct recording *r;
	const struct history_moments *moments;
	uint64_t interval_ns;	       /* of a part when it is read */
	size_t next_moment;	       /* the first that was not given yet */
	struct history_moment pending; /* of the interval that the sum ends in, if has_pending */
	bool has_pending;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t nr, next, nr_done; /* counts of parts */
	size_t gap;		  /* the part that does not continue the last; 0 without a gap */
	bool has_failed;
	struct err e; /* reason of the failure */
};

static int
parts_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the history");
}

static void
parts_taken_release(struct parts_taken *t)
{
	for (size_t i = 0; i < t->nr; i++)
		history_moment_release(&t->v[i]);
	free(t->v);
}

static int
keep_moment(void *arg, struct history_moment *m, struct err *e)
{
	struct parts_taken *t = arg;
	struct history_moment *kept = array_add(t);

	if (!kept)
		return parts_no_memory(e);
	*kept = *m;
	*m = (struct history_moment){ 0 };
	return 0;
}

/* ---- moments ---- */

static bool
wants(const struct parts *p, size_t interval)
{
	return p->moments && p->next_moment < p->moments->nr &&
		p->moments->intervals[p->next_moment] == interval;
}

/* Give the pending moment: its interval is complete. */
static int
give_pending(struct parts *p, struct err *e)
{
	auto_moment struct history_moment m = p->pending;

	if (!p->has_pending)
		return 0;
	p->has_pending = false;
	p->pending = (struct history_moment){ 0 };
	p->next_moment++;
	return p->moments->take(p->moments->arg, &m, e);
}

/*
 * Offer M, which is taken over.  It is of the next interval, or of the pending one: then the
 * greater counts.
 */
static int
offer_moment(struct parts *p, struct history_moment *m, struct err *e)
{
	if (p->has_pending && p->pending.interval != m->interval && give_pending(p, e) < 0)
		return -1;
	if (!wants(p, m->interval) ||
		(p->has_pending && p->pending.max.live.bytes >= m->max.live.bytes))
		return 0;
	history_moment_release(&p->pending);
	p->pending = *m;
	p->has_pending = true;
	*m = (struct history_moment){ 0 };
	return 0;
}

/* ---- sums ---- */

/* Return the live blocks of SITE at the end of the sum. */
static struct amount
parts_live_of(const struct history *h, size_t site)
{
	return site < h->sites.nr ? h->sites.v[site].live.amount : (struct amount){ 0 };
}

static struct amount
begin_of(const struct history *h, size_t site)
{
	return site < h->begin.nr ? h->begin.v[site] : (struct amount){ 0 };
}

/* Return whether PART begins with the amounts live at the end of the sum. */
static bool
parts_continues(const struct history *h, const struct history *part)
{
	const size_t nr = h->sites.nr > part->begin.nr ? h->sites.nr : part->begin.nr;

	for (size_t i = 0; i < nr; i++) {
		const struct amount a = parts_live_of(h, i), b = begin_of(part, i);

		if (a.blocks != b.blocks || a.bytes != b.bytes)
			return false;
		if (a.blocks && h->sites.v[i].live.kind != part->sites.v[i].live.kind)
			return false;
	}
	return part->begin_ns >= h->end_ns;
}

/* Add an interval without events, before the next part begins. */
static int
add_interval(struct parts *p, struct err *e)
{
	struct history *h = p->h;
	auto_moment struct history_moment m = { 0 };
	const size_t interval = h->intervals.nr;
	struct history_interval *i = array_add(&h->intervals);

	if (!i)
		return parts_no_memory(e);
	i->max = (struct history_maximum){ h->live, interval * h->interval_ns };
	i->mapped_bytes = h->mapped.bytes;
	if (!wants(p, interval) && !p->has_pending)
		return 0;
	if (history_end_moment(&m, h, e) < 0)
		return -1;
	m.interval = interval;
	m.max = i->max;
	return offer_moment(p, &m, e);
}

/* Make the intervals of PART and of the sum equally long, and not too many. */
static int
align_intervals(struct parts *p, struct history *part, struct err *e)
{
	struct history *h = p->h;
	const uint64_t interval_ns = h->interval_ns;

	while (part->interval_ns < h->interval_ns)
		history_widen(part);
	while (h->interval_ns < part->interval_ns)
		history_widen(h);
	while (part->first_interval + part->intervals.nr > HISTORY_MAX_INTERVALS) {
		history_widen(part);
		history_widen(h);
	}
	return p->moments && h->interval_ns != interval_ns
		? err_set(e, 0, "cannot read the recording again: it has become longer")
		: 0;
}

static int
add_intervals(struct parts *p, struct history *part, bool is_first, struct err *e)
{
	struct history *h = p->h;

	if (h->interval_ns && align_intervals(p, part, e) < 0)
		return -1;
	while (h->interval_ns && h->intervals.nr <= part->first_interval)
		if (add_interval(p, e) < 0)
			return -1;
	for (size_t i = 0; i < part->intervals.nr; i++) {
		const struct history_interval *from = &part->intervals.v[i];
		struct history_interval *to =
			i ? array_add(&h->intervals) : &h->intervals.v[part->first_interval];

		if (!to)
			return parts_no_memory(e);
		if (i) {
			*to = *from;
			continue;
		}
		if (from->max.live.bytes > to->max.live.bytes)
			to->max = from->max;
		amount_add(&to->allocated, &from->allocated);
		if (!is_first)
			to->allocated = amount_less(&to->allocated, &part->before);
		amount_add(&to->freed, &from->freed);
		if (from->rss_bytes > to->rss_bytes)
			to->rss_bytes = from->rss_bytes;
		to->unordered_bytes += from->unordered_bytes;
		if (from->mapped_bytes > to->mapped_bytes)
			to->mapped_bytes = from->mapped_bytes;
	}
	return 0;
}

/* Add SITE of a part; HAS_PEAK: the greatest peak so far is the part's. */
static void
parts_add_site(
	struct history *h, const struct history *part, size_t site, bool is_first, bool has_peak)
{
	static const struct history_site none = { 0 };
	const struct history_site *from = site < part->sites.nr ? &part->sites.v[site] : &none;
	const struct amount begin = is_first ? (struct amount){ 0 } : begin_of(part, site);
	struct history_site *to = &h->sites.v[site];

	amount_add(&to->allocated, &from->allocated);
	to->allocated = amount_less(&to->allocated, &begin);
	amount_add(&to->temporary, &from->temporary);
	to->live.amount = from->live.amount; /* includes BEGIN, which was live in the sum */
	if (from->live.kind != LIVE_OF_NOTHING)
		to->live.kind = from->live.kind;
	if (history_site_is_mapped(to))
		return;
	if (has_peak)
		to->peak = from->peak;
	if (from->max.bytes > to->max.bytes)
		to->max = from->max;
	to->lives_ms +=
		from->lives_ms + (uint64_t)begin.blocks * (part->begin_ns / HISTORY_NS_PER_MS);
}

static int
parts_add_sites(struct history *h, const struct history *part, bool is_first, struct err *e)
{
	const bool has_peak = part->peak.live.bytes > h->peak.live.bytes;

	while (h->sites.nr < part->sites.nr)
		if (!array_add(&h->sites))
			return parts_no_memory(e);
	for (size_t i = 0; i < h->sites.nr; i++) {
		const struct history_site *to = &h->sites.v[i];

		if (i < part->sites.nr && to->allocated.blocks &&
			part->sites.v[i].allocated.blocks &&
			to->live.kind != part->sites.v[i].live.kind)
			return err_set(e, 0,
				"cannot add up the recording: a site has blocks and mappings");
		parts_add_site(h, part, i, is_first, has_peak);
	}
	if (has_peak)
		h->peak = part->peak;
	return 0;
}

static int
parts_add_mapped(struct history *h, const struct history *part, bool is_first, struct err *e)
{
	const struct amount none = { 0 }, *before = is_first ? &none : &part->mapped_before;
	const struct amount allocated = amount_less(&part->mapped_allocated, before);

	if (allocated.bytes > INT64_MAX - h->mapped_allocated.bytes ||
		allocated.blocks > INT64_MAX - h->mapped_allocated.blocks)
		return err_set(e, 0, "cannot add up the recording: no process maps so much");
	amount_add(&h->mapped_allocated, &allocated);
	h->mapped = part->mapped;
	if (is_first)
		h->mapped_before = part->mapped_before;
	if (part->mapped_peak.live.bytes > h->mapped_peak.live.bytes)
		h->mapped_peak = part->mapped_peak;
	return 0;
}

static int
parts_add_totals(struct history *h, const struct history *part, bool is_first, struct err *e)
{
	const struct amount none = { 0 }, *before = is_first ? &none : &part->before;
	const struct amount allocated = amount_less(&part->allocated, before);

	if (allocated.bytes > INT64_MAX - h->allocated.bytes ||
		allocated.blocks > INT64_MAX - h->allocated.blocks)
		return err_set(e, 0, "cannot add up the recording: no process allocates so much");
	amount_add(&h->allocated, &allocated);
	amount_add(&h->freed, &part->freed);
	amount_add(&h->temporary, &part->temporary);
	if (is_first)
		h->before = part->before;
	if (part->rss_peak_bytes > h->rss_peak_bytes)
		h->rss_peak_bytes = part->rss_peak_bytes;
	h->unordered_bytes += part->unordered_bytes;
	h->live = amount_less(&h->allocated, &h->freed);
	if (parts_add_mapped(h, part, is_first, e) < 0)
		return -1;
	h->end_ns = part->end_ns > h->end_ns ? part->end_ns : h->end_ns;
	return 0;
}

/* Add PART with its moments T, the next one, to the sum. */
static int
parts_add_part(
	struct parts *p, struct history *part, struct parts_taken *t, bool is_first, struct err *e)
{
	if (add_intervals(p, part, is_first, e) < 0 ||
		parts_add_totals(p->h, part, is_first, e) < 0 ||
		parts_add_sites(p->h, part, is_first, e) < 0)
		return -1;
	for (size_t i = 0; i < t->nr; i++)
		if (offer_moment(p, &t->v[i], e) < 0)
			return -1;
	return 0;
}

/* ---- threads ---- */

struct turn {
	struct parts *p;
	size_t part;
};

/* Wait, holding the lock, until all parts before PART are in the sum, or one has failed. */
static void
wait_locked(struct parts *p, size_t part)
{
	while (p->nr_done < part && !p->has_failed)
		pthread_cond_wait(&p->changed, &p->lock);
}

static void
wait_turn(void *arg)
{
	const struct turn *t = arg;

	pthread_mutex_lock(&t->p->lock);
	wait_locked(t->p, t->part);
	pthread_mutex_unlock(&t->p->lock);
}

static int
parts_read_part(struct parts *p, size_t part, struct recording **ret, struct history *h,
	struct parts_taken *t, struct err *e)
{
	struct history_moments moments = { .take = keep_moment, .arg = t };
	struct turn turn = { p, part };
	int failed;

	if (p->moments) {
		moments.intervals = p->moments->intervals;
		moments.nr = p->moments->nr;
	}
	h->interval_ns = p->interval_ns;
	h->keeps_lives = p->h->keeps_lives;
	h->wait_turn = wait_turn;
	h->turn = &turn;
	failed = p->r->ops->parts->open(p->r, part, ret, e) < 0
		? -1
		: history_read_one(h, *ret, p->moments ? &moments : NULL, true, e);
	h->wait_turn = NULL;
	return failed;
}

/* Add PART, which has been read, in its turn. */
static int
finish_part(struct parts *p, size_t part, struct recording *opened, struct history *h,
	struct parts_taken *t, struct err *e)
{
	const struct recording_parts *ops = p->r->ops->parts;

	if (part && part + 1 == p->nr && !ops->has_begun(opened))
		return ops->done(p->r, part, opened, e);
	if (part && (!ops->is_whole(p->r, part - 1) || !parts_continues(p->h, h))) {
		p->gap = part;
		return err_set(e, 0, "there is a gap");
	}
	return parts_add_part(p, h, t, part == 0, e) < 0 ? -1 : ops->done(p->r, part, opened, e);
}

/* Read PART, wait until the parts before it are in the sum, and add it. */
static void
do_part(struct parts *p, size_t part)
{
	auto_history struct history h = { 0 };
	auto_recording struct recording *opened = NULL;
	__attribute__((cleanup(parts_taken_release))) struct parts_taken t = { 0 };
	struct err e = { 0 };
	int failed = parts_read_part(p, part, &opened, &h, &t, &e);

	pthread_mutex_lock(&p->lock);
	wait_locked(p, part);
	if (!p->has_failed) {
		if (!failed)
			failed = finish_part(p, part, opened, &h, &t, &e);
		p->nr_done++;
		if (failed) {
			p->has_failed = true;
			p->e = e;
		}
	}
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void *
work(void *arg)
{
	struct parts *p = arg;
	size_t part;

	for (;;) {
		pthread_mutex_lock(&p->lock);
		part = p->has_failed ? p->nr : p->next;
		p->next += part < p->nr;
		pthread_mutex_unlock(&p->lock);
		if (part >= p->nr)
			return NULL;
		do_part(p, part);
	}
}

static size_t
threads_for(const struct history *h, size_t nr_parts)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t nr = h->nr_threads ? h->nr_threads : cpus > 0 ? (size_t)cpus : 1;

	if (nr > MAX_THREADS)
		nr = MAX_THREADS;
	return nr < nr_parts ? nr : nr_parts;
}

/* Read all parts; if threads cannot be created, the existing ones do it. */
static void
parts_read_all(struct parts *p)
{
	const size_t nr = threads_for(p->h, p->nr);
	pthread_t thread[MAX_THREADS];
	size_t nr_started = 0;

	while (nr_started + 1 < nr && thread_start(&thread[nr_started], work, p))
		nr_started++;
	work(p);
	while (nr_started)
		pthread_join(thread[--nr_started], NULL);
}

static void
parts_release(struct parts *p)
{
	history_moment_release(&p->pending);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
}

/* Try to read all parts. *RET_GAP as in struct parts: then no moment was given. */
static int
try_parts(struct history *h, struct recording *r, const struct history_moments *moments,
	size_t *ret_gap, struct err *e)
{
	__attribute__((cleanup(parts_release))) struct parts p = { .h = h,
		.r = r,
		.moments = moments,
		.interval_ns = h->interval_ns,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER };

	p.nr = r->ops->parts->nr(r);
	parts_read_all(&p);
	*ret_gap = p.gap;
	if (p.has_failed) {
		*e = p.e;
		return -1;
	}
	return give_pending(&p, e);
}

static int
parts_read(struct history *h, struct recording *r, const struct history_moments *moments,
	struct err *e)
{
	const struct history begin = { .interval_ns = h->interval_ns,
		.keeps_lives = h->keeps_lives,
		.nr_threads = h->nr_threads };
	size_t gap = 0;

	while (try_parts(h, r, moments, &gap, e) < 0) {
		if (!gap)
			return -1;
		/* Some moments may have been given already. */
		if (moments)
			return err_set(e, 0, "cannot read the recording again: it has changed");
		if (r->ops->parts->drop_before(r, gap, e) < 0)
			return -1;
		history_release(h);
		*h = begin;
	}
	return 0;
}

int
history_read(struct history *h, struct recording *r, const struct history_moments *moments,
	struct err *e)
{
	const int failed = r->ops->parts ? parts_read(h, r, moments, e)
					 : history_read_one(h, r, moments, false, e);

	return failed < 0 ? -1 : history_end(h, e);
}
