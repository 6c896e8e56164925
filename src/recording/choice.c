#include <config.h>

#include "recording/choice.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "recording/live.h"

#define BATCH 512

/* Live blocks of one site and one size. */
struct choice_group {
	uint32_t site;
	bool is_used,
		is_age_unknown; /* some blocks were live when the recording began, after the cut */
	uint64_t bytes;
	int64_t live;
	/* Live at the cut, before which a block is old; the fewest live since; freed since. */
	int64_t old, least, freed;
};

struct choosing {
	const struct history_choice *choice;
	struct {
		struct choice_group *v; /* a hash; ROOM is a power of two */
		size_t nr, room;
	} groups;
	struct {
		struct amount
			*v; /* live when the recording began, blocks of unknown sizes; by site */
		size_t nr, room;
	} pools;
	uint64_t cut_ns;
	bool has_cut, is_old_begin; /* events follow the cut; blocks live at first are old */
};

static int
choice_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot choose blocks");
}

/* ---- groups ---- */

static size_t
choice_slot_of(const struct choosing *c, uint32_t site, uint64_t bytes)
{
	const uint64_t mixed =
		(bytes + site * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
	size_t i = (size_t)(mixed >> 32) & (c->groups.room - 1);

	while (c->groups.v[i].is_used &&
		(c->groups.v[i].site != site || c->groups.v[i].bytes != bytes))
		i = (i + 1) & (c->groups.room - 1);
	return i;
}

static int
choice_grow(struct choosing *c)
{
	struct choice_group *old = c->groups.v;
	const size_t nr_old = c->groups.room;

	c->groups.room = nr_old ? 2 * nr_old : 1024;
	c->groups.v = calloc(c->groups.room, sizeof *c->groups.v);
	if (!c->groups.v) {
		c->groups.v = old;
		c->groups.room = nr_old;
		return -1;
	}
	for (size_t i = 0; i < nr_old; i++)
		if (old[i].is_used)
			c->groups.v[choice_slot_of(c, old[i].site, old[i].bytes)] = old[i];
	free(old);
	return 0;
}

/*
 * Return the group of SITE and BYTES, which is made if it does not exist; NULL if memory runs out.
 */
static struct choice_group *
group_of(struct choosing *c, uint32_t site, uint64_t bytes)
{
	struct choice_group *g;

	if (2 * c->groups.nr >= c->groups.room && choice_grow(c) < 0)
		return NULL;
	g = &c->groups.v[choice_slot_of(c, site, bytes)];
	if (!g->is_used) {
		*g = (struct choice_group){ .site = site, .is_used = true, .bytes = bytes };
		c->groups.nr++;
	}
	return g;
}

static struct amount *
pool_of(struct choosing *c, uint32_t site)
{
	while (c->pools.nr <= site)
		if (!array_add(&c->pools))
			return NULL;
	return &c->pools.v[site];
}

/* ---- events ---- */

/* The next event is later than the cut: all that is live now is old. */
static void
choice_cut(struct choosing *c)
{
	c->has_cut = true;
	for (size_t i = 0; i < c->groups.room; i++) {
		struct choice_group *g = &c->groups.v[i];

		g->old = g->least = g->live;
		g->freed = 0;
	}
}

/*
 * Count a free.  It may be of a block that was live at the beginning, if no other block of its size
 * is live.
 */
static int
choice_set_free(struct choosing *c, const struct event *v, struct err *e)
{
	struct choice_group *g = group_of(c, v->site, v->bytes);
	struct amount *p = g && !g->live ? pool_of(c, v->site) : NULL;

	if (!g || (!g->live && !p))
		return choice_no_memory(e);
	if (!g->live) {
		if (p->blocks > 0)
			*p = amount_less(p, &(struct amount){ 1, (int64_t)v->bytes });
		return 0;
	}
	g->live--;
	g->freed++;
	if (g->live < g->least)
		g->least = g->live;
	return 0;
}

/* Add blocks that were live when the recording began. */
static int
begin_with(struct choosing *c, const struct event *v, struct err *e)
{
	const struct amount a = live_amount_of(v);
	struct choice_group *g;
	struct amount *p;

	if (v->blocks != 1) {
		p = pool_of(c, v->site);
		if (!p)
			return choice_no_memory(e);
		amount_add(p, &a);
		return 0;
	}
	g = group_of(c, v->site, v->bytes);
	if (!g)
		return choice_no_memory(e);
	g->live++;
	if (c->has_cut) { /* it may also be old */
		g->old++;
		g->least++;
		g->is_age_unknown = true;
	}
	return 0;
}

static int
choice_take(struct choosing *c, const struct event *v, bool is_first, struct err *e)
{
	if (!c->has_cut && v->time_ns > c->cut_ns)
		choice_cut(c);
	switch (v->kind) {
		struct choice_group *g;

	case EVENT_ALLOCATED:
		g = group_of(c, v->site, v->bytes);
		if (!g)
			return choice_no_memory(e);
		g->live++;
		return 0;
	case EVENT_FREED:
	case EVENT_FREED_SOON:
		return choice_set_free(c, v, e);
	case EVENT_LIVE: /* later parts begin with amounts that are already known */
		return is_first ? begin_with(c, v, e) : 0;
	default:
		return 0;
	}
}

static int
read_one(struct choosing *c, struct recording *r, bool is_first, struct err *e)
{
	struct event v[BATCH];
	size_t nr;

	do {
		if (r->ops->next(r, v, BATCH, &nr, e) < 0)
			return -1;
		for (size_t i = 0; i < nr; i++)
			if (choice_take(c, &v[i], is_first, e) < 0)
				return -1;
	} while (nr);
	return 0;
}

static int
choice_read_parts(struct choosing *c, struct recording *r, struct err *e)
{
	const struct recording_parts *ops = r->ops->parts;
	const size_t nr = ops->nr(r);

	for (size_t i = 0; i < nr; i++) {
		auto_recording struct recording *opened = NULL;

		if (ops->open(r, i, &opened, e) < 0 || read_one(c, opened, i == 0, e) < 0 ||
			ops->done(r, i, opened, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- the choice ---- */

static bool
choice_has_size(const struct history_choice *choice, uint64_t bytes)
{
	return bytes >= choice->min_bytes && bytes <= choice->max_bytes;
}

static int
choice_add_site(struct history_chosen *to, uint32_t site, const struct amount *certain,
	const struct amount *possible, struct err *e)
{
	while (to->sites.nr <= site)
		if (!array_add(&to->sites))
			return choice_no_memory(e);
	amount_add(&to->sites.v[site].certain, certain);
	amount_add(&to->sites.v[site].possible, possible);
	amount_add(&to->certain, certain);
	amount_add(&to->possible, possible);
	return 0;
}

static int
add_group(struct history_chosen *to, const struct choice_group *g, struct err *e)
{
	const int64_t sure = g->is_age_unknown || g->old < g->freed ? 0 : g->old - g->freed;
	const int64_t most = g->old < g->least ? g->old : g->least;
	const struct amount certain = { sure, sure * (int64_t)g->bytes };
	const struct amount possible = { most, most * (int64_t)g->bytes };

	return most ? choice_add_site(to, g->site, &certain, &possible, e) : 0;
}

static int
choice_conclude(struct choosing *c, struct history_chosen *to, struct err *e)
{
	const struct history_choice *choice = c->choice;
	const bool is_any_size = choice->min_bytes == 0 && choice->max_bytes == UINT64_MAX;

	if (!c->has_cut)
		choice_cut(c);
	for (size_t i = 0; i < c->groups.room; i++)
		if (c->groups.v[i].is_used && choice_has_size(choice, c->groups.v[i].bytes) &&
			add_group(to, &c->groups.v[i], e) < 0)
			return -1;
	for (size_t i = 0; i < c->pools.nr; i++) {
		const struct amount *p = &c->pools.v[i], none = { 0 };

		if (p->blocks <= 0 || p->bytes < 0)
			continue;
		amount_add(&to->unknown, p);
		if (is_any_size &&
			choice_add_site(to, (uint32_t)i, c->is_old_begin ? p : &none, p, e) < 0)
			return -1;
	}
	return 0;
}

int
history_choose(struct history_chosen *chosen, const struct history *h, struct recording *r,
	const struct history_choice *choice, struct err *e)
{
	struct choosing c = { .choice = choice };
	int status;

	chosen->now_ns = h->end_ns;
	/* Without an age, all blocks that are live at the end are chosen. */
	c.cut_ns = !choice->has_age		  ? UINT64_MAX
		: choice->age_ns > chosen->now_ns ? 0
						  : chosen->now_ns - choice->age_ns;
	if (choice->has_age && choice->age_ns > chosen->now_ns)
		c.has_cut = true; /* before all events */
	c.is_old_begin = !c.has_cut && h->begin_ns <= c.cut_ns;
	status = r->ops->parts ? choice_read_parts(&c, r, e)
			       : (r->ops->rewind(r, e) < 0 ? -1 : read_one(&c, r, true, e));
	if (status == 0)
		status = choice_conclude(&c, chosen, e);
	free(c.groups.v);
	free(c.pools.v);
	return status;
}

void
history_chosen_release(struct history_chosen *chosen)
{
	free(chosen->sites.v);
	*chosen = (struct history_chosen){ 0 };
}
