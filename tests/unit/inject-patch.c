/*
 * Where the memory of hooks is laid: in a gap between mappings, near all functions, and out of the
 * way of what grows.
 */
#include <config.h>

#include "inject/patch.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define BASE UINT64_C(0x7f0000000000)

static char heap[] = "[heap]", stack[] = "[stack]", vsyscall[] = "[vsyscall]";
static struct region region[8];
static struct regions m = { .region = region };

static void
map(uint64_t start, uint64_t end, char *name)
{
	region[m.nr++] =
		(struct region){ .start = { start }, .end = { end }, .prot = "r-xp", .path = name };
}

/* For one function at FN. */
static uint64_t
place(uint64_t fn)
{
	return patch_area_place(&m, (raddr){ fn }, (raddr){ fn }).v;
}

static bool
is_in(uint64_t at, uint64_t from, uint64_t to)
{
	return at % PATCH_BYTES == 0 && at >= from && at + PATCH_BYTES <= to;
}

static void
test_gaps(void)
{
	const uint64_t fn = BASE + 4 * GIB, low = fn - GIB, high = fn + GIB;

	m.nr = 0;
	map(PATCH_BYTES, low, NULL);
	map(low + 200 * MIB, high, NULL);
	map(high + 200 * MIB, UINT64_MAX - 4096, NULL);
	ok(is_in(place(fn), low, low + 200 * MIB), "below is better than above");
	ok(is_in(place(fn - 2 * GIB), low, low + 200 * MIB), "above is better than nowhere");
	is_u64(place(fn + 5 * GIB), 0, "too far below");
	is_u64(place(fn - 5 * GIB), 0, "too far above");
	is_u64(patch_area_place(&m, (raddr){ fn - 2 * GIB }, (raddr){ fn + 2 * GIB }).v, 0,
		"functions too far apart");
	m.nr = 0;
	map(PATCH_BYTES, low - 400 * MIB, NULL);
	map(low - 200 * MIB, low, NULL);
	map(low + 200 * MIB, UINT64_MAX - 4096, NULL);
	ok(is_in(place(fn), low, low + 200 * MIB), "of two below the nearer one");
	m.nr = 0;
	map(PATCH_BYTES, low, NULL);
	map(low + MIB, UINT64_MAX - 4096, NULL);
	ok(is_in(place(fn), low, low + MIB), "a small gap, when there is no other");
	m.nr = 0;
	map(PATCH_BYTES, low, NULL);
	map(low + PATCH_BYTES, UINT64_MAX - 4096, NULL);
	is_u64(place(fn), 0, "one that is too small");
	m.nr = 0;
	map(PATCH_BYTES, low + 4096, NULL);
	map(low + 4096 + 2 * PATCH_BYTES, UINT64_MAX - 4096, NULL);
	is_u64(place(fn), 0, "one where it would have to lie across an end");
}

/* The near end of a gap is taken if a jump does not reach across it. */
static void
test_ends(void)
{
	const uint64_t fn = BASE + 100 * GIB;

	m.nr = 0;
	map(PATCH_BYTES, fn, NULL);
	map(fn + 50 * GIB, UINT64_MAX - 4096, NULL);
	ok(is_in(place(fn - 4096), fn, fn + GIB), "its beginning");
	m.nr = 0;
	map(PATCH_BYTES, fn - 50 * GIB, NULL);
	map(fn, UINT64_MAX - 4096, NULL);
	ok(is_in(place(fn), fn - GIB, fn), "its end");
}

static void
test_growth(void)
{
	const uint64_t fn = BASE + 4 * GIB;

	m.nr = 0;
	map(PATCH_BYTES, fn - 100 * MIB, NULL);
	map(fn - 100 * MIB, fn, heap);
	map(fn + GIB / 2, UINT64_MAX - 4096, NULL);
	is_u64(place(fn), 0, "where the heap may grow");
	region[1].path = NULL;
	ok(place(fn) != 0, "another mapping does not");
	m.nr = 0;
	map(PATCH_BYTES, fn, NULL);
	map(fn + GIB / 2, fn + GIB, stack);
	map(fn + GIB, UINT64_MAX - 4096, NULL);
	is_u64(place(fn), 0, "where the stack may grow");
	region[1].path = NULL;
	ok(place(fn) != 0, "another mapping does not");
	m.nr = 0;
	map(PATCH_BYTES, UINT64_C(0xffffffff00000000), NULL);
	map(UINT64_C(0xffffffffff600000), UINT64_C(0xffffffffff601000), vsyscall);
	is_u64(place(UINT64_C(0xfffffffeffff0000)), 0,
		"below the vsyscall page there is no memory");
}

int
main(void)
{
	test_gaps();
	test_ends();
	test_growth();
	return tap_end();
}
