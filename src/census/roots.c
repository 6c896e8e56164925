/*
 * The roots: what the program itself can reach.  A stack is read from its thread's stack pointer
 * up, because below it are remains of calls that have returned; malloc's own structures are left
 * out, because they lead to free chunks and to the last block of a heap (main_arena.top).
 */
#include <config.h>

#include "census/roots.h"

#include "arch/arch.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/word.h"
#include "census/chunks.h"
#include "census/pools.h"
#include "census/slots.h"
#include "census/type-table.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "heap/visit.h"
#include "maps/stacks.h"
#include "os/clock.h"
#include "os/frozen.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/ptrace.h"
#include "os/status.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (UINT64_C(1) << 20)
#define THREADS_MAX 65536
#define PAGE_BYTES UINT64_C(4096)

void
census_roots_release(struct census_roots *r)
{
	free(r->range.v);
	free(r->root.v);
	*r = (struct census_roots){ 0 };
}

/* Memory that holds no roots. */
struct roots_gap {
	uint64_t start, end;
};

/* A thread in the stop. */
struct roots_thread {
	pid_t tid;
	uint64_t sp;
};

struct roots_read {
	struct census *c;
	const struct heap_look *look;
	const struct census_before *before;
	struct {
		struct roots_gap *v; /* sorted; no two overlap */
		size_t nr, room;
	} gaps;
	struct {
		struct roots_thread *v; /* sorted by stack pointer */
		size_t nr, room;
	} thread;
	char *buf;
	uint32_t range;		 /* of the words that are scanned */
	bool has_pools;		 /* the present memory may have pools of CPython */
	uint32_t *range_of_type; /* owned; of objects, by type; 0: not made yet */
	/*
	 * The pages of the process of which a copy is read: a fork leaves out the page tables of
	 * shared memory (mm/memory.c, vma_needs_copy).
	 */
	struct os_pages *shared_pages;
	bool is_late;
	bool is_out_of_memory;
};

static int
roots_fail(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the pointers to blocks");
}

/* ---- words ---- */

/*
 * Begin a range, to which words are added next.  The thread of memdiag that made a copy has a stack
 * of libc's and so a block, its DTV; but it is no thread of the program.
 */
static int
roots_begin(
	struct roots_read *r, enum census_root_kind kind, pid_t tid, uint64_t start, uint64_t end)
{
	struct census_range *range = array_add(&r->c->roots.range);

	if (!range)
		return -1;
	*range = (struct census_range){ .start = { start },
		.end = { end },
		.kind = kind,
		.tid = tid == os_frozen_helper(r->look->t) ? 0 : tid };
	r->range = (uint32_t)r->c->roots.range.nr - 1;
	return 0;
}

/* Add the words among the BYTES at AT, which are at ADDR in the target, that point to malloc's. */
static void
roots_scan(struct roots_read *r, const char *at, uint64_t bytes, uint64_t addr)
{
	struct census_roots *roots = &r->c->roots;
	const unsigned int size = r->c->word_bytes;

	for (uint64_t i = 0; i + size <= bytes; i += r->c->step_bytes) {
		uint32_t granule =
			census_granule(&r->c->slots, word_from(at + i, size) & r->c->word_mask);
		struct census_root *root;

		if (!granule)
			continue;
		root = array_add(&roots->root);
		if (!root) {
			r->is_out_of_memory = true;
			return;
		}
		*root = (struct census_root){ addr + i, granule, r->range };
	}
	roots->bytes += bytes;
}

/* ---- registers ---- */

static int
roots_by_sp(const void *a, const void *b)
{
	const struct roots_thread *x = a, *y = b;

	return (x->sp > y->sp) - (x->sp < y->sp);
}

/* Read the registers of set TYPE of TID.  0, or -1 with E. */
static int
roots_regset(struct roots_read *r, pid_t tid, unsigned int type, struct err *e)
{
	char buf[ARCH_MAX_EXT_BYTES];
	size_t size = sizeof buf;

	if (os_get_regset(tid, type, buf, &size, e) < 0)
		return -1;
	roots_scan(r, buf, size, 0);
	return 0;
}

/* Return whether TID has ended, as the main thread of a process that lives on may have. */
static bool
roots_has_ended(const struct roots_read *r, pid_t tid)
{
	struct os_status status;
	struct err e;

	return os_status(r->look->t, tid, &status, &e) < 0 ? e.kind == ERR_GONE
							   : !status.has_memory;
}

/*
 * Read the registers of the stopped thread TID.  Vector registers hold pointers, too: while memory
 * is copied, and where a compiler moves two words at once.
 */
static int
roots_thread(struct roots_read *r, pid_t tid, struct err *e)
{
	struct roots_thread *thread;
	struct arch_regs regs;
	struct err ours;

	if (roots_begin(r, CENSUS_REGISTER, tid, 0, 0) < 0)
		return roots_fail(e);
	if (roots_regset(r, tid, NT_PRSTATUS, &ours) < 0) {
		if (ours.kind == ERR_GONE && roots_has_ended(r, tid))
			return 0;
		*e = ours;
		return -1;
	}
	if (roots_regset(r, tid, NT_X86_XSTATE, &ours) < 0 &&
		roots_regset(r, tid, NT_PRFPREG, &ours) < 0) {
		*e = ours;
		return err_context(e, "cannot read the vector registers of thread %d", tid);
	}
	thread = array_add(&r->thread);
	if (!thread)
		return roots_fail(e);
	thread->tid = tid;
	if (r->c->word_bytes == sizeof(uint64_t) && arch_get_regs(tid, &regs, &ours) == 0)
		thread->sp = arch_sp(&regs).v;
	return 0;
}

/*
 * Check that all that was read was there.  SIGKILL ends a stop, and takes the memory away: then the
 * list of mappings may end early, and what points to a block is missing.
 */
static int
roots_check_stop(const struct roots_read *r, struct err *e)
{
	char buf[ARCH_MAX_EXT_BYTES];
	size_t size = sizeof buf;

	if (os_is_still(r->look->t) || !r->look->deadline_ns)
		return 0;
	if (!r->thread.nr)
		return err_set(e, ESRCH, "cannot read the threads of %d", r->look->t->pid);
	return os_get_regset(r->thread.v[0].tid, NT_PRSTATUS, buf, &size, e);
}

static void
roots_still_regset(const char *at, size_t bytes, void *arg)
{
	roots_scan(arg, at, bytes, 0);
}

/* Likewise from a core file or a copy, which has them all. */
static int
roots_still_thread(struct roots_read *r, pid_t tid, struct err *e)
{
	struct roots_thread *thread = array_add(&r->thread);
	raddr sp = { 0 };

	if (!thread || roots_begin(r, CENSUS_REGISTER, tid, 0, 0) < 0)
		return roots_fail(e);
	thread->tid = tid;
	os_each_regset(r->look->t, tid, roots_still_regset, r, &sp);
	thread->sp = sp.v;
	return 0;
}

static int
roots_threads(struct roots_read *r, struct err *e)
{
	const bool is_still = os_is_still(r->look->t);
	auto_free pid_t *tids = NULL;
	size_t nr;

	if (os_threads(r->look->t, THREADS_MAX, &tids, &nr, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++)
		if ((is_still ? roots_still_thread : roots_thread)(r, tids[i], e) < 0)
			return -1;
	if (r->thread.nr)
		qsort(r->thread.v, r->thread.nr, sizeof *r->thread.v, roots_by_sp);
	r->c->roots.nr_threads = r->thread.nr;
	return 0;
}

/* Return the lowest stack pointer in [START, END); 0: none is there. */
static uint64_t
sp_in(const struct roots_read *r, uint64_t start, uint64_t end)
{
	size_t from = 0, to = r->thread.nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (r->thread.v[mid].sp < start)
			from = mid + 1;
		else
			to = mid;
	}
	return from < r->thread.nr && r->thread.v[from].sp < end ? r->thread.v[from].sp : 0;
}

/* ---- memory without roots ---- */

static int
roots_skip(struct roots_read *r, uint64_t start, uint64_t end)
{
	struct roots_gap *gap;

	if (start >= end)
		return 0;
	gap = array_add(&r->gaps);
	if (!gap)
		return -1;
	gap->start = start;
	gap->end = end;
	return 0;
}

static int
gap_by_start(const void *a, const void *b)
{
	const struct roots_gap *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sort the gaps, and join those that overlap. */
static void
roots_join_gaps(struct roots_read *r)
{
	size_t kept = 0;

	if (r->gaps.nr)
		qsort(r->gaps.v, r->gaps.nr, sizeof *r->gaps.v, gap_by_start);
	for (size_t i = 0; i < r->gaps.nr; i++) {
		const struct roots_gap gap = r->gaps.v[i];
		struct roots_gap *last = kept ? &r->gaps.v[kept - 1] : NULL;

		if (!last || gap.start > last->end)
			r->gaps.v[kept++] = gap;
		else if (gap.end > last->end)
			last->end = gap.end;
	}
	r->gaps.nr = kept;
}

/* Return whether all threads in the stop were known before it. */
static bool
has_no_new_thread(const struct roots_read *r)
{
	const struct threads *threads = r->before->threads;

	for (size_t i = 0; i < r->thread.nr; i++) {
		size_t k = 0;

		while (k < threads->nr && threads->v[k].tid != r->thread.v[i].tid)
			k++;
		if (k == threads->nr)
			return false;
	}
	return true;
}

/*
 * Skip what is unused of a stack.  While its thread is on another stack, such as a signal's, all of
 * it is in use; and a new thread may have taken the stack of one that has ended.  libc keeps the
 * struct pthread of an ended thread, which has the addresses of blocks.
 */
static int
skip_stack(struct roots_read *r, const struct thread_stack *s, bool skips_ended)
{
	const uint64_t sp = sp_in(r, s->start.v, s->end.v);

	if (sp)
		return roots_skip(r, s->start.v, sp - arch_red_zone_bytes);
	if (s->tid || s->is_guess || !skips_ended || !s->pthread.v)
		return 0;
	return roots_skip(r, s->start.v, s->pthread.v - THREAD_PTHREAD_BYTES);
}

/* List the memory that holds no roots.  0, or -1 without memory. */
static int
roots_list_gaps(struct roots_read *r)
{
	const struct arenas *a = r->look->arenas;
	const struct census_chunks *c = &r->c->chunks;
	const struct thread_stacks *s = r->before->stacks;
	const struct census_options *how = r->before->how;
	const bool skips_ended = has_no_new_thread(r);

	for (size_t i = 0; i < c->extent.nr; i++)
		if (roots_skip(r, c->extent.v[i].start.v, c->extent.v[i].end.v) < 0)
			return -1;
	for (size_t i = 0; i < a->nr; i++) {
		if (roots_skip(r, a->v[i].addr.v, a->v[i].addr.v + r->look->layout->state_bytes) <
			0)
			return -1;
		for (size_t k = 0; k < a->v[i].nr_heaps; k++)
			if (roots_skip(r, a->v[i].heap[k].start.v,
				    a->v[i].heap[k].start.v + a->heap_max_bytes) < 0)
				return -1;
	}
	for (size_t i = 0; i < s->nr; i++)
		if (skip_stack(r, &s->v[i], skips_ended) < 0)
			return -1;
	for (size_t i = 0; i < how->nr_skips; i++)
		if (roots_skip(r, how->skip[i].start.v, how->skip[i].end.v) < 0)
			return -1;
	roots_join_gaps(r);
	return 0;
}

/* ---- pools of CPython ---- */

/* Return the type of the object in the SIZE bytes of a block AT; CENSUS_NO_TYPE if it has none. */
static uint32_t
pooled_type(const struct roots_read *r, const char *at, size_t size)
{
	uint64_t last = 0;

	for (unsigned int i = 0; i < CENSUS_TYPE_WORDS && (i + 1) * sizeof last <= size; i++) {
		const uint64_t word = word_from(at + i * sizeof word, sizeof word);
		const uint32_t type = census_type_for(r->before->how->types, word, i, last);

		if (type)
			return type;
		last = word;
	}
	return CENSUS_NO_TYPE;
}

/* Make the range of objects of TYPE the present one.  0, or -1 without memory. */
static int
roots_begin_objects(struct roots_read *r, uint32_t type)
{
	if (r->range_of_type[type]) {
		r->range = r->range_of_type[type];
		return 0;
	}
	if (roots_begin(r, CENSUS_OBJECT, 0, 0, 0) < 0)
		return -1;
	r->c->roots.range.v[r->range].type = type;
	r->range_of_type[type] = r->range;
	return 0;
}

/* Add the objects in POOL, of which SIZE bytes are at AT, and scan those that are in use. */
static void
roots_scan_pool(struct roots_read *r, const struct census_pool *pool, const char *at, size_t size)
{
	const uint32_t range = r->range;
	struct census *c = r->c;

	for (uint32_t offset = pool->first, nr = 0; offset < pool->end && offset < size;
		offset += pool->block_bytes, nr++) {
		size_t bytes =
			pool->block_bytes < size - offset ? pool->block_bytes : size - offset;
		uint32_t type;

		if (census_pool_is_free(pool, nr)) {
			c->pooled.free_bytes += pool->block_bytes;
			continue;
		}
		type = pooled_type(r, at + offset, bytes);
		if (roots_begin_objects(r, type) < 0) {
			r->is_out_of_memory = true;
			return;
		}
		c->pooled.v[type].blocks++;
		c->pooled.v[type].bytes += pool->block_bytes;
		roots_scan(r, at + offset, bytes, pool->addr + offset);
	}
	c->pooled.free_bytes += pool->bytes - pool->end;
	r->range = range;
}

/* Scan the SIZE bytes at AT, which are at ADDR, with the pools among them. */
static void
roots_scan_mapping(struct roots_read *r, const char *at, size_t size, uint64_t addr)
{
	for (size_t i = 0; i < size;) {
		size_t step = CENSUS_POOL_ALIGN - (addr + i) % CENSUS_POOL_ALIGN;
		struct census_pool pool;

		if (step > size - i)
			step = size - i;
		if ((addr + i) % CENSUS_POOL_ALIGN == 0 &&
			census_pool_look(&pool, at + i, size - i, addr + i)) {
			step = pool.bytes < size - i ? pool.bytes : size - i;
			roots_scan_pool(r, &pool, at + i, step);
		} else {
			roots_scan(r, at + i, step, addr + i);
		}
		i += step;
	}
}

/* ---- memory ---- */

static bool
roots_are_late(struct roots_read *r)
{
	if (r->look->deadline_ns && os_now_ns() >= r->look->deadline_ns)
		r->is_late = true;
	return r->is_late;
}

static void
roots_read_memory(struct roots_read *r, uint64_t at, uint64_t end)
{
	/* A word that is not aligned may continue in the next piece. */
	const uint64_t shared = r->c->word_bytes - r->c->step_bytes;

	while (at < end && !r->is_out_of_memory && !roots_are_late(r)) {
		/* Pieces begin at multiples of their size, so that none begins within a pool. */
		const uint64_t room = PIECE_BYTES - at % PIECE_BYTES;
		const uint64_t size = end - at < room + shared ? end - at : room + shared;
		struct err ignored;
		ssize_t n = os_read_some(r->look->t, (raddr){ at }, r->buf, size, &ignored);

		if (n <= 0) {
			r->c->unread_bytes += end - at;
			return;
		}
		(r->has_pools ? roots_scan_mapping : roots_scan)(r, r->buf, (size_t)n, at);
		if ((uint64_t)n > room) {
			r->c->roots.bytes -= (uint64_t)n - room;
			n = (ssize_t)room;
		}
		at += (uint64_t)n;
	}
}

/* Return the index of the first gap that ends after ADDR. */
static size_t
gap_from(const struct roots_read *r, uint64_t addr)
{
	size_t from = 0, to = r->gaps.nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (r->gaps.v[mid].end <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static void
roots_count_swapped(struct roots_read *r, uint64_t start, uint64_t end)
{
	r->c->swapped_bytes += end - start;
}

/* Call PART for each part of [START, END) between the gaps. */
static void
roots_between(struct roots_read *r, uint64_t start, uint64_t end,
	void (*part)(struct roots_read *r, uint64_t start, uint64_t end))
{
	const uint64_t word = r->c->word_bytes;

	for (size_t i = gap_from(r, start); i < r->gaps.nr && r->gaps.v[i].start < end; i++) {
		if (r->gaps.v[i].start > start)
			part(r, start, r->gaps.v[i].start & -word);
		start = r->gaps.v[i].end & -word;
	}
	if (start < end)
		part(r, start, end);
}

struct roots_region {
	struct roots_read *r;
	bool takes_files; /* pages of its file count, because others write to it */
};

static int
roots_run(const struct os_page_run *run, void *arg)
{
	struct roots_region *region = arg;
	struct roots_read *r = region->r;

	if (run->is_swapped && !(run->is_file && !region->takes_files))
		roots_between(r, run->start.v, run->end.v, roots_count_swapped);
	if (run->is_present && (region->takes_files || !run->is_file))
		roots_between(r, run->start.v, run->end.v, roots_read_memory);
	return r->is_late || r->is_out_of_memory;
}

/*
 * Return whether a region may hold roots.  The kernel writes no pointers of the program, and
 * reading a device may change it.  A page of a file in private memory that was not written is as
 * it is in the file.
 */
static bool
has_roots(const struct region *r)
{
	const bool is_shared = r->prot[3] == 's';

	if (region_is_kernels(r) || (is_shared && r->prot[1] != 'w'))
		return false;
	return !is_shared || !r->path || strncmp(r->path, "/dev/", 5) != 0 ||
		strncmp(r->path, "/dev/shm/", 9) == 0 || strncmp(r->path, "/dev/zero", 9) == 0 ||
		strncmp(r->path, "/dev/hugepages", 14) == 0;
}

static const struct thread_stack *
stack_at(const struct thread_stacks *s, uint64_t addr)
{
	size_t from = 0, to = s->nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (s->v[mid].end.v <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from < s->nr && addr >= s->v[from].start.v ? &s->v[from] : NULL;
}

/*
 * Begin the range of the part of a region from START to END, which is all in one object, in one
 * stack, or in neither.
 */
static int
roots_begin_part(struct roots_read *r, const struct region *region, uint64_t start, uint64_t end)
{
	const struct thread_stack *stack = stack_at(r->before->stacks, start);
	const bool is_global = objects_at(r->before->objects, (raddr){ start });

	r->has_pools = r->range_of_type && !is_global && !stack && region->prot[3] == 'p';
	return roots_begin(r,
		is_global	? CENSUS_GLOBAL
			: stack ? CENSUS_STACK
				: CENSUS_MAPPING,
		stack ? stack->tid : 0, start, end);
}

/*
 * Return the end of the part of a region that begins at START.  The kernel merges the end of an
 * object's data with memory that is mapped after it.
 */
static uint64_t
part_end(const struct roots_read *r, const struct region *region, uint64_t start)
{
	const struct object *object = objects_at(r->before->objects, (raddr){ start });
	uint64_t end = object ? (object->end.v + PAGE_BYTES - 1) & -PAGE_BYTES : region->end.v;

	return end < region->end.v ? end : region->end.v;
}

static int
roots_part(struct roots_read *r, const struct region *region, uint64_t start, uint64_t end,
	struct err *e)
{
	struct os_page_run all = { .start = { start }, .end = { end }, .is_present = true };
	const bool is_shared = region->prot[3] == 's';
	struct roots_region arg = { r, is_shared || !region_has_file(region) };
	const uint64_t before = r->c->roots.bytes;
	struct os_pages *pages = is_shared && r->shared_pages ? r->shared_pages : r->look->pages;
	int failed = 0;

	if (roots_begin_part(r, region, start, end) < 0)
		return roots_fail(e);
	if (pages)
		failed = os_pages_walk(
			pages, (raddr){ start }, (raddr){ end }, true, roots_run, &arg, e);
	else
		roots_run(&all, &arg);
	if (is_shared && os_frozen_of(r->look->t))
		r->c->late_bytes += r->c->roots.bytes - before;
	return failed < 0 ? -1 : 0;
}

static int
roots_region(struct roots_read *r, const struct region *region, struct err *e)
{
	for (uint64_t start = region->start.v, end; start < region->end.v; start = end) {
		end = part_end(r, region, start);
		if (roots_part(r, region, start, end, e) < 0)
			return -1;
	}
	return 0;
}

/* Prepare to look for pools, if the target is CPython. */
static int
roots_expect_pools(struct roots_read *r)
{
	const struct census_type_table *types = r->before->how->types;
	struct census *c = r->c;

	free(c->pooled.v);
	c->pooled.v = NULL;
	c->pooled.nr = 0;
	c->pooled.all = (struct census_sum){ 0 };
	c->pooled.free_bytes = 0;
	if (!types || !types->has_python)
		return 0;
	c->pooled.nr = types->type.nr;
	c->pooled.v = calloc(types->type.nr, sizeof *c->pooled.v);
	r->range_of_type = calloc(types->type.nr, sizeof *r->range_of_type);
	return c->pooled.v && r->range_of_type ? 0 : -1;
}

static int
roots_read_all(struct roots_read *r, struct err *e)
{
	const struct regions *m = r->look->maps;

	r->buf = malloc(PIECE_BYTES + sizeof(uint64_t));
	if (!r->buf || roots_expect_pools(r) < 0)
		return roots_fail(e);
	if ((os_is_still(r->look->t) || r->look->deadline_ns) && roots_threads(r, e) < 0)
		return -1;
	if (roots_list_gaps(r) < 0)
		return roots_fail(e);
	for (size_t i = 0; i < m->nr && !r->is_late && !r->is_out_of_memory; i++)
		if (has_roots(&m->region[i]) && roots_region(r, &m->region[i], e) < 0)
			return -1;
	for (size_t i = 0; i < r->c->pooled.nr; i++) {
		r->c->pooled.all.blocks += r->c->pooled.v[i].blocks;
		r->c->pooled.all.bytes += r->c->pooled.v[i].bytes;
	}
	if (r->is_out_of_memory)
		return roots_fail(e);
	return roots_check_stop(r, e) < 0 ? -1 : r->is_late;
}

int
census_roots_read(struct census *c, const struct heap_look *look,
	const struct census_before *before, struct err *e)
{
	struct roots_read r = { .c = c, .look = look, .before = before };
	int result;

	c->roots.range.nr = c->roots.root.nr = c->roots.nr_threads = 0;
	c->roots.bytes = c->late_bytes = 0;
	if (os_frozen_of(look->t) &&
		os_pages_open(&r.shared_pages, os_frozen_of(look->t), OS_PAGES_AUTO, e) < 0)
		return -1;
	result = roots_read_all(&r, e);
	free(r.gaps.v);
	free(r.thread.v);
	free(r.buf);
	free(r.range_of_type);
	os_pages_free(r.shared_pages);
	return result;
}

void
census_roots_resolve(
	struct census_roots *r, const struct census_chunks *c, const struct census_slots *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->root.nr; i++) {
		struct census_root root = r->root.v[i];

		root.to = census_chunk_at(c, s, root.to);
		if (root.to != CENSUS_NO_CHUNK && c->state.v[root.to] & CENSUS_BLOCK)
			r->root.v[kept++] = root;
	}
	r->root.nr = kept;
}
