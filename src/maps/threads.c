/*
 * The stacks of threads.  pthread_create() writes down in struct pthread what it mapped, and the
 * kernel tells where in struct pthread a thread's robust futex list begins (nptl/descr.h, 2.4 to
 * 2.44; the offsets from there are the same on all machines unless they are named by a variable):
 *
 *	-0x20	list		of all stacks in use, or of those kept for later
 *	-0x10	tid		0 when the thread has ended
 *	    0	robust_head	<- get_robust_list(2)
 *	    +	...		record_offset: differs by release, found by what must hold
 *		stackblock	where its mapping starts, the guard included
 *		stackblock_size
 *		guardsize
 *
 * Going by mappings alone would do until 2.41: since 2.42 the guard is no mapping of its own, so
 * neighbouring stacks become one.
 */
#include <config.h>

#include "maps/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"

#define LIST_OFFSET 0x20
#define TID_OFFSET 0x10
/* How far behind robust_head the record is looked for; it is 0x3b0 on x86-64. */
#define PTHREAD_REST_BYTES 0x800
#define STEP_BYTES 256
#define PAGE_BYTES 4096
/* A mapping larger than that around a stack pointer is not just a stack. */
#define GUESS_MAX_BYTES (UINT64_C(64) << 20)
#define GUARD_MAX_BYTES (UINT64_C(1) << 20)
/* In all, nptl keeps no more than 40 MiB. */
#define KEPT_MAX 16384
#define NR_SAMPLES 16
/* How far from one list's head another is looked for. */
#define NEAR_BYTES 128

struct record {
	uint64_t block, size_bytes, guard_bytes;
};

struct node {
	uint64_t next, prev;
};

struct finder {
	const struct target *t;
	const struct maps *m;
	const struct objects *o;
	struct thread_stacks *stacks;
	pid_t *tids;
	raddr *heads;		/* the robust list head of each thread, or 0 */
	size_t nr;
	uint64_t record_offset;	/* from the head; 0 while not known */
};

/* ---- libc's record ---- */

/* Whether [START, END) is mapped, without a hole, and private memory of no file. */
static bool
is_anonymous(const struct maps *m, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct region *r = maps_find(m, (raddr){ start });

		if (!r || r->inode || r->prot[3] != 'p')
			return false;
		start = r->end.v;
	}
	return true;
}

/* Whether R can be what libc wrote down of the thread whose struct pthread holds HEAD. */
static bool
is_record(const struct finder *f, const struct record *r, raddr head)
{
	return r->block && r->size_bytes < UINT64_C(1) << 40 && r->guard_bytes < r->size_bytes &&
		r->guard_bytes % PAGE_BYTES == 0 && head.v > r->block + r->guard_bytes &&
		head.v - r->block < r->size_bytes &&
		is_anonymous(f->m, r->block, r->block + r->size_bytes);
}

/*
 * Look for the record in the struct pthread around HEAD, reading no further than it takes: the next
 * page may be somebody's who never touched it.
 */
static void
learn_record_offset(struct finder *f, raddr head)
{
	char rest[PTHREAD_REST_BYTES];
	uint64_t at = 0;
	struct record r;
	struct err e;

	for (uint64_t have = 0; have < sizeof rest;) {
		if (os_read(f->t, raddr_add(head, have), rest + have, STEP_BYTES, &e) < 0)
			return;
		have += STEP_BYTES;
		for (; at + sizeof r <= have; at += sizeof r.block) {
			memcpy(&r, rest + at, sizeof r);
			if (!is_record(f, &r, head))
				continue;
			f->record_offset = at;
			debug("a thread's stack is written down %#" PRIx64
			      " bytes behind its robust list head", at);
			return;
		}
	}
}

static int
add_stack(struct finder *f, const struct thread_stack *stack, struct err *e)
{
	struct thread_stack *new = array_add(f->stacks);

	if (!new)
		return err_set(e, ENOMEM, "cannot list the stacks");
	*new = *stack;
	return 0;
}

static struct thread_stack
stack_of_record(const struct record *r, raddr head, pid_t tid)
{
	return (struct thread_stack){
		.tid = tid,
		.start = { r->block },
		.end = { r->block + r->size_bytes },
		.guard_bytes = r->guard_bytes,
		.control = { head.v & ~(uint64_t)(PAGE_BYTES - 1) },
	};
}

/* ---- threads that live ---- */

static int
add_main_stack(struct finder *f, struct err *e)
{
	struct os_stat stat;
	const struct region *r;

	if (os_stat(f->t, &stat, e) < 0)
		return -1;
	r = maps_find(f->m, stat.start_stack);
	if (!r)
		return 0;
	return add_stack(f, &(struct thread_stack){
		.tid = f->t->pid, .start = r->start, .end = r->end, .is_main = true }, e);
}

/*
 * A thread that libc wrote nothing down for (musl, a raw clone()): its stack is the mapping that SP
 * points into, if that looks like one, which is small and has a guard below it.
 */
static int
add_guess(struct finder *f, pid_t tid, struct err *e)
{
	struct os_syscall syscall;
	const struct region *r, *guard;
	struct err ignored;

	if (os_thread_syscall(f->t, tid, &syscall, &ignored) < 0 || syscall.is_running)
		return 0;
	r = maps_find(f->m, syscall.sp);
	if (!r || r->inode || r == f->m->region || r->end.v - r->start.v > GUESS_MAX_BYTES)
		return 0;
	guard = r - 1;
	if (guard->end.v != r->start.v || memcmp(guard->prot, "---p", 4) != 0 ||
		guard->end.v - guard->start.v > GUARD_MAX_BYTES)
		return 0;
	return add_stack(f, &(struct thread_stack){
		.tid = tid,
		.start = guard->start,
		.end = r->end,
		.guard_bytes = guard->end.v - guard->start.v,
		.sp = syscall.sp,
		.is_guess = true }, e);
}

static int
add_living(struct finder *f, struct err *e)
{
	auto_free raddr *from = calloc(f->nr, sizeof *from);
	auto_free struct record *record = calloc(f->nr, sizeof *record);

	if (!from || !record)
		return err_set(e, ENOMEM, "cannot list the stacks");
	for (size_t i = 0; i < f->nr && !f->record_offset && i < NR_SAMPLES; i++)
		if (f->heads[i].v && f->tids[i] != f->t->pid)	/* libc did not map main's */
			learn_record_offset(f, f->heads[i]);
	for (size_t i = 0; i < f->nr; i++)
		if (f->heads[i].v)
			from[i] = raddr_add(f->heads[i], f->record_offset);
	if (os_read_each(f->t, from, f->nr, sizeof *record, record, e) < 0)
		return -1;
	for (size_t i = 0; i < f->nr; i++) {
		struct thread_stack stack = stack_of_record(&record[i], f->heads[i], f->tids[i]);
		int r;

		if (f->tids[i] == f->t->pid)
			r = add_main_stack(f, e);
		else if (f->record_offset && is_record(f, &record[i], f->heads[i]))
			r = add_stack(f, &stack, e);
		else
			r = add_guess(f, f->tids[i], e);
		if (r < 0)
			return -1;
	}
	return 0;
}

/* ---- stacks that are kept ---- */

/*
 * Add the stacks of ended threads in the list that would begin at HEAD with FIRST.  A list is told
 * by its nodes pointing back, so it cannot be a circle that misses its head.
 */
static int
add_kept_list(struct finder *f, raddr head, struct node first, struct err *e)
{
	raddr before = head, at = { first.next };

	for (int i = 0; at.v != head.v && i < KEPT_MAX; i++) {
		raddr robust = raddr_add(at, LIST_OFFSET);
		struct thread_stack stack;
		struct record record;
		struct {
			struct node node;
			int32_t tid;
		} seen;
		struct err ignored;

		if (!is_anonymous(f->m, at.v, at.v + 1) ||
			os_read(f->t, at, &seen, sizeof seen, &ignored) < 0 ||
			seen.node.prev != before.v)
			return 0;
		before = at;
		at.v = seen.node.next;
		if (seen.tid > 0)
			continue;
		if (!f->record_offset)
			learn_record_offset(f, robust);
		if (os_read(f->t, raddr_add(robust, f->record_offset), &record, sizeof record,
			    &ignored) < 0 || !is_record(f, &record, robust))
			return 0;
		stack = stack_of_record(&record, robust, 0);
		if (add_stack(f, &stack, e) < 0)
			return -1;
	}
	return 0;
}

/* Where the lists of living threads begin: the nodes that lie in an object.  Returns how many. */
static size_t
find_list_heads(const struct finder *f, const struct node *nodes, raddr *heads, size_t max)
{
	size_t nr = 0;

	for (size_t i = 0; i < 2 * f->nr && nr < max; i++) {
		raddr at = { i % 2 ? nodes[i / 2].prev : nodes[i / 2].next };
		bool is_known = false;

		for (size_t j = 0; j < nr; j++)
			is_known |= heads[j].v == at.v;
		if (!is_known && objects_at(f->o, at))
			heads[nr++] = at;
	}
	return nr;
}

/*
 * nptl keeps three lists in three variables defined one after the other (stack_used, stack_user,
 * stack_cache: nptl/allocatestack.c, since 2.34 in _rtld_global): so the list of ended threads
 * begins near one that living threads are in.
 */
static int
add_kept(struct finder *f, struct err *e)
{
	auto_free raddr *from = calloc(f->nr, sizeof *from);
	auto_free struct node *node = calloc(f->nr, sizeof *node);
	uint64_t near[2 * NEAR_BYTES / sizeof(uint64_t)];
	raddr heads[4];
	size_t nr_heads;
	struct err ignored;

	if (!from || !node)
		return err_set(e, ENOMEM, "cannot list the stacks");
	for (size_t i = 0; i < f->nr; i++)
		if (f->heads[i].v)
			from[i] = (raddr){ f->heads[i].v - LIST_OFFSET };
	if (os_read_each(f->t, from, f->nr, sizeof *node, node, e) < 0)
		return -1;
	nr_heads = find_list_heads(f, node, heads, sizeof heads / sizeof *heads);
	if (!nr_heads || os_read_some(f->t, (raddr){ heads[0].v - NEAR_BYTES }, near, sizeof near,
				 &ignored) < (ssize_t)sizeof near)
		return 0;
	for (size_t i = 0; i + 1 < sizeof near / sizeof *near; i++) {
		raddr at = { heads[0].v - NEAR_BYTES + i * sizeof *near };
		bool is_known = false;

		for (size_t j = 0; j < nr_heads; j++)
			is_known |= heads[j].v == at.v;
		if (!is_known && add_kept_list(f, at, (struct node){ near[i], near[i + 1] }, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- all of them ---- */

static int
by_start(const void *a, const void *b)
{
	const struct thread_stack *x = a, *y = b;

	if (x->start.v != y->start.v)
		return x->start.v < y->start.v ? -1 : 1;
	return (y->tid != 0) - (x->tid != 0);
}

/* Sort, and drop what overlaps: what is written in the target's memory need not make sense. */
static void
put_in_order(struct thread_stacks *s)
{
	size_t kept = 0;

	if (s->nr)
		qsort(s->v, s->nr, sizeof *s->v, by_start);
	for (size_t i = 0; i < s->nr; i++)
		if (!kept || s->v[i].start.v >= s->v[kept - 1].end.v)
			s->v[kept++] = s->v[i];
	s->nr = kept;
}

static void
find_sp(struct finder *f)
{
	for (size_t i = 0; i < f->stacks->nr; i++) {
		struct thread_stack *stack = &f->stacks->v[i];
		struct os_syscall syscall;
		struct err ignored;

		if (stack->tid && os_thread_syscall(f->t, stack->tid, &syscall, &ignored) == 0 &&
			raddr_in(syscall.sp, stack->start, stack->end))
			stack->sp = syscall.sp;
	}
}

int
thread_stacks_find(struct thread_stacks *s, const struct target *t, const struct maps *m,
	const struct objects *o, bool want_sp, struct err *e)
{
	auto_thread_stacks struct thread_stacks found = { 0 };
	auto_free pid_t *tids = NULL;
	auto_free raddr *heads = NULL;
	struct finder f = { .t = t, .m = m, .o = o, .stacks = &found };

	if (os_threads(t, &tids, &f.nr, e) < 0)
		return -1;
	heads = calloc(f.nr, sizeof *heads);
	if (!heads)
		return err_set(e, ENOMEM, "cannot list the stacks");
	for (size_t i = 0; i < f.nr; i++)
		os_robust_list(tids[i], &heads[i]);
	f.tids = tids;
	f.heads = heads;
	if (add_living(&f, e) < 0 || add_kept(&f, e) < 0)
		return err_context(e, "looking for the stacks of %d", t->pid);
	put_in_order(&found);
	if (want_sp)
		find_sp(&f);
	*s = found;
	found = (struct thread_stacks){ 0 };
	return 0;
}

void
thread_stacks_release(struct thread_stacks *s)
{
	free(s->v);
	*s = (struct thread_stacks){ 0 };
}
