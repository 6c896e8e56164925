#include <config.h>

#include "recording/changes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "recording/parts.h"

/*
 * Several parts are read at once, and keep their moments until it is their turn: at most so many
 * sites of moments, 200 MiB.
 */
#define MOST_SITES ((size_t)8 << 20)

/* The state while moments are taken. */
struct changes_reader {
	struct history_changes *to;
	size_t next; /* step */
	struct history_moment before;
};

static int
changes_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the moments of the recording");
}

/* Add the difference of site SITE; an empty difference adds nothing. */
static int
add_site_change(struct history_changes *to, uint32_t site, struct amount more, struct err *e)
{
	struct history_change *c;

	if (!more.blocks && !more.bytes)
		return 0;
	c = array_add(&to->changes);
	if (!c)
		return changes_no_memory(e);
	*c = (struct history_change){ site, more };
	return 0;
}

/* Add what differs between the moment before and NOW; both are sorted by site. */
static int
add_changes(struct changes_reader *reader, const struct history_moment *now, struct err *e)
{
	const struct history_moment *before = &reader->before;
	size_t i = 0, k = 0;

	while (i < before->sites.nr || k < now->sites.nr) {
		const struct history_live *old = i < before->sites.nr ? &before->sites.v[i] : NULL;
		const struct history_live *new = k < now->sites.nr ? &now->sites.v[k] : NULL;
		const bool has_old = old && (!new || old->site <= new->site);
		const bool has_new = new && (!old || new->site <= old->site);
		const struct amount nothing = { 0 };
		const struct amount more = amount_less(
			has_new ? &new->live : &nothing, has_old ? &old->live : &nothing);
		const struct history_live *any = has_old ? old : new;

		if (!any->is_mapped && add_site_change(reader->to, any->site, more, e) < 0)
			return -1;
		i += has_old;
		k += has_new;
	}
	return 0;
}

/* Take moment M, the next one. */
static int
changes_take(void *arg, struct history_moment *m, struct err *e)
{
	struct changes_reader *reader = arg;
	struct history_step *step = &reader->to->steps.v[reader->next++];

	if (add_changes(reader, m, e) < 0)
		return -1;
	step->at_ns = m->max.at_ns;
	step->live_bytes = m->max.live.bytes;
	step->end = reader->to->changes.nr;
	history_moment_release(&reader->before);
	reader->before = *m;
	*m = (struct history_moment){ 0 };
	return 0;
}

/*
 * Choose of the intervals FIRST to END of H the one with the greatest maximum, and set STEP's other
 * members.  SIZE_MAX if no maximum is known.
 */
static size_t
choose(const struct history *h, size_t first, size_t end, struct history_step *step)
{
	size_t best = SIZE_MAX;

	*step = (struct history_step){ .mapped_bytes = -1 };
	for (size_t i = first; i < end; i++) {
		const struct history_interval *v = &h->intervals.v[i];

		if (v->max.live.bytes >= 0 &&
			(best == SIZE_MAX ||
				v->max.live.bytes > h->intervals.v[best].max.live.bytes))
			best = i;
		if (v->rss_bytes > step->rss_bytes)
			step->rss_bytes = v->rss_bytes;
		if (v->mapped_bytes > step->mapped_bytes)
			step->mapped_bytes = v->mapped_bytes;
	}
	return best;
}

/* Fill INTERVALS, with room for NR, with those to take, and RET's steps.  The number, or -1. */
static ssize_t
choose_all(struct history_changes *ret, const struct history *h, size_t *intervals, size_t nr,
	struct err *e)
{
	const size_t all = h->intervals.nr;

	for (size_t i = 0; i < nr; i++) {
		struct history_step step;
		const size_t best = choose(h, i * all / nr, (i + 1) * all / nr, &step);
		struct history_step *added;

		if (best == SIZE_MAX)
			continue;
		added = array_add(&ret->steps);
		if (!added)
			return changes_no_memory(e);
		*added = step;
		intervals[ret->steps.nr - 1] = best;
	}
	return (ssize_t)ret->steps.nr;
}

int
history_changes_read(struct history_changes *ret, const struct history *h, struct recording *r,
	size_t most, struct err *e)
{
	const size_t room = MOST_SITES / (h->sites.nr + 1) + 1;
	const size_t wanted = h->intervals.nr < most ? h->intervals.nr : most;
	const size_t nr = wanted < room ? wanted : room;
	auto_free size_t *intervals = calloc(nr + 1, sizeof *intervals);
	struct changes_reader reader = { .to = ret };
	struct history_moments moments = { intervals, 0, changes_take, &reader };
	auto_history struct history again = {
		.interval_ns = h->interval_ns,
		.nr_threads = h->nr_threads,
	};
	ssize_t chosen;
	int status;

	if (!intervals)
		return changes_no_memory(e);
	chosen = choose_all(ret, h, intervals, nr, e);
	if (chosen <= 0)
		return (int)chosen;
	moments.nr = (size_t)chosen;
	status = history_read(&again, r, &moments, e);
	history_moment_release(&reader.before);
	/* An interval after the end of the recording is not taken. */
	ret->steps.nr = reader.next;
	return status;
}

void
history_changes_release(struct history_changes *c)
{
	free(c->steps.v);
	free(c->changes.v);
	*c = (struct history_changes){ 0 };
}
