#include <config.h>

#include "cmd/info.h"

#include <errno.h>

#include "base/array.h"

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

static void
add_leaf(struct verdict_facts *f, const struct leaf *leaf)
{
	enum group group = leaf_kind_group((enum leaf_kind)leaf->kind);
	uint64_t size = leaf->end.v - leaf->start.v;

	if (group == GROUP_RESERVE || leaf->kind == LEAF_ARENA_RESERVE)
		f->reserve_bytes += size;
	if (group == GROUP_STACK) {
		f->stack_virt_bytes += size;
		f->stack_rss_bytes += leaf->rss_bytes;
		f->nr_thread_stacks += leaf->kind == LEAF_THREAD_STACK;
	}
	f->huge_bytes += leaf->huge_bytes;
	if (group == GROUP_HEAP)
		f->heap_huge_bytes += leaf->huge_bytes;
}

void
info_judge(struct info *info)
{
	const struct space *s = &info->space;
	const int64_t *bytes = info->account.bytes;
	int64_t unaccounted = bytes[ACCOUNT_UNACCOUNTED];
	auto_text struct text environment = { 0 };
	struct verdict_facts f = {
		.pid = info->mt.target.pid,
		.nr_cpus = os_nr_cpus(),
		.virt_bytes = s->after.vm_size_bytes,
		.rss_bytes = s->after.vm_rss_bytes,
		.has_malloc = true,
		.nr_arenas = info->mi.heap.nr,
		.arena_resident_bytes = (uint64_t)(bytes[ACCOUNT_IN_USE] + bytes[ACCOUNT_FREE]),
		.free_resident_bytes = (uint64_t)bytes[ACCOUNT_FREE],
		.mmap_bytes = (uint64_t)bytes[ACCOUNT_MMAPPED],
		.other_anon_rss_bytes = (uint64_t)bytes[ACCOUNT_OTHER_ANON],
		.unaccounted_bytes = unaccounted > 0 ? (uint64_t)unaccounted : 0,
	};
	struct err e;

	for (size_t i = 0; i < s->leaves.nr; i++)
		add_leaf(&f, &s->leaves.v[i]);
	/* Settings can be told of all the same if it cannot be read. */
	if (os_proc_read(&info->mt.target, 0, "environ", &environment, &e) == 0) {
		f.environment = environment.v;
		f.environment_len = environment.len;
	}
	os_cgroup_memory(&info->mt.target, &f.cgroup_limit_bytes, &f.cgroup_used_bytes);
	info->nr_verdicts = verdict_judge(&f, info->verdict);
}
