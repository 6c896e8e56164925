#include <config.h>

#include "watch/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Growth over less time says little about a minute. */
#define LEAST_NS UINT64_C(2000000000)
#define MINUTE_NS UINT64_C(60000000000)

/* ---- adding ---- */

const char *
watch_curve_name(int curve)
{
	return curve ? group_name((enum group)(curve - 1)) : "RSS";
}

/* Make one point of each two. */
static void
halve_points(struct watch_history *h)
{
	const size_t nr = h->points.nr / 2;

	for (size_t i = 0; i < nr; i++) {
		const struct watch_point a = h->points.v[2 * i], b = h->points.v[2 * i + 1];

		h->points.v[i].time_ns = b.time_ns;
		for (int c = 0; c < WATCH_CURVES; c++)
			h->points.v[i].bytes[c] = a.bytes[c] > b.bytes[c] ? a.bytes[c] : b.bytes[c];
	}
	h->points.nr = nr;
}

static struct watch_point
point_of(const struct watch_sample *s)
{
	struct watch_point p = { s->time_ns, { s->rss_bytes } };

	for (int c = 1; c < WATCH_CURVES; c++) {
		const struct watch_row *r =
			watch_table_find(&s->table[WATCH_CLASSES], watch_curve_name(c), NULL);

		p.bytes[c] = r ? r->number[0] : 0;
	}
	return p;
}

/* Drop the samples that growth does not need at TIME_NS. */
static void
drop_old(struct watch_history *h, uint64_t time_ns)
{
	size_t nr_old = 0;

	while (nr_old + 1 < h->kept.nr &&
		h->kept.v[nr_old + 1].time_ns + WATCH_GROWTH_NS <= time_ns)
		nr_old++;
	for (size_t i = 0; i < nr_old; i++)
		watch_sample_release(&h->kept.v[i]);
	h->kept.nr -= nr_old;
	if (nr_old)
		memmove(h->kept.v, h->kept.v + nr_old, h->kept.nr * sizeof *h->kept.v);
	/* The last one stays only if it is far enough from the one before. */
	if (h->kept.nr >= 2 &&
		h->kept.v[h->kept.nr - 1].time_ns - h->kept.v[h->kept.nr - 2].time_ns <
			WATCH_KEEP_NS)
		watch_sample_release(&h->kept.v[--h->kept.nr]);
}

int
watch_history_add(struct watch_history *h, struct watch_sample *s, struct err *e)
{
	struct watch_point *point;
	struct watch_sample *kept;

	if (h->points.nr >= WATCH_MAX_POINTS)
		halve_points(h);
	drop_old(h, s->time_ns);
	point = array_add(&h->points);
	kept = point ? array_add(&h->kept) : NULL;
	if (!kept) {
		h->points.nr -= point != NULL;
		watch_sample_release(s);
		return err_set(e, ENOMEM, "cannot keep a sample");
	}
	*point = point_of(s);
	*kept = *s;
	*s = (struct watch_sample){ 0 };
	h->nr_samples++;
	return 0;
}

void
watch_history_release(struct watch_history *h)
{
	for (size_t i = 0; i < h->kept.nr; i++)
		watch_sample_release(&h->kept.v[i]);
	free(h->kept.v);
	free(h->points.v);
	*h = (struct watch_history){ 0 };
}

const struct watch_sample *
watch_history_last(const struct watch_history *h)
{
	return h->kept.nr ? &h->kept.v[h->kept.nr - 1] : NULL;
}

/* ---- growth ---- */

/* Return what FROM to TO in NS is per minute. */
static int64_t
per_minute(uint64_t from, uint64_t to, uint64_t ns)
{
	return (int64_t)(((double)to - (double)from) * ((double)MINUTE_NS / (double)ns));
}

bool
watch_history_growth(const struct watch_history *h, int64_t *ret)
{
	const struct watch_sample *last = watch_history_last(h);
	const uint64_t ns = last ? last->time_ns - h->kept.v[0].time_ns : 0;

	if (ns < LEAST_NS)
		return false;
	*ret = per_minute(h->kept.v[0].rss_bytes, last->rss_bytes, ns);
	return true;
}

bool
watch_history_row_growth(const struct watch_history *h, enum watch_view view,
	const struct watch_row *r, int64_t *ret)
{
	const struct watch_sample *last = watch_history_last(h);
	const char *parent = watch_parent(&last->table[view], r);

	/* The oldest that has read the table; of a row that was left out nothing is known. */
	for (size_t i = 0; i + 1 < h->kept.nr; i++) {
		const struct watch_sample *from = &h->kept.v[i];
		const struct watch_table *t = &from->table[view];
		const struct watch_row *before;

		if (last->time_ns - from->time_ns < LEAST_NS)
			return false;
		if (!t->is_read)
			continue;
		before = watch_table_find(t, r->name, parent);
		if (!before && t->nr_more)
			return false;
		*ret = per_minute(before ? before->number[0] : 0, r->number[0],
			last->time_ns - from->time_ns);
		return true;
	}
	return false;
}
