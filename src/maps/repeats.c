/*
 * Files that are mapped more than once.  The kernel counts a page in VIRT and RSS for each of its
 * addresses; Java's ZGC, JITs and servers that map a data file again look larger than they are.
 */
#include <config.h>

#include "maps/repeats.h"

#include "base/array.h"
#include "maps/leaves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The part of a file that one leaf maps.  Kept small, because a server may map 60,000 files. */
struct repeats_piece {
	uint64_t offset;
	const struct leaf *leaf;
	uint32_t file; /* index into the files */
};

/*
 * A file, and the number of its pieces in the grouped list.  Segments of System V and other memory
 * without a name are files of one file system, and the inode of a segment is its shmid (ipc/shm.c
 * newseg()): a memfd may have the same inode.
 */
struct file {
	uint64_t dev, inode;
	bool is_sysv;
	uint32_t next; /* next file in the bucket: index + 1, 0 at the end */
	size_t nr;     /* number of pieces */
};

/* All pieces in the order of addresses, and their files. */
struct repeats_pieces {
	struct {
		struct repeats_piece *v;
		size_t nr, room;
	} piece;
	struct {
		struct file *v;
		size_t nr, room;
	} file;
	uint32_t *bucket;  /* of files: index + 1, 0 if empty */
	size_t nr_buckets; /* a power of 2 */
};

static uint64_t
repeats_end_of(const struct repeats_piece *p)
{
	return p->offset + (p->leaf->end.v - p->leaf->start.v);
}

/* Return whether the pages of L are its file's; those of devices and of /dev/zero are not. */
static bool
has_file_pages(const struct space *s, const struct leaf *l)
{
	switch (leaf_kind_group(l->kind)) {
	case GROUP_EXE:
	case GROUP_SO:
	case GROUP_FILE:
	case GROUP_SHM:
		return region_has_file(&s->process->maps.region[l->region]);
	default:
		return l->is_tmpfs; /* code that a JIT compiler writes at another address */
	}
}

static int
pieces_init(struct repeats_pieces *p, size_t nr_leaves)
{
	p->nr_buckets = 1;
	while (p->nr_buckets < nr_leaves)
		p->nr_buckets *= 2;
	p->bucket = calloc(p->nr_buckets, sizeof *p->bucket);
	return p->bucket ? 0 : -1;
}

static bool
is_sysv(const struct region *r)
{
	return r->path && strncmp(r->path, "/SYSV", 5) == 0;
}

static bool
is_file_of(const struct file *f, const struct region *r)
{
	return f->inode == r->inode && f->dev == r->dev && f->is_sysv == is_sysv(r);
}

/* Return the index of R's file, which is added if it is new; UINT32_MAX: no memory. */
static uint32_t
repeats_file_of(struct repeats_pieces *p, const struct region *r)
{
	/* The golden ratio spreads consecutive numbers (Knuth, 6.4). */
	uint64_t hash = (r->inode ^ r->dev << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint32_t *bucket = &p->bucket[hash & (p->nr_buckets - 1)];
	struct file *f;

	for (uint32_t i = *bucket; i; i = p->file.v[i - 1].next)
		if (is_file_of(&p->file.v[i - 1], r))
			return i - 1;
	f = array_add(&p->file);
	if (!f)
		return UINT32_MAX;
	*f = (struct file){
		.dev = r->dev, .inode = r->inode, .is_sysv = is_sysv(r), .next = *bucket
	};
	*bucket = (uint32_t)p->file.nr;
	return *bucket - 1;
}

static int
repeats_add_piece(struct repeats_pieces *p, const struct space *s, const struct leaf *l)
{
	const struct region *r = &s->process->maps.region[l->region];
	struct repeats_piece *piece = array_add(&p->piece);
	uint32_t file = piece ? repeats_file_of(p, r) : UINT32_MAX;

	if (file == UINT32_MAX)
		return -1;
	p->file.v[file].nr++;
	*piece = (struct repeats_piece){ r->offset_bytes + (l->start.v - r->start.v), l, file };
	return 0;
}

/* Group the pieces by file; those of one file stay in the order of addresses. */
static int
group_by_file(struct repeats_pieces *p)
{
	struct repeats_piece *sorted = malloc(p->piece.nr * sizeof *sorted);
	size_t *next = malloc(p->file.nr * sizeof *next), at = 0;

	for (size_t i = 0; next && i < p->file.nr; i++) {
		next[i] = at;
		at += p->file.v[i].nr;
	}
	for (size_t i = 0; sorted && next && i < p->piece.nr; i++)
		sorted[next[p->piece.v[i].file]++] = p->piece.v[i];
	free(next);
	if (!sorted || !next) {
		free(sorted);
		return -1;
	}
	free(p->piece.v);
	p->piece.v = sorted;
	return 0;
}

static int
by_offset(const void *a, const void *b)
{
	const struct repeats_piece *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

/* Sort the pieces, if necessary: most files are mapped once, or in order. */
static void
sort_by_offset(struct repeats_piece *p, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (p[i].offset < p[i - 1].offset) {
			qsort(p, nr, sizeof *p, by_offset);
			return;
		}
}

/*
 * Return whether A and B belong to one object, whose segments normally overlap in their first and
 * last pages.
 */
static bool
repeats_is_same_object(const struct repeats_piece *a, const struct repeats_piece *b)
{
	return a->leaf->object >= 0 && a->leaf->object == b->leaf->object;
}

/*
 * Return the bytes of P that the pieces before it, of which FARTHEST reaches farthest, contain
 * already.
 */
static uint64_t
again(const struct repeats_piece *farthest, const struct repeats_piece *p)
{
	uint64_t end = repeats_end_of(p) < repeats_end_of(farthest) ? repeats_end_of(p)
								    : repeats_end_of(farthest);

	return end <= p->offset || repeats_is_same_object(farthest, p) ? 0 : end - p->offset;
}

/* Sum up the repeated bytes in the NR pieces of one file, sorted. */
static int
repeats_add_file(struct repeats *r, const struct space *s, const struct repeats_piece *p, size_t nr)
{
	struct repeat sum = { .path = s->process->maps.region[p->leaf->region].path }, *new;
	const struct repeats_piece *farthest = p;

	for (size_t i = 1; i < nr; i++) {
		uint64_t bytes = again(farthest, &p[i]), rss = p[i].leaf->rss_bytes;

		sum.virt_bytes += bytes;
		sum.rss_bytes += rss < bytes ? rss : bytes;
		if (repeats_end_of(&p[i]) > repeats_end_of(farthest))
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
repeats_find_all(struct repeats *r, struct repeats_pieces *p, const struct space *s)
{
	struct repeats_piece *at;

	if (pieces_init(p, s->leaves.nr) < 0)
		return -1;
	for (size_t i = 0; i < s->leaves.nr; i++)
		if (has_file_pages(s, &s->leaves.v[i]) &&
			repeats_add_piece(p, s, &s->leaves.v[i]) < 0)
			return -1;
	if (p->piece.nr && group_by_file(p) < 0)
		return -1;
	at = p->piece.v;
	for (size_t i = 0; i < p->file.nr; at += p->file.v[i++].nr) {
		sort_by_offset(at, p->file.v[i].nr);
		if (p->file.v[i].nr > 1 && repeats_add_file(r, s, at, p->file.v[i].nr) < 0)
			return -1;
	}
	return 0;
}

static int
repeats_largest_first(const void *a, const void *b)
{
	const struct repeat *x = a, *y = b;

	if (x->rss_bytes != y->rss_bytes)
		return x->rss_bytes > y->rss_bytes ? -1 : 1;
	return x->virt_bytes > y->virt_bytes ? -1 : x->virt_bytes < y->virt_bytes;
}

int
repeats_find(struct repeats *r, const struct space *s, struct err *e)
{
	struct repeats_pieces pieces = { 0 };
	int failed = repeats_find_all(r, &pieces, s);

	free(pieces.piece.v);
	free(pieces.file.v);
	free(pieces.bucket);
	if (failed) {
		repeats_release(r);
		return err_set(e, ENOMEM, "cannot find what is mapped more than once");
	}
	if (r->nr)
		qsort(r->v, r->nr, sizeof *r->v, repeats_largest_first);
	return 0;
}

void
repeats_release(struct repeats *r)
{
	free(r->v);
	*r = (struct repeats){ 0 };
}
