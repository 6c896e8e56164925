#include <config.h>

#include "cmd/info.h"

#include <errno.h>

#include "base/array.h"
#include "base/debug.h"

/*
 * The document begins with the main arena and goes on as the ring does.  A new arena comes right
 * behind the main one (malloc/arena.c, _int_new_arena), so the others are counted from the end:
 * those made since the call are not in the document.  In a document that lacks its end only the
 * main arena can be told.
 */
static int32_t
match(const struct info *info, size_t i)
{
	size_t nr_arenas = info->space.arenas.nr, from_end = info->mi.heap.nr - i;

	if (i == 0)
		return nr_arenas ? 0 : -1;
	return info->mi.is_cut || from_end >= nr_arenas ? -1 : (int32_t)(nr_arenas - from_end);
}

int
info_match_arenas(struct info *info, struct err *e)
{
	for (size_t i = 0; i < info->mi.heap.nr; i++) {
		struct info_arena *row = array_add(&info->arena);
		int32_t nr = match(info, i);

		if (!row)
			return err_set(e, ENOMEM, "cannot list the arenas");
		row->heap = &info->mi.heap.v[i];
		if (nr < 0)
			continue;
		row->arena = &info->space.arenas.v[nr];
		row->has_resident = info->space.rss_from != SPACE_RSS_NONE;
		row->resident_bytes = space_arena_resident(&info->space, nr);
	}
	return 0;
}

static enum account_kind
account_of(const struct leaf *leaf)
{
	if (leaf->kind == LEAF_CHUNK)
		return ACCOUNT_MMAPPED;
	switch (leaf_kind_group((enum leaf_kind)leaf->kind)) {
	case GROUP_HEAP:
		return ACCOUNT_IN_USE;	/* what is free there is taken off afterwards */
	case GROUP_STACK:
		return ACCOUNT_STACKS;
	case GROUP_EXE:
	case GROUP_SO:
	case GROUP_FILE:
		return ACCOUNT_FILES;
	case GROUP_SHM:
		return ACCOUNT_SHM;
	case GROUP_KERNEL:
		return ACCOUNT_KERNEL;
	case GROUP_ANON:
	case GROUP_RESERVE:
	case NR_GROUPS:
		break;
	}
	return ACCOUNT_OTHER_ANON;
}

static uint64_t
free_resident(const struct info *info)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < info->arena.nr; i++)
		bytes += malloc_info_free_resident(
			info->arena.v[i].heap, info->arena.v[i].resident_bytes);
	return bytes;
}

/*
 * malloc tells how many bytes it has mapped block by block.  What was not recognised among the
 * mappings, or lies in the middle of one, is some of the anonymous memory that nobody owns.
 */
static int64_t
unlocated(const struct info *info, uint64_t located_bytes)
{
	int64_t other = info->account.bytes[ACCOUNT_OTHER_ANON];
	int64_t missing = (int64_t)(info->mi.mmap_bytes - located_bytes);

	return missing <= 0 ? 0 : missing < other ? missing : other;
}

void
info_account(struct info *info)
{
	const struct space *s = &info->space;
	struct account *a = &info->account;
	int64_t free_bytes = (int64_t)free_resident(info);
	uint64_t located_bytes = 0;
	int64_t sum = 0;

	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *leaf = &s->leaves.v[i];

		a->bytes[account_of(leaf)] += (int64_t)leaf->rss_bytes;
		a->nr_other += account_of(leaf) == ACCOUNT_OTHER_ANON && leaf->rss_bytes;
		sum += (int64_t)leaf->rss_bytes;
		if (leaf->kind == LEAF_CHUNK)
			located_bytes += leaf->end.v - leaf->start.v;
	}
	a->bytes[ACCOUNT_IN_USE] -= free_bytes;
	a->bytes[ACCOUNT_FREE] = free_bytes;
	a->unlocated_bytes = unlocated(info, located_bytes);
	a->bytes[ACCOUNT_OTHER_ANON] -= a->unlocated_bytes;
	a->bytes[ACCOUNT_MMAPPED] += a->unlocated_bytes;
	a->bytes[ACCOUNT_UNACCOUNTED] = (int64_t)s->after.vm_rss_bytes - sum;
}

/* ---- verdicts ---- */

/* The arena of ROW as it was glanced at; NULL if that is not known. */
static const struct heap_arena *
glanced(const struct info *info, const struct heap *h, const struct info_arena *row)
{
	size_t i = row->arena ? (size_t)(row->arena - info->space.arenas.v) : h->arena.nr;

	return i < h->arena.nr ? &h->arena.v[i] : NULL;
}

/* malloc was asked: its account, the pages, and what a glance at the arenas adds. */
static void
gather_bounds(const struct info *info, struct verdict_facts *f)
{
	const struct space *s = &info->space;
	auto_heap struct heap h = { 0 };
	struct err e;

	/* Of a layout that is not known, nothing. */
	if (heap_glance(&h, &info->mt.target, &s->maps, &s->objects, &s->arenas, &e) < 0)
		debug("%s", e.msg);
	h.layout.params.nr_mmaps = info->mi.mmap_count;
	h.layout.params.mmapped = info->mi.mmap_bytes;
	verdict_facts_gather(f, &info->mt.target, s, &h);
	f->has_malloc = true;
	f->nr_arenas = info->mi.heap.nr;
	for (size_t i = 0; i < info->arena.nr; i++) {
		const struct info_arena *row = &info->arena.v[i];

		if (row->has_resident)
			verdict_facts_add_account(
				f, row->heap, glanced(info, &h, row), row->resident_bytes);
	}
}

void
info_judge(struct info *info)
{
	auto_verdict_facts struct verdict_facts f = { 0 };

	if (info->method == INFO_READ)
		verdict_facts_gather(&f, &info->mt.target, &info->space, &info->heap);
	else
		gather_bounds(info, &f);
	info->nr_verdicts = verdict_judge(&f, info->verdict);
}
