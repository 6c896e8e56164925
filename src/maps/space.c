#include <config.h>

#include "maps/maps-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* ---- smaps ---- */

/* Where the walk has come to: leaves and mappings both come in order of address. */
struct counter {
	struct space *s;
	size_t next;	/* leaf */
};

static uint64_t
scaled(uint64_t bytes, uint64_t part, uint64_t whole)
{
	return part == whole ? bytes : (uint64_t)((double)bytes * (double)part / (double)whole);
}

/* BYTES of a mapping's, of which a leaf has [FROM, TO) out of WHOLE.  No byte is lost between two. */
static uint64_t
share(uint64_t bytes, uint64_t from, uint64_t to, uint64_t whole)
{
	return scaled(bytes, to, whole) - scaled(bytes, from, whole);
}

/* The leaves that M lies over, [*RET_FIRST, *RET_END); C goes on from there. */
static void
leaves_of(struct counter *c, const struct smaps_entry *m, size_t *ret_first, size_t *ret_end)
{
	const struct space *s = c->s;
	size_t end;

	while (c->next < s->leaves.nr && s->leaves.v[c->next].end.v <= m->start.v)
		c->next++;
	for (end = c->next; end < s->leaves.nr && s->leaves.v[end].start.v < m->end.v; end++)
		;
	*ret_first = c->next;
	*ret_end = end;
}

static uint64_t
overlap(const struct leaf *l, const struct smaps_entry *m)
{
	uint64_t start = l->start.v > m->start.v ? l->start.v : m->start.v;
	uint64_t end = l->end.v < m->end.v ? l->end.v : m->end.v;

	return end - start;
}

/* The pages of a mapping, spread over its leaves by their size: nothing says where they are. */
static int
take_rss(const struct smaps_entry *m, void *arg)
{
	struct counter *c = arg;
	uint64_t from = 0, whole = m->end.v - m->start.v;
	size_t i, end;

	for (leaves_of(c, m, &i, &end); i < end; i++) {
		struct leaf *l = &c->s->leaves.v[i];
		uint64_t to = from + overlap(l, m);

		l->rss_bytes += share(m->rss_bytes, from, to, whole);
		l->swap_bytes += share(m->swap_bytes, from, to, whole);
		l->hugetlb_bytes += share(m->hugetlb_bytes, from, to, whole);
		l->huge_bytes += share(m->anon_huge_bytes, from, to, whole);
		if (to - from != whole)
			l->confidence = CONFIDENCE_GUESS;
		from = to;
	}
	return 0;
}

/* PSS and USS of a mapping, spread over its leaves as their pages are. */
static int
take_pss(const struct smaps_entry *m, void *arg)
{
	struct counter *c = arg;
	uint64_t rss = 0, from = 0;
	size_t first, end;

	leaves_of(c, m, &first, &end);
	for (size_t i = first; i < end; i++)
		rss += c->s->leaves.v[i].rss_bytes;
	for (size_t i = first; i < end && rss; i++) {
		struct leaf *l = &c->s->leaves.v[i];
		uint64_t to = from + l->rss_bytes;

		l->pss_bytes += share(m->pss_bytes, from, to, rss);
		l->uss_bytes += share(m->private_bytes, from, to, rss);
		from = to;
	}
	return 0;
}

/*
 * The totals of PSS and USS: the sum over the mappings would be too low, as each is cut to whole
 * kilobytes.
 */
static int
take_rollup(const struct smaps_entry *all, void *arg)
{
	struct space *s = arg;

	s->totals.pss_bytes = all->pss_bytes;
	s->totals.uss_bytes = all->private_bytes;
	s->has_pss = true;
	return 0;
}

static int
read_smaps(const struct target *t, const char *name,
	int (*fn)(const struct smaps_entry *entry, void *arg), void *arg, struct err *e)
{
	auto_file FILE *f = os_proc_stream(t, name, e);

	return f ? smaps_parse(f, fn, arg, e) : -1;
}

static int
count_pss(struct space *s, const struct target *t, struct err *e)
{
	struct counter c = { .s = s };

	if (read_smaps(t, "smaps", take_pss, &c, e) < 0)
		return -1;
	return read_smaps(t, "smaps_rollup", take_rollup, s, e);
}

/* ---- all of it ---- */

static int
count_by_pages(struct space *s, struct census *census, struct err *e)
{
	s->rss_from = census_by(census) == OS_PAGES_SCAN ? SPACE_RSS_SCAN : SPACE_RSS_PAGEMAP;
	s->has_kinds = s->rss_from == SPACE_RSS_SCAN;
	return census_count(census, s, e);
}

static int
count_by_smaps(struct space *s, const struct target *t, struct err *e)
{
	struct counter c = { .s = s };

	s->rss_from = SPACE_RSS_SMAPS;
	return read_smaps(t, "smaps", take_rss, &c, e);
}

/* After a count that failed halfway. */
static void
forget_counts(struct space *s)
{
	for (size_t i = 0; i < s->leaves.nr; i++) {
		struct leaf *l = &s->leaves.v[i];

		l->rss_bytes = l->swap_bytes = l->hugetlb_bytes = l->huge_bytes = 0;
	}
	s->totals = (struct space_totals){ 0 };
	s->has_kinds = false;
	s->rss_from = SPACE_RSS_NONE;
}

/* Prepare to count the pages as FROM says; NULL: not page by page. */
static struct census *
open_census(struct space *s, const struct target *t, enum space_rss from)
{
	static const enum os_pages_by by[] = {
		[SPACE_RSS_AUTO] = OS_PAGES_AUTO,
		[SPACE_RSS_SCAN] = OS_PAGES_SCAN,
		[SPACE_RSS_PAGEMAP] = OS_PAGES_PAGEMAP,
	};
	struct census *census;

	if (from == SPACE_RSS_SMAPS || from == SPACE_RSS_NONE ||
		census_open(&census, t, by[from], &s->rss_error) < 0)
		return NULL;
	return census;
}

/* Count the pages as FROM says.  What cannot be is no failure of the whole. */
static void
count(struct space *s, const struct target *t, struct census *census, enum space_rss from)
{
	struct err *e = &s->rss_error;

	if (census && count_by_pages(s, census, e) == 0)
		return;
	forget_counts(s);
	if (e->kind == ERR_GONE)
		return;
	/* pagemap is for the owner's eyes, smaps for whoever may trace. */
	if ((from == SPACE_RSS_SMAPS || from == SPACE_RSS_AUTO) && count_by_smaps(s, t, e) < 0)
		forget_counts(s);
}

static void
add_up(struct space *s)
{
	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];

		s->totals.rss_bytes += l->rss_bytes;
		s->totals.swap_bytes += l->swap_bytes;
		s->totals.hugetlb_bytes += l->hugetlb_bytes;
		s->totals.huge_bytes += l->huge_bytes;
	}
	s->totals.virt_bytes = maps_size(&s->maps);
}

/* What lies where: everything but the numbers of pages, which CENSUS begins to look at. */
static int
find_leaves(struct space *s, const struct target *t, const struct space_options *opt,
	const struct census *census, struct err *e)
{
	const struct maps_listener *listener = census ? census_listener(census) : NULL;
	auto_spans struct spans spans = { 0 };

	if (maps_read_telling(&s->maps, t, listener, e) < 0 ||
		objects_find(&s->objects, &s->maps, t, opt->objects, e) < 0)
		return -1;
	s->malloc_object = objects_malloc(&s->objects, t);
	if (arenas_find(&s->arenas, t, &s->maps, &s->objects, opt->arenas, &s->arenas_error) < 0 &&
		s->arenas_error.kind == ERR_GONE) {
		*e = s->arenas_error;
		return -1;
	}
	if (threads_list(&s->threads, t, SIZE_MAX, e) < 0)
		return -1;
	if (spans_find(&spans, s, t, opt->want_unused, e) < 0)
		return -1;
	return space_classify(s, &spans, t, e);
}

static int
read_all(struct space *s, const struct target *t, const struct space_options *opt, struct err *e)
{
	auto_census struct census *census = open_census(s, t, opt->rss_from);
	struct os_stat before, after;

	if (os_stat(t, &before, e) < 0 || os_status(t, 0, &s->before, e) < 0 ||
		find_leaves(s, t, opt, census, e) < 0)
		return -1;
	count(s, t, census, opt->rss_from);
	if (os_status(t, 0, &s->after, e) < 0 || os_stat(t, &after, e) < 0)
		return -1;
	s->has_faulted = after.nr_faults != before.nr_faults;
	/*
	 * The page tables of a process that ends are empty, and that is no error; and after execve()
	 * they are another program's.
	 */
	if (!target_is_alive(t) || !s->after.has_memory || s->rss_error.kind == ERR_GONE ||
		after.start_stack.v != before.start_stack.v)
		return err_set_kind(e, ERR_GONE, 0,
			"process %d ended, or began another program, while it was read", t->pid);
	add_up(s);
	return opt->want_pss ? count_pss(s, t, e) : 0;
}

int
space_read(struct space *s, const struct target *t, const struct space_options *opt, struct err *e)
{
	*s = (struct space){ 0 };
	if (read_all(s, t, opt, e) == 0)
		return 0;
	space_release(s);
	return -1;
}

void
space_release(struct space *s)
{
	free(s->leaves.v);
	arenas_release(&s->arenas);
	threads_release(&s->threads);
	objects_release(&s->objects);
	maps_release(&s->maps);
	*s = (struct space){ 0 };
}
