/*
 * The stacks of threads that glibc has no record of: musl's, and those of a raw clone().
 *
 * musl's struct pthread (src/internal/pthread_impl.h, 1.1 and 1.2) is above the frames, in the
 * mapping that pthread_create() made, and contains its address:
 *
 *	self ->	self, dtv, prev, next, sysinfo, canary, tid ...
 *		map_base, map_size	the mapping, including the guard
 *		stack, stack_size	the stack's high end, and the size below it
 *		guard_size
 *
 * A thread of a raw clone() has only its stack pointer.
 */
#include <config.h>

#include "maps/stacks-others.h"

#include "base/array.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"

#include <errno.h>
#include <string.h>

#define PAGE_BYTES UINT64_C(4096)
/* A larger mapping below a stack pointer is more than a stack. */
#define GUESS_MAX_BYTES (UINT64_C(64) << 20)
#define GUARD_MAX_BYTES (UINT64_C(1) << 20)
/* Maximum distance from SP up to musl's struct pthread: frames and TLS precede it. */
#define SEARCH_BYTES (UINT64_C(256) << 10)
#define STEP_BYTES (UINT64_C(64) << 10)
/* After this many threads without a struct pthread, the libc is not musl. */
#define NR_SEARCHES 64

struct musl_pthread {
	uint64_t self, dtv, prev, next, sysinfo, canary;
	int32_t tid, errno_value;
	uint64_t more[8]; /* the other members in some order, since 1.1 preceded by one word */
};

/* The addresses in MORE. */
struct musl_stack {
	uint64_t map, map_bytes, stack, stack_bytes, guard_bytes;
};

struct stacks_others_finder {
	const struct target *t;
	const struct regions *m;
	struct thread_stacks *stacks;
	int nr_searches; /* number of failed searches */
};

/* ---- musl ---- */

static bool
is_private(const struct regions *m, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct region *r = regions_find(m, (raddr){ start });

		if (!r || region_has_file(r) || r->prot[3] != 'p')
			return false;
		start = r->end.v;
	}
	return true;
}

static bool
is_stack(const struct stacks_others_finder *f, const struct musl_stack *s, raddr at)
{
	return s->map && s->map % PAGE_BYTES == 0 && s->map_bytes % PAGE_BYTES == 0 &&
		s->map_bytes < UINT64_C(1) << 40 && at.v > s->map && at.v - s->map < s->map_bytes &&
		s->stack > s->map && s->stack - s->map <= s->map_bytes &&
		s->stack_bytes <= s->map_bytes && s->guard_bytes < s->map_bytes &&
		s->guard_bytes % PAGE_BYTES == 0 && is_private(f->m, s->map, s->map + s->map_bytes);
}

/* Return whether P is TID's struct pthread at AT; store its stack in *RET. */
static bool
is_pthread(const struct stacks_others_finder *f, const struct musl_pthread *p, raddr at, pid_t tid,
	struct musl_stack *ret)
{
	if (p->self != at.v || p->tid != tid)
		return false;
	for (size_t i = 0; i + sizeof *ret / sizeof *p->more <= sizeof p->more / sizeof *p->more;
		i++) {
		memcpy(ret, &p->more[i], sizeof *ret);
		if (is_stack(f, ret, at))
			return true;
	}
	return false;
}

/* Search for TID's struct pthread in [FROM, END). */
static bool
find_musl(struct stacks_others_finder *f, pid_t tid, raddr from, raddr end, struct musl_stack *ret)
{
	char buf[STEP_BYTES + sizeof(struct musl_pthread)];
	struct musl_pthread p;
	struct err ignored;

	if (end.v - from.v > SEARCH_BYTES)
		end.v = from.v + SEARCH_BYTES;
	for (raddr at = { from.v & -PAGE_BYTES }; at.v < end.v; at.v += STEP_BYTES) {
		size_t size = end.v - at.v < sizeof buf ? (size_t)(end.v - at.v) : sizeof buf;

		if (os_read_present_some(f->t, at, buf, size, &ignored) < 0)
			return false;
		for (size_t i = 0; i < STEP_BYTES && i + sizeof p <= size; i += sizeof p.self) {
			memcpy(&p, buf + i, sizeof p);
			if (is_pthread(f, &p, raddr_add(at, i), tid, ret))
				return true;
		}
	}
	return false;
}

/* ---- any thread ---- */

static int
stacks_others_add(struct stacks_others_finder *f, const struct thread_stack *stack, struct err *e)
{
	struct thread_stack *new = array_add(f->stacks);

	if (!new)
		return err_set(e, ENOMEM, "cannot list the stacks");
	*new = *stack;
	return 0;
}

/*
 * Guess the stack: the mapping that SP points into, if it has a guard below it.  The program's own
 * mappings directly above may have merged with it, so the stack ends with SP's page: a thread that
 * waits in a raw clone() has little above SP.  One page of the guard counts: a reserve may follow
 * below it.
 */
static int
add_guess(
	struct stacks_others_finder *f, pid_t tid, const struct region *r, raddr sp, struct err *e)
{
	const struct region *guard = r - 1;

	if (r == f->m->region || guard->end.v != r->start.v || !region_is_reserve(guard) ||
		region_has_file(guard) || sp.v - r->start.v > GUESS_MAX_BYTES ||
		guard->end.v - guard->start.v > GUARD_MAX_BYTES)
		return 0;
	return stacks_others_add(f,
		&(struct thread_stack){ .tid = tid,
			.start = { r->start.v - PAGE_BYTES },
			.end = { (sp.v | (PAGE_BYTES - 1)) + 1 },
			.guard_bytes = PAGE_BYTES,
			.sp = sp,
			.is_guess = true },
		e);
}

static int
stacks_others_add_thread(struct stacks_others_finder *f, pid_t tid, struct err *e)
{
	struct os_syscall syscall;
	const struct region *r;
	struct musl_stack s;
	struct err ignored;

	if (os_thread_syscall(f->t, tid, &syscall, &ignored) < 0 || syscall.is_running)
		return 0;
	r = regions_find(f->m, syscall.sp);
	if (!r || region_has_file(r) || r->prot[1] != 'w' || r->prot[3] != 'p')
		return 0;
	if (f->nr_searches == NR_SEARCHES || !find_musl(f, tid, syscall.sp, r->end, &s)) {
		f->nr_searches += f->nr_searches < NR_SEARCHES;
		return add_guess(f, tid, r, syscall.sp, e);
	}
	f->nr_searches = 0;
	return stacks_others_add(f,
		&(struct thread_stack){ .tid = tid,
			.start = { s.map },
			.end = { s.map + s.map_bytes },
			.guard_bytes = s.guard_bytes,
			.tls = { s.stack & -PAGE_BYTES },
			.sp = syscall.sp },
		e);
}

int
thread_stacks_add_others(struct thread_stacks *stacks, const struct target *t,
	const struct regions *m, const pid_t *tid, size_t nr, struct err *e)
{
	struct stacks_others_finder f = { .t = t, .m = m, .stacks = stacks };

	for (size_t i = 0; i < nr; i++)
		if (stacks_others_add_thread(&f, tid[i], e) < 0)
			return -1;
	return 0;
}
