/*
 * The causes, in the order of doc/verdicts.md: one function each, which looks for its cause in the
 * facts and describes it.
 */
#include <config.h>

#include "diagnose/verdict-priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "diagnose/environment.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/*
 * Every threshold wants bytes and a share: a high share of little is no trouble, nor is a little
 * of much.  doc/verdicts.md names them all.
 */
static bool
causes_weighs(uint64_t bytes, uint64_t least, double share, uint64_t whole)
{
	return bytes >= least && (double)bytes >= share * (double)whole;
}

/* Sizes in sentences. */
struct causes_words {
	char v[40];
};
#define BYTES(n) text_bytes((n), (struct causes_words){ { 0 } }.v, sizeof(struct causes_words))

static int
causes_percent(uint64_t part, uint64_t whole)
{
	return whole ? (int)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

/* "12 % of RSS".  A core file has no RSS. */
static const char *
share_text(const struct verdict_facts *f, uint64_t bytes, char *buf, size_t size)
{
	snprintf(buf, size, "%d %% of %s", causes_percent(bytes, f->rss_bytes),
		f->is_account	     ? "what malloc has"
			: f->is_core ? "what its arenas have"
				     : "RSS");
	return buf;
}
#define SHARE(f, n)                                                                                \
	share_text((f), (n), (struct causes_words){ { 0 } }.v, sizeof(struct causes_words))

/* Before a number that is a bound as long as the heap itself was not read. */
static const char *
at_least(const struct verdict_facts *f)
{
	return f->is_account ? "Up to " : f->is_bound ? "At least " : "";
}

/* The same before one that is exact if the pages are known. */
static const char *
up_to(const struct verdict_facts *f)
{
	return f->is_account ? "Up to " : "";
}

static void __attribute__((format(printf, 4, 5)))
causes_say(struct verdict *v, const char *severity, uint64_t bytes, const char *fmt, ...)
{
	__builtin_va_list ap;

	v->severity = severity;
	v->bytes = bytes;
	__builtin_va_start(ap, fmt);
	vsnprintf(v->text, sizeof v->text, fmt, ap);
	__builtin_va_end(ap);
}

/* One more thing that can be done. */
static void __attribute__((format(printf, 2, 3))) advise(struct verdict *v, const char *fmt, ...)
{
	size_t i = 0;
	__builtin_va_list ap;

	while (i < VERDICT_ACTIONS - 1 && *v->action[i])
		i++;
	__builtin_va_start(ap, fmt);
	vsnprintf(v->action[i], sizeof v->action[i], fmt, ap);
	__builtin_va_end(ap);
}

/* The same for a command of ours, as in "trim --tops"; the process of a core file has ended. */
static void
advise_run(const struct verdict_facts *f, struct verdict *v, const char *command)
{
	if (!f->is_core && !f->is_account)
		advise(v, "memdiag %s -p %d", command, (int)f->pid);
}

/* ---- not malloc's ---- */

bool
verdict_is_cgroup_full(const struct verdict_facts *f)
{
	return f->cgroup_limit_bytes &&
		causes_weighs(f->cgroup_used_bytes, 16 * MIB, 0.9, f->cgroup_limit_bytes);
}

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* "descriptor 3 of 4711 (python3), memfd:frames, 300.0 MiB" */
static const char *
held_text(const struct verdict_held *h, char *buf, size_t size)
{
	char name[2 * sizeof h->name], comm[2 * sizeof h->comm], bytes[40];

	snprintf(buf, size, "descriptor %d of %d (%s), %s, %s", h->fd, (int)h->pid,
		text_printable(h->comm, comm, sizeof comm),
		text_printable(h->name, name, sizeof name),
		text_bytes(h->bytes, bytes, sizeof bytes));
	return buf;
}
#define HELD(h) held_text((h), (char[200]){ 0 }, 200)

/* The sum of what the cgroup uses, as ": 96.0 MiB of this process, ..."; "" if it is not known. */
static const char *
cgroup_sum(const struct verdict_facts *f, char *buf, size_t size)
{
	const uint64_t own = f->rss_anon_bytes + f->rss_shmem_bytes;
	const uint64_t files = less(f->cgroup_shmem_bytes, f->rss_shmem_bytes);
	const uint64_t rest = less(f->cgroup_used_bytes, own + files + f->cgroup_kernel_bytes);
	char most[240] = "";

	if (f->cgroup_held.bytes)
		snprintf(most, sizeof most, " (most: %s)", HELD(&f->cgroup_held));
	snprintf(buf, size,
		": %s of this process, %s of files in memory that it has not mapped%s, %s of the "
		"kernel, %s of others",
		BYTES(own), BYTES(files), files ? most : "", BYTES(f->cgroup_kernel_bytes),
		BYTES(rest));
	return f->has_cgroup_parts ? buf : "";
}
#define CGROUP_SUM(f) cgroup_sum((f), (char[500]){ 0 }, 500)

static bool
judge_limit_near(const struct verdict_facts *f, struct verdict *v)
{
	if (!verdict_is_cgroup_full(f) ||
		!causes_weighs(f->rss_bytes + f->held_bytes, 0, 0.1, f->cgroup_limit_bytes))
		return false;
	causes_say(v, "critical", f->cgroup_used_bytes,
		"Its cgroup uses %s of the %s it may have (%d %%)%s. When nothing is left the "
		"kernel kills a process there.",
		BYTES(f->cgroup_used_bytes), BYTES(f->cgroup_limit_bytes),
		causes_percent(f->cgroup_used_bytes, f->cgroup_limit_bytes), CGROUP_SUM(f));
	advise(v, "raise the limit (memory.max), or make the process smaller");
	return true;
}

/* Neither RSS nor a mapping shows them; the cgroup and the machine do. */
static bool
judge_held_files(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->held_bytes, 64 * MIB, 0.25, f->rss_bytes))
		return false;
	causes_say(v, "info", f->held_bytes,
		"%s are in files in memory (memfd, tmpfs) that it holds open and has not mapped, "
		"so "
		"RSS does not count them. Most: %s.",
		BYTES(f->held_bytes), HELD(&f->held));
	v->rank = VERDICT_ASIDE;
	advise(v, "close the descriptor, or make the file smaller with ftruncate()");
	return true;
}

/* Whose the anonymous memory is that malloc did not map, as far as that is known. */
static const char *
whose_memory(const struct verdict_facts *f, char *buf, size_t size)
{
	const uint64_t all = f->other_anon_rss_bytes;
	const char *whose =
		"was mapped by the program itself and not by malloc: a buffer pool, or a "
		"runtime with a heap of its own.";

	if (2 * f->java_bytes >= all)
		whose = "is anonymous memory that is not malloc's, most of it the heap of Java.";
	else if (2 * f->go_bytes >= all)
		whose = "is anonymous memory that is not malloc's, most of it the heap of Go.";
	else if (2 * f->sbrk_bytes >= all)
		whose = "the program has taken itself, most of it by sbrk(): an allocator of its "
			"own.";
	if (2 * f->forbidden_bytes >= all)
		snprintf(buf, size,
			"%s Of it %s is resident and may not be accessed (PROT_NONE): "
			"madvise(MADV_DONTNEED) would free it.",
			whose, BYTES(f->forbidden_bytes));
	else
		snprintf(buf, size, "%s", whose);
	return buf;
}

static void
advise_java(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->is_core)
		advise(v, "jcmd %d GC.heap_info shows how much of it is in use; -Xmx bounds it",
			(int)f->pid);
}

static bool
judge_other_allocator(const struct verdict_facts *f, struct verdict *v)
{
	char words[300];

	if (!causes_weighs(f->other_anon_rss_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	causes_say(v, "info", f->other_anon_rss_bytes, "%s, %s, %s", BYTES(f->other_anon_rss_bytes),
		SHARE(f, f->other_anon_rss_bytes), whose_memory(f, words, sizeof words));
	advise_run(f, v, "maps --by=mapping");
	if (2 * f->java_bytes >= f->other_anon_rss_bytes)
		advise_java(f, v);
	return true;
}

/* The memory of a process that is neither malloc's nor mapped by it without a file. */

static bool
judge_shared_memory(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->sysv_bytes + f->memfd_bytes + f->java_shm_bytes + f->other_shm_bytes;

	if (!causes_weighs(bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	if (2 * f->java_shm_bytes >= bytes) {
		causes_say(v, "info", bytes,
			"%s, %s, is shared memory, most of it (%s) the heap of Java, which ZGC "
			"keeps there and may map more than once.",
			BYTES(bytes), SHARE(f, bytes), BYTES(f->java_shm_bytes));
		advise_run(f, v, "maps --pss");
		advise_java(f, v);
		return true;
	}
	causes_say(v, "info", bytes,
		"%s, %s, is shared memory (System V %s, memfd %s, other %s). It counts in the RSS "
		"of "
		"each process that maps it, and trimming does not reach it.",
		BYTES(bytes), SHARE(f, bytes), BYTES(f->sysv_bytes), BYTES(f->memfd_bytes),
		BYTES(f->other_shm_bytes));
	advise_run(f, v, "maps --pss");
	advise(v,
		"its size is a setting of the program; ipcs -m and /dev/shm show what is left "
		"over");
	return true;
}

static bool
judge_mapped_files(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->file_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	causes_say(v, "info", f->file_bytes,
		"%s, %s, is pages of files that the program has mapped. The kernel drops them when "
		"memory is short, and reads them again.",
		BYTES(f->file_bytes), SHARE(f, f->file_bytes));
	advise_run(f, v, "maps --by=object");
	return true;
}

static bool
judge_changed_files(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->changed_file_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	causes_say(v, "info", f->changed_file_bytes,
		"%s, %s, is copies of file pages: the program has changed them in private mappings "
		"of "
		"files. No file has them, so they stay until they are unmapped.",
		BYTES(f->changed_file_bytes), SHARE(f, f->changed_file_bytes));
	advise_run(f, v, "maps --by=object");
	return true;
}

static bool
judge_static_data(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->static_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	causes_say(v, "info", f->static_bytes,
		"%s, %s, is static variables (.data, .bss) of the program and its libraries. Their "
		"size "
		"is fixed when it is built; malloc has no part in it.",
		BYTES(f->static_bytes), SHARE(f, f->static_bytes));
	advise_run(f, v, "maps --by=object");
	return true;
}

static bool
judge_page_tables(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->page_table_bytes, 64 * MIB, 0.25, f->rss_bytes))
		return false;
	causes_say(v, "warning", f->page_table_bytes,
		"Its page tables take %s, which RSS (%s) does not count: pages far apart are in "
		"use, or "
		"much shared memory is mapped in small pages.",
		BYTES(f->page_table_bytes), BYTES(f->rss_bytes));
	advise_run(f, v, "maps");
	advise(v,
		"use huge pages for shared buffers (huge_pages in PostgreSQL, large-pages in "
		"MySQL)");
	return true;
}

static bool
judge_children(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->children_rss_bytes, 64 * MIB, 1.25, f->rss_bytes))
		return false;
	causes_say(v, "info", f->children_rss_bytes,
		"%s more is the RSS of %zu process%s that it has started, where this one has %s. "
		"What "
		"they share counts in each; the largest is %d.",
		BYTES(f->children_rss_bytes), f->nr_children, f->nr_children == 1 ? "" : "es",
		BYTES(f->rss_bytes), (int)f->largest_child);
	advise(v, "memdiag info -p %d", (int)f->largest_child);
	return true;
}

static bool
causes_judge_virt_only(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->reserve_bytes, GIB, 0.5, f->virt_bytes))
		return false;
	causes_say(v, "info", f->reserve_bytes,
		"%s of the %s of VIRT is address space without memory: it is reserved and not "
		"resident.",
		BYTES(f->reserve_bytes), BYTES(f->virt_bytes));
	v->rank = VERDICT_OF_ADDRESSES;
	advise(v, "watch RSS instead, and set no limit on VIRT (ulimit -v)");
	return true;
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

/* Data and a leak look alike: they differ in how they grow, and in what allocates them. */
static void
advise_growth(const struct verdict_facts *f, struct verdict *v)
{
	advise(v, "see if it grows: save --json now and later, then memdiag diff");
	advise_run(f, v, "profile --seconds 60");
}

static bool
judge_live_large(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t free = f->trimmable_bytes + f->mlocked_bytes + f->top_bytes + f->main_top_bytes +
		f->stranded_bytes + f->cached_bytes;
	uint64_t arenas = f->arena_resident_bytes > free ? f->arena_resident_bytes - free : 0;
	uint64_t bytes = arenas + f->mmap_bytes;

	if (!f->has_malloc || !causes_weighs(bytes, verdict_large_bytes(f), 0.7, f->rss_bytes))
		return false;
	causes_say(v, "info", bytes,
		"%s%s, %s, is memory that the program allocated and has not freed: data "
		"it needs, or a leak. Trimming does not help.",
		f->is_bound ? "Up to " : "", BYTES(bytes), SHARE(f, bytes));
	advise_growth(f, v);
	return true;
}

/* ---- free, and not resident ---- */

static bool
judge_returned(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->has_malloc || !causes_weighs(f->returned_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	causes_say(v, "info", f->returned_bytes,
		"%s%s that malloc counts as free takes no memory: it was given back to the kernel, "
		"or "
		"never used. There is nothing to trim in it. malloc's counter of free bytes is not "
		"memory.",
		at_least(f), BYTES(f->returned_bytes));
	v->rank = VERDICT_OF_ADDRESSES;
	return true;
}

/* ---- free and resident, on pages of its own: retained, and why ---- */

static bool
is_retained(const struct verdict_facts *f)
{
	return f->has_malloc && causes_weighs(f->trimmable_bytes, 16 * MIB, 0.1, f->rss_bytes);
}

/* Whether BYTES are most of what is retained: then theirs is the cause to name. */
static bool
is_most_of_retained(const struct verdict_facts *f, uint64_t bytes)
{
	return is_retained(f) && bytes >= f->trimmable_bytes / 2;
}

static bool
causes_judge_retained(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->trimmable_bytes;

	if (!is_retained(f))
		return false;
	causes_say(v, "warning", bytes,
		"%s%s, %s, is free inside malloc: the program gave it back, malloc kept "
		"it. malloc_trim returns %s.",
		at_least(f), BYTES(bytes), SHARE(f, bytes),
		f->is_bound ? "what lies in whole pages" : "all of that");
	advise_run(f, v, "trim -n");
	advise_run(f, v, "trim");
	return true;
}

/*
 * Freeing a block that had a mapping raises the size from which blocks get one to its size, and the
 * size from which the end of a heap goes back to twice that (malloc/malloc.c, __libc_free(), since
 * 2.8).  Blocks up to it then leave holes in the heaps.
 */
static bool
judge_threshold_grown(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_most_of_retained(f, f->large_bytes) || f->no_dyn_threshold ||
		f->mmap_threshold <= MALLOC_DEFAULT_THRESHOLD)
		return false;
	causes_say(v, "warning", f->trimmable_bytes,
		"%s%s, %s, is free inside malloc, most of it in large pieces: freeing one "
		"great block has raised the threshold from which blocks have a mapping of their "
		"own, "
		"and go back when freed, from 128 KiB to %s.",
		at_least(f), BYTES(f->trimmable_bytes), SHARE(f, f->trimmable_bytes),
		BYTES(f->mmap_threshold));
	advise_run(f, v, "trim");
	advise(v, "start it with MALLOC_MMAP_THRESHOLD_=131072, which keeps it there");
	return true;
}

/*
 * The limit is eight arenas a CPU (2.10 to 2.43): more than half of them were made, and share
 * nothing.
 */
static bool
judge_arena_sprawl(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->trimmable_bytes;
	char cpus[32] = "";

	if (!is_retained(f) || f->nr_arenas <= 8 || f->nr_arenas <= 4 * (size_t)f->nr_cpus ||
		!causes_weighs(bytes, 64 * MIB, 0.25, f->arena_resident_bytes) ||
		2 * f->main_bytes > bytes)
		return false;
	if (f->nr_cpus)
		snprintf(cpus, sizeof cpus, " on %d CPUs", f->nr_cpus);
	causes_say(v, "warning", bytes,
		"%zu arenas%s each keep free memory of their own: %s%s in all, %s. "
		"What is free in one arena does not serve threads of another.",
		f->nr_arenas, cpus,
		f->is_account	      ? "up to "
			: f->is_bound ? "at least "
				      : "",
		BYTES(bytes), SHARE(f, bytes));
	advise_run(f, v, "trim");
	advise(v, "start it with MALLOC_ARENA_MAX=4");
	return true;
}

static bool
judge_orphan_arenas(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_most_of_retained(f, f->orphan_bytes))
		return false;
	causes_say(v, "warning", f->orphan_bytes,
		"%s%s, %s, is free in %zu arenas that no thread uses: their threads have "
		"ended, and what is free there waits for new ones.",
		at_least(f), BYTES(f->orphan_bytes), SHARE(f, f->orphan_bytes), f->nr_orphans);
	advise_run(f, v, "trim");
	advise(v, "keep threads in a pool, or start it with MALLOC_ARENA_MAX=4");
	return true;
}

static bool
judge_pinned(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_most_of_retained(f, f->pinned_bytes))
		return false;
	causes_say(v, "warning", f->pinned_bytes,
		"%s%s is free below a chunk that ends its heap and keeps it from shrinking: %s "
		"at " PRIraddr ", in use.",
		at_least(f), BYTES(f->pinned_bytes), BYTES(f->pin.bytes), f->pin.addr.v);
	advise_run(f, v, "trim");
	advise(v, "allocate what lives long before what does not; memdiag heap --pins shows it");
	return true;
}

static bool
judge_fork_shared(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->has_shared || !is_most_of_retained(f, f->shared_bytes))
		return false;
	causes_say(v, "info", f->shared_bytes,
		"%s of the %s that malloc_trim would take off RSS is shared with other processes "
		"since a fork(), or merged by KSM: the machine has no more memory free until they "
		"trim as well, or end.",
		BYTES(f->shared_bytes), BYTES(f->trimmable_bytes));
	advise(v, "trim before fork(), or trim each process that shares it");
	return true;
}

/*
 * The bytes that are free and locked, if only sums are known: locked memory is resident, so locked
 * bytes beyond all that are not free must be free.
 */
static uint64_t
locked_by_sums(const struct verdict_facts *f)
{
	uint64_t both = f->locked_bytes + f->trimmable_bytes;
	uint64_t bytes = both > f->rss_bytes ? both - f->rss_bytes : 0;

	return bytes < f->trimmable_bytes ? bytes : f->trimmable_bytes;
}

/* madvise() fails there, and malloc_trim() does not report it. */
static bool
judge_locked(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->mlocked_bytes ? f->mlocked_bytes : locked_by_sums(f);

	if (!f->has_malloc || !causes_weighs(bytes, 16 * MIB, 0.1, f->rss_bytes) ||
		bytes < f->trimmable_bytes / 2)
		return false;
	causes_say(v, "warning", bytes,
		"%s%s, %s, is free inside malloc and locked into memory (mlock, mlockall): "
		"malloc_trim cannot give back what is locked.",
		at_least(f), BYTES(bytes), SHARE(f, bytes));
	advise(v, "lock less than all of it: mlock() what must never wait, not mlockall()");
	return true;
}

static bool
judge_hugetlb(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->hp_page || !causes_weighs(f->free_bytes, 16 * MIB, 0.1, f->hugetlb_bytes) ||
		!causes_weighs(f->hugetlb_bytes, 16 * MIB, 0, 0))
		return false;
	causes_say(v, "info", f->free_bytes,
		"malloc's heaps are made of pages of %s from the hugetlb pool, and %s in them is "
		"free: "
		"malloc_trim gives back only what is a whole page of that size, which is rare.",
		BYTES(f->hp_page), BYTES(f->free_bytes));
	advise(v, "start it without glibc.malloc.hugetlb=2 in GLIBC_TUNABLES");
	return true;
}

static bool
judge_main_in_pieces(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->is_main_in_pieces || !is_most_of_retained(f, f->main_bytes))
		return false;
	causes_say(v, "warning", f->trimmable_bytes,
		"%s%s, %s, is free inside malloc, and the main arena lies in pieces: "
		"something is mapped where its heap would have grown. It never shrinks by itself "
		"now.",
		at_least(f), BYTES(f->trimmable_bytes), SHARE(f, f->trimmable_bytes));
	advise_run(f, v, "trim");
	advise(v,
		"map nothing there at fixed addresses; memdiag maps shows what lies behind the "
		"heap");
	return true;
}

/* ---- free and resident, and malloc_trim() does not help ---- */

/*
 * malloc_trim() never looks at the top of a thread's arena, and free() only when it is larger than
 * the trim threshold (malloc/arena.c, heap_trim(), 2.22 and later).
 */
static bool
judge_tops_stuck(const struct verdict_facts *f, struct verdict *v)
{
	char threshold[64] = "";

	if (!f->has_malloc || !causes_weighs(f->top_bytes, 16 * MIB, 0.05, f->rss_bytes))
		return false;
	if (f->trim_threshold)
		snprintf(threshold, sizeof threshold, ", and free() only above %s",
			BYTES(f->trim_threshold));
	causes_say(v, "warning", f->top_bytes,
		"%s%s, %s, is free at the ends of thread arenas, where malloc_trim gives nothing "
		"back%s.",
		up_to(f), BYTES(f->top_bytes), SHARE(f, f->top_bytes), threshold);
	if (f->has_trim_of_tops)
		advise_run(f, v, "trim --tops");
	advise(v, "start it with MALLOC_TRIM_THRESHOLD_=131072");
	return true;
}

static bool
is_stranded(const struct verdict_facts *f)
{
	return f->has_malloc && causes_weighs(f->stranded_bytes, 16 * MIB, 0.1, f->rss_bytes) &&
		f->stranded_bytes >= f->trimmable_bytes;
}

/* How much of the pages with stranded memory is in use. */
static double
occupancy(const struct verdict_facts *f)
{
	return f->mixed_bytes > f->stranded_bytes
		? 1 - (double)f->stranded_bytes / (double)f->mixed_bytes
		: 0;
}

static bool
causes_judge_fragmented(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_stranded(f))
		return false;
	causes_say(v, "warning", f->stranded_bytes,
		"%s%s, %s, is free in pieces smaller than a page, between blocks in use. "
		"Trimming does not help; malloc uses it for new blocks of those sizes only.",
		at_least(f), BYTES(f->stranded_bytes), SHARE(f, f->stranded_bytes));
	advise_run(f, v, "heap --histogram");
	advise(v, "an allocator that keeps sizes apart (jemalloc, tcmalloc), or pools");
	return true;
}

static bool
judge_sparse(const struct verdict_facts *f, struct verdict *v)
{
	if (!is_stranded(f) || f->is_account || occupancy(f) >= 0.25)
		return false;
	causes_say(v, "warning", f->stranded_bytes,
		"%s%s, %s, is free on pages that a few small blocks keep: they fill %d %% of "
		"them. Trimming does not help as long as these live.",
		at_least(f), BYTES(f->stranded_bytes), SHARE(f, f->stranded_bytes),
		(int)(occupancy(f) * 100 + 0.5));
	advise_run(f, v, "heap --histogram");
	advise(v, "allocate what lives long apart from what does not");
	return true;
}

static bool
judge_cache_retained(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->has_malloc || !causes_weighs(f->cached_bytes, 16 * MIB, 0.05, f->rss_bytes))
		return false;
	causes_say(v, "warning", f->cached_bytes,
		"%s%s, %s, is freed and in the caches of %zu threads, each for itself until it "
		"ends. malloc counts it as in use, and trimming does not reach it.",
		f->is_bound ? "About " : "", BYTES(f->cached_bytes), SHARE(f, f->cached_bytes),
		f->nr_caches);
	advise_run(f, v, "heap --threads");
	advise(v, "fewer threads, or start it with GLIBC_TUNABLES=glibc.malloc.tcache_count=2");
	return true;
}

static bool
asks_for_huge_heaps(const struct verdict_facts *f)
{
	static const char setting[] = "glibc.malloc.hugetlb=1";

	return f->environment.v &&
		memmem(f->environment.v, f->environment.len, setting, sizeof setting - 1);
}

/* The party that has asked for huge pages, and so can do without. */
static void
advise_against_huge(const struct verdict_facts *f, struct verdict *v)
{
	if (2 * f->heap_huge_bytes >= f->huge_bytes && asks_for_huge_heaps(f)) {
		advise(v, "start it without glibc.malloc.hugetlb=1 in GLIBC_TUNABLES");
		return;
	}
	if (2 * f->java_huge_bytes >= f->huge_bytes && f->thp != VERDICT_THP_ALWAYS) {
		advise(v, "start java with -XX:-UseTransparentHugePages");
		return;
	}
	if (f->thp == VERDICT_THP_MADVISE)
		advise(v,
			"the program asks for them with madvise(MADV_HUGEPAGE): leave that out, or "
			"undo it with MADV_NOHUGEPAGE");
	else
		advise(v,
			"for this program only: prctl(PR_SET_THP_DISABLE, 1) before it is started");
	if (f->thp == VERDICT_THP_ALWAYS)
		advise(v,
			"for all programs: echo madvise > "
			"/sys/kernel/mm/transparent_hugepage/enabled");
}

static bool
judge_thp(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->huge_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	causes_say(v, "info", f->huge_bytes,
		"%s, %s, is in transparent huge pages, %s of it in malloc's heaps. One byte "
		"in use keeps 2 MiB resident.",
		BYTES(f->huge_bytes), SHARE(f, f->huge_bytes), BYTES(f->heap_huge_bytes));
	/* as heaps, in use or free, they have verdicts of their own */
	v->rank = VERDICT_ASIDE;
	advise_against_huge(f, v);
	return true;
}

/* ---- blocks with mappings of their own, swap ---- */

static bool
judge_mmapped_large(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->has_malloc ||
		!causes_weighs(f->mmap_bytes, verdict_large_bytes(f), 0.5, f->rss_bytes))
		return false;
	causes_say(v, "info", f->mmap_bytes,
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
		!causes_weighs(f->mmap_bytes, 16 * MIB, 0, 0))
		return false;
	causes_say(v, "warning", f->mmap_bytes,
		"%" PRIu64 " large blocks have mappings of their own, and %" PRIu64
		" may: further ones "
		"come from the heaps, and leave holes there when freed.",
		f->nr_mmaps, f->nr_mmaps_max);
	advise(v, "start it with MALLOC_MMAP_THRESHOLD_=4194304, so that fewer blocks have one");
	return true;
}

static bool
weighs_in_swap(const struct verdict_facts *f, uint64_t bytes)
{
	return f->has_malloc && causes_weighs(bytes, 16 * MIB, 0.1, f->rss_bytes + f->swap_bytes);
}

static bool
judge_swapped(const struct verdict_facts *f, struct verdict *v)
{
	if (!weighs_in_swap(f, f->free_swap_bytes))
		return false;
	causes_say(v, "warning", f->free_swap_bytes,
		"%s%s of the %s that the process has in swap is free inside malloc: trimming frees "
		"it "
		"there, without reading it back.",
		at_least(f), BYTES(f->free_swap_bytes), BYTES(f->swap_bytes));
	advise_run(f, v, "trim");
	return true;
}

/* memdiag does not read pages in swap, but malloc_info() does. */
static bool
judge_swapped_unread(const struct verdict_facts *f, struct verdict *v)
{
	if (!weighs_in_swap(f, f->unread_swap_bytes))
		return false;
	causes_say(v, "info", f->unread_swap_bytes,
		"%s of malloc's arenas is in swap and was not read: how much of that is free is "
		"unknown.",
		BYTES(f->unread_swap_bytes));
	/* no memory that is resident */
	v->rank = VERDICT_ASIDE;
	advise_run(f, v, "info --method=inject");
	advise_run(f, v, "trim");
	return true;
}

/* ---- threads, settings, the rest ---- */

static bool
judge_thread_stacks(const struct verdict_facts *f, struct verdict *v)
{
	bool is_resident = causes_weighs(f->stack_rss_bytes, 64 * MIB, 0.1, f->rss_bytes);

	if (!is_resident && !causes_weighs(f->stack_virt_bytes, 4 * GIB, 0.5, f->virt_bytes))
		return false;
	causes_say(v, is_resident ? "warning" : "info",
		is_resident ? f->stack_rss_bytes : f->stack_virt_bytes,
		"%zu thread stacks take %s of VIRT and %s of RSS.", f->nr_thread_stacks,
		BYTES(f->stack_virt_bytes), BYTES(f->stack_rss_bytes));
	v->rank = is_resident ? VERDICT_OF_MEMORY : VERDICT_OF_ADDRESSES;
	advise(v, "fewer threads, or smaller stacks (ulimit -s, pthread_attr_setstacksize)");
	return true;
}

/*
 * glibc keeps 40 MiB of stacks of ended threads for new ones (nptl/nptl-stack.c, since 2.2).  More
 * are of threads that were not joined: an ended thread keeps its stack until it is joined.
 */
static bool
judge_unjoined_threads(const struct verdict_facts *f, struct verdict *v)
{
	const bool is_resident = causes_weighs(f->ended_rss_bytes, 16 * MIB, 0.1, f->rss_bytes);
	static const char tunable[] = "glibc.pthread.stack_cache_size";

	if (f->nr_ended_stacks < 16 || f->ended_virt_bytes < 64 * MIB ||
		(f->environment.v &&
			memmem(f->environment.v, f->environment.len, tunable, sizeof tunable - 1)))
		return false;
	causes_say(v, "warning", is_resident ? f->ended_rss_bytes : f->ended_virt_bytes,
		"%zu stacks of threads that have ended take %s of VIRT and %s of RSS: the program "
		"has neither joined nor detached these threads.",
		f->nr_ended_stacks, BYTES(f->ended_virt_bytes), BYTES(f->ended_rss_bytes));
	v->rank = is_resident ? VERDICT_OF_MEMORY : VERDICT_OF_ADDRESSES;
	advise(v, "call pthread_join() or pthread_detach() for each thread");
	return true;
}

static bool
judge_mappings_full(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->nr_mappings_max || f->nr_mappings < f->nr_mappings_max / 100 * 95)
		return false;
	causes_say(v, "critical", 0,
		"It has %" PRIu64 " of the %" PRIu64 " mappings that a process may have. Without "
		"any left mmap(), new threads and malloc fail, whatever memory is free.",
		f->nr_mappings, f->nr_mappings_max);
	v->rank = VERDICT_ASIDE;
	advise(v, "sysctl vm.max_map_count=%" PRIu64, 4 * f->nr_mappings_max);
	advise_run(f, v, "maps --by=mapping");
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
		causes_say(v, "warning", 0,
			"The environment has %s, which glibc does not know: it has no effect.",
			setting);
		advise(v, "man mallopt, ENVIRONMENT VARIABLES, has the names");
		return true;
	}
	if (!environment_arena_max(env, len, &max, setting, sizeof setting) || f->nr_arenas <= max)
		return false;
	causes_say(v, "warning", 0,
		"The environment has %s, yet there are %zu arenas: mallopt() in the program, or a "
		"set-user-ID start, has overruled it.",
		setting, f->nr_arenas);
	return true;
}

static bool
judge_unaccounted(const struct verdict_facts *f, struct verdict *v)
{
	if (!causes_weighs(f->unaccounted_bytes, 16 * MIB, 0.1, f->rss_bytes))
		return false;
	causes_say(v, "warning", f->unaccounted_bytes,
		"%s, %s, has no known use: it changed while it was read, or memdiag may not "
		"see it.",
		BYTES(f->unaccounted_bytes), SHARE(f, f->unaccounted_bytes));
	advise_run(f, v, "maps");
	advise(v, "run it again as root");
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
	{ "virt-only", SUBJECT_RESERVE, causes_judge_virt_only },
	{ "live-large", SUBJECT_LIVE, judge_live_large },
	{ "returned", SUBJECT_RETURNED, judge_returned },
	{ "retained", SUBJECT_FREE, causes_judge_retained },
	{ "threshold-grown", SUBJECT_FREE, judge_threshold_grown },
	{ "tops-stuck", SUBJECT_TOPS, judge_tops_stuck },
	{ "arena-sprawl", SUBJECT_FREE, judge_arena_sprawl },
	{ "orphan-arenas", SUBJECT_FREE, judge_orphan_arenas },
	{ "pinned", SUBJECT_FREE, judge_pinned },
	{ "fragmented", SUBJECT_STRANDED, causes_judge_fragmented },
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
