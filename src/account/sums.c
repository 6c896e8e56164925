#include <config.h>

#include "account/sums.h"

#include <string.h>

const struct extra_column extra_columns[NR_EXTRAS] = {
	[EXTRA_PSS] = { "pss", "PSS", "pss_bytes", true },
	[EXTRA_USS] = { "uss", "USS", "uss_bytes", true },
	[EXTRA_DIRTY] = { "dirty", "DIRTY", "dirty_bytes", true },
	[EXTRA_LOCKED] = { "locked", "LOCKED", "locked_bytes", true },
	[EXTRA_THP] = { "thp", "THP", "thp_bytes", false },
};
uint64_t
leaf_extra(const struct leaf *l, enum extra x)
{
	const struct leaf_smaps smaps = l->smaps ? *l->smaps : (struct leaf_smaps){ 0 };
	const uint64_t bytes[NR_EXTRAS] = {
		[EXTRA_PSS] = smaps.pss_bytes,
		[EXTRA_USS] = smaps.uss_bytes,
		[EXTRA_DIRTY] = smaps.dirty_bytes,
		[EXTRA_LOCKED] = smaps.locked_bytes,
		[EXTRA_THP] = l->huge_bytes,
	};

	return bytes[x];
}

bool
extra_is_known(const struct space *s, enum extra x)
{
	static const enum smaps_field field[NR_EXTRAS] = {
		[EXTRA_PSS] = SMAPS_PSS,
		[EXTRA_USS] = SMAPS_PRIVATE_DIRTY,
		[EXTRA_DIRTY] = SMAPS_SHARED_DIRTY,
		[EXTRA_LOCKED] = SMAPS_LOCKED,
		[EXTRA_THP] = SMAPS_ANON_HUGE,
	};

	return (extra_columns[x].is_of_smaps ? s->has_pss : s->has_huge) &&
		space_knows(s, field[x]);
}

void
leaf_sum_add(struct leaf_sum *sum, const struct leaf *leaf)
{
	sum->nr++;
	sum->nr_things += !leaf->is_continued;
	sum->nr_resident += leaf->rss_bytes != 0;
	sum->size_bytes += leaf->end.v - leaf->start.v;
	sum->rss_bytes += leaf->rss_bytes;
	sum->swap_bytes += leaf->swap_bytes;
	sum->hugetlb_bytes += leaf->hugetlb_bytes;
	sum->huge_bytes += leaf->huge_bytes;
	if (!leaf->smaps) {
		sum->extra_bytes[EXTRA_THP] += leaf->huge_bytes; /* the others are 0 */
		return;
	}
	for (int x = 0; x < NR_EXTRAS; x++)
		sum->extra_bytes[x] += leaf_extra(leaf, (enum extra)x);
}

void
leaf_sum_add_sum(struct leaf_sum *sum, const struct leaf_sum *part)
{
	sum->nr += part->nr;
	sum->nr_things += part->nr_things;
	sum->nr_resident += part->nr_resident;
	sum->size_bytes += part->size_bytes;
	sum->rss_bytes += part->rss_bytes;
	sum->swap_bytes += part->swap_bytes;
	sum->hugetlb_bytes += part->hugetlb_bytes;
	sum->huge_bytes += part->huge_bytes;
	for (int x = 0; x < NR_EXTRAS; x++)
		sum->extra_bytes[x] += part->extra_bytes[x];
}

/* True if LEAF is memory in [heap] that the program took with sbrk() outside malloc. */
static bool
is_own_sbrk(const struct space *s, const struct leaf *leaf)
{
	const struct regions *m = &s->process->maps;

	return leaf_kind_group((enum leaf_kind)leaf->kind) == GROUP_ANON && leaf->region < m->nr &&
		m->region[leaf->region].path && strcmp(m->region[leaf->region].path, "[heap]") == 0;
}

void
space_sums(struct space_sums *ret, const struct space *s, const struct selection *sel)
{
	struct space_sums sums = { .nr_mappings = 0 };
	uint32_t last = UINT32_MAX;

	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *leaf = &s->leaves.v[i];

		if (sel && !selection_takes(sel, s, leaf))
			continue;
		leaf_sum_add(&sums.kind[leaf->kind], leaf);
		sums.nr_mappings += leaf->region != last;
		last = leaf->region;
		if (is_own_sbrk(s, leaf))
			leaf_sum_add(&sums.own_sbrk, leaf);
	}
	for (int kind = 0; kind < NR_LEAF_KINDS; kind++) {
		leaf_sum_add_sum(
			&sums.group[leaf_kind_group((enum leaf_kind)kind)], &sums.kind[kind]);
		leaf_sum_add_sum(&sums.all, &sums.kind[kind]);
	}
	*ret = sums;
}

uint64_t
space_arena_resident(const struct space *s, int32_t nr)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *leaf = &s->leaves.v[i];

		if (nr < 0 ? leaf->arena >= 0 : leaf->arena == nr)
			bytes += leaf->rss_bytes;
	}
	return bytes;
}

uint64_t
space_arena_swapped(const struct space *s, int32_t nr)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->leaves.nr; i++)
		if (s->leaves.v[i].arena == nr)
			bytes += s->leaves.v[i].swap_bytes;
	return bytes;
}

uint64_t
space_nr_mappings(const struct space *s)
{
	uint64_t nr = s->process->maps.nr;

	/*
	 * The vsyscall page has no vm_area_struct of the process:
	 * arch/x86/entry/vsyscall/vsyscall_64.c, gate_vma.
	 */
	for (size_t i = 0; i < s->process->maps.nr; i++)
		nr -= region_is_vsyscall(&s->process->maps.region[i]);
	return nr;
}

uint64_t
space_foreign_sbrk(const struct space *s)
{
	uint64_t bytes = 0, since_heap = 0;
	bool has_heap = false;

	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *leaf = &s->leaves.v[i];

		if (leaf->kind == LEAF_MAIN_HEAP) {
			bytes += has_heap ? since_heap : 0;
			since_heap = 0;
			has_heap = true;
		} else if (is_own_sbrk(s, leaf)) {
			since_heap += leaf->end.v - leaf->start.v;
		}
	}
	return bytes;
}
