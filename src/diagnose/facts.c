/* Derive from the data the numbers by which causes are judged. */
#include <config.h>

#include "diagnose/facts.h"

#include "account/sums.h"
#include "base/cleanup.h"
#include "diagnose/causes-others-priv.h"
#include "diagnose/verdict-priv.h"
#include "glibc/layout.h"
#include "glibc/params.h"
#include "heap/heap.h"
#include "heap/malloc-info.h"
#include "heap/walk.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "os/cgroup.h"
#include "os/children.h"
#include "os/held.h"
#include "os/machine.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Causes that keep fewer bytes from being returned are not reported. */
#define PINNED_MIN (UINT64_C(16) << 20)

/* The links at the start of a free chunk, which are never released. */
#define LINKS_BYTES 48

static uint64_t
facts_minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- the address space ---- */

/* True for pages of files that are normally unchanged. */
static bool
facts_is_code(enum leaf_kind kind)
{
	return kind == LEAF_EXE_TEXT || kind == LEAF_EXE_RODATA || kind == LEAF_SO_TEXT ||
		kind == LEAF_SO_RODATA;
}

static uint64_t
facts_rss_of(const struct space_sums *sums, enum leaf_kind kind)
{
	return sums->kind[kind].rss_bytes;
}

static void
add_kinds(struct verdict_facts *f, const struct space_sums *sums)
{
	f->java_bytes = facts_rss_of(sums, LEAF_JAVA_HEAP);
	f->java_huge_bytes = sums->kind[LEAF_JAVA_HEAP].huge_bytes;
	f->go_bytes = facts_rss_of(sums, LEAF_GO_HEAP);
	f->static_bytes = facts_rss_of(sums, LEAF_EXE_DATA) + facts_rss_of(sums, LEAF_EXE_BSS) +
		facts_rss_of(sums, LEAF_SO_DATA) + facts_rss_of(sums, LEAF_SO_BSS);
	f->file_bytes = sums->group[GROUP_FILE].rss_bytes;
	f->sysv_bytes = facts_rss_of(sums, LEAF_SHM_SYSV);
	f->memfd_bytes = facts_rss_of(sums, LEAF_SHM_MEMFD);
	f->java_shm_bytes = facts_rss_of(sums, LEAF_SHM_JAVA);
	f->other_shm_bytes = facts_rss_of(sums, LEAF_SHM_POSIX) +
		facts_rss_of(sums, LEAF_SHM_ANON) + facts_rss_of(sums, LEAF_SHM_TMPFS);
	f->nr_thread_stacks = sums->kind[LEAF_THREAD_STACK].nr;
	f->nr_ended_stacks = sums->kind[LEAF_CACHED_STACK].nr;
	f->ended_virt_bytes = sums->kind[LEAF_CACHED_STACK].size_bytes;
	f->ended_rss_bytes = facts_rss_of(sums, LEAF_CACHED_STACK);
	f->mmap_bytes = facts_rss_of(sums, LEAF_CHUNK);
	for (int kind = 0; kind < NR_LEAF_KINDS; kind++)
		if (leaf_kind_group((enum leaf_kind)kind) != GROUP_FILE &&
			!facts_is_code((enum leaf_kind)kind))
			f->huge_bytes += sums->kind[kind].huge_bytes;
}

static void
add_groups(struct verdict_facts *f, const struct space_sums *sums)
{
	const struct leaf_sum *reserve = &sums->group[GROUP_RESERVE];
	const struct leaf_sum *arenas = &sums->kind[LEAF_ARENA_RESERVE];
	const struct leaf_sum *stacks = &sums->group[GROUP_STACK];
	const struct leaf_sum *heap = &sums->group[GROUP_HEAP];

	/* PROT_NONE forbids access; the range may still have memory. */
	f->reserve_bytes = facts_minus(reserve->size_bytes, reserve->rss_bytes) +
		facts_minus(arenas->size_bytes, arenas->rss_bytes);
	f->forbidden_bytes = reserve->rss_bytes;
	f->other_anon_rss_bytes = reserve->rss_bytes + sums->group[GROUP_ANON].rss_bytes;
	f->stack_virt_bytes = facts_minus(stacks->size_bytes, f->ended_virt_bytes);
	f->stack_rss_bytes = facts_minus(stacks->rss_bytes, f->ended_rss_bytes);
	f->heap_huge_bytes = heap->huge_bytes;
	f->arena_resident_bytes = facts_minus(heap->rss_bytes, facts_rss_of(sums, LEAF_CHUNK));
}

/*
 * Add blocks without a known place. malloc counts the bytes in individual mappings.  Those not
 * recognised among the mappings, or inside one, belong to the anonymous memory without an owner.
 */
static void
add_unlocated(struct verdict_facts *f, const struct space_sums *sums, const struct malloc_layout *l)
{
	const struct leaf_sum *chunks = &sums->kind[LEAF_CHUNK];
	uint64_t missing;

	if (malloc_is_all_mmapped(l, &l->params, chunks->nr_things, chunks->size_bytes))
		return;
	missing =
		least(facts_minus(l->params.mmapped, chunks->size_bytes), f->other_anon_rss_bytes);
	f->other_anon_rss_bytes -= missing;
	f->mmap_bytes += missing;
}

/*
 * Return the resident bytes of an arena in pieces: memory next to a piece may have been counted as
 * part of it.
 */
static uint64_t
pieces_resident(const struct heap_arena *a)
{
	return least(a->resident_bytes, a->system_bytes);
}

/* Return the resident bytes of the main arena, as far as its pieces were found. */
static uint64_t
main_resident(const struct space_sums *sums)
{
	return facts_rss_of(sums, LEAF_MAIN_HEAP) + facts_rss_of(sums, LEAF_MAIN_PIECE);
}

/*
 * A piece of the main arena from mmap() cannot always be distinguished from other memory
 * (glibc/pieces.c).
 */
static void
add_pieces(struct verdict_facts *f, const struct space_sums *sums, const struct heap_arena *a)
{
	uint64_t missing = least(
		facts_minus(pieces_resident(a), main_resident(sums)), f->other_anon_rss_bytes);

	f->other_anon_rss_bytes -= missing;
	f->arena_resident_bytes += missing;
}

/*
 * Memory of brk outside malloc's heaps comes from sbrk() calls in the program.  So do bytes of the
 * main arena there that exceed malloc's count; a main arena in pieces has more than brk.
 */
static void
add_own_sbrk(struct verdict_facts *f, const struct space_sums *sums, const struct heap_arena *main)
{
	uint64_t surplus;

	f->sbrk_bytes = sums->own_sbrk.rss_bytes;
	if (f->is_main_in_pieces || !main->system_bytes)
		return;
	surplus = facts_minus(main_resident(sums), main->system_bytes - main->foreign.bytes);
	f->sbrk_bytes += surplus;
	f->arena_resident_bytes = facts_minus(f->arena_resident_bytes, surplus);
	f->other_anon_rss_bytes += surplus;
}

/*
 * The kernel counts a changed page of a private file mapping as anonymous, along with all other
 * anonymous memory, which is known.
 */
static void
add_changed_files(struct verdict_facts *f, const struct space_sums *sums, uint64_t rss_anon_bytes)
{
	uint64_t rest = rss_anon_bytes;

	for (int kind = 0; kind < NR_LEAF_KINDS; kind++) {
		enum group group = leaf_kind_group((enum leaf_kind)kind);

		if (group != GROUP_SHM && group != GROUP_FILE &&
			!facts_is_code((enum leaf_kind)kind))
			rest = facts_minus(rest, sums->kind[kind].rss_bytes);
	}
	f->changed_file_bytes = least(rest,
		facts_rss_of(sums, LEAF_FILE_PRIVATE) + facts_rss_of(sums, LEAF_FILE_DELETED));
}

static void
facts_add_space(struct verdict_facts *f, const struct space *s, const struct heap *h)
{
	struct space_sums sums;

	space_sums(&sums, s, NULL);
	f->virt_bytes = s->after.vm_size_bytes;
	f->rss_bytes = s->after.vm_rss_bytes;
	f->swap_bytes = s->after.vm_swap_bytes;
	f->locked_bytes = s->after.vm_locked_bytes;
	f->hugetlb_bytes = s->after.hugetlb_bytes;
	f->page_table_bytes = s->after.vm_pte_bytes;
	f->rss_anon_bytes = s->after.rss_anon_bytes;
	f->rss_shmem_bytes = s->after.rss_shmem_bytes;
	f->nr_mappings = space_nr_mappings(s);
	f->unaccounted_bytes = facts_minus(f->rss_bytes, sums.all.rss_bytes);
	add_kinds(f, &sums);
	add_groups(f, &sums);
	add_unlocated(f, &sums, &h->layout);
	if (f->is_main_in_pieces)
		add_pieces(f, &sums, &h->arena.v[0]);
	if (h->arena.nr)
		add_own_sbrk(f, &sums, &h->arena.v[0]);
	add_changed_files(f, &sums, s->after.rss_anon_bytes);
}

/* ---- the heaps ---- */

/* Find the chunk that ends a heap and has much free memory directly below it. */
static void
add_pins(struct verdict_facts *f, const struct heap_arena *a, uint64_t *largest)
{
	for (size_t i = 0; i < a->segment.nr; i++) {
		const struct heap_segment *seg = &a->segment.v[i];

		if (!seg->last_in_use.bytes || seg->below_bytes < PINNED_MIN)
			continue;
		f->pinned_bytes += seg->below_bytes;
		if (seg->below_bytes <= *largest)
			continue;
		*largest = seg->below_bytes;
		f->pin.addr = seg->last_in_use.addr;
		f->pin.bytes = seg->last_in_use.bytes;
	}
}

/*
 * Bound the share of large chunks in the trimmable bytes, whose chunk sizes are unknown: it is at
 * most all of them.
 */
static uint64_t
facts_large_bytes(const struct heap_arena *a)
{
	uint64_t bytes = a->is_main ? a->top.bytes : 0;

	for (unsigned int c = heap_size_class(MALLOC_DEFAULT_THRESHOLD); c < HEAP_NR_SIZES; c++)
		bytes += a->free_size[c].bytes;
	return least(bytes, a->trim.rss_bytes);
}

static bool
is_orphan(const struct heap_arena *a)
{
	return !a->is_main && a->attached == 0;
}

static void
facts_add_arena(struct verdict_facts *f, const struct heap_arena *a, uint64_t *largest_pin)
{
	f->nr_orphans += is_orphan(a);
	f->is_main_in_pieces |= a->is_main && !a->is_contiguous;
	*(a->is_main ? &f->main_top_bytes : &f->top_bytes) += a->page_bytes[HEAP_PAGE_TOP];
	if (a->certainty == HEAP_APPROXIMATE || !a->has_pages) {
		f->is_bound = true;
		f->unread_swap_bytes += a->swapped_bytes;
		return;
	}
	f->free_bytes += a->fast.bytes + a->binned.bytes + a->top.bytes;
	/* Add an arena whose pages are all known. */
	f->trimmable_bytes += a->trim.rss_bytes;
	f->mlocked_bytes += a->trim.mlocked_bytes + a->page_bytes[HEAP_PAGE_BEHIND];
	/* Locked bytes still fill whole pages. */
	f->stranded_bytes += facts_minus(a->stranded_bytes, a->trim.mlocked_bytes);
	f->mixed_bytes += facts_minus(a->page_bytes[HEAP_PAGE_MIXED], a->trim.mlocked_bytes);
	f->large_bytes += facts_large_bytes(a);
	f->main_bytes += a->is_main ? a->trim.rss_bytes : 0;
	f->orphan_bytes += is_orphan(a) ? a->trim.rss_bytes : 0;
	f->shared_bytes += facts_minus(a->trim.rss_bytes, a->trim.uss_bytes);
	f->returned_bytes += a->page_bytes[HEAP_PAGE_RETURNED];
	f->free_swap_bytes += a->trim.swap_bytes;
	add_pins(f, a, largest_pin);
}

static void
facts_add_heap(struct verdict_facts *f, const struct heap *h)
{
	const struct malloc_params *p = &h->layout.params;
	uint64_t largest_pin = 0;

	f->has_malloc = h->arena.nr;
	f->nr_arenas = h->arena.nr;
	f->nr_mmaps = p->nr_mmaps;
	f->nr_mmaps_max = p->nr_mmaps_max;
	f->mmap_threshold = p->mmap_threshold;
	f->trim_threshold = p->trim_threshold;
	f->no_dyn_threshold = p->no_dyn_threshold;
	f->hp_page = p->hp_page;
	f->has_shared = h->has_uss;
	for (size_t i = 0; i < h->arena.nr; i++)
		facts_add_arena(f, &h->arena.v[i], &largest_pin);
	for (size_t i = 0; i < h->thread.nr; i++) {
		f->cached_bytes += h->thread.v[i].cached.bytes;
		f->nr_caches += h->thread.v[i].cached.bytes != 0;
	}
	if (!f->has_shared)
		f->shared_bytes = 0;
}

/* ---- files in memory without a mapping ---- */

/* Further processes of a cgroup are ignored. */
#define MOST_PROCESSES 256

static bool
facts_is_mapped(const struct regions *maps, const struct os_held_file *file)
{
	for (size_t i = 0; i < maps->nr; i++)
		if (maps->region[i].dev == file->dev && maps->region[i].inode == file->inode)
			return true;
	return false;
}

/* Return the bytes of files that T holds and that MAPS, the target's mappings, does not contain. */
static uint64_t
add_held(struct verdict_held *most, const struct target *t, const struct regions *maps)
{
	auto_free struct os_held_file *file = NULL;
	uint64_t bytes = 0;
	struct err e;
	size_t nr;

	if (os_held_files(t, &file, &nr, &e) < 0)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		if (facts_is_mapped(maps, &file[i]))
			continue;
		bytes += file[i].bytes;
		if (file[i].bytes <= most->bytes)
			continue;
		*most = (struct verdict_held){
			.bytes = file[i].bytes, .pid = t->pid, .fd = file[i].fd
		};
		snprintf(most->name, sizeof most->name, "%.*s", (int)sizeof most->name - 1,
			file[i].name);
		snprintf(
			most->comm, sizeof most->comm, "%.*s", (int)sizeof most->comm - 1, t->comm);
	}
	return bytes;
}

/* Add the cgroup; its other processes are examined only if it is nearly full. */
static void
add_cgroup(struct verdict_facts *f, const struct target *t, const struct regions *maps)
{
	struct os_cgroup_parts parts;
	pid_t pids[MOST_PROCESSES];
	size_t nr;

	os_cgroup_memory(t, &f->cgroup_limit_bytes, &f->cgroup_used_bytes);
	f->held_bytes = add_held(&f->held, t, maps);
	f->cgroup_held = f->held;
	if (!verdict_is_cgroup_full(f) || !os_cgroup_parts(t, &parts))
		return;
	f->has_cgroup_parts = true;
	f->cgroup_shmem_bytes = parts.shmem_bytes;
	f->cgroup_kernel_bytes = parts.kernel_bytes;
	nr = os_cgroup_processes(t, pids, MOST_PROCESSES);
	for (size_t i = 0; i < nr; i++) {
		auto_target struct target other = TARGET_NONE;
		struct err e;

		if (pids[i] != t->pid && target_open(&other, pids[i], &e) == 0)
			add_held(&f->cgroup_held, &other, maps);
	}
}

/* ---- all facts ---- */

static enum verdict_thp
thp_setting(void)
{
	char word[32];

	if (os_thp_setting(word, sizeof word) < 0)
		return VERDICT_THP_UNKNOWN;
	return !strcmp(word, "always")	   ? VERDICT_THP_ALWAYS
		: !strcmp(word, "madvise") ? VERDICT_THP_MADVISE
		: !strcmp(word, "never")   ? VERDICT_THP_NEVER
					   : VERDICT_THP_UNKNOWN;
}

void
verdict_facts_gather(struct verdict_facts *f, const struct target *t, const struct space *space,
	const struct heap *heap)
{
	static const struct regions none = { 0 };
	struct err e;

	*f = (struct verdict_facts){ .pid = t->pid, .is_core = t->core, .nr_cpus = os_nr_cpus() };
	facts_add_heap(f, heap);
	if (space) {
		facts_add_space(f, space, heap);
	} else {
		for (size_t i = 0; i < heap->arena.nr; i++)
			f->arena_resident_bytes += heap->arena.v[i].resident_bytes;
		f->rss_bytes = f->arena_resident_bytes;
	}
	if (t->core)
		return;
	/* An unreadable environment prevents only the remarks on settings. */
	os_proc_read(t, 0, "environ", &f->environment, &e);
	add_cgroup(f, t, space ? &space->process->maps : &none);
	f->machine_bytes = os_memory_bytes();
	f->nr_mappings_max = os_max_mappings();
	f->nr_children = os_descendants(t, &f->children_rss_bytes, &f->largest_child);
	f->thp = thp_setting();
}

/*
 * Sum free chunks without a whole page inside, chunks large enough for a separate mapping, and for
 * the others a lower bound of the whole pages after their links.
 */
static void
sum_sizes(const struct malloc_info_heap *account, uint64_t *small, uint64_t *large, uint64_t *whole)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t lost = LINKS_BYTES + 2 * (page_bytes - 1);

	for (size_t i = 0; i < account->size.nr; i++) {
		const struct malloc_info_size *s = &account->size.v[i];

		if (s->to_bytes < page_bytes + LINKS_BYTES)
			*small += s->total_bytes;
		if (s->from_bytes >= MALLOC_DEFAULT_THRESHOLD)
			*large += s->total_bytes;
		if (s->from_bytes > lost)
			*whole += facts_minus(s->total_bytes, s->count * lost);
	}
}

/* Limit BYTES, an arena's counter in the process that may be damaged, to a possible value. */
static uint64_t
possible(const struct verdict_facts *f, uint64_t bytes)
{
	return f->virt_bytes ? least(bytes, f->virt_bytes) : bytes;
}

/*
 * Return the top chunk of ARENA, whose account has SYSTEM_BYTES; a larger top is damaged or torn.
 */
static uint64_t
facts_top_bytes(const struct heap_arena *arena, uint64_t system_bytes)
{
	return arena->top.bytes <= system_bytes ? arena->top.bytes : 0;
}

/* Include the pages of a main arena in pieces, which has more than the mappings show directly. */
static struct verdict_pages
pages_with_pieces(const struct heap_arena *arena, struct verdict_pages pages)
{
	if (arena && pieces_resident(arena) > pages.resident_bytes)
		pages.resident_bytes = pieces_resident(arena);
	if (arena && arena->swapped_bytes > pages.swapped_bytes)
		pages.swapped_bytes = arena->swapped_bytes;
	return pages;
}

void
verdict_facts_add_account(struct verdict_facts *f, const struct malloc_info_heap *account,
	const struct heap_arena *arena, struct verdict_pages pages)
{
	uint64_t system = possible(f, account->system_bytes);
	uint64_t free = least(account->fast_bytes + account->rest_bytes, system);
	uint64_t small = 0, large = 0, whole = 0, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t resident, absent, gone, trimmable;

	pages = pages_with_pieces(arena, pages);
	resident = pages.resident_bytes;
	sum_sizes(account, &small, &large, &whole);
	if (arena && arena->is_main) {
		uint64_t top = facts_top_bytes(arena, system);

		large += top;
		whole += arena->is_contiguous ? facts_minus(top, 2 * page_bytes) : 0;
	}
	/* All bytes that are not resident may be on these pages, and so may all released bytes. */
	absent = facts_minus(system, resident);
	gone = facts_minus(absent, pages.swapped_bytes);
	trimmable = least(facts_minus(whole, absent), resident);
	f->is_bound = true;
	f->free_bytes += free;
	f->returned_bytes += facts_minus(free, resident + pages.swapped_bytes);
	f->free_swap_bytes += least(facts_minus(whole, gone + resident), pages.swapped_bytes);
	f->unread_swap_bytes = facts_minus(f->unread_swap_bytes, arena ? arena->swapped_bytes : 0);
	f->stranded_bytes += least(facts_minus(small, absent), resident);
	f->mixed_bytes += small > absent ? facts_minus(resident, trimmable) : 0;
	f->trimmable_bytes += trimmable;
	f->large_bytes += least(large, trimmable);
	f->main_bytes += arena && arena->is_main ? trimmable : 0;
	f->orphan_bytes += arena && is_orphan(arena) ? trimmable : 0;
}

/* Add upper bounds: chunks of a page or more may cover whole pages, and all may be resident. */
static void
add_saved_account(struct verdict_facts *f, const struct malloc_info_heap *h, bool has_top_in_rest,
	bool is_main)
{
	const uint64_t top = malloc_info_top(h, has_top_in_rest);
	const uint64_t room = facts_minus(h->system_bytes, top);
	uint64_t small = 0, large = 0, whole = 0, binned = 0;

	sum_sizes(h, &small, &large, &whole);
	for (size_t i = 0; i < h->size.nr; i++)
		binned = least(binned + least(h->size.v[i].total_bytes, room), room);
	small = least(small, binned);
	f->free_bytes += binned + top;
	f->stranded_bytes += small;
	f->trimmable_bytes += binned - small;
	if (is_main) {
		f->trimmable_bytes += top;
		f->main_bytes = f->trimmable_bytes;
	} else { /* malloc_trim() does not release it */
		f->top_bytes += top;
	}
}

void
verdict_facts_of_account(struct verdict_facts *f, const struct malloc_info *mi)
{
	*f = (struct verdict_facts){
		.is_account = true,
		.is_bound = true,
		.has_malloc = true,
		.nr_arenas = mi->heap.nr,
		.arena_resident_bytes = mi->system_bytes,
		.rss_bytes = mi->system_bytes + mi->mmap_bytes,
		.mmap_bytes = mi->mmap_bytes,
		.nr_mmaps = mi->mmap_count,
	};
	for (size_t i = 0; i < mi->heap.nr; i++)
		add_saved_account(f, &mi->heap.v[i], mi->has_top_in_rest, i == 0);
}

void
verdict_facts_release(struct verdict_facts *f)
{
	text_release(&f->environment);
}
