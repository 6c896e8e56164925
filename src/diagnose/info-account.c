#include <config.h>

#include "diagnose/info-account.h"

#include "account/sums.h"
#include "base/array.h"
#include "base/debug.h"
#include "diagnose/facts.h"
#include "diagnose/judge.h"
#include "diagnose/verdict.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "maps/maps.h"

#include <errno.h>

/*
 * Find the arena of heap I in the document, which begins with the main arena and follows the ring.
 * A new arena is inserted after the main one (malloc/arena.c, _int_new_arena), so the others are
 * counted from the end: arenas created since the call are missing in the document.  If the document
 * lacks its end, only the main arena is identified.
 */
static int32_t
info_account_match(const struct info *info, size_t i)
{
	size_t nr_arenas = info->space.process->arenas.nr, from_end = info->mi.heap.nr - i;

	if (i == 0)
		return nr_arenas ? 0 : -1;
	return info->mi.is_cut || from_end >= nr_arenas ? -1 : (int32_t)(nr_arenas - from_end);
}

int
info_match_arenas(struct info *info, struct err *e)
{
	for (size_t i = 0; i < info->mi.heap.nr; i++) {
		struct info_arena *row = array_add(&info->arena);
		int32_t nr = info_account_match(info, i);

		if (!row)
			return err_set(e, ENOMEM, "cannot list the arenas");
		row->heap = &info->mi.heap.v[i];
		if (nr < 0)
			continue;
		row->arena = &info->space.process->arenas.v[nr];
		row->has_resident = info->space.rss_from != SPACE_RSS_NONE;
		row->resident_bytes = space_arena_resident(&info->space, nr);
		row->swapped_bytes = space_arena_swapped(&info->space, nr);
	}
	return 0;
}

enum account_kind
info_account_of(enum leaf_kind kind)
{
	if (kind == LEAF_CHUNK)
		return ACCOUNT_MMAPPED;
	switch (leaf_kind_group(kind)) {
	case GROUP_HEAP:
		return ACCOUNT_IN_USE; /* its free bytes are subtracted later */
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
 * Return the bytes of blocks without a known place. malloc counts the bytes in individual mappings.
 * Those not recognised among the mappings, or inside one, belong to the anonymous memory without an
 * owner.
 */
static int64_t
unlocated(const struct info *info, uint64_t located_bytes)
{
	int64_t other = info->account.bytes[ACCOUNT_OTHER_ANON];
	int64_t missing = (int64_t)(info->mi.mmap_bytes - located_bytes);

	if (heap_mmapped_agrees(&info->mmapped))
		return 0;
	return missing <= 0 ? 0 : missing < other ? missing : other;
}

void
info_account(struct info *info)
{
	const struct space *s = &info->space;
	struct account *a = &info->account;
	int64_t free_bytes = (int64_t)free_resident(info);
	struct space_sums sums;

	space_sums(&sums, s, NULL);
	for (int kind = 0; kind < NR_LEAF_KINDS; kind++) {
		enum account_kind to = info_account_of((enum leaf_kind)kind);

		a->bytes[to] += (int64_t)sums.kind[kind].rss_bytes;
		a->nr_other += to == ACCOUNT_OTHER_ANON ? sums.kind[kind].nr_resident : 0;
	}
	a->bytes[ACCOUNT_IN_USE] -= free_bytes;
	a->bytes[ACCOUNT_FREE] = free_bytes;
	a->unlocated_bytes = unlocated(info, sums.kind[LEAF_CHUNK].size_bytes);
	a->bytes[ACCOUNT_OTHER_ANON] -= a->unlocated_bytes;
	a->bytes[ACCOUNT_MMAPPED] += a->unlocated_bytes;
	a->bytes[ACCOUNT_UNACCOUNTED] =
		(int64_t)s->after.vm_rss_bytes - (int64_t)sums.all.rss_bytes;
}

/* ---- checks ---- */

/* Return the arena of ROW as read; NULL if unknown. */
static const struct heap_arena *
heap_arena_of(const struct info *info, const struct heap *h, const struct info_arena *row)
{
	size_t i = row->arena ? (size_t)(row->arena - info->space.process->arenas.v) : h->arena.nr;

	return i < h->arena.nr && h->arena.v[i].addr.v == row->arena->addr.v ? &h->arena.v[i]
									     : NULL;
}

static bool
is_approximate(const struct info *info, const struct info_arena *row)
{
	const struct heap_arena *a =
		info->method == INFO_READ ? heap_arena_of(info, &info->heap, row) : NULL;

	return a && a->certainty == HEAP_APPROXIMATE;
}

/*
 * Return the arena's size from NOW, the arenas without their contents as read with the space; if
 * unknown, the size in malloc's account at the time of the call.
 */
static uint64_t
info_account_system_bytes(const struct heap *now, const struct info_arena *row, size_t i)
{
	return i < now->arena.nr && now->arena.v[i].addr.v == row->arena->addr.v
		? now->arena.v[i].system_bytes
		: row->heap->system_bytes;
}

static int
find_mmapped(struct info *info, const struct heap *now, struct err *e)
{
	struct heap_mmapped *m = &info->mmapped;

	if (heap_mmapped_find(m, &info->mt.target, &now->layout, &info->space, e) < 0)
		return -1;
	if (m->has_account || !info->mi.has_mmap)
		return 0;
	m->account = (struct heap_sum){ info->mi.mmap_count, info->mi.mmap_bytes };
	m->has_account = true;
	return 0;
}

int
info_check(struct info *info, struct err *e)
{
	auto_heap struct heap now = { 0 };
	const struct space *s = &info->space;
	struct check_facts f = { .mmapped = &info->mmapped, .has_run = true };
	struct err why;

	if (heap_read_tops(&now, s->process, &why) < 0)
		debug("%s", why.msg);
	if (find_mmapped(info, &now, e) < 0)
		return -1;
	for (size_t i = 0; i < info->arena.nr; i++) {
		struct info_arena *row = &info->arena.v[i];
		size_t nr = row->arena ? (size_t)(row->arena - s->process->arenas.v) : 0;

		row->is_rough = is_approximate(info, row);
		if (row->arena)
			row->is_rough |= check_facts_add_space_arena(
				&f, s, (int32_t)nr, info_account_system_bytes(&now, row, nr));
		check_facts_add_in_use(&f, malloc_info_in_use(row->heap), row->heap->system_bytes);
	}
	check_facts_add_space(&f, s);
	checks_make(&info->checks, &f);
	for (size_t i = 0; i < info->arena.nr; i++)
		info->arena.v[i].is_rough |= info->checks.is_resident_rough;
	return 0;
}

/* ---- verdicts ---- */

/*
 * Read the lists of free chunks, which show what malloc_trim() would return, as 'trim -n' does, but
 * without a stop.  Lists that are too long for malloc_info() are too long here as well.
 */
static void
info_account_read_lists(const struct info *info, struct heap *h)
{
	const struct heap_options how = {
		.bins_only = true, .one_look = true, .want_uss = true, .is_fresh = true
	};
	const struct process *p = info->space.process;
	struct err e;

	if (!info->is_slow && heap_read(h, p, &how, &e) == 0)
		return;
	/* With an unknown layout this fails, and the heap remains unknown. */
	if (heap_read_counts(h, p, &e) < 0)
		debug("%s", e.msg);
}

/* If the lists could not be read, or changed meanwhile, malloc's account bounds their content. */
static void
gather(const struct info *info, struct verdict_facts *f)
{
	auto_heap struct heap h = { 0 };

	info_account_read_lists(info, &h);
	h.layout.params.nr_mmaps = info->mi.mmap_count;
	h.layout.params.mmapped = info->mi.mmap_bytes;
	verdict_facts_gather(f, &info->mt.target, &info->space, &h);
	f->has_malloc = true;
	f->is_bound = false;
	f->nr_arenas = info->mi.heap.nr;
	for (size_t i = 0; i < info->arena.nr; i++) {
		const struct info_arena *row = &info->arena.v[i];
		const struct heap_arena *arena = heap_arena_of(info, &h, row);

		if (row->has_resident &&
			(!arena || !arena->has_pages || arena->certainty == HEAP_APPROXIMATE))
			verdict_facts_add_account(f, row->heap, arena,
				(struct verdict_pages){ row->resident_bytes, row->swapped_bytes });
	}
}

void
info_judge(struct info *info)
{
	auto_verdict_facts struct verdict_facts f = { 0 };

	if (info->method == INFO_READ)
		verdict_facts_gather(&f, &info->mt.target, &info->space, &info->heap);
	else
		gather(info, &f);
	f.has_trim_of_tops = has_trim_of_tops(&info->mt.process);
	info->nr_verdicts = verdict_judge(&f, info->verdict);
}
