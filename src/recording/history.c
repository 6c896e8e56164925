#include <config.h>

#include "recording/history.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void
history_release(struct history *h)
{
	free(h->intervals.v);
	free(h->sites.v);
	free(h->begin.v);
	*h = (struct history){ 0 };
}

void
history_moment_release(struct history_moment *m)
{
	free(m->sites.v);
	*m = (struct history_moment){ 0 };
}

/* ---- moments ---- */

int
history_add_live(struct history_moment *m, size_t site, const struct history_site *s,
	struct amount live, struct err *e)
{
	struct history_live *added;

	if (!live.blocks)
		return 0;
	added = array_add(&m->sites);
	if (!added)
		return err_set(e, ENOMEM, "cannot keep the history");
	*added = (struct history_live){ (uint32_t)site, history_site_is_mapped(s), live };
	if (added->is_mapped)
		amount_add(&m->mapped, &live);
	return 0;
}

int
history_end_moment(struct history_moment *ret, const struct history *h, struct err *e)
{
	*ret = (struct history_moment){ .interval = h->intervals.nr ? h->intervals.nr - 1 : 0,
		.max = { h->live, h->end_ns } };
	for (size_t i = 0; i < h->sites.nr; i++) {
		const struct history_site *s = &h->sites.v[i];

		if (history_add_live(ret, i, s, s->live.amount, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- intervals ---- */

/* Add MORE, which follows I, to I. */
static void
history_merge(struct history_interval *i, const struct history_interval *more)
{
	if (more->max.live.bytes > i->max.live.bytes)
		i->max = more->max;
	amount_add(&i->allocated, &more->allocated);
	amount_add(&i->freed, &more->freed);
	if (more->rss_bytes > i->rss_bytes)
		i->rss_bytes = more->rss_bytes;
	i->unordered_bytes += more->unordered_bytes;
	if (more->mapped_bytes > i->mapped_bytes)
		i->mapped_bytes = more->mapped_bytes;
}

void
history_widen(struct history *h)
{
	const size_t was_first = h->first_interval, first = was_first / 2;
	struct history_interval *v = h->intervals.v;

	for (size_t i = 0; i < h->intervals.nr; i++) {
		const size_t to = (was_first + i) / 2 - first;

		if (i && (was_first + i) % 2)
			history_merge(&v[to], &v[i]);
		else
			v[to] = v[i];
	}
	if (h->intervals.nr)
		h->intervals.nr = (was_first + h->intervals.nr + 1) / 2 - first;
	h->first_interval = first;
	h->interval_ns *= 2;
}
