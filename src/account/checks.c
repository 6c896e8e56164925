#include <config.h>

#include "account/checks.h"

#include <stdio.h>
#include <unistd.h>

#include "account/sums.h"
#include "maps/leaves.h"
#include "os/machine.h"
#include "os/status.h"

static uint64_t
checks_apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* ---- the compared values ---- */

bool
check_facts_add_arena(
	struct check_facts *f, uint64_t found_bytes, uint64_t leeway_bytes, uint64_t system_bytes)
{
	bool is_apart = checks_apart(found_bytes, system_bytes) > leeway_bytes;

	f->has_segments = true;
	f->is_apart |= is_apart;
	f->found_bytes += is_apart ? found_bytes : system_bytes;
	f->system_bytes += system_bytes;
	return is_apart;
}

void
check_facts_add_in_use(struct check_facts *f, uint64_t in_use_bytes, uint64_t system_bytes)
{
	f->has_in_use = true;
	f->in_use_bytes += in_use_bytes;
	f->in_use_of_bytes += system_bytes;
}

void
rss_watch_look(const struct regions *m, void *arg)
{
	struct rss_watch *w = arg;
	struct os_status s;
	struct err ignored;

	(void)m;
	if (os_status(w->t, 0, &s, &ignored) < 0 || s.vm_rss_bytes <= w->rss_bytes)
		return;
	w->rss_bytes = s.vm_rss_bytes;
	w->lag_bytes = os_rss_lag(os_linux_version(), (uint64_t)s.nr_threads);
}

/*
 * Return the resident bytes of the large blocks of S; 0 if RSS differs from W's: arenas may have
 * released memory since, which these blocks then used.
 */
static uint64_t
mmapped_resident_then(const struct check_facts *f, const struct rss_watch *w, const struct space *s)
{
	bool is_same = s && s->rss_from != SPACE_RSS_NONE &&
		s->before.vm_rss_bytes == w->rss_bytes && s->after.vm_rss_bytes == w->rss_bytes;

	return is_same && f->mmapped ? f->mmapped->resident_bytes : 0;
}

void
check_facts_add_heap(struct check_facts *f, const struct heap *h, const struct rss_watch *w,
	const struct space *s)
{
	f->has_resident = w && w->rss_bytes;
	f->rss_bytes = w ? w->rss_bytes : 0;
	f->rss_lag_bytes = w ? w->lag_bytes : 0;
	f->resident_bytes = w ? mmapped_resident_then(f, w, s) : 0;
	for (size_t i = 0; i < h->arena.nr; i++) {
		const struct heap_arena *a = &h->arena.v[i];

		check_facts_add_arena(f, a->found_bytes, 0, a->system_bytes);
		check_facts_add_in_use(f, a->in_use.bytes, a->system_bytes);
		f->has_resident &= a->has_pages;
		/* RSS does not include pages of the hugetlb pool. */
		f->resident_bytes += a->is_hugetlb ? 0 : a->resident_bytes;
	}
}

void
check_facts_add_space(struct check_facts *f, const struct space *s)
{
	uint64_t before = s->before.vm_rss_bytes, after = s->after.vm_rss_bytes;

	f->has_resident = s->rss_from != SPACE_RSS_NONE && !s->process->arenas_error.kind;
	f->resident_bytes =
		space_arena_resident(s, -1) + (f->mmapped ? f->mmapped->resident_bytes : 0);
	f->rss_bytes = before > after ? before : after;
	f->rss_lag_bytes = os_rss_lag(s->linux_version, (uint64_t)s->after.nr_threads);
}

bool
check_facts_add_space_arena(
	struct check_facts *f, const struct space *s, int32_t nr, uint64_t system_bytes)
{
	uint64_t bytes = 0, leeway = 0, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];
		bool is_main = l->kind == LEAF_MAIN_HEAP || l->kind == LEAF_MAIN_PIECE;

		if (l->arena != nr || (!is_main && l->kind != LEAF_ARENA))
			continue;
		bytes += l->end.v - l->start.v;
		/* brk's memory need not start at a page boundary. */
		leeway += is_main ? page_bytes : 0;
	}
	/* malloc includes what the program took by sbrk() between parts of the main arena. */
	if (nr == 0)
		bytes += space_foreign_sbrk(s);
	return check_facts_add_arena(f, bytes, leeway, system_bytes);
}

/* ---- comparing ---- */

static bool
checks_add(struct checks *c, struct check check)
{
	check.holds = check.is_at_most ? check.ours <= check.theirs : check.ours == check.theirs;
	c->v[c->nr++] = check;
	return check.holds;
}

void
checks_make(struct checks *ret, const struct check_facts *f)
{
	struct checks c = { .has_run = f->has_run };

	if (f->has_segments) {
		checks_add(&c,
			(struct check){ "segments", "bytes found in arenas",
				"system bytes of malloc", f->found_bytes, f->system_bytes, false,
				false });
		/* Errors of two arenas may cancel out in the sum. */
		c.v[c.nr - 1].holds &= !f->is_apart;
		c.is_rough |= !c.v[c.nr - 1].holds;
	}
	if (f->has_in_use)
		c.is_rough |= !checks_add(&c,
			(struct check){ "in_use", "bytes in use in arenas",
				"system bytes of malloc", f->in_use_bytes, f->in_use_of_bytes, true,
				false });
	if (f->has_resident) {
		checks_add(&c,
			(struct check){ "resident", "resident bytes of malloc", "RSS",
				f->resident_bytes, f->rss_bytes, true, false });
		c.is_resident_rough = f->resident_bytes > f->rss_bytes + f->rss_lag_bytes;
		c.v[c.nr - 1].holds = !c.is_resident_rough;
		c.is_rough |= c.is_resident_rough;
	}
	if (f->mmapped && f->mmapped->has_account && f->mmapped->is_listed) {
		checks_add(&c,
			(struct check){ "mmapped_count", "large blocks found",
				"blocks that malloc counts", f->mmapped->chunk.nr,
				f->mmapped->account.count, false, false });
		checks_add(&c,
			(struct check){ "mmapped_bytes", "bytes of large blocks found",
				"bytes that malloc counts", f->mmapped->bytes,
				f->mmapped->account.bytes, false, false });
		c.is_mmapped_rough = !heap_mmapped_agrees(f->mmapped);
	}
	*ret = c;
}

void
checks_distrust(const struct checks *c, struct heap *h)
{
	if (!c->is_rough)
		return;
	for (size_t i = 0; i < h->arena.nr; i++) {
		struct heap_arena *a = &h->arena.v[i];
		bool is_apart =
			a->found_bytes != a->system_bytes || a->in_use.bytes > a->system_bytes;

		if (a->certainty != HEAP_EXACT || !(is_apart || c->is_resident_rough))
			continue;
		a->certainty = h->certainty = HEAP_APPROXIMATE;
		snprintf(a->why, sizeof a->why, "%s",
			is_apart ? "its segments do not add up to what it has"
				 : "more is resident in malloc's memory than in the process");
	}
}
