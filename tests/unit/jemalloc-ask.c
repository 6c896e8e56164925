/*
 * What jemalloc answers: sums over arenas with values that it does not know; calls of mallctl() as
 * they lie in a process,
 * which is this one; what may be purged; and what its profiler must be told to be.
 */
#include <config.h>

#include <unistd.h>

#include "jemalloc/ask.c"
#include "jemalloc/ctl.c"
#include "os/target.h"

#include "tap.h"

#define UNKNOWN JEMALLOC_UNKNOWN

/* ---- sums ---- */

/* Arena NR with these pages, and bytes of small and large blocks, and of its thread caches. */
static void
add(struct jemalloc_stats *s, uint32_t nr, uint64_t dirty, uint64_t muzzy, uint64_t small,
	uint64_t large, uint64_t cached)
{
	struct ctl v[NR_OF_ARENA] = { 0 };

	v[NR_THREADS].value = nr + 1;
	v[PACTIVE].value = 10;
	v[PDIRTY].value = dirty;
	v[PMUZZY].value = muzzy;
	v[SMALL].value = small;
	v[LARGE].value = large;
	v[BASE].value = 5;
	v[INTERNAL].value = 6;
	v[CACHED].value = cached;
	ask_add_arena(s, nr, v);
}

static void
test_sums(void)
{
	struct jemalloc_stats s = { .page_bytes = 4096, .arena = calloc(4, sizeof *s.arena) };

	add(&s, 0, 1, 2, 100, 1000, 7);
	add(&s, 3, 10, 20, 50, 500, 8);
	is_u64(s.nr_arenas, 2, "two arenas");
	is_u64(s.arena[1].nr, 3, "an arena has its own number");
	is_u64(s.arena[1].nr_threads, 4, "an arena has its threads");
	is_u64(s.arena[1].allocated_bytes, 550, "small and large blocks of an arena");
	is_u64(s.arena[0].active_bytes, 40960, "active pages of an arena in bytes");
	is_u64(s.arena[0].metadata_bytes, 11, "metadata of an arena");
	is_u64(s.dirty_bytes, 11 * 4096, "dirty pages of all arenas in bytes");
	is_u64(s.muzzy_bytes, 22 * 4096, "muzzy pages of all arenas in bytes");
	is_u64(s.cached_bytes, 15, "what threads cache, of all arenas");
	add(&s, 4, UNKNOWN, 1, UNKNOWN, 1, 1);
	is_u64(s.arena[2].allocated_bytes, UNKNOWN, "blocks are unknown if small ones are");
	is_u64(s.dirty_bytes, UNKNOWN, "the sum is unknown if one arena's is");
	is_u64(s.muzzy_bytes, 23 * 4096, "the sum of what is known is known");
	add(&s, 5, 1, 1, 1, 1, 1);
	is_u64(s.dirty_bytes, UNKNOWN, "a sum that is unknown stays so");
	jemalloc_stats_release(&s);
	s.page_bytes = UNKNOWN;
	is_u64(ask_pages(&s, 1), UNKNOWN, "bytes are unknown if the size of a page is");
}

/* ---- calls as they lie in the process ---- */

static struct target t = TARGET_NONE;
static struct ctl there[3]; /* what a call has left */

/* What is fetched of the value NEW_VALUE with SIZE bytes, of which jemalloc says GOT. */
static struct ctl
fetched(uint64_t size, uint64_t value, uint64_t got)
{
	struct inject_target callee = { .target = &t };
	struct worker worker = { .callee = &callee };
	const struct workspace ws = { .buffer = { (uint64_t)(uintptr_t)there } };
	const struct ctls in = { .worker = &worker, .ws = &ws };
	struct ctl v[3] = { { .size_bytes = 8 } };
	struct err e;

	there[1] = (struct ctl){ .size_bytes = size, .value = value, .got_bytes = got };
	if (fetch(&in, v, 3, &e) < 0)
		exit(99);
	return v[1];
}

static void
test_fetch(void)
{
	struct ctl c = fetched(8, 0x1122334455667788, 8);

	ok(c.is_known && c.value == 0x1122334455667788, "a value of 8 bytes");
	c = fetched(4, 0xa5a5a5a500000011, 4);
	ok(c.is_known && c.value == 0x11, "a value of 4 bytes: what is above is not its");
	c = fetched(1, 0xa5a5a5a55a5a5a01, 1);
	ok(c.is_known && c.value == 1, "a value of 1 byte");
	c = fetched(8, UINT64_C(0xa5a5a5a55a5a5a5a), 8);
	ok(!c.is_known && c.value == UNKNOWN, "a value that was not written is unknown");
	c = fetched(8, 5, 4);
	ok(!c.is_known && c.value == UNKNOWN, "a value of another size is unknown");
	c = fetched(0, 5, 0);
	ok(!c.is_known && c.value == UNKNOWN, "nothing was asked");
}

static void
test_arguments(void)
{
	const struct ctl ask = CTL_ASK("stats.allocated", 8);
	const struct ctl set = { .name = "prof.active", .new_bytes = 1, .new = 1 };
	uint64_t arg[5];

	arguments(arg, &ask, (raddr){ 0x1000 });
	ok(arg[0] == 0x1000 && arg[1] == 0x1000 + offsetof(struct ctl, value) &&
			arg[2] == 0x1000 + offsetof(struct ctl, got_bytes) && !arg[3] && !arg[4],
		"a question has a place for the answer, and nothing to set");
	arguments(arg, &set, (raddr){ 0x1000 });
	ok(!arg[1] && !arg[2] && arg[3] == 0x1000 + offsetof(struct ctl, new) && arg[4] == 1,
		"what is set has no place for an answer");
}

/* ---- what may be purged ---- */

static int
purges(uint64_t dirty, uint64_t muzzy, uint64_t most, bool is_helper, struct err *e)
{
	struct jemalloc_stats before = { .dirty_bytes = dirty, .muzzy_bytes = muzzy };
	const struct asking a = { .before = &before, .max_bytes = most };
	struct inject_target callee = { .target = &t };
	const struct worker worker = { .callee = &callee, .is_helper = is_helper };

	return check_purge(&a, &worker, e);
}

static void
test_purge(void)
{
	struct err e = { 0 };

	ok(purges(60, 40, 100, false, &e) == 0, "a borrowed thread gives back as much as it may");
	ok(purges(60, 41, 100, false, &e) < 0 && e.kind == ERR_NO_SAFE_POINT,
		"a borrowed thread gives back no more");
	ok(purges(60, 41, 100, true, &e) == 0, "a helper gives back more");
	ok(purges(UNKNOWN, 41, 100, true, &e) < 0 && e.kind == ERR_UNSUPPORTED,
		"what is unknown is not given back");
}

int
main(void)
{
	struct err e;

	if (target_open(&t, getpid(), &e) < 0)
		return 99;
	test_sums();
	test_fetch();
	test_arguments();
	test_purge();
	target_release(&t);
	return tap_end();
}
