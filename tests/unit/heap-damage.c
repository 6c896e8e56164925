/*
 * heap-damage [ROUNDS]: a heap with one damaged word, over and over: it is read in bounded time,
 * and no number of any arena that is not what it was goes without a mark.
 */
#include <config.h>

#include <stdlib.h>

#include "child.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "os/memory.h"
#include "os/pages.h"
#include "os/target.h"
#include "random-heap.h"
#include "tap.h"

static int nr_rounds;

#ifdef __SANITIZE_ADDRESS__
/* A child of ours would have the sanitizer's malloc. */
static void
run(void *arg)
{
	(void)arg;
	execlp("perl", "perl", "-e",
		"$| = 1; srand(1); $a[$_] = 'x' x rand(3000) for 0 .. 30000;"
		"undef $a[rand(30000)] for 0 .. 20000; print qq(ready\\n); <STDIN>",
		NULL);
}
#else
static void
run(void *arg)
{
	static struct random_heap_plan plan = { .seed = 7, .nr_threads = 3 };

	(void)arg;
	random_heap_run(&plan);
}
#endif

/* Whether the word at AT is a plain number: results may differ with it, and are not wrong. */
static bool
is_number(const struct heap *h, raddr at)
{
	for (size_t i = 0; i < h->arena.nr; i++) {
		uint64_t offset = at.v - h->arena.v[i].addr.v;

		if (offset == h->layout.attached || offset == h->layout.max_system)
			return true;
	}
	return false;
}

static bool
is_same_arena(const struct heap_arena *a, const struct heap_arena *b)
{
	return a->addr.v == b->addr.v && a->system_bytes == b->system_bytes &&
		a->top.bytes == b->top.bytes && a->in_use.bytes == b->in_use.bytes &&
		a->in_use.count == b->in_use.count && a->cached.bytes == b->cached.bytes &&
		a->fast.bytes == b->fast.bytes && a->binned.bytes == b->binned.bytes &&
		a->binned.count == b->binned.count && a->trim.rss_bytes == b->trim.rss_bytes &&
		memcmp(a->page_bytes, b->page_bytes, sizeof a->page_bytes) == 0;
}

static const struct heap_arena *
find_arena(const struct heap *h, raddr addr)
{
	for (size_t i = 0; i < h->arena.nr; i++)
		if (h->arena.v[i].addr.v == addr.v)
			return &h->arena.v[i];
	return NULL;
}

/*
 * Whether each arena that H says is exact is as in SOUND, the whole is no more certain than any of
 * them, and if some are not the same arenas, that is reported.
 */
static bool
is_honest(const struct heap *h, const struct heap *sound)
{
	size_t nr_known = 0;

	for (size_t i = 0; i < h->arena.nr; i++) {
		const struct heap_arena *arena = &h->arena.v[i];
		const struct heap_arena *was = find_arena(sound, arena->addr);

		nr_known += was != NULL;
		if (arena->certainty < h->certainty ||
			(arena->certainty == HEAP_EXACT && !(was && is_same_arena(arena, was))))
			return false;
	}
	return nr_known == sound->arena.nr || !h->is_ring_closed;
}

/*
 * A word of an arena: of its header, of a heap_info, or of its chunks; near the start most have
 * one.
 */
static raddr
draw_place(const struct heap *h, uint32_t *state)
{
	const struct heap_arena *arena = &h->arena.v[random_heap_draw(state) % h->arena.nr];
	const struct heap_segment *seg =
		&arena->segment.v[random_heap_draw(state) % arena->segment.nr];
	uint64_t bytes = seg->end.v - seg->start.v, near = bytes < 8192 ? bytes : 8192;

	switch (random_heap_draw(state) % 4) {
	case 0:
		return raddr_add(
			arena->addr, random_heap_draw(state) % h->layout.state_bytes & ~7u);
	case 1:
		return raddr_add(seg->start, random_heap_draw(state) % near & ~UINT64_C(7));
	case 2:
		return raddr_add(arena->top.addr, 8);
	default:
		return raddr_add(seg->start, random_heap_draw(state) % bytes & ~UINT64_C(7));
	}
}

static uint64_t
draw_word(const struct heap *h, uint64_t old, uint32_t *state)
{
	const struct heap_arena *arena = &h->arena.v[random_heap_draw(state) % h->arena.nr];

	switch (random_heap_draw(state) % 7) {
	case 0:
		return 0;
	case 1:
		return old ^ UINT64_C(1) << random_heap_draw(state) % 64;
	case 2:
		return old + 16;
	case 3:
		return arena->addr.v + random_heap_draw(state) % 4096 / 16 * 16;
	case 4:
		return arena->segment.v[0].start.v + random_heap_draw(state) / 16 * 16;
	case 5:
		return UINT64_MAX - random_heap_draw(state) % 64;
	default:
		return (uint64_t)random_heap_draw(state) << 40 | random_heap_draw(state) << 16 |
			random_heap_draw(state);
	}
}

/* Whether the page of AT is in memory: a look at one that is not would bring it there. */
static bool
is_present(struct view *v, raddr at)
{
	auto_pages struct os_pages *pages = NULL;
	raddr page = { at.v & ~UINT64_C(4095) };
	uint64_t sum = 0;

	return os_pages_open(&pages, &v->t, OS_PAGES_AUTO, &v->e) == 0 &&
		os_pages_walk(pages, page, raddr_add(page, 4096), false, view_sum_present, &sum,
			&v->e) == 0 &&
		sum;
}

/* Damage one word, read, and put it back.  Whether the result is true. */
static bool
damage(struct view *v, const struct heap *sound, const struct heap_options *opt, uint32_t *state,
	size_t *nr_unseen)
{
	raddr at = draw_place(sound, state);
	auto_heap struct heap h = { 0 };
	uint64_t old, word;
	int result;
	bool honest;

	if (!is_present(v, at))
		return true;
	if (os_read(&v->t, at, &old, sizeof old, &v->e) < 0)
		return false;
	word = draw_word(sound, old, state);
	if (!view_write(&v->t, at, &word, sizeof word))
		return false;
	result = heap_read(&h, &v->p, opt, &v->e);
	if (!view_write(&v->t, at, &old, sizeof old))
		return false;
	if (result < 0)
		return v->e.msg[0];
	*nr_unseen += h.certainty == HEAP_EXACT;
	honest = is_number(sound, at) || is_honest(&h, sound);
	if (!honest)
		printf("# " PRIraddr ": 0x%" PRIx64 " for 0x%" PRIx64 "\n", at.v, word, old);
	return honest;
}

static void
test_damage(struct view *v, bool by_lists)
{
	struct heap_options opt = { .max_stop_ns = 300000000000, .bins_only = by_lists };
	const char *how = by_lists ? "by lists" : "walked";
	auto_heap struct heap sound = { 0 };
	size_t nr_lies = 0, nr_unseen = 0;
	uint32_t state = 12345;

	if (!ok(heap_read(&sound, &v->p, &opt, &v->e) == 0 && sound.certainty == HEAP_EXACT,
		    "%s: the sound heap is exact %s", how, v->e.msg))
		return;
	for (int i = 0; i < nr_rounds; i++)
		nr_lies += !damage(v, &sound, &opt, &state, &nr_unseen);
	ok(nr_lies == 0, "%s: %zu lies", how, nr_lies);
	ok(nr_unseen < (size_t)nr_rounds, "%s: %zu of %d damages changed nothing", how, nr_unseen,
		nr_rounds);
}

/*
 * Set the flag of chunks with their own mapping in a chunk of ARENA, whose size word OLD is at AT.
 * The next chunk is sound, so nothing else shows the damage.  Whether ARENA is marked.
 */
static bool
is_flag_noticed(struct view *v, const struct heap_options *opt, raddr arena, raddr at, uint64_t old)
{
	auto_heap struct heap h = { 0 };
	const struct heap_arena *read;
	uint64_t word = old | 2;
	int result;

	if (!view_write(&v->t, at, &word, sizeof word))
		return false;
	result = heap_read(&h, &v->p, opt, &v->e);
	if (!view_write(&v->t, at, &old, sizeof old) || result < 0)
		return false;
	read = find_arena(&h, arena);
	return read && read->certainty == HEAP_APPROXIMATE;
}

/* The first chunks of each arena: they are small, and the next header is near. */
static void
test_flag(struct view *v)
{
	struct heap_options opt = { .max_stop_ns = 300000000000 };
	auto_heap struct heap sound = { 0 };
	size_t nr = 0, nr_noticed = 0;

	if (heap_read(&sound, &v->p, &opt, &v->e) < 0)
		return;
	for (size_t i = 0; i < sound.arena.nr; i++) {
		const struct heap_arena *arena = &sound.arena.v[i];
		uint64_t old;
		raddr at;

		if (!arena->segment.nr)
			continue;
		at = raddr_add(arena->segment.v[0].start, 8);
		for (int k = 0; k < 5 && at.v < arena->top.addr.v; k++) {
			if (os_read(&v->t, at, &old, sizeof old, &v->e) < 0)
				break;
			nr++;
			nr_noticed += is_flag_noticed(v, &opt, arena->addr, at, old);
			at.v += old & ~UINT64_C(7);
		}
	}
	ok(nr >= 5 && nr_noticed == nr, "a wrong flag is noticed in %zu of %zu chunks", nr_noticed,
		nr);
}

int
main(int argc, char **argv)
{
	struct child c;
	struct view v;

	nr_rounds = argc > 1 ? atoi(argv[1]) : tap_share(60);
	alarm(1800);
	c = child_start(run, NULL);
	if (!c.is_ready) {
		skip("damaged heaps", "there is no perl");
		return tap_end();
	}
	if (!view_take(&v, c.pid))
		return tap_end();
	/* perl allocates the buffer of its stdin after "ready". */
	view_settle(&v.t);
	test_damage(&v, false);
	test_damage(&v, true);
	test_flag(&v);
	ok(target_is_alive(&v.t), "the child is well");
	view_release(&v);
	kill(c.pid, SIGKILL);
	child_end(&c);
	return tap_end();
}
