/*
 * takes-memory THREADS: make system calls that take memory and give it back, at random, from
 * functions that call each other in known ways, and keep a ledger of them.
 *
 *	mark BYTES	-> "done": one mmap() of BYTES and one munmap(), which no ledger has
 *	pace USEC	-> "done": from now on each thread rests for USEC after a step
 *	play SEED STEPS FILE [LEAST]
 *			-> "done N" when each thread has done STEPS steps, with N calls in FILE:
 *
 *	call TID NAME BYTES ADDRESS ERROR RESERVE CHAIN		one line for each, those of a
 *				thread in their order; CHAIN is FUNCTION;CALLER;CALLER...
 *	sum CHAIN MAPS MAPPED FREED UNMAPS UNMAPPED DISCARDS DISCARDED FAILED LEFT
 *				numbers of calls, and bytes; MOVES before them
 *
 * Calls of fewer than LEAST bytes are in no line, and what they map is nobody's.  With one seed
 * each thread makes the same calls in each run, wherever the kernel puts its mappings.
 *
 * What is expected of a tracer is kept here for each page, in an array: memory belongs to the call
 * that mapped it, wherever it is moved to.
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* 5.7 */
#endif

#define MAX_THREADS 8
#define NR_LIVES 3 /* of each thread: another one goes on with what it has mapped */
#define NR_REGIONS 20
#define NR_UNITS 48
#define NR_CHAINS 40
#define MAX_DEPTH 40
#define NR_STEPS 8
#define MAX_CALLS (1 << 17)
#define MAX_BREAK 4096 /* pages of the heap */
#define LARGE_BYTES ((size_t)1 << 20)

/* clang makes no clones, and keeps functions apart that are the same. */
#if __has_attribute(noclone)
#define NOINLINE __attribute__((noinline, noclone, no_icf))
#else
#define NOINLINE __attribute__((noinline))
#endif

static size_t page;
static unsigned long least;

/* ---- the calls ---- */

enum call { MMAP, MUNMAP, MREMAP, BRK, MADVISE };
static const char *const call_names[] = { "mmap", "munmap", "mremap", "brk", "madvise" };
static const long numbers[] = { SYS_mmap, SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise };

struct plan {
	const unsigned char *chain; /* which functions of STEPS call each other */
	int depth, at;
	int site;
	enum call call;
	unsigned long arg[6];
};

/* As the kernel has it: -errno if it failed. */
static inline long
result_of(long result)
{
	return result == -1 ? -errno : result;
}

static inline long
call_inline(const struct plan *p)
{
#if defined __x86_64__
	register unsigned long r10 __asm__("r10") = p->arg[3];
	register unsigned long r8 __asm__("r8") = p->arg[4];
	register unsigned long r9 __asm__("r9") = p->arg[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(numbers[p->call]), "D"(p->arg[0]), "S"(p->arg[1]), "d"(p->arg[2]),
			 "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined __aarch64__
	register long x8 __asm__("x8") = numbers[p->call];
	register unsigned long x0 __asm__("x0") = p->arg[0];
	register unsigned long x1 __asm__("x1") = p->arg[1];
	register unsigned long x2 __asm__("x2") = p->arg[2];
	register unsigned long x3 __asm__("x3") = p->arg[3];
	register unsigned long x4 __asm__("x4") = p->arg[4];
	register unsigned long x5 __asm__("x5") = p->arg[5];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return (long)x0;
#else
	return result_of(syscall(numbers[p->call], p->arg[0], p->arg[1], p->arg[2], p->arg[3],
		p->arg[4], p->arg[5]));
#endif
}

/* Not the last call of a function, which would leave no frame of it. */
#define SITE(name, expression)                                                                     \
	static NOINLINE long name(struct plan *p)                                                  \
	{                                                                                          \
		volatile long result = (long)(expression);                                         \
                                                                                                   \
		return result;                                                                     \
	}
#define AT(n) ((void *)p->arg[n])

SITE(map_by_libc,
	result_of((long)mmap(AT(0), p->arg[1], (int)p->arg[2], (int)p->arg[3], (int)p->arg[4], 0)))
SITE(map_by_number,
	result_of(syscall(SYS_mmap, p->arg[0], p->arg[1], p->arg[2], p->arg[3], p->arg[4], 0)))
SITE(map_inline, call_inline(p))
SITE(unmap_by_libc, result_of(munmap(AT(0), p->arg[1])))
SITE(unmap_inline, call_inline(p))
SITE(remap_by_libc, result_of((long)mremap(AT(0), p->arg[1], p->arg[2], (int)p->arg[3], AT(4))))
SITE(remap_inline, call_inline(p))
SITE(advise_by_libc, result_of(madvise(AT(0), p->arg[1], (int)p->arg[2])))
SITE(advise_inline, call_inline(p))
SITE(break_by_sbrk, result_of((long)sbrk((intptr_t)p->arg[0])))
SITE(break_by_brk, result_of(brk((char *)sbrk(0) + (long)p->arg[0])))

typedef long (*function)(struct plan *p);
enum { AT_MAP, AT_UNMAP = 3, AT_REMAP = 5, AT_ADVISE = 7, AT_BREAK = 9, NR_SITES = 11 };
static const function sites[NR_SITES] = { map_by_libc, map_by_number, map_inline, unmap_by_libc,
	unmap_inline, remap_by_libc, remap_inline, advise_by_libc, advise_inline, break_by_sbrk,
	break_by_brk };
static const char *const site_names[NR_SITES] = { "map_by_libc", "map_by_number", "map_inline",
	"unmap_by_libc", "unmap_inline", "remap_by_libc", "remap_inline", "advise_by_libc",
	"advise_inline", "break_by_sbrk", "break_by_brk" };

/* ---- the functions that lead there ---- */

static const function steps[NR_STEPS];

/* No function, which would be a frame of its own, or an inlined one. */
#define GO_ON(p) ((p)->at == (p)->depth ? sites[(p)->site](p) : steps[(p)->chain[(p)->at++]](p))

/* Frames of several sizes. */
#define STEP(number)                                                                               \
	static NOINLINE long step_##number(struct plan *p)                                         \
	{                                                                                          \
		volatile long result[(number)*3 + 1];                                              \
                                                                                                   \
		result[0] = GO_ON(p);                                                              \
		return result[0];                                                                  \
	}
/* clang-format off */
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)

static const function steps[NR_STEPS] = { step_0, step_1, step_2, step_3, step_4, step_5, step_6,
	step_7 };
/* clang-format on */

static struct chain {
	int depth;
	unsigned char step[MAX_DEPTH];
} chain[NR_CHAINS];

/* "map_inline;step_3;step_1;work" into BUF */
static const char *
chain_name(int site, int number, char *buf, size_t size)
{
	const struct chain *c = &chain[number];
	size_t len = (size_t)snprintf(buf, size, "%s", site_names[site]);

	for (int i = c->depth - 1; i >= 0 && len < size; i--)
		len += (size_t)snprintf(buf + len, size - len, ";step_%d", c->step[i]);
	if (len < size)
		snprintf(buf + len, size - len, ";work");
	return buf;
}

/* ---- the ledger ---- */

static struct sums {
	unsigned long moves, maps, mapped, freed, unmaps, unmapped, discards, discarded, failed,
		left;
} sums[NR_SITES * NR_CHAINS];

static struct logged {
	unsigned long bytes, address;
	int tid, error, owner;
	unsigned char call;
	bool is_reserve;
} logged[MAX_CALLS];
static unsigned int nr_logged;

#define NOBODY (-1)

/* A page, or 1 MiB. */
struct unit {
	bool is_mapped;
	int owner; /* of the sums */
	int vma;   /* those of one number, one next to the other, are one mapping for sure */
	bool is_shared, may_touch;
};

struct region {
	char *at;
	size_t bytes; /* of a unit */
	struct unit unit[NR_UNITS];
};

static struct worker {
	unsigned int seed;
	int nr_vmas, index;
	struct region region[NR_REGIONS];
} worker[MAX_THREADS];
static int nr_threads, memory_fd;
static long nr_steps;
static unsigned int pace;

static struct {
	char *start, *end; /* whole pages; END is not rounded */
	int owner[MAX_BREAK];
} heap;

static void
add(unsigned long *sum, unsigned long n)
{
	__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

static unsigned long
round_up(unsigned long bytes)
{
	return (bytes + page - 1) & ~(page - 1);
}

static void
log_call(const struct plan *p, long result, int owner, unsigned long bytes)
{
	const unsigned int i = __atomic_fetch_add(&nr_logged, 1, __ATOMIC_RELAXED);
	const bool failed = result < 0 && result > -4096;
	struct logged *l = &logged[i];

	if (i >= MAX_CALLS)
		tracee_fail("too many calls");
	*l = (struct logged){ .bytes = bytes,
		.address = p->arg[0],
		.owner = owner,
		.tid = (int)syscall(SYS_gettid),
		.call = (unsigned char)p->call };
	if (failed)
		l->error = (int)-result;
	else if (p->call == MMAP || p->call == MREMAP)
		l->address = (unsigned long)result;
	l->is_reserve = p->call == MMAP && p->arg[2] == PROT_NONE;
}

static size_t
some(struct worker *w, size_t nr)
{
	return (size_t)rand_r(&w->seed) % nr;
}

/* Whether a call is large enough to be in the ledger. */
static bool
is_large_enough(const struct plan *p)
{
	return p->arg[1] >= least || (p->call == MREMAP && p->arg[2] >= least);
}

/* Make the call P from a function and by callers that are chosen here; *RET_OWNER is its stack. */
static long
make(struct worker *w, struct plan *p, int first_site, size_t nr_sites, int *ret_owner)
{
	const int number = (int)some(w, NR_CHAINS);
	long result;

	p->site = first_site + (int)some(w, nr_sites);
	p->chain = chain[number].step;
	p->depth = chain[number].depth;
	*ret_owner = p->call != BRK && !is_large_enough(p) ? NOBODY : p->site * NR_CHAINS + number;
	result = GO_ON(p);
	if (*ret_owner == NOBODY || p->call == BRK)
		return result;
	log_call(p, result, *ret_owner, p->call == MREMAP ? p->arg[2] : p->arg[1]);
	if (result < 0 && result > -4096)
		add(&sums[*ret_owner].failed, 1);
	return result;
}

static void
set(struct region *r, size_t i, struct unit now)
{
	struct unit *u = &r->unit[i];

	if (u->is_mapped && u->owner != NOBODY)
		add(&sums[u->owner].freed, r->bytes);
	*u = now;
}

/* Units that have moved away: nobody has freed them. */
static void
forget(struct region *r, size_t from, size_t nr)
{
	memset(&r->unit[from], 0, nr * sizeof r->unit[0]);
}

/* ---- what a thread does ---- */

static size_t
some_bytes(struct worker *w, const struct region *r, size_t most_units)
{
	const size_t units = 1 + some(w, most_units);

	return units * r->bytes - (some(w, 4) ? 0 : some(w, page));
}

static size_t
units_of(const struct region *r, size_t bytes)
{
	return (bytes + r->bytes - 1) / r->bytes;
}

static bool
is_free(const struct region *r)
{
	for (size_t i = 0; i < NR_UNITS; i++)
		if (r->unit[i].is_mapped)
			return false;
	return true;
}

/* Units that are mapped, one next to the other: no call may touch what others may have mapped. */
static bool
find_run(struct worker *w, struct region *r, size_t *ret_from, size_t *ret_nr)
{
	size_t from = some(w, NR_UNITS), nr = 0;

	while (from < NR_UNITS && !r->unit[from].is_mapped)
		from++;
	while (from + nr < NR_UNITS && r->unit[from + nr].is_mapped)
		nr++;
	if (!nr)
		return false;
	*ret_from = from;
	*ret_nr = some(w, 3) ? 1 + some(w, nr) : nr;
	return true;
}

static void
touch(struct worker *w, struct region *r, size_t from, size_t nr)
{
	const size_t i = from + some(w, nr);

	if (r->unit[i].may_touch)
		r->at[i * r->bytes] = 1;
}

static const struct unit kinds[] = { { .may_touch = true }, { .may_touch = false },
	{ .is_shared = true }, { .may_touch = false } };
static const unsigned long kind_prot[] = { PROT_READ | PROT_WRITE, PROT_NONE,
	PROT_READ | PROT_WRITE, PROT_READ };

/* mmap(), at AT if that is not NULL. */
static void
map(struct worker *w, struct region *r, size_t from, size_t bytes, char *at)
{
	const size_t kind = some(w, sizeof kinds / sizeof *kinds);
	struct unit now = kinds[kind];
	struct plan p = { .call = MMAP,
		.arg = { (unsigned long)at, bytes, kind_prot[kind],
			MAP_NORESERVE | (at ? MAP_FIXED : 0) |
				(now.is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS),
			now.is_shared ? (unsigned long)memory_fd : -1ul, 0 } };
	const long result = make(w, &p, AT_MAP, 3, &now.owner);

	if (result < 0 && result > -4096)
		tracee_fail("mmap");
	if (!at)
		r->at = (char *)result;
	now.is_mapped = true;
	now.vma = ++w->nr_vmas;
	for (size_t i = 0; i < units_of(r, bytes); i++)
		set(r, from + i, now);
	if (now.owner != NOBODY) {
		add(&sums[now.owner].maps, 1);
		add(&sums[now.owner].mapped, round_up(bytes));
	}
	touch(w, r, from, units_of(r, bytes));
}

static void
unmap(struct worker *w, struct region *r, size_t from, size_t nr)
{
	const size_t bytes = nr * r->bytes - (some(w, 4) ? 0 : some(w, page));
	struct plan p = { .call = MUNMAP,
		.arg = { (unsigned long)(r->at + from * r->bytes), bytes } };
	int owner;

	if (make(w, &p, AT_UNMAP, 2, &owner) != 0)
		tracee_fail("munmap");
	for (size_t i = 0; i < nr; i++)
		set(r, from + i, (struct unit){ .owner = NOBODY });
	if (owner != NOBODY) {
		add(&sums[owner].unmaps, 1);
		add(&sums[owner].unmapped, round_up(bytes));
	}
}

static void
discard(struct worker *w, struct region *r, size_t from, size_t nr)
{
	static const unsigned long advice[] = { MADV_DONTNEED, MADV_FREE, MADV_NORMAL };
	struct plan p = { .call = MADVISE,
		.arg = { (unsigned long)(r->at + from * r->bytes), nr * r->bytes,
			advice[some(w, 3)] } };
	int owner;

	if (p.arg[2] == MADV_NORMAL) { /* which does not give anything back */
		madvise((void *)p.arg[0], p.arg[1], (int)p.arg[2]);
		return;
	}
	if (make(w, &p, AT_ADVISE, 2, &owner) != 0 || owner == NOBODY)
		return; /* the kernel frees no shared memory so */
	add(&sums[owner].discards, 1);
	add(&sums[owner].discarded, p.arg[1]);
}

/* How many of NR units are one mapping: mremap() takes no more of them. */
static size_t
same(const struct unit *u, size_t nr)
{
	size_t i = 1;

	while (i < nr && u[i].vma == u->vma)
		i++;
	return i;
}

/* Memory that was at OLD is at unit AT of R now, which has BYTES: what it grew by is OWNER's. */
static void
arrive(struct worker *w, struct region *r, size_t at, const struct unit *old, size_t nr_old,
	size_t bytes, int owner)
{
	const int vma = ++w->nr_vmas;

	for (size_t i = 0; i < units_of(r, bytes); i++) {
		struct unit now = i < nr_old ? old[i] : old[0];

		if (i >= nr_old)
			now.owner = owner;
		now.vma = vma;
		set(r, at + i, now);
	}
}

/* The sums of a mremap() from NR_OLD units to BYTES. */
static void
add_remap(const struct region *r, size_t nr_old, size_t bytes, int owner)
{
	const unsigned long was = nr_old * r->bytes, is = round_up(bytes);

	if (owner == NOBODY)
		return;
	if (is > was) {
		add(&sums[owner].maps, 1);
		add(&sums[owner].mapped, is - was);
	} else if (is < was) {
		add(&sums[owner].unmaps, 1);
		add(&sums[owner].unmapped, was - is);
	} else
		add(&sums[owner].moves, 1);
}

/*
 * Some units of A get another size where they are, or go to TO, which is free, or over some of TO.
 */
static void
remap(struct worker *w, struct region *a, size_t from, size_t nr, struct region *to)
{
	const bool is_over = !is_free(to);
	struct unit old[NR_UNITS];
	struct plan p = { .call = MREMAP,
		.arg = { (unsigned long)(a->at + from * a->bytes), 0, 0, MREMAP_MAYMOVE, 0 } };
	size_t at = 0, room = NR_UNITS, nr_old;
	int owner;
	long result;

	nr = same(&a->unit[from], nr);
	if (is_over && (to->bytes != a->bytes || !find_run(w, to, &at, &room)))
		return;
	to->bytes = a->bytes;
	memcpy(old, &a->unit[from], nr * sizeof *old);
	p.arg[1] = nr * a->bytes;
	p.arg[2] = some_bytes(w, a, room);
	if (is_over) {
		p.arg[3] |= MREMAP_FIXED;
		p.arg[4] = (unsigned long)(to->at + at * to->bytes);
	} else if (!some(w, 4) && old->is_shared) {
		p.arg[1] = 0; /* a second mapping of it */
	} else if (!some(w, 3)) {
		p.arg[3] |= MREMAP_DONTUNMAP;
		p.arg[2] = p.arg[1];
	}
	nr_old = p.arg[1] && !(p.arg[3] & MREMAP_DONTUNMAP) ? nr : 0;
	result = make(w, &p, AT_REMAP, 2, &owner);
	if (result < 0 && result > -4096)
		return;
	/* What does not fit into a smaller size is freed. */
	for (size_t i = units_of(a, p.arg[2]); i < nr_old; i++)
		set(a, from + i, (struct unit){ .owner = NOBODY });
	forget(a, from, nr_old);
	if (!is_over)
		to->at = (char *)result;
	arrive(w, to, at, old, nr_old, p.arg[2], owner);
	add_remap(a, nr_old, p.arg[2], owner);
}

/* Less in place. */
static void
shrink(struct worker *w, struct region *r, size_t from, size_t nr)
{
	struct plan p = { .call = MREMAP, .arg = { (unsigned long)(r->at + from * r->bytes) } };
	int owner;

	nr = same(&r->unit[from], nr);
	p.arg[1] = nr * r->bytes;
	p.arg[2] = some_bytes(w, r, nr);
	if (make(w, &p, AT_REMAP, 2, &owner) < 0)
		tracee_fail("mremap");
	for (size_t i = units_of(r, p.arg[2]); i < nr; i++)
		set(r, from + i, (struct unit){ .owner = NOBODY });
	add_remap(r, nr, p.arg[2], owner);
}

/* A call that fails, and changes nothing. */
static void
fail(struct worker *w, struct region *r, size_t from, size_t nr)
{
	const unsigned long at = (unsigned long)(r->at + from * r->bytes), bytes = nr * r->bytes;
	const struct {
		int first_site;
		struct plan p;
	} plans[] = {
		{ AT_MAP,
			{ .call = MMAP,
				.arg = { at, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1ul } } },
		{ AT_MAP,
			{ .call = MMAP,
				.arg = { 0, 1ul << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
					-1ul } } },
		{ AT_MAP,
			{ .call = MMAP,
				.arg = { at, bytes, PROT_NONE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
					-1ul } } },
		{ AT_UNMAP, { .call = MUNMAP, .arg = { at + 1, bytes } } },
		{ AT_REMAP, { .call = MREMAP, .arg = { at + 1, bytes, page, MREMAP_MAYMOVE } } },
		{ AT_REMAP, { .call = MREMAP, .arg = { at, bytes, 1ul << 60, MREMAP_MAYMOVE } } },
		{ AT_ADVISE, { .call = MADVISE, .arg = { at + 1, bytes, MADV_DONTNEED } } },
	};
	const size_t i = some(w, sizeof plans / sizeof *plans);
	struct plan p = plans[i].p;
	int owner;
	long result = make(w, &p, plans[i].first_site, 2, &owner);

	if (result >= 0 || result < -4095)
		tracee_fail("a call that must fail");
}

/* Only one thread does this, and no thread uses malloc() meanwhile. */
static void
move_break(struct worker *w)
{
	const long had = (long)round_up((unsigned long)(heap.end - heap.start));
	long change = (long)some(w, 40 * page) * (some(w, 2) ? 1 : -1), has;
	struct plan p = { .call = BRK };
	int owner;
	long result;

	if (!some(w, 3))
		change = change / (long)page * (long)page;
	if (heap.end - heap.start + change < 0 ||
		heap.end - heap.start + change > (long)(MAX_BREAK * page) || !change)
		return;
	if (sbrk(0) != heap.end)
		tracee_fail("another one has moved the break");
	p.arg[0] = (unsigned long)change;
	result = make(w, &p, AT_BREAK, 2, &owner);
	if (result < 0 && result > -4096)
		tracee_fail("brk");
	heap.end += change;
	has = (long)round_up((unsigned long)(heap.end - heap.start));
	if (has == had)
		return; /* no page more, and none less */
	if ((unsigned long)labs(has - had) < least)
		owner = NOBODY;
	for (long i = has / (long)page; i < had / (long)page; i++)
		if (heap.owner[i] != NOBODY)
			add(&sums[heap.owner[i]].freed, page);
	for (long i = had / (long)page; i < has / (long)page; i++)
		heap.owner[i] = owner;
	if (owner == NOBODY)
		return;
	p.arg[0] = (unsigned long)heap.end;
	log_call(&p, 0, owner, (unsigned long)labs(has - had));
	add(has > had ? &sums[owner].maps : &sums[owner].unmaps, 1);
	add(has > had ? &sums[owner].mapped : &sums[owner].unmapped,
		(unsigned long)labs(has - had));
}

static void
step(struct worker *w)
{
	struct region *r = &w->region[some(w, NR_REGIONS)], *to = &w->region[some(w, NR_REGIONS)];
	size_t from = 0, nr = 0;

	if (!w->index && !some(w, 6))
		move_break(w);
	if (is_free(r)) {
		r->bytes = some(w, 3) ? page : LARGE_BYTES;
		map(w, r, 0, some_bytes(w, r, NR_UNITS), NULL);
		return;
	}
	if (!find_run(w, r, &from, &nr))
		return;
	switch (some(w, 12)) {
	case 0:
		fail(w, r, from, nr);
		break;
	case 1:
	case 2:
		map(w, r, from, some_bytes(w, r, nr), r->at + from * r->bytes);
		break;
	case 3:
		discard(w, r, from, nr);
		break;
	case 4:
		shrink(w, r, from, nr);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		if (r != to)
			remap(w, r, from, nr, to);
		break;
	default:
		unmap(w, r, from, nr);
	}
}

static NOINLINE void *
work(void *arg)
{
	struct worker *w = arg;

	for (long i = 0; i < nr_steps / NR_LIVES; i++) {
		step(w);
		if (pace)
			usleep(pace);
	}
	return NULL;
}

/* ---- the whole ---- */

/* What is left of an earlier time is nobody's. */
static void
begin_anew(void)
{
	memset(sums, 0, sizeof sums);
	for (int i = 0; i < nr_threads; i++)
		for (int k = 0; k < NR_REGIONS; k++)
			for (int n = 0; n < NR_UNITS; n++)
				worker[i].region[k].unit[n].owner = NOBODY;
}

static void
begin(unsigned int seed)
{
	begin_anew();
	nr_logged = 0;
	for (int i = 0; i < NR_CHAINS; i++) {
		chain[i].depth = 1 + (int)((unsigned int)rand_r(&seed) % (i % 4 ? 12 : MAX_DEPTH));
		for (int k = 0; k < chain[i].depth; k++)
			chain[i].step[k] = (unsigned char)(rand_r(&seed) % NR_STEPS);
	}
	for (int i = 0; i < nr_threads; i++) {
		worker[i].seed = seed * 1000 + (unsigned int)i;
		worker[i].index = i;
	}
	heap.end = sbrk(0);
	heap.start = (char *)round_up((unsigned long)heap.end);
	if (sbrk(heap.start - heap.end) == (void *)-1)
		tracee_fail("sbrk");
	heap.end = heap.start;
}

static void
play(unsigned int seed)
{
	pthread_t thread[MAX_THREADS];

	begin(seed);
	for (int life = 0; life < NR_LIVES; life++) {
		for (int i = 0; i < nr_threads; i++)
			if (pthread_create(&thread[i], NULL, work, &worker[i]) != 0)
				tracee_fail("pthread_create");
		for (int i = 0; i < nr_threads; i++)
			pthread_join(thread[i], NULL);
	}
}

static void
add_left(void)
{
	for (int i = 0; i < nr_threads; i++)
		for (int k = 0; k < NR_REGIONS; k++)
			for (int n = 0; n < NR_UNITS; n++) {
				const struct unit *u = &worker[i].region[k].unit[n];

				if (u->is_mapped && u->owner != NOBODY)
					sums[u->owner].left += worker[i].region[k].bytes;
			}
	for (char *at = heap.start; at < heap.end; at += page)
		if (heap.owner[(size_t)(at - heap.start) / page] != NOBODY)
			sums[heap.owner[(size_t)(at - heap.start) / page]].left += page;
}

/* dprintf() asks for no memory. */
static void
write_ledger(const char *path)
{
	static char buf[1024];
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0)
		tracee_fail(path);
	for (unsigned int i = 0; i < nr_logged; i++) {
		const struct logged *l = &logged[i];

		dprintf(fd, "call %d %s %lu %lx %d %d %s\n", l->tid, call_names[l->call], l->bytes,
			l->address, l->error, l->is_reserve,
			chain_name(l->owner / NR_CHAINS, l->owner % NR_CHAINS, buf, sizeof buf));
	}
	for (int i = 0; i < NR_SITES * NR_CHAINS; i++) {
		const struct sums *s = &sums[i];

		if (s->mapped != s->freed + s->left)
			tracee_fail("the ledger does not add up");
		if (s->moves || s->maps || s->unmaps || s->discards || s->failed)
			dprintf(fd, "sum %s %lu %lu %lu %lu %lu %lu %lu %lu %lu %lu\n",
				chain_name(i / NR_CHAINS, i % NR_CHAINS, buf, sizeof buf), s->moves,
				s->maps, s->mapped, s->freed, s->unmaps, s->unmapped, s->discards,
				s->discarded, s->failed, s->left);
	}
	close(fd);
}

static NOINLINE void
mark(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED || munmap(at, bytes) != 0)
		tracee_fail("mark");
}

int
main(int argc, char **argv)
{
	char line[512], path[400];
	unsigned int seed;

	page = (size_t)sysconf(_SC_PAGESIZE);
	nr_threads = (int)tracee_number(argc, argv, 1, 1);
	memory_fd = memfd_create("takes-memory", MFD_CLOEXEC);
	if (nr_threads > MAX_THREADS || memory_fd < 0)
		tracee_fail("takes-memory");
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		least = 0;
		if (sscanf(line, "play %u %ld %399s %lu", &seed, &nr_steps, path, &least) >= 3) {
			play(seed);
			add_left();
			write_ledger(path);
			tracee_say("done %u", nr_logged);
		} else if (sscanf(line, "pace %u", &pace) == 1) {
			tracee_say("done");
		} else if (sscanf(line, "mark %lu", &least) == 1) {
			mark(least);
			tracee_say("done");
		} else
			tracee_say("what is '%s'?", line);
	}
	return tracee_end();
}
