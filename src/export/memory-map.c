#include <config.h>

#include "export/memory-map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "elf/objects.h"
#include "elf/smaps.h"
#include "glibc/process.h"
#include "glibc/top.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "os/clock.h"
#include "os/pages.h"
#include "os/status.h"
#include "os/target.h"
#include "profile/hash.h"

#define PAGE_BYTES UINT64_C(4096)
#define NAME_BYTES 256
/* The process, its class, a part of it, and a detail. */
#define DEPTH_MAX 4

/* A frame by its name. */
struct map_frame {
	const char *name; /* owned by the profile */
	uint32_t frame;
};

struct map_sample {
	uint32_t stack, thread_1;
	uint64_t resident_bytes, swap_bytes;
};

struct map_work {
	struct profile *p;
	const struct space *s;
	const struct target *t;
	struct os_pages *pages; /* NULL: pages were not counted by address */
	struct top_chunk *top;	/* of each arena; start and end are equal if it is unknown */
	struct {
		struct map_frame *v;
		size_t nr, room;
	} frame;
	struct hash by_name;
	struct {
		struct map_sample *v;
		size_t nr, room;
	} sample;
	bool has_swap;
	struct err *e;
};

static void
map_work_release(struct map_work *w)
{
	profile_free(w->p);
	os_pages_free(w->pages);
	free(w->top);
	free(w->frame.v);
	hash_release(&w->by_name);
	free(w->sample.v);
}

static int
map_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the map of memory");
}

/* ---- frames ---- */

/* Write "[NAME]" to BUF, printable and without () and <>; return BUF. */
static const char *
map_bracket(const char *name, char *buf, size_t size)
{
	char printable[NAME_BYTES - 2];

	snprintf(buf, size, "[%s]", text_abbreviate(name, printable, sizeof printable));
	for (char *at = buf; (at = strpbrk(at, "()<>"));)
		*at = strchr("(<", *at) ? '[' : ']';
	return buf;
}

/* Find or add the frame of NAME, which is made a name of frames first. */
static int
map_frame_of(struct map_work *w, const char *name, uint32_t *ret)
{
	char buf[NAME_BYTES];
	const size_t len = strlen(map_bracket(name, buf, sizeof buf));
	const uint32_t hash = hash_bytes(buf, len);
	const struct hash_slot *slot;
	struct map_frame *f;

	for (size_t at = hash; (slot = hash_next(&w->by_name, hash, &at));)
		if (strcmp(w->frame.v[slot->number_1 - 1].name, buf) == 0) {
			*ret = w->frame.v[slot->number_1 - 1].frame;
			return 0;
		}
	f = array_add(&w->frame);
	if (!f || !(f->name = profile_string(w->p, buf, len)) ||
		hash_add(&w->by_name, hash, w->frame.nr - 1) < 0)
		return map_no_memory(w->e);
	if (profile_add_frame(w->p, 0, true, 0, &f->frame, w->e) < 0)
		return -1;
	*ret = f->frame;
	return profile_add_line(w->p, f->frame, buf, "", 0, w->e);
}

/* ---- leaves of arenas ---- */

static bool
map_is_main(const struct leaf *l)
{
	return l->kind == LEAF_MAIN_HEAP || l->kind == LEAF_MAIN_PIECE;
}

/* Return the top of the arena whose chunks are in L; NULL if L has no chunks of an arena. */
static struct top_chunk *
map_top_of(const struct map_work *w, const struct leaf *l)
{
	const size_t arena = map_is_main(l) ? 0 : (size_t)l->arena;

	return w->top && (map_is_main(l) || (l->kind == LEAF_ARENA && l->arena >= 0)) &&
			arena < w->s->process->arenas.nr
		? &w->top[arena]
		: NULL;
}

/* ---- names ---- */

/* The names of a leaf's frames, from the root on. */
struct map_names {
	const char *v[DEPTH_MAX];
	size_t nr;
	char buf[OS_COMM_BYTES]; /* room for one of them */
};

static void
map_add_name(struct map_names *n, const char *name)
{
	n->v[n->nr++] = name;
}

static const char *
map_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *
map_path_of(const struct space *s, const struct leaf *l)
{
	return s->process->maps.region[l->region].path;
}

static const char *
map_group_name(enum group g)
{
	switch (g) {
	case GROUP_HEAP:
		return "glibc heap";
	case GROUP_SO:
		return "so";
	default:
		return group_name(g);
	}
}

/* Add the arena of L, and its part. */
static void
map_name_heap(struct map_names *n, const struct leaf *l, const char *part)
{
	if (!map_is_main(l) && l->arena < 0) {
		map_add_name(n, leaf_kind_name(l->kind));
		return;
	}
	snprintf(n->buf, sizeof n->buf, "arena %" PRId32, l->arena);
	map_add_name(n, map_is_main(l) ? "main arena" : n->buf);
	map_add_name(n, part);
}

/* Add the object of L, and its part, "text" of ".so text". */
static void
map_name_object(struct map_names *n, const struct space *s, const struct leaf *l)
{
	const char *kind = leaf_kind_name(l->kind), *path = map_path_of(s, l);

	if (l->object >= 0)
		path = s->process->objects.v[l->object].path;
	map_add_name(n, path ? map_base_name(path) : "?");
	map_add_name(n, strchr(kind, ' ') + 1);
}

/* Return the name of L's thread in BUF; "main thread" if it is that. */
static const char *
map_thread_name(const struct map_work *w, const struct leaf *l, char buf[static OS_COMM_BYTES])
{
	if (!w->t)
		return "?";
	return l->tid == w->t->pid ? "main thread" : os_thread_comm(w->t, l->tid, buf);
}

/* Add the kind of L, and its thread or the name of its mapping. */
static void
map_name_other(struct map_names *n, const struct map_work *w, const struct leaf *l)
{
	const char *path = map_path_of(w->s, l);

	map_add_name(n, leaf_label(leaf_kind_name(l->kind)));
	if (l->tid && l->kind != LEAF_MAIN_STACK)
		map_add_name(n, map_thread_name(w, l, n->buf));
	else if (path && (path[0] == '/' || l->kind == LEAF_NAMED || l->kind == LEAF_DEVICE))
		map_add_name(n, path);
}

/* Return the part of its arena that L is. */
static const char *
map_heap_part(const struct map_work *w, const struct leaf *l)
{
	const struct top_chunk *top = map_top_of(w, l);

	switch (l->kind) {
	case LEAF_ARENA_SHRUNK:
		return "shrunk ends";
	case LEAF_ARENA_RESERVE:
		return "reserve";
	default:
		return top && top->end.v ? "chunks" : "chunks and top";
	}
}

static void
map_name_leaf(struct map_names *n, const struct map_work *w, const struct leaf *l)
{
	const enum group group = leaf_kind_group(l->kind);

	map_add_name(n, map_group_name(group));
	if (group == GROUP_HEAP)
		map_name_heap(n, l, map_heap_part(w, l));
	else if (group == GROUP_EXE || group == GROUP_SO)
		map_name_object(n, w->s, l);
	else
		map_name_other(n, w, l);
}

/* ---- samples ---- */

static int
map_thread_of(const struct map_work *w, const struct leaf *l, uint32_t *ret_thread_1)
{
	char name[NAME_BYTES], comm[OS_COMM_BYTES];

	*ret_thread_1 = 0;
	if (!l->tid)
		return 0;
	text_printable(w->t ? os_thread_comm(w->t, l->tid, comm) : "", name, sizeof name);
	return profile_thread(w->p, l->tid, name, ret_thread_1, w->e);
}

/* Add bytes of L as the frames N. */
static int
map_add_bytes(struct map_work *w, const struct map_names *n, const struct leaf *l,
	uint64_t resident_bytes, uint64_t swap_bytes)
{
	uint32_t frames[DEPTH_MAX];
	struct map_sample *sample;

	if (!resident_bytes && !swap_bytes)
		return 0;
	sample = array_add(&w->sample);
	if (!sample)
		return map_no_memory(w->e);
	sample->resident_bytes = resident_bytes;
	sample->swap_bytes = swap_bytes;
	for (size_t i = 0; i < n->nr; i++)
		if (map_frame_of(w, n->v[i], &frames[n->nr - 1 - i]) < 0)
			return -1;
	return profile_stack(w->p, frames, n->nr, &sample->stack, w->e) < 0
		? -1
		: map_thread_of(w, l, &sample->thread_1);
}

/* ---- the tops of arenas ---- */

/* Forget each top that does not begin in its arena's memory, and end where that ends. */
static int
map_prove_tops(struct map_work *w)
{
	const size_t nr = w->s->process->arenas.nr;
	auto_free bool *begins = calloc(nr, sizeof *begins), *ends = calloc(nr, sizeof *ends);

	if (!begins || !ends)
		return map_no_memory(w->e);
	for (size_t i = 0; i < w->s->leaves.nr; i++) {
		const struct leaf *l = &w->s->leaves.v[i];
		const struct top_chunk *top = map_top_of(w, l);

		if (!top)
			continue;
		begins[top - w->top] |= raddr_in(top->start, l->start, l->end);
		ends[top - w->top] |= top->end.v == l->end.v;
	}
	for (size_t i = 0; i < nr; i++)
		if (!begins[i] || !ends[i])
			w->top[i] = (struct top_chunk){ 0 };
	return 0;
}

/* Read the top of each arena. */
static int
map_find_tops(struct map_work *w)
{
	static const enum os_pages_by by[] = {
		[SPACE_RSS_SCAN] = OS_PAGES_SCAN, [SPACE_RSS_PAGEMAP] = OS_PAGES_PAGEMAP
	};
	const struct arenas *a = &w->s->process->arenas;
	struct err ignored;

	if (!w->t || !a->nr ||
		(w->s->rss_from != SPACE_RSS_SCAN && w->s->rss_from != SPACE_RSS_PAGEMAP) ||
		os_pages_open(&w->pages, w->t, by[w->s->rss_from], &ignored) < 0)
		return 0;
	w->top = calloc(a->nr, sizeof *w->top);
	if (!w->top)
		return map_no_memory(w->e);
	for (size_t i = 0; i < a->nr; i++)
		if (!top_chunk_read(&w->top[i], w->t, w->pages, a, i))
			w->top[i] = (struct top_chunk){ 0 };
	return map_prove_tops(w);
}

struct map_pages {
	uint64_t resident_bytes, swap_bytes;
};

static int
map_count_run(const struct os_page_run *run, void *arg)
{
	struct map_pages *pages = arg;
	const uint64_t bytes = run->end.v - run->start.v;

	if (run->is_present)
		pages->resident_bytes += bytes;
	else if (run->is_swapped)
		pages->swap_bytes += bytes;
	return 0;
}

/*
 * Count the whole pages of TOP that are in L.  They are counted later than those of L, which may
 * have fewer: then they are all of TOP.
 */
static struct map_pages
map_count_top(const struct map_work *w, const struct top_chunk *top, const struct leaf *l)
{
	const uint64_t most = l->rss_bytes + l->hugetlb_bytes;
	raddr start = { (top->start.v + PAGE_BYTES - 1) & -PAGE_BYTES };
	const raddr end = top->end.v < l->end.v ? top->end : l->end;
	struct map_pages pages = { 0 };
	struct err ignored;

	if (start.v < l->start.v)
		start = l->start;
	if (start.v >= end.v ||
		os_pages_walk(w->pages, start, end, false, map_count_run, &pages, &ignored) < 0)
		return (struct map_pages){ 0 };
	if (pages.resident_bytes > most)
		pages.resident_bytes = most;
	if (pages.swap_bytes > l->swap_bytes)
		pages.swap_bytes = l->swap_bytes;
	return pages;
}

/* Add the part of its arena's top that is in L, whose names are NAMES; return its bytes in RET. */
static int
map_add_top(struct map_pages *ret, struct map_work *w, struct map_names names, const struct leaf *l)
{
	const struct top_chunk *top = map_top_of(w, l);

	if (!top)
		return 0;
	*ret = map_count_top(w, top, l);
	names.v[names.nr - 1] = "free: top";
	return map_add_bytes(w, &names, l, ret->resident_bytes, ret->swap_bytes);
}

/* ---- all of it ---- */

static int
map_add_leaf(struct map_work *w, const char *root, const struct leaf *l)
{
	struct map_names names = { .v = { root }, .nr = 1 };
	struct map_pages top = { 0 };

	map_name_leaf(&names, w, l);
	return map_add_top(&top, w, names, l) < 0 ||
			map_add_bytes(w, &names, l,
				l->rss_bytes + l->hugetlb_bytes - top.resident_bytes,
				l->swap_bytes - top.swap_bytes) < 0
		? -1
		: 0;
}

static int
map_by_stack(const void *a, const void *b)
{
	const struct map_sample *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->thread_1 < y->thread_1 ? -1 : x->thread_1 > y->thread_1;
}

/* Add a sample for each stack and thread to the profile. */
static int
map_add_samples(struct map_work *w)
{
	const struct map_sample *v = w->sample.v;

	if (w->sample.nr)
		qsort(w->sample.v, w->sample.nr, sizeof *v, map_by_stack);
	for (size_t i = 0; i < w->sample.nr;) {
		const struct map_sample *first = &v[i];
		int64_t values[2] = { 0 };

		for (; i < w->sample.nr && map_by_stack(first, &v[i]) == 0; i++) {
			values[0] += (int64_t)v[i].resident_bytes;
			values[1] += (int64_t)v[i].swap_bytes;
		}
		if (profile_add_sample(w->p,
			    (struct profile_sample){
				    .stack = first->stack, .thread_1 = first->thread_1 },
			    values, w->e) < 0)
			return -1;
	}
	return 0;
}

static int
map_add_comments(const struct map_work *w)
{
	char text[NAME_BYTES + 64], name[NAME_BYTES];

	if (w->t)
		snprintf(text, sizeof text, "process %d, %s", (int)w->t->pid,
			text_printable(w->t->comm, name, sizeof name));
	else
		snprintf(text, sizeof text, "saved map %s", w->s->file->name);
	if (profile_comment(w->p, "memdiag " PACKAGE_VERSION " maps", w->e) < 0 ||
		profile_comment(w->p, text, w->e) < 0 ||
		profile_comment(w->p,
			"Numbers are resident bytes: RSS, with pages of the hugetlb pool. "
			"Frames are classes of memory, not calls.",
			w->e) < 0)
		return -1;
	return 0;
}

static int
map_begin(struct map_work *w)
{
	if (w->s->rss_from == SPACE_RSS_NONE) {
		*w->e = w->s->rss_error;
		if (!w->e->kind)
			return err_set(w->e, 0, "pages were not counted");
		return err_context(w->e, "pages were not counted");
	}
	w->has_swap = space_knows(w->s, SMAPS_SWAP);
	w->p = profile_new();
	if (!w->p)
		return map_no_memory(w->e);
	if (w->t)
		w->p->time_ns = os_real_ns();
	w->p->pid = w->t ? w->t->pid : 0;
	if (profile_add_type(w->p, "resident", "bytes", w->e) < 0 ||
		(w->has_swap && profile_add_type(w->p, "swap", "bytes", w->e) < 0))
		return -1;
	return map_add_comments(w) < 0 ? -1 : map_find_tops(w);
}

int
memory_map_make(struct profile **ret, const struct space *s, const struct target *t, struct err *e)
{
	__attribute__((cleanup(map_work_release))) struct map_work w = { .s = s, .t = t, .e = e };
	const char *root = t ? t->comm : map_base_name(s->file->name);

	if (map_begin(&w) < 0)
		return -1;
	for (size_t i = 0; i < s->leaves.nr; i++)
		if (map_add_leaf(&w, root, &s->leaves.v[i]) < 0)
			return -1;
	if (map_add_samples(&w) < 0)
		return -1;
	*ret = take_ptr(&w.p);
	return 0;
}
