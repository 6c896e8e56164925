#include <config.h>

#include "recording/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* Events that are read at once: they fit into the first cache. */
#define BATCH 512
#define NS_PER_MS HISTORY_NS_PER_MS

static int
reading_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the history");
}

/* ---- moments ---- */

static int
take_moment(struct history_reading *d, struct err *e)
{
	auto_moment struct history_moment m = { .interval = d->interval, .max = d->max };

	for (size_t i = 0; i < d->h->sites.nr; i++) {
		const struct history_site *s = &d->h->sites.v[i];

		if (history_add_live(&m, i, s,
			    s->nr_moment == d->nr_moment ? s->moment : s->live.amount, e) < 0)
			return -1;
	}
	d->next_moment++;
	return d->moments->take(d->moments->arg, &m, e);
}

/* ---- intervals ---- */

static void
begin_interval(struct history_reading *d, size_t interval)
{
	struct history *h = d->h;

	d->interval = interval;
	d->interval_end_ns =
		h->interval_ns ? (uint64_t)(interval + 1) * h->interval_ns : UINT64_MAX;
	d->max = (struct history_maximum){ amount_less(&h->allocated, &h->freed),
		(uint64_t)interval * h->interval_ns };
	d->rss_bytes = 0;
	d->unordered_bytes = 0;
	d->mapped_bytes = h->mapped.bytes;
	d->allocated_before = h->allocated;
	d->freed_before = h->freed;
	d->in_moment = d->moments && d->next_moment < d->moments->nr &&
		d->moments->intervals[d->next_moment] == interval;
	d->nr_moment += d->in_moment;
}

static int
end_interval(struct history_reading *d, struct err *e)
{
	struct history *h = d->h;
	struct history_interval *i = array_add(&h->intervals);

	if (!i)
		return reading_no_memory(e);
	i->max = d->max;
	i->allocated = amount_less(&h->allocated, &d->allocated_before);
	i->freed = amount_less(&h->freed, &d->freed_before);
	i->rss_bytes = d->rss_bytes;
	i->unordered_bytes = d->unordered_bytes;
	i->mapped_bytes = d->mapped_bytes;
	return d->in_moment ? take_moment(d, e) : 0;
}

/* The most that several histories may have at once: 1 MiB. */
#define MANY_INTERVALS ((size_t)16 << 10)

/* End the present interval, and begin the next one. */
static int
reading_next_interval(struct history_reading *d, struct err *e)
{
	size_t next = d->interval + 1;

	if (d->h->intervals.nr == MANY_INTERVALS && d->h->wait_turn)
		d->h->wait_turn(d->h->turn);
	if (end_interval(d, e) < 0)
		return -1;
	if (d->h->intervals.nr >= HISTORY_MAX_INTERVALS && next % 2 == 0) {
		if (d->moments)
			return err_set(
				e, 0, "cannot read the recording again: it has become longer");
		history_widen(d->h);
		next /= 2;
	}
	begin_interval(d, next);
	return 0;
}

/* Advance to the interval that contains TIME_NS. */
static int
reading_go_to(struct history_reading *d, uint64_t time_ns, struct err *e)
{
	while (time_ns >= d->interval_end_ns)
		if (reading_next_interval(d, e) < 0)
			return -1;
	return 0;
}

/* ---- events ---- */

/* Before S changes: store its amount if a maximum was reached since it last changed. */
static inline void
reading_note(const struct history_reading *d, struct history_site *s)
{
	if (s->nr_peak != d->nr_peak) {
		s->peak = s->live.amount;
		s->nr_peak = d->nr_peak;
	}
	if (d->in_moment && s->nr_moment != d->nr_moment) {
		s->moment = s->live.amount;
		s->nr_moment = d->nr_moment;
	}
}

/* Each number is set separately, for the same reason as in live.h. */
static inline void
set_maximum(const struct history_reading *d, struct history_maximum *m, uint64_t time_ns)
{
	m->live.bytes = d->live_bytes;
	m->live.blocks = d->h->allocated.blocks - d->h->freed.blocks;
	m->at_ns = time_ns;
}

/* More is live at TIME_NS than before: it may be a maximum. */
static inline void
raise_maxima(struct history_reading *d, uint64_t time_ns)
{
	if (d->live_bytes <= d->max.live.bytes)
		return;
	set_maximum(d, &d->max, time_ns);
	d->nr_moment += d->in_moment;
	if (d->live_bytes <= d->h->peak.live.bytes)
		return;
	set_maximum(d, &d->h->peak, time_ns);
	d->nr_peak++;
}

/* With keeps_lives: a block of S was allocated (SIGN: -1) or freed (1). */
static void
note_life(struct history_site *s, const struct event *v, int sign)
{
	/* The sum of differences is the difference of sums, whichever block it was. */
	s->lives_ms += (uint64_t)sign * (v->time_ns / NS_PER_MS);
	if (s->live.amount.bytes > s->max.bytes)
		s->max = s->live.amount;
}

/* Report that V cannot follow, for WHY. */
static int
reading_refuse(const struct event *v, enum live_result why, struct err *e)
{
	const bool is_of_mapping = event_is_of_mapping(v->kind) || v->kind == EVENT_LIVE_MAPPED;

	if (why == LIVE_IS_OTHER)
		return err_set(e, 0, "cannot add up the recording: a site has blocks and mappings");
	if (why == LIVE_TOO_MUCH)
		return err_set(e, 0, "cannot add up the recording: no process %s so much",
			v->kind == EVENT_LIVE	? "has"
				: is_of_mapping ? "maps"
						: "allocates");
	if (v->kind == EVENT_GROWN)
		return err_set(e, 0, "cannot add up the recording: no mapping is there to grow");
	return err_set(e, 0, "cannot add up the recording: it %s more of a site than was %s",
		is_of_mapping ? "unmaps" : "frees", is_of_mapping ? "mapped" : "allocated");
}

static inline int
reading_allocate(struct history_reading *d, const struct event *v, struct err *e)
{
	const struct amount a = { 1, (int64_t)v->bytes };
	struct history *h = d->h;
	struct history_site *s = &h->sites.v[v->site];
	enum live_result r;

	/* No other sum is greater than this one. */
	if (a.bytes > INT64_MAX - h->allocated.bytes)
		return reading_refuse(v, LIVE_TOO_MUCH, e);
	reading_note(d, s);
	r = live_add_block(&s->live, v->bytes);
	if (r != LIVE_ADDED)
		return reading_refuse(v, r, e);
	amount_add(&s->allocated, &a);
	amount_add(&h->allocated, &a);
	d->live_bytes += a.bytes;
	if (h->keeps_lives)
		note_life(s, v, -1);
	raise_maxima(d, v->time_ns);
	return 0;
}

static inline int
reading_set_free(struct history_reading *d, const struct event *v, struct err *e)
{
	const struct amount a = { 1, (int64_t)v->bytes };
	struct history *h = d->h;
	struct history_site *s = &h->sites.v[v->site];
	enum live_result r;

	reading_note(d, s);
	r = live_take_block(&s->live, v->bytes);
	if (r != LIVE_ADDED)
		return reading_refuse(v, r, e);
	amount_add(&h->freed, &a);
	d->live_bytes -= a.bytes;
	if (h->keeps_lives)
		note_life(s, v, 1);
	if (v->kind == EVENT_FREED_SOON) {
		amount_add(&h->temporary, &a);
		amount_add(&s->temporary, &a);
	}
	return 0;
}

/* Add A of V to the mappings of S. */
static int
reading_map(struct history_reading *d, struct history_site *s, const struct event *v,
	const struct amount *a, struct err *e)
{
	struct history *h = d->h;
	const enum live_result r =
		amount_has_room(&h->mapped_allocated, a) ? live_add(&s->live, v) : LIVE_TOO_MUCH;

	if (r != LIVE_ADDED)
		return reading_refuse(v, r, e);
	amount_add(&s->allocated, a);
	amount_add(&h->mapped_allocated, a);
	amount_add(&h->mapped, a);
	if (h->mapped.bytes > d->mapped_bytes)
		d->mapped_bytes = h->mapped.bytes;
	if (h->mapped.bytes > h->mapped_peak.live.bytes)
		h->mapped_peak = (struct history_maximum){ h->mapped, v->time_ns };
	return 0;
}

static int
reading_take_mapping(struct history_reading *d, const struct event *v, struct err *e)
{
	struct history_site *s = &d->h->sites.v[v->site];
	const struct amount a = live_amount_of(v);
	enum live_result r;

	reading_note(d, s);
	if (v->kind == EVENT_MAPPED || v->kind == EVENT_GROWN)
		return reading_map(d, s, v, &a, e);
	r = live_add(&s->live, v);
	if (r != LIVE_ADDED)
		return reading_refuse(v, r, e);
	d->h->mapped = amount_less(&d->h->mapped, &a);
	return 0;
}

/* Return the amount of SITE that was live when a part began; make room for it. */
static struct amount *
have_begin(struct history *h, uint32_t site)
{
	while (h->begin.nr <= site)
		if (!array_add(&h->begin))
			return NULL;
	return &h->begin.v[site];
}

/*
 * Add the mappings of a site that existed before.  The earlier amount of 0 is not stored: the first
 * maximum, of blocks that were live before, may have come already.
 */
static int
take_live_mapped(struct history_reading *d, const struct event *v, struct err *e)
{
	const struct amount a = live_amount_of(v);
	struct amount *begin = have_begin(d->h, v->site);

	if (!begin)
		return reading_no_memory(e);
	if (reading_map(d, &d->h->sites.v[v->site], v, &a, e) < 0)
		return -1;
	amount_add(begin, &a);
	amount_add(&d->h->mapped_before, &a);
	return 0;
}

/* Add the blocks of a site that were live before, which may have no bytes: likewise not stored. */
static int
take_live(struct history_reading *d, const struct event *v, struct err *e)
{
	struct history *h = d->h;
	struct history_site *s = &h->sites.v[v->site];
	const struct amount a = live_amount_of(v);
	struct amount *begin = have_begin(h, v->site);
	enum live_result r;

	if (!begin)
		return reading_no_memory(e);
	r = amount_has_room(&h->allocated, &a) ? live_add(&s->live, v) : LIVE_TOO_MUCH;
	if (r != LIVE_ADDED)
		return reading_refuse(v, r, e);
	amount_add(begin, &a);
	amount_add(&h->before, &a);
	amount_add(&h->allocated, &a);
	amount_add(&s->allocated, &a);
	if (h->keeps_lives) {
		s->lives_ms -= v->blocks * (v->time_ns / NS_PER_MS);
		s->max = s->live.amount;
	}
	d->live_bytes += a.bytes;
	raise_maxima(d, v->time_ns);
	return 0;
}

/* Count the unordered events since the last moment, which may be in the previous interval. */
static int
take_unordered(struct history_reading *d, int64_t bytes)
{
	struct history *h = d->h;

	if (h->intervals.nr)
		h->intervals.v[h->intervals.nr - 1].unordered_bytes += bytes;
	d->unordered_bytes += bytes;
	h->unordered_bytes += bytes;
	return 0;
}

static int
reading_take_event(struct history_reading *d, const struct event *v, struct err *e)
{
	if (v->time_ns >= d->interval_end_ns && reading_go_to(d, v->time_ns, e) < 0)
		return -1;
	switch (v->kind) {
	case EVENT_ALLOCATED:
		return reading_allocate(d, v, e);
	case EVENT_FREED:
	case EVENT_FREED_SOON:
		return reading_set_free(d, v, e);
	case EVENT_RSS:
		if ((int64_t)v->bytes > d->rss_bytes)
			d->rss_bytes = (int64_t)v->bytes;
		if ((int64_t)v->bytes > d->h->rss_peak_bytes)
			d->h->rss_peak_bytes = (int64_t)v->bytes;
		return 0;
	case EVENT_TIME:
		return 0;
	case EVENT_UNORDERED:
		return take_unordered(d, (int64_t)v->bytes);
	case EVENT_LIVE:
		return take_live(d, v, e);
	case EVENT_MAPPED:
	case EVENT_GROWN:
	case EVENT_UNMAPPED:
	case EVENT_SHRUNK:
		return reading_take_mapping(d, v, e);
	case EVENT_LIVE_MAPPED:
		return take_live_mapped(d, v, e);
	}
	return 0;
}

/* Make room for every site that events may have. */
static int
reading_add_sites(struct history *h, uint32_t nr, struct err *e)
{
	while (h->sites.nr < nr)
		if (!array_add(&h->sites))
			return reading_no_memory(e);
	return 0;
}

/* Skip the moments before the first interval, that of the first event. */
void
history_reading_begin(struct history_reading *d, const struct event *first, bool is_part)
{
	struct history *h = d->h;

	d->has_begun = true;
	h->begin_ns = first->time_ns;
	if (is_part && h->interval_ns)
		h->first_interval = (size_t)(first->time_ns / h->interval_ns);
	while (d->moments && d->next_moment < d->moments->nr &&
		d->moments->intervals[d->next_moment] < h->first_interval)
		d->next_moment++;
	begin_interval(d, h->first_interval);
}

int
history_reading_add(struct history_reading *d, uint32_t nr_sites, const struct event *v, size_t nr,
	struct err *e)
{
	if (reading_add_sites(d->h, nr_sites, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++)
		if (reading_take_event(d, &v[i], e) < 0)
			return -1;
	if (nr)
		d->h->end_ns = v[nr - 1].time_ns;
	return 0;
}

int
history_reading_end(struct history_reading *d, struct err *e)
{
	if (d->h->interval_ns && end_interval(d, e) < 0)
		return -1;
	d->h->live = amount_less(&d->h->allocated, &d->h->freed);
	/* Store the amounts of sites that have not changed since the peak. */
	d->in_moment = false;
	for (size_t i = 0; i < d->h->sites.nr; i++)
		reading_note(d, &d->h->sites.v[i]);
	return 0;
}

/* Reset all counts, except for those within this interval. */
static void
count_from_zero(struct history_reading *d)
{
	static const struct amount none = { 0 };
	struct history *h = d->h;

	d->allocated_before = amount_less(&d->allocated_before, &h->allocated);
	d->freed_before = amount_less(&d->freed_before, &h->freed);
	d->live_bytes = 0;
	for (size_t i = 0; i < h->sites.nr; i++)
		h->sites.v[i] = (struct history_site){ .nr_peak = d->nr_peak };
	h->allocated = h->freed = h->temporary = h->before = none;
	h->mapped = h->mapped_allocated = h->mapped_before = none;
}

int
history_reading_skip(struct history_reading *d, uint64_t time_ns, struct err *e)
{
	count_from_zero(d);
	while (time_ns >= d->interval_end_ns) {
		if (reading_next_interval(d, e) < 0)
			return -1;
		/* Known from TIME_NS on, if that is in the interval. */
		d->max = time_ns < d->interval_end_ns
			? (struct history_maximum){ { 0, 0 }, time_ns }
			: (struct history_maximum){ { -1, -1 }, time_ns };
		d->mapped_bytes = d->max.live.bytes;
	}
	return 0;
}

int
history_read_one(struct history *h, struct recording *r, const struct history_moments *moments,
	bool is_part, struct err *e)
{
	struct history_reading d = { .h = h, .moments = moments };
	struct event v[BATCH];
	size_t nr;

	if (r->ops->rewind(r, e) < 0)
		return -1;
	do {
		if (r->ops->next(r, v, BATCH, &nr, e) < 0)
			return -1;
		if (!d.has_begun)
			history_reading_begin(&d, nr ? v : &(struct event){ 0 }, is_part);
		if (history_reading_add(&d, r->nr_sites, v, nr, e) < 0)
			return -1;
	} while (nr);
	return history_reading_end(&d, e);
}

int
history_end(struct history *h, struct err *e)
{
	/* No site has longer lifetimes. */
	if (h->keeps_lives && h->end_ns >= NS_PER_MS &&
		h->allocated.blocks > INT64_MAX / (int64_t)(h->end_ns / NS_PER_MS))
		return err_set(e, 0, "cannot add up the recording: no blocks live so long");
	for (size_t i = 0; h->keeps_lives && i < h->sites.nr; i++) {
		struct history_site *s = &h->sites.v[i];

		if (history_site_is_mapped(s))
			continue;
		s->lives_ms += (uint64_t)s->live.amount.blocks * (h->end_ns / NS_PER_MS);
	}
	return 0;
}
