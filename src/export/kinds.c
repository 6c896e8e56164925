#include <config.h>

#include "export/kinds.h"

#include "maps/leaves.h"

const char *
export_kind_name(enum export_kind kind)
{
	static const char *const names[NR_EXPORT_KINDS] = {
		[EXPORT_HEAP] = "heap",
		[EXPORT_MMAPPED] = "heap_mmapped",
		[EXPORT_STACK] = "stack",
		[EXPORT_FILE] = "file",
		[EXPORT_SHMEM] = "shmem",
		[EXPORT_ANON] = "anon_other",
		[EXPORT_OTHER] = "other",
	};

	return names[kind];
}

static enum export_kind
kind_of(const struct leaf *l)
{
	static const enum export_kind kinds[NR_GROUPS] = {
		[GROUP_STACK] = EXPORT_STACK,
		[GROUP_HEAP] = EXPORT_HEAP,
		[GROUP_EXE] = EXPORT_FILE,
		[GROUP_SO] = EXPORT_FILE,
		[GROUP_FILE] = EXPORT_FILE,
		[GROUP_SHM] = EXPORT_SHMEM,
		[GROUP_ANON] = EXPORT_ANON,
		[GROUP_RESERVE] = EXPORT_ANON,
		[GROUP_KERNEL] = EXPORT_OTHER,
	};

	return l->kind == LEAF_CHUNK ? EXPORT_MMAPPED : kinds[leaf_kind_group(l->kind)];
}

void
export_sums_add_space(struct export_sums *sums, const struct space *s)
{
	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];
		const enum export_kind kind = kind_of(l);

		sums->resident[kind] += l->rss_bytes;
		sums->swapped[kind] += l->swap_bytes;
		if (kind == EXPORT_HEAP && l->kind != LEAF_ARENA_RESERVE)
			sums->heap_virt += l->end.v - l->start.v;
	}
	sums->virt += s->totals.virt_bytes;
	sums->hugetlb += s->totals.hugetlb_bytes;
	sums->thp += s->totals.huge_bytes;
	sums->nr_arenas += s->process->arenas.nr;
	sums->nr_glibc += s->process->arenas.nr > 0;
	sums->nr_threads += (uint64_t)s->after.nr_threads;
	sums->nr_processes++;
}

void
export_sums_add(struct export_sums *sums, const struct export_sums *other)
{
	for (size_t i = 0; i < NR_EXPORT_KINDS; i++) {
		sums->resident[i] += other->resident[i];
		sums->swapped[i] += other->swapped[i];
	}
	sums->virt += other->virt;
	sums->hugetlb += other->hugetlb;
	sums->heap_virt += other->heap_virt;
	sums->thp += other->thp;
	sums->nr_arenas += other->nr_arenas;
	sums->nr_threads += other->nr_threads;
	sums->nr_processes += other->nr_processes;
	sums->nr_glibc += other->nr_glibc;
	sums->nr_profiled += other->nr_profiled;
	if (other->limit && (!sums->limit || other->limit < sums->limit))
		sums->limit = other->limit;
}
