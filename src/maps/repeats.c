/*
 * Files that are mapped more than once.  The kernel counts a page in VIRT and RSS for every address
 * it has; Java's ZGC, JITs and servers that map a data file again look larger than they are.
 */
#include <config.h>

#include "maps/maps.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

/* What of a file one leaf maps.  Small, for a server may map 60,000 files. */
struct piece {
	uint64_t inode, offset;
	const struct leaf *leaf;
};

struct pieces {
	struct piece *v;
	size_t nr, room;
};

static const struct region *
region_of(const struct space *s, const struct piece *p)
{
	return &s->maps.region[p->leaf->region];
}

static uint64_t
end_of(const struct piece *p)
{
	return p->offset + (p->leaf->end.v - p->leaf->start.v);
}

/* Whether the pages of L are its file's; those of devices and of /dev/zero are not. */
static bool
has_file_pages(const struct space *s, const struct leaf *l)
{
	switch (leaf_kind_group(l->kind)) {
	case GROUP_EXE:
	case GROUP_SO:
	case GROUP_FILE:
	case GROUP_SHM:
		return s->maps.region[l->region].inode;
	default:
		return l->is_tmpfs;	/* code that a JIT writes at another address */
	}
}

static int
add_piece(struct pieces *p, const struct space *s, const struct leaf *l)
{
	const struct region *r = &s->maps.region[l->region];
	struct piece *piece = array_add(p);

	if (!piece)
		return -1;
	piece->inode = r->inode;
	piece->offset = r->offset_bytes + (l->start.v - r->start.v);
	piece->leaf = l;
	return 0;
}

static int
by_place(const void *a, const void *b, void *space)
{
	const struct piece *x = a, *y = b;
	uint64_t dev_x, dev_y;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	dev_x = region_of(space, x)->dev;
	dev_y = region_of(space, y)->dev;
	if (dev_x != dev_y)
		return dev_x < dev_y ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

static bool
is_same_file(const struct space *s, const struct piece *a, const struct piece *b)
{
	return a->inode == b->inode && region_of(s, a)->dev == region_of(s, b)->dev;
}

/* The segments of an object overlap in their first and last pages: that is how it is mapped once. */
static bool
is_same_object(const struct piece *a, const struct piece *b)
{
	return a->leaf->object >= 0 && a->leaf->object == b->leaf->object;
}

/* What P has again of what the pieces before it, of which FARTHEST reaches farthest, have already. */
static uint64_t
again(const struct piece *farthest, const struct piece *p)
{
	uint64_t end = end_of(p) < end_of(farthest) ? end_of(p) : end_of(farthest);

	return end <= p->offset || is_same_object(farthest, p) ? 0 : end - p->offset;
}

/* Add up what the NR pieces of one file, sorted, have more than once. */
static int
add_file(struct repeats *r, const struct space *s, const struct piece *p, size_t nr)
{
	struct repeat sum = { .path = region_of(s, p)->path }, *new;
	const struct piece *farthest = p;

	for (size_t i = 1; i < nr; i++) {
		uint64_t bytes = again(farthest, &p[i]), rss = p[i].leaf->rss_bytes;

		sum.virt_bytes += bytes;
		sum.rss_bytes += rss < bytes ? rss : bytes;
		if (end_of(&p[i]) > end_of(farthest))
			farthest = &p[i];
	}
	if (!sum.virt_bytes)
		return 0;
	new = array_add(r);
	if (!new)
		return -1;
	*new = sum;
	return 0;
}

static int
find_all(struct repeats *r, struct pieces *p, const struct space *s)
{
	size_t nr;

	for (size_t i = 0; i < s->leaves.nr; i++)
		if (has_file_pages(s, &s->leaves.v[i]) && add_piece(p, s, &s->leaves.v[i]) < 0)
			return -1;
	if (p->nr)
		qsort_r(p->v, p->nr, sizeof *p->v, by_place, (void *)(uintptr_t)s);
	for (size_t i = 0; i < p->nr; i += nr) {
		for (nr = 1; i + nr < p->nr && is_same_file(s, &p->v[i], &p->v[i + nr]); nr++)
			;
		if (add_file(r, s, &p->v[i], nr) < 0)
			return -1;
	}
	return 0;
}

static int
largest_first(const void *a, const void *b)
{
	const struct repeat *x = a, *y = b;

	if (x->rss_bytes != y->rss_bytes)
		return x->rss_bytes > y->rss_bytes ? -1 : 1;
	return x->virt_bytes > y->virt_bytes ? -1 : x->virt_bytes < y->virt_bytes;
}

int
repeats_find(struct repeats *r, const struct space *s, struct err *e)
{
	struct pieces pieces = { 0 };
	int failed = find_all(r, &pieces, s);

	free(pieces.v);
	if (failed) {
		repeats_release(r);
		return err_set(e, ENOMEM, "cannot tell what is mapped more than once");
	}
	if (r->nr)
		qsort(r->v, r->nr, sizeof *r->v, largest_first);
	return 0;
}

void
repeats_release(struct repeats *r)
{
	free(r->v);
	*r = (struct repeats){ 0 };
}
