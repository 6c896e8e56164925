#include <config.h>

#include "export/push-delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/hash.h"

/* The first two types of profile_add_usual_types(). */
enum { ALLOC_OBJECTS, ALLOC_SPACE, NR_DELTAS, NR_USUAL = 4 };

/* The sums of BASE's samples that have one stack, thread and size. */
struct pushed_site {
	size_t sample; /* the first of them, in BASE */
	int64_t values[NR_DELTAS];
};

struct delta {
	const struct profile *base; /* NULL: nothing was pushed yet */
	int type[NR_DELTAS];	    /* in BASE; -1: missing */
	struct {
		struct pushed_site *v;
		size_t nr, room;
	} known;
	struct hash by_sample;
};

static void
delta_release(struct delta *d)
{
	free(d->known.v);
	hash_release(&d->by_sample);
}
#define auto_delta __attribute__((cleanup(delta_release)))

static int
push_delta_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot compare two profiles");
}

/* ---- samples of two profiles that are one site's ---- */

static const struct profile_frame *
delta_frame_of(const struct profile *p, const struct profile_stack *s, size_t i)
{
	return &p->frames.v[p->stack_frames.v[s->first + i]];
}

/* Threads are compared by TID, because their names change. */
static int64_t
delta_tid_of(const struct profile *p, const struct profile_sample *s)
{
	return s->thread_1 ? p->threads.v[s->thread_1 - 1].tid : 0;
}

static uint32_t
delta_hash_of(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_stack *stack = &p->stacks.v[s->stack];
	uint32_t hash = hash_pair((uint64_t)delta_tid_of(p, s), s->size_bytes);

	for (size_t i = 0; i < stack->nr; i++)
		hash = hash_pair(hash, delta_frame_of(p, stack, i)->address);
	return hash;
}

/* Return whether samples A of P and B of Q have the same addresses, thread and size. */
static bool
is_same_site(const struct profile *p, const struct profile_sample *a, const struct profile *q,
	const struct profile_sample *b)
{
	const struct profile_stack *s = &p->stacks.v[a->stack], *t = &q->stacks.v[b->stack];

	if (s->nr != t->nr || a->size_bytes != b->size_bytes ||
		delta_tid_of(p, a) != delta_tid_of(q, b))
		return false;
	for (size_t i = 0; i < s->nr; i++)
		if (delta_frame_of(p, s, i)->address != delta_frame_of(q, t, i)->address)
			return false;
	return true;
}

/* Return the sums for sample S of P; NULL if BASE has none. */
static struct pushed_site *
find_known(struct delta *d, const struct profile *p, const struct profile_sample *s, uint32_t hash)
{
	const struct hash_slot *slot;

	for (size_t at = hash; (slot = hash_next(&d->by_sample, hash, &at));) {
		struct pushed_site *k = &d->known.v[slot->number_1 - 1];

		if (is_same_site(d->base, &d->base->samples.v[k->sample], p, s))
			return k;
	}
	return NULL;
}

static int
add_known(struct delta *d, size_t i, struct err *e)
{
	const struct profile_sample *s = &d->base->samples.v[i];
	const uint32_t hash = delta_hash_of(d->base, s);
	struct pushed_site *k = find_known(d, d->base, s, hash);

	if (!k) {
		k = array_add(&d->known);
		if (!k || hash_add(&d->by_sample, hash, d->known.nr - 1) < 0)
			return push_delta_no_memory(e);
		k->sample = i;
	}
	for (size_t t = 0; t < NR_DELTAS; t++)
		if (d->type[t] >= 0)
			k->values[t] =
				profile_sum(k->values[t], profile_values(d->base, i)[d->type[t]]);
	return 0;
}

static int
add_all_known(struct delta *d, struct err *e)
{
	static const char *const names[NR_DELTAS] = { "alloc_objects", "alloc_space" };

	for (size_t t = 0; t < NR_DELTAS; t++)
		d->type[t] = profile_find_type(d->base, names[t]);
	for (size_t i = 0; i < d->base->samples.nr; i++)
		if (add_known(d, i, e) < 0)
			return -1;
	return 0;
}

/* ---- the difference ---- */

/*
 * Subtract from VALUES of sample S of P what BASE has.  The rest of BASE is for other samples of
 * the same site.
 */
static void
subtract_known(
	struct delta *d, const struct profile *p, const struct profile_sample *s, int64_t *values)
{
	struct pushed_site *k = find_known(d, p, s, delta_hash_of(p, s));

	for (size_t t = 0; k && t < NR_DELTAS; t++) {
		const int64_t less = k->values[t] < values[t] ? k->values[t] : values[t];

		values[t] -= less;
		k->values[t] -= less;
	}
}

/* Subtract BASE from P, and leave out samples without values. */
static void
subtract_all(struct delta *d, struct profile *p)
{
	static const int64_t none[NR_USUAL];
	size_t nr = 0;

	for (size_t i = 0; i < p->samples.nr; i++) {
		const struct profile_sample s = p->samples.v[i];
		int64_t values[NR_USUAL];

		memcpy(values, profile_values(p, i), sizeof values);
		if (d->base)
			subtract_known(d, p, &s, values);
		if (memcmp(values, none, sizeof none) == 0)
			continue;
		p->samples.v[nr] = s;
		memcpy(&p->values.v[nr++ * NR_USUAL], values, sizeof values);
	}
	p->samples.nr = nr;
	p->values.nr = nr * NR_USUAL;
}

int
push_delta(
	struct profile **ret, const struct profile *now, const struct profile *base, struct err *e)
{
	auto_profile struct profile *p = profile_new();
	auto_delta struct delta d = { .base = base };

	if (!p)
		return push_delta_no_memory(e);
	if (profile_add_usual_types(p, e) < 0 || profile_append(p, now, e) < 0 ||
		(base && add_all_known(&d, e) < 0))
		return -1;
	subtract_all(&d, p);
	p->period_bytes = now->period_bytes;
	p->pid = now->pid;
	*ret = take_ptr(&p);
	return 0;
}
