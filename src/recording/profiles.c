#include <config.h>

#include "recording/profiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

static const char *const all_types[] = { "alloc", "inuse", "peak", "temporary", "mapped",
	"mapped_alloc" };
static const char *const types_with_lives[] = { "alloc", "inuse", "peak", "temporary", "max" };
static const char *const chosen_types[] = { "inuse", "possible" };
static const char *const moment_types[] = { "inuse", "mapped" };
#define NR_TYPES 4
#define MOST_VALUES 12

/*
 * Make a profile with types OBJECTS and SPACE of each of NR NAMES, and the comments and other facts
 * of R.
 */
static int
profiles_begin(struct profile **ret, struct recording *r, const char *const *names, size_t nr,
	struct err *e)
{
	auto_profile struct profile *p = profile_new();
	char type[64];

	if (!p)
		return err_set(e, ENOMEM, "cannot keep the profile");
	for (size_t i = 0; i < nr; i++) {
		snprintf(type, sizeof type, "%s_objects", names[i]);
		if (profile_add_type(p, type, "count", e) < 0)
			return -1;
		snprintf(type, sizeof type, "%s_space", names[i]);
		if (profile_add_type(p, type, "bytes", e) < 0)
			return -1;
		if (strcmp(names[i], "inuse") == 0)
			p->default_type = 2 * i + 1;
	}
	for (size_t i = 0; i < r->facts->comments.nr; i++)
		if (profile_comment(p, r->facts->comments.v[i], e) < 0)
			return -1;
	for (size_t i = 0; i < r->facts->warnings.nr; i++)
		profile_warn(p, false, "%s", r->facts->warnings.v[i]);
	p->is_partial = r->is_partial;
	p->pid = r->facts->pid;
	p->time_ns = r->facts->time_ns;
	p->period_bytes = 1;
	p->format = r->format;
	if (r->ops->begin(r, p, e) < 0)
		return -1;
	*ret = take_ptr(&p);
	return 0;
}

static int
profiles_add(
	struct profile *p, struct recording *r, uint32_t site, const int64_t *values, struct err *e)
{
	struct profile_sample sample;

	return r->ops->sample(r, site, p, &sample, e) < 0 ||
			profile_add_sample(p, sample, values, e) < 0
		? -1
		: 0;
}

static void
profiles_set(int64_t *values, size_t type, struct amount a)
{
	values[2 * type] = a.blocks;
	values[2 * type + 1] = a.bytes;
}

/* Set the values of S, which are zero, of all_types or of types_with_lives. */
static void
profiles_set_all(int64_t *values, const struct history_site *s, bool keeps_lives)
{
	if (history_site_is_mapped(s)) {
		profiles_set(values, NR_TYPES, s->live.amount);
		profiles_set(values, NR_TYPES + 1, s->allocated);
		return;
	}
	profiles_set(values, 0, s->allocated);
	profiles_set(values, 1, s->live.amount);
	profiles_set(values, 2, s->peak);
	profiles_set(values, 3, s->temporary);
	if (!keeps_lives)
		return;
	profiles_set(values, NR_TYPES, s->max);
	values[2 * NR_TYPES + 2] = (int64_t)s->lives_ms;
}

int
history_profile_by_site(struct profile **ret, uint32_t **ret_samples, const struct history *h,
	struct recording *r, struct err *e)
{
	const bool has_mappings = r->has_mappings && !h->keeps_lives;
	auto_profile struct profile *p = NULL;
	auto_free uint32_t *samples = calloc(h->sites.nr + 1, sizeof *samples);

	if (!samples)
		return err_set(e, ENOMEM, "cannot keep the profile");
	if (profiles_begin(&p, r, h->keeps_lives ? types_with_lives : all_types,
		    h->keeps_lives ? NR_TYPES + 1 : NR_TYPES + 2 * has_mappings, e) < 0 ||
		(h->keeps_lives && profile_add_type(p, "lives_time", "milliseconds", e) < 0))
		return -1;
	for (size_t i = 0; i < h->sites.nr; i++) {
		const struct history_site *s = &h->sites.v[i];
		int64_t values[MOST_VALUES] = { 0 };

		samples[i] = UINT32_MAX;
		if (!s->allocated.blocks || (history_site_is_mapped(s) && !has_mappings))
			continue;
		samples[i] = (uint32_t)p->samples.nr;
		profiles_set_all(values, s, h->keeps_lives);
		if (profiles_add(p, r, (uint32_t)i, values, e) < 0)
			return -1;
	}
	*ret = take_ptr(&p);
	*ret_samples = take_ptr(&samples);
	return 0;
}

int
history_profile(struct profile **ret, const struct history *h, struct recording *r, struct err *e)
{
	auto_free uint32_t *samples = NULL;

	return history_profile_by_site(ret, &samples, h, r, e);
}

int
history_moment_profile(struct profile **ret, const struct history_moment *from,
	const struct history_moment *to, struct recording *r, struct err *e)
{
	static const struct history_moment nothing = { 0 };
	auto_profile struct profile *p = NULL;
	size_t i = 0, k = 0;

	if (!from)
		from = &nothing;
	if (profiles_begin(&p, r, moment_types, 1 + r->has_mappings, e) < 0)
		return -1;
	/* Both are sorted by site. */
	while (i < from->sites.nr || k < to->sites.nr) {
		const struct history_live *old = i < from->sites.nr ? &from->sites.v[i] : NULL;
		const struct history_live *new = k < to->sites.nr ? &to->sites.v[k] : NULL;
		bool has_old = old && (!new || old->site <= new->site);
		bool has_new = new && (!old || new->site <= old->site);
		uint32_t site = has_old ? old->site : new->site;
		/* The values of mappings are the last two. */
		int64_t values[] = { 0, 0, 0, 0 };
		int64_t *const of = &values[(has_old ? old : new)->is_mapped ? 2 : 0];

		if (has_new) {
			of[0] += new->live.blocks;
			of[1] += new->live.bytes;
		}
		if (has_old) {
			of[0] -= old->live.blocks;
			of[1] -= old->live.bytes;
		}
		i += has_old;
		k += has_new;
		if ((of[0] || of[1]) && profiles_add(p, r, site, values, e) < 0)
			return -1;
	}
	*ret = take_ptr(&p);
	return 0;
}

int
history_chosen_profile(
	struct profile **ret, const struct history_chosen *c, struct recording *r, struct err *e)
{
	auto_profile struct profile *p = NULL;

	if (profiles_begin(&p, r, chosen_types, 2, e) < 0)
		return -1;
	for (size_t i = 0; i < c->sites.nr; i++) {
		const struct history_chosen_site *s = &c->sites.v[i];

		if (s->possible.blocks &&
			profiles_add(p, r, (uint32_t)i,
				(int64_t[]){ s->certain.blocks, s->certain.bytes,
					s->possible.blocks, s->possible.bytes },
				e) < 0)
			return -1;
	}
	*ret = take_ptr(&p);
	return 0;
}
