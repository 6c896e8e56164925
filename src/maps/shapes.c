/*
 * The use of mappings by their shapes alone, without a process: bss, stacks of threads, and arenas
 * of glibc's malloc.  All results are guesses.
 */
#include <config.h>

#include "maps/shapes.h"

#include "elf/objects.h"
#include "maps/leaves.h"
#include "maps/spans.h"

#include <errno.h>

#define KIB UINT64_C(1024)
/* HEAP_MAX_SIZE of 64 bits: twice DEFAULT_MMAP_THRESHOLD_MAX (malloc/arena.c, 2.10 and later). */
#define ARENA_BYTES (64 * KIB * KIB)
/* The default guard of glibc is a page, of 4 to 64 KiB; musl's 8 KiB; Java's zones are 16 KiB. */
#define GUARD_MOST_BYTES (64 * KIB)
/* Programs request stacks of a round size. */
#define STACK_ROUND_BYTES (64 * KIB)
/* Larger bss is rare in a library. */
#define BSS_MOST_BYTES (KIB * KIB)
#define STACK_MOST_BYTES (UINT64_C(1) << 30)

static uint64_t
region_size(const struct region *r)
{
	return r->end.v - r->start.v;
}

/* Return whether R is private memory without a name from a file or the kernel. */
static bool
is_nameless(const struct region *r)
{
	return !r->path && !region_has_file(r) && r->prot[3] == 'p';
}

static bool
is_nameless_data(const struct region *r)
{
	return is_nameless(r) && r->prot[0] == 'r' && r->prot[1] == 'w';
}

/* Add [START, END) as KIND, which is guessed from its shape. */
static int
add_shape(struct spans *s, uint64_t start, uint64_t end, enum leaf_kind kind, int32_t object)
{
	struct span span = SPAN_NONE;

	span.start.v = start;
	span.end.v = end;
	span.kind = (uint8_t)kind;
	span.confidence = CONFIDENCE_GUESS;
	span.object = object;
	return spans_add(s, &span);
}

/*
 * Return whether R follows object O as its bss does.  Memory that mmap() places there merges with
 * the bss of a library; brk keeps it away from the program's.
 */
static bool
is_bss_shape(const struct object *o, const struct region *r)
{
	return r->start.v == o->end.v && is_nameless_data(r) &&
		(o->is_executable || region_size(r) <= BSS_MOST_BYTES);
}

static int
add_bss_shapes(struct spans *s, const struct process *p)
{
	for (size_t i = 1; i < p->maps.nr; i++) {
		const struct region *last = &p->maps.region[i - 1], *r = last + 1;
		const struct object *o = objects_at(&p->objects, last->start);

		if (!o || !is_bss_shape(o, r))
			continue;
		if (add_shape(s, r->start.v, r->end.v,
			    o->is_executable ? LEAF_EXE_BSS : LEAF_SO_BSS,
			    (int32_t)(o - p->objects.v)) < 0)
			return -1;
	}
	return 0;
}

/*
 * Return whether GUARD and R are a stack of the thread library:
 *
 *	---p  the guard
 *	rw-p  the stack, of a round size with or, since glibc 2.27 (BZ 22637), without its guard
 */
static bool
is_stack_shape(const struct region *guard, const struct region *r)
{
	const uint64_t size = region_size(r), both = size + region_size(guard);

	return is_nameless(guard) && region_is_reserve(guard) &&
		region_size(guard) <= GUARD_MOST_BYTES && guard->end.v == r->start.v &&
		is_nameless_data(r) && size < STACK_MOST_BYTES &&
		(size % STACK_ROUND_BYTES == 0 || both % STACK_ROUND_BYTES == 0);
}

static int
add_stack_shapes(struct spans *s, const struct regions *m)
{
	for (size_t i = 1; i < m->nr; i++) {
		const struct region *guard = &m->region[i - 1], *r = &m->region[i];

		if (is_stack_shape(guard, r) &&
			(add_shape(s, guard->start.v, guard->end.v, LEAF_STACK_GUARD, -1) < 0 ||
				add_shape(s, r->start.v, r->end.v, LEAF_THREAD_STACK, -1) < 0))
			return -1;
	}
	return 0;
}

/*
 * Return whether R and REST are a heap of an arena:
 *
 *	rw-p  from a multiple of 64 MiB on
 *	---p  the rest of 64 MiB, merged with a guard that follows
 *
 * The Go runtime has similar mappings at 0xc000000000.
 */
static bool
is_arena_shape(const struct region *r, const struct region *rest)
{
	const uint64_t end = r->start.v + ARENA_BYTES;

	return is_nameless_data(r) && r->start.v % ARENA_BYTES == 0 && r->start.v >> 32 &&
		r->start.v >> 32 != 0xc0 && r->end.v < end && is_nameless(rest) &&
		region_is_reserve(rest) && rest->start.v == r->end.v && rest->end.v >= end &&
		rest->end.v - end <= GUARD_MOST_BYTES;
}

static int
add_arena_shapes(struct spans *s, const struct regions *m)
{
	for (size_t i = 1; i < m->nr; i++) {
		const struct region *r = &m->region[i - 1];

		if (is_arena_shape(r, r + 1) &&
			(add_shape(s, r->start.v, r->end.v, LEAF_ARENA, -1) < 0 ||
				add_shape(s, r->end.v, r->start.v + ARENA_BYTES, LEAF_ARENA_RESERVE,
					-1) < 0))
			return -1;
	}
	return 0;
}

static bool
has_libc(const struct objects *o)
{
	for (size_t i = 0; i < o->nr; i++)
		if (o->v[i].is_libc)
			return true;
	return false;
}

int
spans_infer(struct spans *s, const struct process *p, struct err *e)
{
	if (add_bss_shapes(s, p) < 0 || add_stack_shapes(s, &p->maps) < 0 ||
		(has_libc(&p->objects) && add_arena_shapes(s, &p->maps) < 0))
		return err_set(e, ENOMEM, "cannot keep what is where");
	spans_settle(s);
	return 0;
}
