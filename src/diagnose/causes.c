/*
 * The causes, in the order of doc/verdicts.md: one function each, which looks for its cause in the
 * facts and describes it.
 */
#include <config.h>

#include "diagnose/causes.h"

#include "base/text.h"
#include "diagnose/causes-others.h"
#include "diagnose/environment.h"
#include "diagnose/verdict-priv.h"
#include "diagnose/verdict-words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Return the words before a number that is only a bound unless the heap itself was read. */
static const char *
at_least(const struct verdict_facts *f)
{
	return f->is_account ? "Up to " : f->is_bound ? "At least " : "";
}

/* Return the words before a number that is exact if the pages are known, else an upper bound. */
static const char *
up_to(const struct verdict_facts *f)
{
	return f->is_account ? "Up to " : "";
}

/* ---- in use ---- */

uint64_t
verdict_large_bytes(const struct verdict_facts *f)
{
	uint64_t room = f->machine_bytes;

	if (f->cgroup_limit_bytes && (!room || f->cgroup_limit_bytes < room))
		room = f->cgroup_limit_bytes;
	return room && room / 4 < 256 * MIB ? room / 4 : 256 * MIB;
}

/*
 * Advise how to distinguish data from a leak: they differ in their growth, and in the callers that
 * allocate.
 */
static void
advise_growth(const struct verdict_facts *f, struct verdict *v)
{
	verdict_advise(v, "see if it grows: save --json now and later, then memdiag diff");
	verdict_advise_run(f, v, "profile --seconds 60");
}

/*
 * A stop takes about a second for a GiB (scripts/bench/census); without --max-stop 0.2 s are
 * allowed.
 */
#define STOP_MS_PER_GIB 1000
#define STOP_DEFAULT_MS 200

/* Advise how to see what holds BYTES of blocks, which needs a stop. */
static void
advise_holders(const struct verdict_facts *f, struct verdict *v, uint64_t bytes)
{
	const uint64_t stop_ms = (bytes >> 20) * STOP_MS_PER_GIB >> 10;
	char command[64] = "retained";

	if (stop_ms > STOP_DEFAULT_MS)
		snprintf(command, sizeof command, "retained --max-stop %" PRIu64 "s",
			stop_ms / 1000 + 1);
	verdict_advise_run(f, v, command);
}

static bool
judge_live_large(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t free = f->trimmable_bytes + f->mlocked_bytes + f->top_bytes + f->main_top_bytes +
		f->stranded_bytes + f->cached_bytes;
	uint64_t arenas = f->arena_resident_bytes > free ? f->arena_resident_bytes - free : 0;
	uint64_t bytes = arenas + f->mmap_bytes;

	if (!f->has_malloc || !verdict_weighs(bytes, verdict_large_bytes(f), 0.7, f->rss_bytes))
		return false;
	verdict_say(v, "info", bytes,
		"%s%s, %s, is memory that the program allocated and has not freed: data "
		"it needs, or a leak. Trimming does not help.",
		f->is_bound ? "Up to " : "", BYTES(bytes), SHARE(f, bytes));
	advise_holders(f, v, bytes);
	advise_growth(f, v);
	return true;
}

/* ---- free, and not resident ---- */

static bool
judge_returned(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->has_malloc || !verdict_weighs(f->returned_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->returned_bytes,
		"%s%s that malloc counts as free takes no memory: it was given back to the "
		"kernel, or never used. There is nothing to trim in it. malloc's counter of free "
		"bytes is not memory.",
		at_least(f), BYTES(f->returned_bytes));
	v->rank = VERDICT_OF_ADDRESSES;
	return true;
}

/* ---- free and resident on whole pages: why it is retained ---- */

static bool
is_retained(const struct verdict_facts *f)
{
	return f->has_malloc && verdict_weighs(f->trimmable_bytes, 16 * MIB, 0.1, f->rss_bytes);
}

/* True if BYTES are most of the retained memory: then their cause is the one to name. */
static bool
is_most_of_retained(const struct verdict_facts *f, uint64_t bytes)
{
	return is_retained(f) && bytes >= f->trimmable_bytes / 2;
}

static bool
judge_retained(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->trimmable_bytes;

	if (!is_retained(f))
		return false;
	verdict_say(v, "warning", bytes,
		"%s%s, %s, is free inside malloc: the program gave it back, malloc kept "
		"it. malloc_trim returns %s.",
		at_least(f), BYTES(bytes), SHARE(f, bytes),
		f->is_bound ? "what lies in whole pages" : "all of that");
	verdict_advise_run(f, v, "trim -n");
	verdict_advise_run(f, v, "trim");
	return true;
}

/*
 * Freeing a block with a separate mapping raises the mmap threshold to its size, and the trim
 * threshold to twice that (malloc/malloc.c, __libc_free(), since 2.8).  Blocks up to that size then
 * leave holes in the heaps.
 */
static bool
judge_threshold_grown(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_most_of_retained(f, f->large_bytes) || f->no_dyn_threshold ||
		f->mmap_threshold <= MALLOC_DEFAULT_THRESHOLD)
		return false;
	verdict_say(v, "warning", f->trimmable_bytes,
		"%s%s, %s, is free inside malloc, most of it in large pieces: freeing one great "
		"block has raised the threshold from which blocks have a mapping of their own, "
		"and go back when freed, from 128 KiB to %s.",
		at_least(f), BYTES(f->trimmable_bytes), SHARE(f, f->trimmable_bytes),
		BYTES(f->mmap_threshold));
	verdict_advise_run(f, v, "trim");
	verdict_advise(v, "start it with MALLOC_MMAP_THRESHOLD_=131072, which keeps it there");
	return true;
}

/*
 * The limit is eight arenas per CPU (2.10 to 2.43).  The cause applies if more than half of them
 * exist, which share no memory.
 */
static bool
judge_arena_sprawl(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->trimmable_bytes;
	char cpus[32] = "";

	if (!is_retained(f) || f->nr_arenas <= 8 || f->nr_arenas <= 4 * (size_t)f->nr_cpus ||
		!verdict_weighs(bytes, 64 * MIB, 0.25, f->arena_resident_bytes) ||
		2 * f->main_bytes > bytes)
		return false;
	if (f->nr_cpus)
		snprintf(cpus, sizeof cpus, " on %d CPUs", f->nr_cpus);
	verdict_say(v, "warning", bytes,
		"%zu arenas%s each keep free memory of their own: %s%s in all, %s. "
		"What is free in one arena does not serve threads of another.",
		f->nr_arenas, cpus,
		f->is_account	      ? "up to "
			: f->is_bound ? "at least "
				      : "",
		BYTES(bytes), SHARE(f, bytes));
	verdict_advise_run(f, v, "trim");
	verdict_advise(v, "start it with MALLOC_ARENA_MAX=4");
	return true;
}

static bool
judge_orphan_arenas(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_most_of_retained(f, f->orphan_bytes))
		return false;
	verdict_say(v, "warning", f->orphan_bytes,
		"%s%s, %s, is free in %zu arenas that no thread uses: their threads have "
		"ended, and what is free there waits for new ones.",
		at_least(f), BYTES(f->orphan_bytes), SHARE(f, f->orphan_bytes), f->nr_orphans);
	verdict_advise_run(f, v, "trim");
	verdict_advise(v, "keep threads in a pool, or start it with MALLOC_ARENA_MAX=4");
	return true;
}

static bool
judge_pinned(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_most_of_retained(f, f->pinned_bytes))
		return false;
	verdict_say(v, "warning", f->pinned_bytes,
		"%s%s is free below a chunk that ends its heap and keeps it from shrinking: %s "
		"at " PRIraddr ", in use.",
		at_least(f), BYTES(f->pinned_bytes), BYTES(f->pin.bytes), f->pin.addr.v);
	verdict_advise_run(f, v, "trim");
	verdict_advise(
		v, "allocate what lives long before what does not; memdiag heap --pins shows it");
	return true;
}

static bool
judge_fork_shared(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->has_shared || !is_most_of_retained(f, f->shared_bytes))
		return false;
	verdict_say(v, "info", f->shared_bytes,
		"%s of the %s that malloc_trim would take off RSS is shared with other processes "
		"since a fork(), or merged by KSM: the machine has no more memory free until they "
		"trim as well, or end.",
		BYTES(f->shared_bytes), BYTES(f->trimmable_bytes));
	verdict_advise(v, "trim before fork(), or trim each process that shares it");
	return true;
}

/*
 * Return the bytes that are free and locked, if only sums are known: locked memory is resident, so
 * locked bytes that exceed all non-free bytes must be free.
 */
static uint64_t
locked_by_sums(const struct verdict_facts *f)
{
	uint64_t both = f->locked_bytes + f->trimmable_bytes;
	uint64_t bytes = both > f->rss_bytes ? both - f->rss_bytes : 0;

	return bytes < f->trimmable_bytes ? bytes : f->trimmable_bytes;
}

/* madvise() fails on locked memory, and malloc_trim() does not report it. */
static bool
judge_locked(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->mlocked_bytes ? f->mlocked_bytes : locked_by_sums(f);

	if (!f->has_malloc || !verdict_weighs(bytes, 16 * MIB, 0.1, f->rss_bytes) ||
		bytes < f->trimmable_bytes / 2)
		return false;
	verdict_say(v, "warning", bytes,
		"%s%s, %s, is free inside malloc and locked into memory (mlock, mlockall): "
		"malloc_trim cannot give back what is locked.",
		at_least(f), BYTES(bytes), SHARE(f, bytes));
	verdict_advise(v, "lock less than all of it: mlock() what must never wait, not mlockall()");
	return true;
}

static bool
judge_hugetlb(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->hp_page || !verdict_weighs(f->free_bytes, 16 * MIB, 0.1, f->hugetlb_bytes) ||
		!verdict_weighs(f->hugetlb_bytes, 16 * MIB, 0, 0))
		return false;
	verdict_say(v, "info", f->free_bytes,
		"malloc's heaps are made of pages of %s from the hugetlb pool, and %s in them is "
		"free: malloc_trim gives back only what is a whole page of that size, which is "
		"rare.",
		BYTES(f->hp_page), BYTES(f->free_bytes));
	verdict_advise(v, "start it without glibc.malloc.hugetlb=2 in GLIBC_TUNABLES");
	return true;
}

static bool
judge_main_in_pieces(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->is_main_in_pieces || !is_most_of_retained(f, f->main_bytes))
		return false;
	verdict_say(v, "warning", f->trimmable_bytes,
		"%s%s, %s, is free inside malloc, and the main arena lies in pieces: "
		"something is mapped where its heap would have grown. It never shrinks by itself "
		"now.",
		at_least(f), BYTES(f->trimmable_bytes), SHARE(f, f->trimmable_bytes));
	verdict_advise_run(f, v, "trim");
	verdict_advise(v,
		"map nothing there at fixed addresses; memdiag maps shows what follows the "
		"heap");
	return true;
}

/* ---- free and resident, and malloc_trim() does not help ---- */

/*
 * malloc_trim() never trims the top of a thread's arena; free() does only if it exceeds the trim
 * threshold (malloc/arena.c, heap_trim(), since 2.22).
 */
static bool
judge_tops_stuck(const struct verdict_facts *f, struct verdict *v)
{
	char threshold[64] = "";

	if (!f->has_malloc || !verdict_weighs(f->top_bytes, 16 * MIB, 0.05, f->rss_bytes))
		return false;
	if (f->trim_threshold)
		snprintf(threshold, sizeof threshold, ", and free() only above %s",
			BYTES(f->trim_threshold));
	verdict_say(v, "warning", f->top_bytes,
		"%s%s, %s, is free at the ends of thread arenas, where malloc_trim gives nothing "
		"back%s.",
		up_to(f), BYTES(f->top_bytes), SHARE(f, f->top_bytes), threshold);
	if (f->has_trim_of_tops)
		verdict_advise_run(f, v, "trim --tops");
	verdict_advise(v, "start it with MALLOC_TRIM_THRESHOLD_=131072");
	return true;
}

static bool
is_stranded(const struct verdict_facts *f)
{
	return f->has_malloc && verdict_weighs(f->stranded_bytes, 16 * MIB, 0.1, f->rss_bytes) &&
		f->stranded_bytes >= f->trimmable_bytes;
}

/* Return the share in use of pages with stranded memory. */
static double
occupancy(const struct verdict_facts *f)
{
	return f->mixed_bytes > f->stranded_bytes
		? 1 - (double)f->stranded_bytes / (double)f->mixed_bytes
		: 0;
}

static bool
judge_fragmented(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_stranded(f))
		return false;
	verdict_say(v, "warning", f->stranded_bytes,
		"%s%s, %s, is free in pieces smaller than a page, between blocks in use. "
		"Trimming does not help; malloc uses it for new blocks of those sizes only.",
		at_least(f), BYTES(f->stranded_bytes), SHARE(f, f->stranded_bytes));
	verdict_advise_run(f, v, "heap --histogram");
	verdict_advise(v, "an allocator that keeps sizes apart (jemalloc, tcmalloc), or pools");
	return true;
}

static bool
judge_sparse(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_stranded(f) || f->is_account || occupancy(f) >= 0.25)
		return false;
	verdict_say(v, "warning", f->stranded_bytes,
		"%s%s, %s, is free on pages that a few small blocks keep: they fill %d %% of "
		"them. Trimming does not help as long as these live.",
		at_least(f), BYTES(f->stranded_bytes), SHARE(f, f->stranded_bytes),
		(int)(occupancy(f) * 100 + 0.5));
	verdict_advise_run(f, v, "heap --histogram");
	verdict_advise(v, "allocate what lives long apart from what does not");
	return true;
}

static bool
judge_cache_retained(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->has_malloc || !verdict_weighs(f->cached_bytes, 16 * MIB, 0.05, f->rss_bytes))
		return false;
	verdict_say(v, "warning", f->cached_bytes,
		"%s%s, %s, is freed and in the caches of %zu threads, each for itself until it "
		"ends. malloc counts it as in use, and trimming does not reach it.",
		f->is_bound ? "About " : "", BYTES(f->cached_bytes), SHARE(f, f->cached_bytes),
		f->nr_caches);
	verdict_advise_run(f, v, "heap --threads");
	verdict_advise(
		v, "fewer threads, or start it with GLIBC_TUNABLES=glibc.malloc.tcache_count=2");
	return true;
}

static bool
asks_for_huge_heaps(const struct verdict_facts *f)
{
	static const char setting[] = "glibc.malloc.hugetlb=1";

	return f->environment.v &&
		memmem(f->environment.v, f->environment.len, setting, sizeof setting - 1);
}

/* Advise how to turn off huge pages where they were requested. */
static void
advise_against_huge(const struct verdict_facts *f, struct verdict *v)
{
	if (2 * f->heap_huge_bytes >= f->huge_bytes && asks_for_huge_heaps(f)) {
		verdict_advise(v, "start it without glibc.malloc.hugetlb=1 in GLIBC_TUNABLES");
		return;
	}
	if (2 * f->java_huge_bytes >= f->huge_bytes && f->thp != VERDICT_THP_ALWAYS) {
		verdict_advise(v, "start java with -XX:-UseTransparentHugePages");
		return;
	}
	if (f->thp == VERDICT_THP_MADVISE)
		verdict_advise(v,
			"the program asks for them with madvise(MADV_HUGEPAGE): leave that out, or "
			"undo it with MADV_NOHUGEPAGE");
	else
		verdict_advise(v,
			"for this program only: prctl(PR_SET_THP_DISABLE, 1) before it is started");
	if (f->thp == VERDICT_THP_ALWAYS)
		verdict_advise(v,
			"for all programs: echo madvise > "
			"/sys/kernel/mm/transparent_hugepage/enabled");
}

static bool
judge_thp(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->huge_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->huge_bytes,
		"%s, %s, is in transparent huge pages, %s of it in malloc's heaps. One byte "
		"in use keeps 2 MiB resident.",
		BYTES(f->huge_bytes), SHARE(f, f->huge_bytes), BYTES(f->heap_huge_bytes));
	/* other verdicts cover these bytes as heaps, in use or free */
	v->rank = VERDICT_ASIDE;
	advise_against_huge(f, v);
	return true;
}

/* ---- blocks with individual mappings, swap ---- */

static bool
judge_mmapped_large(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->has_malloc ||
		!verdict_weighs(f->mmap_bytes, verdict_large_bytes(f), 0.5, f->rss_bytes))
		return false;
	verdict_say(v, "info", f->mmap_bytes,
		"%s%s, %s, is in %" PRIu64 " large blocks that the program allocated and has "
		"not freed. Each has a mapping of its own and goes back when it is freed.",
		up_to(f), BYTES(f->mmap_bytes), SHARE(f, f->mmap_bytes), f->nr_mmaps);
	advise_growth(f, v);
	return true;
}

static bool
judge_mmap_limit(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->nr_mmaps_max || f->nr_mmaps * 10 < f->nr_mmaps_max * 9 ||
		!verdict_weighs(f->mmap_bytes, 16 * MIB, 0, 0))
		return false;
	verdict_say(v, "warning", f->mmap_bytes,
		"%" PRIu64 " large blocks have mappings of their own, and %" PRIu64
		" may: further ones "
		"come from the heaps, and leave holes there when freed.",
		f->nr_mmaps, f->nr_mmaps_max);
	verdict_advise(
		v, "start it with MALLOC_MMAP_THRESHOLD_=4194304, so that fewer blocks have one");
	return true;
}

static bool
weighs_in_swap(const struct verdict_facts *f, uint64_t bytes)
{
	return f->has_malloc && verdict_weighs(bytes, 16 * MIB, 0.1, f->rss_bytes + f->swap_bytes);
}

static bool
judge_swapped(const struct verdict_facts *f, struct verdict *v)
{
	if (!weighs_in_swap(f, f->free_swap_bytes))
		return false;
	verdict_say(v, "warning", f->free_swap_bytes,
		"%s%s of the %s that the process has in swap is free inside malloc: trimming "
		"frees it there, without reading it back.",
		at_least(f), BYTES(f->free_swap_bytes), BYTES(f->swap_bytes));
	verdict_advise_run(f, v, "trim");
	return true;
}

/* memdiag does not read swapped pages; malloc_info() does. */
static bool
judge_swapped_unread(const struct verdict_facts *f, struct verdict *v)
{
	if (!weighs_in_swap(f, f->unread_swap_bytes))
		return false;
	verdict_say(v, "info", f->unread_swap_bytes,
		"%s of malloc's arenas is in swap and was not read: how much of that is free is "
		"unknown.",
		BYTES(f->unread_swap_bytes));
	/* not resident memory */
	v->rank = VERDICT_ASIDE;
	verdict_advise_run(f, v, "info --method=inject");
	verdict_advise_run(f, v, "trim");
	return true;
}

/* ---- threads, settings, the rest ---- */

static bool
judge_thread_stacks(const struct verdict_facts *f, struct verdict *v)
{
	bool is_resident = verdict_weighs(f->stack_rss_bytes, 64 * MIB, 0.1, f->rss_bytes);

	if (!is_resident && !verdict_weighs(f->stack_virt_bytes, 4 * GIB, 0.5, f->virt_bytes))
		return false;
	verdict_say(v, is_resident ? "warning" : "info",
		is_resident ? f->stack_rss_bytes : f->stack_virt_bytes,
		"%zu thread stacks take %s of VIRT and %s of RSS.", f->nr_thread_stacks,
		BYTES(f->stack_virt_bytes), BYTES(f->stack_rss_bytes));
	v->rank = is_resident ? VERDICT_OF_MEMORY : VERDICT_OF_ADDRESSES;
	verdict_advise(
		v, "fewer threads, or smaller stacks (ulimit -s, pthread_attr_setstacksize)");
	return true;
}

/*
 * glibc keeps 40 MiB of stacks of ended threads for new ones (nptl/nptl-stack.c, since 2.2).
 * Further stacks belong to threads not yet joined: an ended thread keeps its stack until it is
 * joined.
 */
static bool
judge_unjoined_threads(const struct verdict_facts *f, struct verdict *v)
{
	const bool is_resident = verdict_weighs(f->ended_rss_bytes, 16 * MIB, 0.1, f->rss_bytes);
	static const char tunable[] = "glibc.pthread.stack_cache_size";

	if (f->nr_ended_stacks < 16 || f->ended_virt_bytes < 64 * MIB ||
		(f->environment.v &&
			memmem(f->environment.v, f->environment.len, tunable, sizeof tunable - 1)))
		return false;
	verdict_say(v, "warning", is_resident ? f->ended_rss_bytes : f->ended_virt_bytes,
		"%zu stacks of threads that have ended take %s of VIRT and %s of RSS: the program "
		"has neither joined nor detached these threads.",
		f->nr_ended_stacks, BYTES(f->ended_virt_bytes), BYTES(f->ended_rss_bytes));
	v->rank = is_resident ? VERDICT_OF_MEMORY : VERDICT_OF_ADDRESSES;
	verdict_advise(v, "call pthread_join() or pthread_detach() for each thread");
	return true;
}

static bool
judge_mappings_full(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->nr_mappings_max || f->nr_mappings < f->nr_mappings_max / 100 * 95)
		return false;
	verdict_say(v, "critical", 0,
		"It has %" PRIu64 " of the %" PRIu64 " mappings that a process may have. Without "
		"any left mmap(), new threads and malloc fail, whatever memory is free.",
		f->nr_mappings, f->nr_mappings_max);
	v->rank = VERDICT_ASIDE;
	verdict_advise(v, "sysctl vm.max_map_count=%" PRIu64, 4 * f->nr_mappings_max);
	verdict_advise_run(f, v, "maps --by=mapping");
	return true;
}

static bool
judge_env_not_effective(const struct verdict_facts *f, struct verdict *v)
{
	const char *env = f->environment.v;
	size_t len = f->environment.len;
	char setting[160];
	uint64_t max;

	if (!f->has_malloc)
		return false;
	v->rank = VERDICT_ASIDE;
	if (environment_find_bad(env, len, setting, sizeof setting)) {
		verdict_say(v, "warning", 0,
			"The environment has %s, which glibc does not know: it has no effect.",
			setting);
		verdict_advise(v, "man mallopt, ENVIRONMENT VARIABLES, has the names");
		return true;
	}
	if (!environment_arena_max(env, len, &max, setting, sizeof setting) || f->nr_arenas <= max)
		return false;
	verdict_say(v, "warning", 0,
		"The environment has %s, yet there are %zu arenas: mallopt() in the program, or a "
		"set-user-ID start, has overruled it.",
		setting, f->nr_arenas);
	return true;
}

static bool
judge_unaccounted(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_weighs(f->unaccounted_bytes, 16 * MIB, 0.1, f->rss_bytes))
		return false;
	verdict_say(v, "warning", f->unaccounted_bytes,
		"%s, %s, has no known use: it changed while it was read, or memdiag may not "
		"see it.",
		BYTES(f->unaccounted_bytes), SHARE(f, f->unaccounted_bytes));
	verdict_advise_run(f, v, "maps");
	verdict_advise(v, "run it again as root");
	return true;
}

const struct cause causes[] = {
	{ "limit-near", SUBJECT_LIMIT, judge_limit_near },
	{ "held-files", SUBJECT_HELD, judge_held_files },
	{ "other-allocator", SUBJECT_OTHERS, judge_other_allocator },
	{ "shared-memory", SUBJECT_SHARED, judge_shared_memory },
	{ "mapped-files", SUBJECT_FILES, judge_mapped_files },
	{ "changed-files", SUBJECT_FILES, judge_changed_files },
	{ "static-data", SUBJECT_STATIC, judge_static_data },
	{ "page-tables", SUBJECT_PAGE_TABLES, judge_page_tables },
	{ "children", SUBJECT_CHILDREN, judge_children },
	{ "virt-only", SUBJECT_RESERVE, judge_virt_only },
	{ "live-large", SUBJECT_LIVE, judge_live_large },
	{ "returned", SUBJECT_RETURNED, judge_returned },
	{ "retained", SUBJECT_FREE, judge_retained },
	{ "threshold-grown", SUBJECT_FREE, judge_threshold_grown },
	{ "tops-stuck", SUBJECT_TOPS, judge_tops_stuck },
	{ "arena-sprawl", SUBJECT_FREE, judge_arena_sprawl },
	{ "orphan-arenas", SUBJECT_FREE, judge_orphan_arenas },
	{ "pinned", SUBJECT_FREE, judge_pinned },
	{ "fragmented", SUBJECT_STRANDED, judge_fragmented },
	{ "sparse", SUBJECT_STRANDED, judge_sparse },
	{ "cache-retained", SUBJECT_CACHES, judge_cache_retained },
	{ "thp", SUBJECT_HUGE, judge_thp },
	{ "fork-shared", SUBJECT_FREE, judge_fork_shared },
	{ "mmapped-large", SUBJECT_LIVE, judge_mmapped_large },
	{ "mmap-limit", SUBJECT_MMAP_LIMIT, judge_mmap_limit },
	{ "locked", SUBJECT_FREE, judge_locked },
	{ "swapped-unread", SUBJECT_SWAP, judge_swapped_unread },
	{ "swapped", SUBJECT_SWAP, judge_swapped },
	{ "hugetlb", SUBJECT_FREE, judge_hugetlb },
	{ "main-in-pieces", SUBJECT_FREE, judge_main_in_pieces },
	{ "mappings-full", SUBJECT_MAPPINGS, judge_mappings_full },
	{ "thread-stacks", SUBJECT_STACKS, judge_thread_stacks },
	{ "unjoined-threads", SUBJECT_STACKS, judge_unjoined_threads },
	{ "env-not-effective", SUBJECT_SETTINGS, judge_env_not_effective },
	{ "unaccounted", SUBJECT_UNKNOWN, judge_unaccounted },
};
const size_t nr_causes = sizeof causes / sizeof *causes;
