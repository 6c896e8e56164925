/*
 * The heap reader against two oracles: what the child's own malloc_info() says, to the last digit,
 * and what its own malloc_trim() gives back, to the last byte.  The children do random things to
 * their heaps; each seed is another program.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "heap/xml.h"
#include "os/status.h"
#include "random-heap.h"
#include "tap.h"

#define NR_SEEDS 12

/* A program to run in place of this one's child: tests/tracees/random-heap, on another glibc. */
static char **command;

/* The numbers of equal results, for a table. */
static struct {
	uint64_t programs, arenas, trimmed_bytes;
} compared;

static void
run(void *arg)
{
	const struct random_heap_plan *plan = arg;
	char number[4][16], **argv;
	size_t nr = 0;

	if (!command) {
		random_heap_run(plan);
		return;
	}
	while (command[nr])
		nr++;
	argv = calloc(nr + 5, sizeof *argv);
	memcpy(argv, command, nr * sizeof *argv);
	snprintf(number[0], sizeof number[0], "%u", plan->seed);
	snprintf(number[1], sizeof number[1], "%d", plan->nr_threads);
	snprintf(number[2], sizeof number[2], "%d", (int)plan->obstacle);
	snprintf(number[3], sizeof number[3], "%d", plan->has_child);
	for (size_t i = 0; i < 4; i++)
		argv[nr + i] = number[i];
	execvp(argv[0], argv);
}

static uint64_t
anon_bytes(struct view *v)
{
	struct os_status s = { 0 };

	view_settle(&v->t);
	os_status(&v->t, 0, &s, &v->e);
	return s.rss_anon_bytes;
}

/* Tell the child WORD, and wait for its answer. */
static void
tell_child(struct child *c, const char *word)
{
	char line[16];

	fprintf(c->in, "%s\n", word);
	fflush(c->in);
	if (!fgets(line, sizeof line, c->out))
		puts("# the child has ended");
}

static bool
read_heap(struct heap *h, struct view *v, const struct heap_options *opt)
{
	heap_release(h);
	if (heap_read(h, &v->p, opt, &v->e) == 0)
		return true;
	printf("# %s\n", v->e.msg);
	return false;
}

/*
 * Every resident byte of every arena is in one class, and every byte of an arena is accounted for.
 */
static bool
adds_up(const struct heap *h)
{
	for (size_t i = 0; i < h->arena.nr; i++) {
		const struct heap_arena *a = &h->arena.v[i];
		uint64_t sum = 0;

		for (int c = HEAP_PAGE_LIVE; c <= HEAP_PAGE_TOP; c++)
			sum += a->page_bytes[c];
		if (sum != a->resident_bytes || a->certainty == HEAP_APPROXIMATE ||
			a->live_resident_bytes > a->in_use.bytes - a->cached.bytes ||
			a->in_use.bytes + a->fast.bytes + a->binned.bytes + a->top.bytes +
					a->overhead_bytes !=
				a->system_bytes) {
			printf("# arena %zu: %s\n", i, a->why);
			return false;
		}
	}
	return h->arena.nr;
}

static uint64_t
predicted(const struct heap *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < h->arena.nr; i++)
		sum += h->arena.v[i].trim.rss_bytes;
	return sum;
}

static uint64_t
predicted_alone(const struct heap *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < h->arena.nr; i++)
		sum += h->arena.v[i].trim.uss_bytes;
	return sum;
}

/* The child's document, as H has it. */
static bool
says_the_same(const struct heap *h, const char *said, struct err *e)
{
	auto_text struct text xml = { 0 };

	if (heap_write_xml(h, &xml, e) < 0)
		return false;
	if (xml.len == strlen(said) && memcmp(xml.v, said, xml.len) == 0) {
		compared.arenas += h->arena.nr;
		return true;
	}
	for (size_t i = 0; i < xml.len; i++)
		if (xml.v[i] != said[i]) {
			printf("# at %zu: %.60s\n# not %.60s\n", i, xml.v + i, said + i);
			break;
		}
	return false;
}

/*
 * Its in-use bytes and pages do not depend on the way they were found; but what somebody else took
 * from brk counts as in use by the lists.
 */
static bool
lists_agree(const struct heap *walked, const struct heap *listed, uint64_t foreign_bytes)
{
	for (size_t i = 0; i < walked->arena.nr; i++) {
		const struct heap_arena *a = &walked->arena.v[i], *b = &listed->arena.v[i];

		if (a->is_main && foreign_bytes &&
			b->in_use.bytes >= a->in_use.bytes + foreign_bytes &&
			b->in_use.bytes < a->in_use.bytes + foreign_bytes + 4096 &&
			a->trim.rss_bytes == b->trim.rss_bytes)
			continue;
		if (a->in_use.bytes != b->in_use.bytes || a->cached.bytes != b->cached.bytes ||
			a->trim.rss_bytes != b->trim.rss_bytes ||
			memcmp(a->page_bytes, b->page_bytes, sizeof a->page_bytes) != 0)
			return false;
	}
	return walked->arena.nr == listed->arena.nr;
}

static void
test_program(
	unsigned int seed, int nr_threads, enum random_heap_obstacle in_the_way, bool has_child)
{
	struct random_heap_plan plan = {
		.seed = seed,
		.nr_threads = nr_threads,
		.obstacle = in_the_way,
		.has_child = has_child,
	};
	struct child c = child_start(run, &plan);
	struct view v;
	auto_heap struct heap h = { 0 }, listed = { 0 };
	struct heap_options opt = { .max_stop_ns = 300000000000, .want_uss = true }, by_lists = opt;
	uint64_t before, after, present;

	by_lists.bins_only = true;
	if (!view_take(&v, c.pid))
		return;
	tell_child(&c, "hello"); /* what it needs to answer is in memory now */
	before = anon_bytes(&v);
	present = view_present_bytes(&v);
	ok(read_heap(&h, &v, &opt), "seed %u, %d threads: the heap can be read", seed, nr_threads);
	ok(h.arena.nr && (h.arena.v[0].segment.nr > 1) == (in_the_way != OBSTACLE_NONE),
		"seed %u: obstacle %d is seen", seed, in_the_way);
	ok(h.certainty == HEAP_EXACT && !h.arena.v[0].is_by_lists,
		"seed %u: every chunk was looked at", seed);
	ok(adds_up(&h), "seed %u: each arena adds up", seed);
	ok(says_the_same(&h, c.said, &v.e), "seed %u: malloc_info says the same", seed);
	ok(read_heap(&listed, &v, &by_lists) && says_the_same(&listed, c.said, &v.e) &&
			lists_agree(&h, &listed, in_the_way == OBSTACLE_SBRK ? 100000 : 0),
		"seed %u: so do malloc's lists alone", seed);
	ok(anon_bytes(&v) == before && view_present_bytes(&v) == present,
		"seed %u: no page came or went by it", seed);
	/* Pages that the child has from us and never wrote to are shared with us. */
	ok(h.has_uss && predicted_alone(&h) <= predicted(&h) &&
			(has_child ? predicted_alone(&h) == 0
				   : predicted_alone(&h) > predicted(&h) - 200000),
		"seed %u: of what can be trimmed nobody else has %" PRIu64, seed,
		predicted_alone(&h));
	tell_child(&c, "trim");
	after = anon_bytes(&v);
	compared.programs++;
	compared.trimmed_bytes += before - after;
	ok(before - after == predicted(&h),
		"seed %u: malloc_trim gave back %" PRIu64 " of %" PRIu64, seed, before - after,
		predicted(&h));
	ok(read_heap(&h, &v, &opt) && predicted(&h) == 0, "seed %u: and nothing is left to trim",
		seed);
	view_release(&v);
	ok(child_end(&c), "seed %u: the child is well", seed);
}

int
main(void)
{
	alarm(300);
	if (skip_if_sanitized("heaps of real programs"))
		return tap_end();
	for (unsigned int seed = 1; seed <= (unsigned int)tap_share(NR_SEEDS); seed++)
		test_program(seed, seed % 3 == 0 ? 1 : seed % 4 + 2, OBSTACLE_NONE, false);
	test_program(100, 2, OBSTACLE_SBRK, false);
	test_program(101, 2, OBSTACLE_MAPPING, false);
	test_program(102, 2, OBSTACLE_NONE, true);
	printf("# %" PRIu64 " programs\n# %" PRIu64 " arenas\n# %" PRIu64 " bytes\n",
		compared.programs, compared.arenas, compared.trimmed_bytes);
	return tap_end();
}
