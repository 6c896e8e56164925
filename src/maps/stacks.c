/*
 * The stacks of threads.  pthread_create() records its mapping in struct pthread, and the kernel
 * reports where in struct pthread a thread's robust futex list begins (nptl/descr.h, 2.4 to 2.44;
 * the offsets from there are the same on all machines unless they are named by a variable):
 *
 *	-0x20	list		of the stacks in use, or of those kept for later
 *	-0x10	tid		0 when the thread has ended
 *	    0	robust_head	<- get_robust_list(2)
 *	    +	...		record_offset: differs by release, found by consistency checks
 *		stackblock	the start of its mapping, including the guard
 *		stackblock_size
 *		guardsize
 *
 * Mappings alone would suffice until 2.41: since 2.42 the guard is not a separate mapping, so
 * neighbouring stacks become one.
 *
 * struct pthread is at the high end of the stack and is itself the end of static TLS:
 *
 *	start                        sp                                              end
 *	| guard |  unused  ..........  | frames ... | static TLS | struct pthread ... |
 *	                                            tls                  robust_head
 */
#include <config.h>

#include "maps/stacks.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "maps/stacks-others.h"
#include "os/frozen.h"
#include "os/memory.h"
#include "os/proc.h"
#include "os/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIST_OFFSET 0x20
/* Maximum distance from robust_head to the record; it is 0x3b0 on x86-64. */
#define PTHREAD_REST_WORDS (0x800 / sizeof(uint64_t))
#define PAGE_BYTES 4096
/*
 * Maximum distance from robust_head to the high end of the stack, with struct pthread and, on
 * aarch64, static TLS.
 */
#define END_MAX_BYTES (UINT64_C(1) << 20)
#define PTHREAD_ALIGN 64
/* Maximum number of objects whose TLS is read; those the program was linked with come first. */
#define MODULES_MAX 64
/* More than the threads of any working process. */
#define LIST_MAX 65536
#define NR_SAMPLES 16
/* Maximum distance between the heads of two lists. */
#define NEAR_BYTES 128

struct stacks_guess {
	uint64_t block, size_bytes, guard_bytes;
};

/* The beginning of struct pthread on x86 (tcbhead_t, sysdeps/x86_64/nptl/tls.h). */
struct tcb {
	uint64_t tcb, dtv, self; /* the first and the last are its own address */
};

/* An entry of the dtv (sysdeps/generic/dl-dtv.h): the address of a thread's TLS for one object. */
struct dtv {
	uint64_t at, to_free;
};

/* The members of struct pthread from LIST_OFFSET on. */
struct stacks_node {
	uint64_t next, prev;
	int32_t tid, unused;
};

/* A thread's node, and libc's record of its stack: zeroes if its struct pthread is unknown. */
struct living {
	raddr at; /* of the node */
	struct stacks_node node;
	struct stacks_guess record;
};

struct stacks_finder {
	const struct target *t;
	const struct regions *m;
	const struct objects *o;
	struct thread_stacks *stacks;
	const struct thread *thread;
	size_t nr;
	struct living *living;	/* one for each of THREAD; sorted by at after add_living() */
	uint64_t record_offset; /* from the head; 0 while unknown */
	uint64_t tls_bytes;	/* from the start of static TLS to the head; 0 if unknown */
};

/* ---- libc's record ---- */

/*
 * Return the writable bytes of [START, END), if it is private anonymous memory without a hole; else
 * 0.
 */
static uint64_t
writable_bytes(const struct regions *m, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;

	while (start < end) {
		const struct region *r = regions_find(m, (raddr){ start });
		uint64_t to;

		if (!r || region_has_file(r) || r->prot[3] != 'p')
			return 0;
		to = r->end.v < end ? r->end.v : end;
		if (r->prot[1] == 'w')
			bytes += to - start;
		start = to;
	}
	return bytes;
}

/*
 * Return whether R can be libc's record of the thread whose struct pthread contains HEAD.  Programs
 * protect parts of their stacks (Java does), but never most of them: a range that is mostly
 * inaccessible is another reserve next to the stack.
 */
static bool
is_record(const struct stacks_finder *f, const struct stacks_guess *r, raddr head)
{
	return r->block && r->size_bytes < UINT64_C(1) << 40 && r->guard_bytes < r->size_bytes &&
		r->guard_bytes % PAGE_BYTES == 0 && head.v > r->block + r->guard_bytes &&
		head.v - r->block < r->size_bytes &&
		r->block + r->size_bytes - head.v < END_MAX_BYTES &&
		2 * writable_bytes(f->m, r->block, r->block + r->size_bytes) >
		r->size_bytes - r->guard_bytes;
}

/* Return the beginning of the struct pthread around HEAD; 0 if it is not found as on x86. */
static raddr
find_tcb(const struct stacks_finder *f, raddr head, struct tcb *ret)
{
	raddr at = { head.v & -(uint64_t)PTHREAD_ALIGN };
	struct err ignored;

	for (; at.v + THREAD_PTHREAD_BYTES > head.v; at.v -= PTHREAD_ALIGN) {
		if (os_read_present(f->t, at, ret, sizeof *ret, &ignored) < 0)
			break;
		if (ret->tcb == at.v && ret->self == at.v)
			return at;
	}
	return (raddr){ 0 };
}

/*
 * Find the size of static TLS from the thread of R and HEAD.  It is the same in all threads; TLS
 * that is elsewhere according to the dtv belongs to objects that were loaded later.
 */
static void
learn_tls_bytes(struct stacks_finder *f, const struct stacks_guess *r, raddr head)
{
	struct dtv dtv[MODULES_MAX];
	struct err ignored;
	struct tcb tcb;
	raddr at = find_tcb(f, head, &tcb);
	uint64_t start = at.v, nr;

	/* The entry before the first has their number, the first one a generation. */
	if (!at.v ||
		os_read_present(
			f->t, (raddr){ tcb.dtv - sizeof *dtv }, dtv, sizeof *dtv, &ignored) < 0)
		return;
	nr = dtv->at < MODULES_MAX ? dtv->at : MODULES_MAX;
	if (os_read_present(
		    f->t, (raddr){ tcb.dtv + sizeof *dtv }, dtv, nr * sizeof *dtv, &ignored) < 0)
		return;
	for (uint64_t i = 0; i < nr; i++)
		if (dtv[i].at >= r->block + r->guard_bytes && dtv[i].at < start)
			start = dtv[i].at;
	f->tls_bytes = head.v - start;
	debug("static TLS begins %#" PRIx64 " bytes before a thread's robust list head",
		f->tls_bytes);
}

/*
 * Add one to VOTES for each offset from HEAD at which a record can be, reading only pages that the
 * target has.
 */
static void
vote(const struct stacks_finder *f, raddr head, unsigned int votes[PTHREAD_REST_WORDS])
{
	char rest[PTHREAD_REST_WORDS * sizeof(uint64_t)];
	struct stacks_guess r;
	struct err ignored;

	if (os_read_present_some(f->t, head, rest, sizeof rest, &ignored) < 0)
		return;
	for (size_t i = 0; i < PTHREAD_REST_WORDS - sizeof r / sizeof r.block; i++) {
		memcpy(&r, rest + i * sizeof r.block, sizeof r);
		votes[i] += is_record(f, &r, head);
	}
}

/*
 * Find the offset of the record from the NR threads with HEADS: the one that fits most of them.
 * Words that look like a record by chance are at different offsets in different threads.
 */
static void
learn_record_offset(struct stacks_finder *f, const raddr *head, size_t nr)
{
	unsigned int votes[PTHREAD_REST_WORDS] = { 0 };
	struct stacks_guess r;
	struct err ignored;
	size_t best = 0;

	for (size_t i = 0; i < nr; i++)
		vote(f, head[i], votes);
	for (size_t i = 1; i < PTHREAD_REST_WORDS; i++)
		if (votes[i] > votes[best])
			best = i;
	if (!votes[best])
		return;
	f->record_offset = best * sizeof r.block;
	debug("a thread's stack is written down %#" PRIx64 " bytes after its robust list head",
		f->record_offset);
	for (size_t i = 0; i < nr && !f->tls_bytes; i++)
		if (os_read_present(f->t, raddr_add(head[i], f->record_offset), &r, sizeof r,
			    &ignored) == 0 &&
			is_record(f, &r, head[i]))
			learn_tls_bytes(f, &r, head[i]);
}

static int
stacks_add_stack(struct stacks_finder *f, const struct thread_stack *stack, struct err *e)
{
	struct thread_stack *new = array_add(f->stacks);

	if (!new)
		return err_set(e, ENOMEM, "cannot list the stacks");
	*new = *stack;
	return 0;
}

static struct thread_stack
stack_of_record(const struct stacks_finder *f, const struct stacks_guess *r, raddr head, pid_t tid)
{
	uint64_t low = r->block + r->guard_bytes;
	uint64_t tls = (head.v - f->tls_bytes) & -(uint64_t)PAGE_BYTES;

	return (struct thread_stack){
		.tid = tid,
		.start = { r->block },
		.end = { r->block + r->size_bytes },
		.guard_bytes = r->guard_bytes,
		.tls = { tls > low ? tls : low },
		.pthread = head,
	};
}

/* ---- living threads ---- */

static int
add_main_stack(struct stacks_finder *f, struct err *e)
{
	struct os_stat stat;
	const struct region *r;

	if (os_stat(f->t, &stat, e) < 0)
		return -1;
	r = regions_find(f->m, stat.start_stack);
	if (!r)
		return 0;
	return stacks_add_stack(f,
		&(struct thread_stack){ .tid = os_main_thread(f->t),
			.start = r->start,
			.end = r->end,
			.is_main = true },
		e);
}

/* Learn where libc's record of a stack is, from the first threads. */
static void
learn_from_threads(struct stacks_finder *f)
{
	raddr sample[NR_SAMPLES];
	size_t nr_samples = 0;

	for (size_t i = 0; i < f->nr && nr_samples < NR_SAMPLES; i++)
		/* libc did not map the main thread's */
		if (f->thread[i].head.v && f->thread[i].tid != os_main_thread(f->t))
			sample[nr_samples++] = f->thread[i].head;
	learn_record_offset(f, sample, nr_samples);
}

/*
 * Read the nodes and the records of all living threads: both are in struct pthread, and are read at
 * once.
 */
static int
read_living(struct stacks_finder *f, struct err *e)
{
	const size_t record = LIST_OFFSET + f->record_offset;
	const size_t bytes = record + sizeof f->living->record;
	auto_free raddr *from = calloc(f->nr, sizeof *from);
	auto_free char *copies = calloc(f->nr, bytes);

	f->living = calloc(f->nr, sizeof *f->living);
	if (!from || !copies || !f->living)
		return err_set(e, ENOMEM, "cannot list the stacks");
	for (size_t i = 0; i < f->nr; i++)
		if (f->thread[i].head.v)
			from[i] = (raddr){ f->thread[i].head.v - LIST_OFFSET };
	if (os_read_each(f->t, from, f->nr, bytes, copies, e) < 0)
		return -1;
	for (size_t i = 0; i < f->nr; i++) {
		struct living *l = &f->living[i];

		if (!from[i].v)
			continue;
		l->at = from[i];
		memcpy(&l->node, copies + i * bytes, sizeof l->node);
		memcpy(&l->record, copies + i * bytes + record, sizeof l->record);
	}
	return 0;
}

static int
by_at(const void *a, const void *b)
{
	const struct living *x = a, *y = b;

	return x->at.v < y->at.v ? -1 : x->at.v > y->at.v;
}

static int
add_living(struct stacks_finder *f, struct err *e)
{
	auto_free pid_t *other = calloc(f->nr, sizeof *other);
	size_t nr_others = 0;

	if (!other)
		return err_set(e, ENOMEM, "cannot list the stacks");
	learn_from_threads(f);
	if (read_living(f, e) < 0)
		return -1;
	for (size_t i = 0; i < f->nr; i++) {
		const struct thread *thread = &f->thread[i];
		const struct stacks_guess *record = &f->living[i].record;
		struct thread_stack stack = stack_of_record(f, record, thread->head, thread->tid);
		int r = 0;

		if (thread->tid == os_main_thread(f->t))
			r = add_main_stack(f, e);
		else if (f->record_offset && is_record(f, record, thread->head))
			r = stacks_add_stack(f, &stack, e);
		else
			other[nr_others++] = thread->tid;
		if (r < 0)
			return -1;
	}
	if (f->nr)
		qsort(f->living, f->nr, sizeof *f->living, by_at);
	return thread_stacks_add_others(f->stacks, f->t, f->m, other, nr_others, e);
}

/* ---- ended threads ---- */

/* Get the list node at AT, which may have been read already.  False if it is invalid. */
static bool
stacks_read_node(const struct stacks_finder *f, raddr at, struct stacks_node *ret)
{
	struct living key = { .at = at };
	const struct living *known = bsearch(&key, f->living, f->nr, sizeof *f->living, by_at);
	struct err ignored;

	if (known)
		*ret = known->node;
	return known ||
		(writable_bytes(f->m, at.v, at.v + 1) &&
			os_read_present(f->t, at, ret, sizeof *ret, &ignored) == 0);
}

/* Add the stack whose list node is at AT.  1 if done, 0 if it is not a stack, -1 with E. */
static int
add_ended_stack(struct stacks_finder *f, raddr at, struct err *e)
{
	raddr robust = raddr_add(at, LIST_OFFSET);
	struct thread_stack stack;
	struct stacks_guess record;
	struct err ignored;

	if (!f->record_offset)
		learn_record_offset(f, &robust, 1);
	if (os_read_present(f->t, raddr_add(robust, f->record_offset), &record, sizeof record,
		    &ignored) < 0 ||
		!is_record(f, &record, robust))
		return 0;
	stack = stack_of_record(f, &record, robust, 0);
	return stacks_add_stack(f, &stack, e) < 0 ? -1 : 1;
}

/*
 * Add the stacks of ended threads in the list that may begin at HEAD, where NEXT is the first.  The
 * nodes of a list point back, so a circle without its head is impossible.
 */
static int
add_ended_list(struct stacks_finder *f, raddr head, raddr next, struct err *e)
{
	raddr before = head;
	struct stacks_node node;

	for (int i = 0; next.v != head.v && i < LIST_MAX; i++, before = next, next.v = node.next) {
		int added;

		if (!stacks_read_node(f, next, &node) || node.prev != before.v)
			return 0;
		if (node.tid > 0)
			continue;
		added = add_ended_stack(f, next, e);
		if (added <= 0)
			return added;
	}
	return 0;
}

/*
 * Return the head of a list with living threads: the one node that lies in an object.  0 if not
 * found.
 */
static raddr
find_list_head(const struct stacks_finder *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		raddr next = { f->living[i].node.next }, prev = { f->living[i].node.prev };

		if (objects_at(f->o, next))
			return next;
		if (objects_at(f->o, prev))
			return prev;
	}
	return (raddr){ 0 };
}

/*
 * Add the stacks of ended threads.  nptl has three lists in three variables defined one after the
 * other (stack_used, stack_user, stack_cache: nptl/allocatestack.c, since 2.34 in _rtld_global).
 * Living threads are in the first two, and so is an ended one until it is joined; then it is in the
 * third.
 */
static int
add_ended(struct stacks_finder *f, struct err *e)
{
	uint64_t near[2 * NEAR_BYTES / sizeof(uint64_t)];
	struct err ignored;
	raddr at;

	at = find_list_head(f);
	at.v -= NEAR_BYTES;
	if (os_read_present(f->t, at, near, sizeof near, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < sizeof near / sizeof *near; i++, at.v += sizeof *near)
		if (add_ended_list(f, at, (raddr){ near[i] }, e) < 0)
			return -1;
	return 0;
}

/* ---- all stacks ---- */

static int
stacks_by_start(const void *a, const void *b)
{
	const struct thread_stack *x = a, *y = b;

	if (x->start.v != y->start.v)
		return x->start.v < y->start.v ? -1 : 1;
	return (y->tid != 0) - (x->tid != 0);
}

/* Drop the guesses of S, sorted, that overlap with known stacks. */
static void
stacks_drop_guesses(struct thread_stacks *s)
{
	uint64_t known_to = 0;
	size_t kept = 0, next = 0;

	for (size_t i = 0; i < s->nr; i++) {
		const struct thread_stack *stack = &s->v[i];

		if (next <= i)
			next = i + 1;
		while (next < s->nr && s->v[next].is_guess)
			next++;
		if (!stack->is_guess && stack->end.v > known_to)
			known_to = stack->end.v;
		if (stack->is_guess &&
			(stack->start.v < known_to ||
				(next < s->nr && s->v[next].start.v < stack->end.v)))
			continue;
		s->v[kept++] = *stack;
	}
	s->nr = kept;
}

/*
 * Sort, and drop overlapping stacks: records in the target's memory may be inconsistent, and a
 * guess must not override a record.
 */
static void
put_in_order(struct thread_stacks *s)
{
	size_t kept = 0;

	if (s->nr)
		qsort(s->v, s->nr, sizeof *s->v, stacks_by_start);
	stacks_drop_guesses(s);
	for (size_t i = 0; i < s->nr; i++)
		if (!kept || s->v[i].start.v >= s->v[kept - 1].end.v)
			s->v[kept++] = s->v[i];
	s->nr = kept;
}

static void
find_sp(struct stacks_finder *f)
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
thread_stacks_find(struct thread_stacks *s, const struct target *t, const struct regions *m,
	const struct objects *o, const struct threads *threads, bool want_sp, struct err *e)
{
	auto_thread_stacks struct thread_stacks found = { 0 };
	struct stacks_finder f = {
		.t = t, .m = m, .o = o, .thread = threads->v, .nr = threads->nr, .stacks = &found
	};
	bool failed = add_living(&f, e) < 0 || add_ended(&f, e) < 0;

	free(f.living);
	if (failed)
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
