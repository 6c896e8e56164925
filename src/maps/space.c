#include <config.h>

#include "maps/space.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/smaps.h"
#include "maps/classify.h"
#include "maps/leaf-pages.h"
#include "maps/leaves.h"
#include "maps/maps-priv.h"
#include "maps/shapes.h"
#include "maps/spans.h"
#include "os/machine.h"
#include "os/memory.h"
#include "os/proc.h"
#include "os/status.h"
#include "os/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- smaps ---- */

/* The position of the walk: both leaves and mappings come in order of address. */
struct space_counter {
	struct space *s;
	size_t next; /* index of the next leaf */
};

static uint64_t
space_scaled(uint64_t bytes, uint64_t part, uint64_t whole)
{
	return part == whole ? bytes : (uint64_t)((double)bytes * (double)part / (double)whole);
}

/*
 * Return the share of a mapping's BYTES for a leaf with [FROM, TO) out of WHOLE.  The shares of all
 * leaves add up to BYTES.
 */
static uint64_t
space_share(uint64_t bytes, uint64_t from, uint64_t to, uint64_t whole)
{
	return space_scaled(bytes, to, whole) - space_scaled(bytes, from, whole);
}

/* Get the leaves that overlap M, [*RET_FIRST, *RET_END), and move C there. */
static void
leaves_of(struct space_counter *c, const struct smaps_entry *m, size_t *ret_first, size_t *ret_end)
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
space_overlap(const struct leaf *l, const struct smaps_entry *m)
{
	uint64_t start = l->start.v > m->start.v ? l->start.v : m->start.v;
	uint64_t end = l->end.v < m->end.v ? l->end.v : m->end.v;

	return end - start;
}

/* Spread the pages of a mapping over its leaves by their size, because their places are unknown. */
static int
take_rss(const struct smaps_entry *m, void *arg)
{
	struct space_counter *c = arg;
	uint64_t from = 0, whole = m->end.v - m->start.v;
	size_t i, end;

	for (leaves_of(c, m, &i, &end); i < end; i++) {
		struct leaf *l = &c->s->leaves.v[i];
		uint64_t to = from + space_overlap(l, m);

		l->rss_bytes += space_share(m->rss_bytes, from, to, whole);
		l->swap_bytes += space_share(m->swap_bytes, from, to, whole);
		l->hugetlb_bytes += space_share(m->hugetlb_bytes, from, to, whole);
		l->huge_bytes += space_share(m->anon_huge_bytes, from, to, whole);
		if (to - from != whole)
			l->confidence = CONFIDENCE_GUESS;
		from = to;
	}
	return 0;
}

/*
 * Spread PSS, USS, dirty and locked pages of a mapping, and its huge ones if they are not known
 * otherwise, over its leaves in proportion to RSS.  The kernel truncates each mapping's PSS to
 * whole kilobytes, so the sum is too low by less than that for each of them; smaps_rollup has the
 * exact sum, but walks all pages once more, and the target's mmap() waits.
 */
static int
take_pss(const struct smaps_entry *m, void *arg)
{
	struct space_counter *c = arg;
	uint64_t rss = 0, from = 0;
	size_t first, end;

	leaves_of(c, m, &first, &end);
	for (size_t i = first; i < end; i++)
		rss += c->s->leaves.v[i].rss_bytes;
	for (size_t i = first; i < end && rss; i++) {
		struct leaf *l = &c->s->leaves.v[i];
		uint64_t to = from + l->rss_bytes;

		l->smaps->pss_bytes += space_share(m->pss_bytes, from, to, rss);
		l->smaps->uss_bytes += space_share(m->private_bytes, from, to, rss);
		l->smaps->dirty_bytes += space_share(m->dirty_bytes, from, to, rss);
		l->smaps->locked_bytes += space_share(m->locked_bytes, from, to, rss);
		if (!c->s->has_huge)
			l->huge_bytes += space_share(m->anon_huge_bytes, from, to, rss);
		from = to;
	}
	if (!c->s->has_huge)
		c->s->totals.huge_bytes += m->anon_huge_bytes;
	c->s->totals.pss_bytes += m->pss_bytes;
	c->s->totals.uss_bytes += m->private_bytes;
	c->s->totals.dirty_bytes += m->dirty_bytes;
	c->s->totals.locked_bytes += m->locked_bytes;
	return 0;
}

static int
read_smaps(const struct target *t, int (*fn)(const struct smaps_entry *entry, void *arg), void *arg,
	struct err *e)
{
	auto_file FILE *f = os_proc_stream(t, "smaps", e);

	return f ? smaps_parse(f, fn, arg, e) : -1;
}

/* Add zeroes for the numbers of each leaf that only smaps has. */
static int
add_leaf_smaps(struct space *s, struct err *e)
{
	s->smaps = calloc(s->leaves.nr + 1, sizeof *s->smaps);
	if (!s->smaps)
		return err_set(e, ENOMEM, "cannot keep the numbers of smaps");
	for (size_t i = 0; i < s->leaves.nr; i++)
		s->leaves.v[i].smaps = &s->smaps[i];
	return 0;
}

static int
count_pss(struct space *s, const struct target *t, struct err *e)
{
	struct space_counter c = { .s = s };

	if (add_leaf_smaps(s, e) < 0 || read_smaps(t, take_pss, &c, e) < 0)
		return -1;
	s->has_pss = true;
	s->has_huge |= s->rss_from != SPACE_RSS_NONE;
	return 0;
}

/* ---- all of it ---- */

static int
count_by_pages(struct space *s, struct leaf_pages *leaf_pages, struct err *e)
{
	s->rss_from =
		leaf_pages_by(leaf_pages) == OS_PAGES_SCAN ? SPACE_RSS_SCAN : SPACE_RSS_PAGEMAP;
	s->has_kinds = s->has_huge = s->rss_from == SPACE_RSS_SCAN;
	s->counts_zero = !leaf_pages_know_zero(leaf_pages);
	return leaf_pages_count(leaf_pages, s, e);
}

static int
count_by_smaps(struct space *s, const struct target *t, struct err *e)
{
	struct space_counter c = { .s = s };

	s->rss_from = SPACE_RSS_SMAPS;
	s->has_huge = true;
	return read_smaps(t, take_rss, &c, e);
}

/* Reset the counts after a count that failed halfway. */
static void
forget_counts(struct space *s)
{
	for (size_t i = 0; i < s->leaves.nr; i++) {
		struct leaf *l = &s->leaves.v[i];

		l->rss_bytes = l->swap_bytes = l->hugetlb_bytes = l->huge_bytes = 0;
		l->smaps = NULL;
	}
	free(s->smaps);
	s->smaps = NULL;
	s->totals = (struct space_totals){ 0 };
	s->has_kinds = s->has_huge = s->counts_zero = false;
	s->rss_from = SPACE_RSS_NONE;
}

/* Prepare to count the pages with method FROM; NULL: not page by page. */
static struct leaf_pages *
open_leaf_pages(struct space *s, const struct target *t, enum space_rss from)
{
	static const enum os_pages_by by[] = {
		[SPACE_RSS_AUTO] = OS_PAGES_AUTO,
		[SPACE_RSS_SCAN] = OS_PAGES_SCAN,
		[SPACE_RSS_PAGEMAP] = OS_PAGES_PAGEMAP,
	};
	struct leaf_pages *leaf_pages = NULL;

	if (from == SPACE_RSS_SMAPS || from == SPACE_RSS_NONE ||
		leaf_pages_open(&leaf_pages, t, by[from], &s->rss_error) < 0)
		return NULL;
	return leaf_pages;
}

/* Count the pages with method FROM.  A failure does not fail the whole read. */
static void
space_count(
	struct space *s, const struct target *t, struct leaf_pages *leaf_pages, enum space_rss from)
{
	struct err *e = &s->rss_error;

	if (leaf_pages && count_by_pages(s, leaf_pages, e) == 0)
		return;
	forget_counts(s);
	if (e->kind == ERR_GONE)
		return;
	/* pagemap is readable by the owner only, smaps by a process that may trace the target. */
	if ((from == SPACE_RSS_SMAPS || from == SPACE_RSS_AUTO) && count_by_smaps(s, t, e) < 0)
		forget_counts(s);
}

static void
space_add_up(struct space *s)
{
	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];

		s->totals.rss_bytes += l->rss_bytes;
		s->totals.swap_bytes += l->swap_bytes;
		s->totals.hugetlb_bytes += l->hugetlb_bytes;
		s->totals.huge_bytes += l->huge_bytes;
	}
	s->totals.virt_bytes = regions_size(&s->process->maps);
}

/* Set s->process: that of OPT, whose regions LISTENER has not received yet, or T as it is now. */
static int
space_take_process(struct space *s, const struct target *t, const struct space_options *opt,
	const struct regions_listener *listener, struct err *e)
{
	s->process = opt->process;
	if (!s->process) {
		struct err ignored;

		s->own = calloc(1, sizeof *s->own);
		if (!s->own)
			return err_set(e, errno, "cannot keep the mappings of %d", t->pid);
		if (process_read_with(s->own, t,
			    &(struct process_sources){ opt->known, opt->files, listener }, e) < 0)
			return -1;
		process_find_arenas(s->own, opt->known, &ignored);
		s->process = s->own;
	} else if (listener) {
		listener->begin(listener->arg);
		for (size_t i = 0; i < s->process->maps.nr; i++)
			listener->region(&s->process->maps.region[i], listener->arg);
	}
	return 0;
}

static bool
regions_are_equal(const struct regions *a, const struct regions *b)
{
	if (a->nr != b->nr)
		return false;
	for (size_t i = 0; i < a->nr; i++) {
		const struct region *x = &a->region[i], *y = &b->region[i];

		if (x->start.v != y->start.v || x->end.v != y->end.v ||
			strcmp(x->prot, y->prot) != 0 || x->offset_bytes != y->offset_bytes ||
			x->dev != y->dev || x->inode != y->inode || !x->path != !y->path ||
			(x->path && strcmp(x->path, y->path) != 0))
			return false;
	}
	return true;
}

/* Heaps are compared, too: their ends are within mappings. */
static bool
arenas_are_equal(const struct arenas *a, const struct arenas *b)
{
	if (a->nr != b->nr || a->is_ring_closed != b->is_ring_closed)
		return false;
	for (size_t i = 0; i < a->nr; i++) {
		const struct arena *x = &a->v[i], *y = &b->v[i];

		if (x->addr.v != y->addr.v || x->nr_heaps != y->nr_heaps ||
			(x->nr_heaps &&
				memcmp(x->heap, y->heap, x->nr_heaps * sizeof *x->heap) != 0))
			return false;
	}
	return true;
}

/* Return whether the ranges of OLD have the same use in S, of which only the process was read. */
static bool
is_space_unchanged(const struct space *s, const struct space *old)
{
	const struct process *now = s->process, *then = old->process;

	return s->before.nr_threads == old->after.nr_threads &&
		s->memory_error.kind == old->memory_error.kind &&
		regions_are_equal(&now->maps, &then->maps) &&
		arenas_are_equal(&now->arenas, &then->arenas) && s->brk.v == old->brk.v;
}

/* Move the leaves of OLD, without their numbers of pages, and its threads to S. */
static void
space_take_leaves(struct space *s, struct space *old)
{
	s->leaves.v = take_ptr(&old->leaves.v);
	s->leaves.nr = old->leaves.nr;
	s->leaves.room = old->leaves.room;
	s->threads.v = take_ptr(&old->threads.v);
	s->threads.nr = old->threads.nr;
	s->threads.room = old->threads.room;
	old->leaves.nr = old->leaves.room = old->threads.nr = old->threads.room = 0;
	forget_counts(s);
}

/*
 * Find the use of each range: everything except the numbers of pages, which LEAF_PAGES begins to
 * read.  OLD, an earlier reading or NULL, gives its leaves away if nothing has changed.
 */
static int
find_leaves(struct space *s, const struct target *t, const struct space_options *opt,
	struct space *old, struct leaf_pages *leaf_pages, struct err *e)
{
	auto_spans struct spans spans = { 0 };

	if (space_take_process(s, t, opt, leaf_pages ? leaf_pages_listener(leaf_pages) : NULL, e) <
		0)
		return -1;
	(void)os_check_memory(t, &s->memory_error);
	s->malloc_object = objects_malloc(&s->process->objects, t);
	if (s->process->arenas_error.kind == ERR_GONE) {
		*e = s->process->arenas_error;
		return -1;
	}
	s->brk = arenas_brk(&s->process->arenas, t);
	if (old && is_space_unchanged(s, old)) {
		space_take_leaves(s, old);
		return 0;
	}
	if (threads_list(&s->threads, t, SIZE_MAX, e) < 0)
		return -1;
	if (spans_find(&spans, s, t, opt, leaf_pages, e) < 0)
		return -1;
	return space_classify(s, &spans, t, e);
}

/* Split the leaf that contains AT there. */
static int
cut_leaf(struct space *s, raddr at, struct err *e)
{
	size_t i = 0;

	while (i < s->leaves.nr && s->leaves.v[i].end.v <= at.v)
		i++;
	if (i == s->leaves.nr || s->leaves.v[i].start.v >= at.v)
		return 0;
	if (!array_add(&s->leaves))
		return err_set(e, ENOMEM, "cannot keep the mappings");
	memmove(&s->leaves.v[i + 1], &s->leaves.v[i], (s->leaves.nr - i - 1) * sizeof *s->leaves.v);
	s->leaves.v[i].end = s->leaves.v[i + 1].start = at;
	s->leaves.v[i + 1].is_continued = true;
	return 0;
}

static int
space_read_all(struct space *s, const struct target *t, const struct space_options *opt,
	struct space *old, struct err *e)
{
	auto_leaf_pages struct leaf_pages *leaf_pages = open_leaf_pages(s, t, opt->rss_from);
	struct os_stat before, after;

	if (os_stat(t, &before, e) < 0 || os_status(t, 0, &s->before, e) < 0 ||
		find_leaves(s, t, opt, old, leaf_pages, e) < 0 || cut_leaf(s, opt->cut[0], e) < 0 ||
		cut_leaf(s, opt->cut[1], e) < 0)
		return -1;
	space_count(s, t, leaf_pages, opt->rss_from);
	if (os_status(t, 0, &s->after, e) < 0 || os_stat(t, &after, e) < 0)
		return -1;
	s->has_faulted = after.nr_faults != before.nr_faults;
	/*
	 * The page tables of a process that ends are empty, which is not an error; and after
	 * execve() they are another program's.
	 */
	if (!target_is_alive(t) || !s->after.has_memory || s->rss_error.kind == ERR_GONE ||
		after.start_stack.v != before.start_stack.v)
		return err_set_kind(e, ERR_GONE, 0,
			"process %d ended, or began another program, while it was read", t->pid);
	space_add_up(s);
	return opt->want_pss ? count_pss(s, t, e) : 0;
}

int
space_read(struct space *s, const struct target *t, const struct space_options *opt, struct err *e)
{
	*s = (struct space){ .linux_version = os_linux_version() };
	if (space_read_all(s, t, opt, NULL, e) == 0)
		return 0;
	space_release(s);
	return -1;
}

int
space_read_again(
	struct space *s, const struct target *t, const struct space_options *opt, struct err *e)
{
	struct space_options again = *opt;
	auto_space struct space old = *s;

	again.known = old.own;
	*s = (struct space){ .linux_version = old.linux_version };
	if (space_read_all(s, t, &again, &old, e) == 0)
		return 0;
	space_release(s);
	return -1;
}

/* ---- a saved map ---- */

static int
file_leaves(struct space *s, struct map_file *f, const struct space_options *opt, struct err *e)
{
	auto_spans struct spans spans = { 0 };

	s->file = f;
	s->process = s->own = calloc(1, sizeof *s->own);
	if (!s->own)
		return err_set(e, errno, "cannot keep the mappings of %s", f->name);
	s->own->maps = f->maps;
	f->maps = (struct regions){ 0 };
	return objects_infer(&s->own->objects, &s->own->maps, e) < 0 ||
			spans_infer(&spans, s->own, e) < 0 ||
			space_classify(s, &spans, NULL, e) < 0 || cut_leaf(s, opt->cut[0], e) < 0 ||
			cut_leaf(s, opt->cut[1], e) < 0
		? -1
		: 0;
}

static int
count_entries(struct space *s, const struct map_file *f, bool want_pss, struct err *e)
{
	struct space_counter rss = { .s = s }, pss = { .s = s };

	s->rss_from = SPACE_RSS_SMAPS;
	s->has_huge = space_knows(s, SMAPS_ANON_HUGE);
	for (size_t i = 0; i < f->entry.nr; i++)
		take_rss(&f->entry.v[i], &rss);
	s->has_pss = want_pss;
	if (!want_pss)
		return 0;
	if (add_leaf_smaps(s, e) < 0)
		return -1;
	for (size_t i = 0; i < f->entry.nr; i++)
		take_pss(&f->entry.v[i], &pss);
	return 0;
}

int
space_read_file(struct space *s, struct map_file *f, const struct space_options *opt, struct err *e)
{
	*s = (struct space){ .rss_from = SPACE_RSS_NONE };
	if (file_leaves(s, f, opt, e) < 0 ||
		(f->entry.nr && count_entries(s, f, opt->want_pss, e) < 0)) {
		space_release(s);
		return -1;
	}
	if (!f->entry.nr)
		err_set_kind(&s->rss_error, ERR_UNSUPPORTED, 0,
			"%s is of /proc/PID/maps, which has no RSS, PSS and swap; smaps has them",
			f->name);
	space_add_up(s);
	s->after = (struct os_status){
		.vm_size_bytes = s->totals.virt_bytes,
		.vm_rss_bytes = s->totals.rss_bytes,
		.vm_swap_bytes = s->totals.swap_bytes,
		.hugetlb_bytes = s->totals.hugetlb_bytes,
	};
	s->before = s->after;
	return 0;
}

uint64_t
space_own_bytes(const struct space *s)
{
	return s->process->maps.nr * sizeof *s->process->maps.region +
		s->leaves.nr * (sizeof *s->leaves.v + (s->smaps ? sizeof *s->smaps : 0));
}

void
space_release(struct space *s)
{
	free(s->leaves.v);
	free(s->smaps);
	threads_release(&s->threads);
	if (s->own)
		process_release(s->own);
	free(s->own);
	*s = (struct space){ 0 };
}
