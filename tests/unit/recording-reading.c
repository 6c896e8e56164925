/*
 * Intervals of a history: random events, by seeds, with what was resident and how much came in no
 * known order, are read as
 * one recording, and as one of several parts that are cut anywhere, and compared with the plainest
 * sums of the list of
 * events.  Intervals that become twice as long have the sums of both, and the greater maxima.
 *
 *	history-reading [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "recording/parts.h"
#include "seeds.h"

#define NR_SITES 5
#define MAX_EVENTS 600
#define MAX_PARTS 5
#define MAX_INTERVALS 64
#define INTERVAL_NS 1000

static struct world {
	size_t nr, nr_parts;
	struct event event[MAX_EVENTS];
	size_t cut[MAX_PARTS + 1]; /* part I has the events from cut[I] to cut[I + 1] */
	struct history_interval want[MAX_INTERVALS];
	size_t nr_intervals;
	int64_t rss_peak, unordered;
	struct amount live, allocated, freed, temporary;
	struct history_maximum peak;
} w;

/* ---- a recording in memory ---- */

struct part {
	struct recording r;
	size_t number, at;
	size_t nr_before; /* what is given out before the events: the time, and live blocks */
	struct event before[NR_SITES + 1];
};

static int
next(struct recording *r, struct event *v, size_t room, size_t *ret, struct err *e)
{
	struct part *p = (struct part *)r;
	const size_t first = w.cut[p->number], end = w.cut[p->number + 1];

	(void)e;
	/* Now and then fewer than there is room for. */
	room = room > 7 ? 1 + p->at % 7 : room;
	for (*ret = 0; *ret < room && p->at < p->nr_before + end - first; p->at++)
		v[(*ret)++] = p->at < p->nr_before ? p->before[p->at]
						   : w.event[first + p->at - p->nr_before];
	return 0;
}

static int
go_back(struct recording *r, struct err *e)
{
	(void)e;
	((struct part *)r)->at = 0;
	return 0;
}

static void
free_part(struct recording *r)
{
	free(r);
}

static const struct recording_ops part_ops = { .next = next, .rewind = go_back, .free = free_part };

static bool
is_more(const struct event *v)
{
	return v->kind == EVENT_ALLOCATED;
}

static bool
is_less(const struct event *v)
{
	return v->kind == EVENT_FREED || v->kind == EVENT_FREED_SOON;
}

/* Part NUMBER begins with what is live after the events before it. */
static struct part *
make_part(size_t number)
{
	struct part *p = calloc(1, sizeof *p);
	uint64_t blocks[NR_SITES] = { 0 }, bytes[NR_SITES] = { 0 };
	const uint64_t time_ns = number ? w.event[w.cut[number] - 1].time_ns : 0;

	p->r = (struct recording){ .ops = &part_ops, .nr_sites = NR_SITES };
	p->number = number;
	for (size_t i = 0; i < w.cut[number]; i++) {
		const struct event *v = &w.event[i];

		blocks[v->site] += (uint64_t)is_more(v) - (uint64_t)is_less(v);
		bytes[v->site] += (is_more(v) ? v->bytes : 0) - (is_less(v) ? v->bytes : 0);
	}
	p->before[p->nr_before++] = (struct event){ .time_ns = time_ns, .kind = EVENT_TIME };
	for (uint32_t i = 0; i < NR_SITES; i++)
		if (blocks[i])
			p->before[p->nr_before++] = (struct event){ .time_ns = time_ns,
				.kind = EVENT_LIVE,
				.site = i,
				.blocks = blocks[i],
				.bytes = bytes[i] };
	return p;
}

static size_t
nr_parts(const struct recording *r)
{
	(void)r;
	return w.nr_parts;
}

static int
open_part(struct recording *r, size_t part, struct recording **ret, struct err *e)
{
	(void)r, (void)e;
	*ret = &make_part(part)->r;
	return 0;
}

static int
done_part(struct recording *r, size_t part, struct recording *opened, struct err *e)
{
	(void)r, (void)part, (void)opened, (void)e;
	return 0;
}

static bool
has_begun(const struct recording *opened)
{
	return opened->nr_sites;
}

static bool
is_whole(const struct recording *r, size_t part)
{
	return r && part < w.nr_parts;
}

static int
drop_before(struct recording *r, size_t part, struct err *e)
{
	(void)r;
	return err_set(e, 0, "part %zu does not continue the one before", part);
}

static const struct recording_parts parts = { nr_parts, open_part, done_part, has_begun, is_whole,
	drop_before };
static const struct recording_ops whole_ops = { .parts = &parts };

/* ---- events ---- */

static void
some_event(struct event *v, uint64_t time_ns, struct event *live, size_t *nr_live)
{
	const uint64_t kind = some(12);

	*v = (struct event){ .time_ns = time_ns };
	if (kind < 2) {
		v->kind = kind ? EVENT_RSS : EVENT_UNORDERED;
		v->bytes = 1 + some(100000);
	} else if (kind == 2) {
		v->kind = EVENT_TIME;
	} else if (*nr_live && some(2)) {
		const size_t i = some(*nr_live);

		*v = live[i];
		live[i] = live[--*nr_live];
		v->time_ns = time_ns;
		v->kind = some(3) ? EVENT_FREED : EVENT_FREED_SOON;
	} else {
		v->kind = EVENT_ALLOCATED;
		v->site = (uint32_t)some(NR_SITES);
		v->bytes = 1 + some(1000);
		live[(*nr_live)++] = *v;
	}
}

static void
some_world(void)
{
	static struct event live[MAX_EVENTS];
	size_t nr_live = 0;
	uint64_t time_ns = 0;

	memset(&w, 0, sizeof w);
	w.nr = 1 + some(MAX_EVENTS);
	for (size_t i = 0; i < w.nr; i++) {
		time_ns += some(8) ? some(20)
			: some(10) ? some(INTERVAL_NS)
				   : 3 * some(INTERVAL_NS);
		if (time_ns >= MAX_INTERVALS * INTERVAL_NS)
			time_ns = MAX_INTERVALS * INTERVAL_NS - 1;
		some_event(&w.event[i], time_ns, live, &nr_live);
	}
	w.nr_parts = 1 + some(w.nr < MAX_PARTS ? w.nr : MAX_PARTS);
	for (size_t i = 1; i < w.nr_parts; i++)
		w.cut[i] = w.cut[i - 1] + some(w.nr - w.cut[i - 1]);
	/* A part that is not the first has an event before it. */
	for (size_t i = 1; i < w.nr_parts; i++)
		if (!w.cut[i])
			w.cut[i] = 1;
	w.cut[w.nr_parts] = w.nr;
}

/* ---- the plainest sums ---- */

static struct history_interval *
interval_of(uint64_t time_ns)
{
	while (w.nr_intervals <= time_ns / INTERVAL_NS) {
		struct history_interval *i = &w.want[w.nr_intervals];

		i->max = (struct history_maximum){ w.live, w.nr_intervals++ * INTERVAL_NS };
	}
	return &w.want[w.nr_intervals - 1];
}

static void
add_to(struct amount *a, int64_t bytes)
{
	a->blocks += bytes < 0 ? -1 : 1;
	a->bytes += bytes;
}

static void
play(const struct event *v)
{
	struct history_interval *i = interval_of(v->time_ns);
	const int64_t bytes = (int64_t)v->bytes;

	if (v->kind == EVENT_RSS) {
		i->rss_bytes = bytes > i->rss_bytes ? bytes : i->rss_bytes;
		w.rss_peak = bytes > w.rss_peak ? bytes : w.rss_peak;
	} else if (v->kind == EVENT_UNORDERED) {
		/* It may be of the interval before, too. */
		i->unordered_bytes += bytes;
		if (i > w.want)
			i[-1].unordered_bytes += bytes;
		w.unordered += bytes;
	} else if (is_more(v)) {
		add_to(&w.live, bytes);
		add_to(&w.allocated, bytes);
		add_to(&i->allocated, bytes);
	} else if (is_less(v)) {
		add_to(&w.live, -bytes);
		add_to(&w.freed, bytes);
		add_to(&i->freed, bytes);
		if (v->kind == EVENT_FREED_SOON)
			add_to(&w.temporary, bytes);
	}
	if (w.live.bytes > i->max.live.bytes)
		i->max = (struct history_maximum){ w.live, v->time_ns };
	if (w.live.bytes > w.peak.live.bytes)
		w.peak = (struct history_maximum){ w.live, v->time_ns };
}

static bool
same(const struct amount *a, const struct amount *b)
{
	return a->blocks == b->blocks && a->bytes == b->bytes;
}

static bool
check_interval(const struct history_interval *got, const struct history_interval *want, size_t i,
	bool in_parts)
{
	if (got->rss_bytes != want->rss_bytes)
		return FAIL("interval %zu: %" PRId64 " bytes resident, not %" PRId64, i,
			got->rss_bytes, want->rss_bytes);
	/* A part does not know that the interval before the first of its own is there. */
	if (!in_parts && got->unordered_bytes != want->unordered_bytes)
		return FAIL("interval %zu: %" PRId64 " bytes unordered, not %" PRId64, i,
			got->unordered_bytes, want->unordered_bytes);
	if (!same(&got->allocated, &want->allocated) || !same(&got->freed, &want->freed))
		return FAIL("interval %zu: the sums", i);
	return (same(&got->max.live, &want->max.live) && got->max.at_ns == want->max.at_ns) ||
		FAIL("interval %zu: the maximum is %" PRId64 " at %" PRIu64 ", not %" PRId64
		     " at %" PRIu64,
			i, got->max.live.bytes, got->max.at_ns, want->max.live.bytes,
			want->max.at_ns);
}

static bool
check(const struct history *h, bool in_parts)
{
	if (h->intervals.nr != w.nr_intervals)
		return FAIL("%zu intervals, not %zu", h->intervals.nr, w.nr_intervals);
	for (size_t i = 0; i < w.nr_intervals; i++)
		if (!check_interval(&h->intervals.v[i], &w.want[i], i, in_parts))
			return false;
	if (!same(&h->live, &w.live) || !same(&h->allocated, &w.allocated) ||
		!same(&h->freed, &w.freed) || !same(&h->temporary, &w.temporary))
		return FAIL("the sums");
	if (h->rss_peak_bytes != w.rss_peak || h->unordered_bytes != w.unordered)
		return FAIL("%" PRId64 " resident, %" PRId64 " unordered", h->rss_peak_bytes,
			h->unordered_bytes);
	return (same(&h->peak.live, &w.peak.live) && h->peak.at_ns == w.peak.at_ns) ||
		FAIL("the peak is %" PRId64, h->peak.live.bytes);
}

static bool
try(void)
{
	auto_history struct history h = { .interval_ns = INTERVAL_NS };
	struct recording *r;
	struct err e = { 0 };
	int status;

	some_world();
	w.nr_parts = 1;
	w.cut[1] = w.nr;
	for (size_t i = 0; i < w.nr; i++)
		play(&w.event[i]);
	r = &make_part(0)->r;
	status = history_read(&h, r, NULL, &e);
	free_part(r);
	return status == 0 ? check(&h, false) : FAIL("%s", e.msg);
}

static bool
try_parts(void)
{
	auto_history struct history h = { .interval_ns = INTERVAL_NS };
	struct recording r = { .ops = &whole_ops, .nr_sites = NR_SITES };
	struct err e = { 0 };

	some_world();
	for (size_t i = 0; i < w.nr; i++)
		play(&w.event[i]);
	h.nr_threads = 1 + (unsigned int)some(3);
	return history_read(&h, &r, NULL, &e) == 0 ? check(&h, true) : FAIL("%s", e.msg);
}

/* ---- longer intervals ---- */

static bool
try_widen(void)
{
	auto_history struct history h = { .interval_ns = INTERVAL_NS, .first_interval = some(3) };
	const size_t nr = 1 + some(20), first = h.first_interval;
	struct history_interval was[21];

	h.intervals.v = calloc(nr, sizeof *h.intervals.v);
	h.intervals.nr = h.intervals.room = nr;
	for (size_t i = 0; i < nr; i++)
		was[i] = h.intervals.v[i] = (struct history_interval){
			.max = { { 1, (int64_t)some(1000) }, i },
			.allocated = { (int64_t)some(10), (int64_t)some(100) },
			.freed = { (int64_t)some(10), (int64_t)some(100) },
			.rss_bytes = (int64_t)some(1000),
			.mapped_bytes = (int64_t)some(1000),
			.unordered_bytes = (int64_t)some(1000),
		};
	history_widen(&h);
	if (h.interval_ns != 2 * INTERVAL_NS || h.first_interval != first / 2 ||
		h.intervals.nr != (first + nr - 1) / 2 - first / 2 + 1)
		return FAIL("%zu intervals from %zu on", h.intervals.nr, h.first_interval);
	for (size_t k = 0; k < h.intervals.nr; k++) {
		struct history_interval want = { .max = { { -1, -1 }, 0 } };

		/* Those of WAS that it is made of: one or two. */
		for (size_t i = 0; i < nr; i++) {
			if ((first + i) / 2 != first / 2 + k)
				continue;
			if (was[i].max.live.bytes > want.max.live.bytes)
				want.max = was[i].max;
			if (was[i].rss_bytes > want.rss_bytes)
				want.rss_bytes = was[i].rss_bytes;
			if (was[i].mapped_bytes > want.mapped_bytes)
				want.mapped_bytes = was[i].mapped_bytes;
			want.allocated.blocks += was[i].allocated.blocks;
			want.allocated.bytes += was[i].allocated.bytes;
			want.freed.blocks += was[i].freed.blocks;
			want.freed.bytes += was[i].freed.bytes;
			want.unordered_bytes += was[i].unordered_bytes;
		}
		if (h.intervals.v[k].mapped_bytes != want.mapped_bytes ||
			!check_interval(&h.intervals.v[k], &want, k, false))
			return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	const struct seeds s = seeds_of(argc, argv, 500);

	seeds_try(s, try, "intervals have the sums and maxima of their events");
	seeds_try(s, try_parts, "parts have together what the whole has");
	seeds_try(s, try_widen, "intervals that become longer have what both had");
	return tap_end();
}
