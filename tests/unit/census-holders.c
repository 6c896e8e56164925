/*
 * The census against a program that knows: tests/tracees/holders says of each block whether it
 * still has its address.
 */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "census/chunks.h"
#include "census/leaks.h"
#include "census/read.h"
#include "census/slots.h"
#include "child.h"
#include "glibc/layout.h"
#include "heap/read.h"
#include "maps/space.h"
#include "tap.h"

#define WAYS_MAX 64

/* What was found of the blocks of one way. */
struct way {
	char what[16], name[32];
	unsigned int nr, reached, missing;
};

struct ways {
	struct way v[WAYS_MAX];
	size_t nr;
};

static void
run_holders(void *arg)
{
	const char *build = getenv("top_builddir");
	char path[4096];

	(void)arg;
	snprintf(path, sizeof path, "%s/tests/tracees/holders", build ? build : ".");
	execl(path, path, (char *)NULL);
}

static struct way *
way_of(struct ways *w, const char *what, const char *name)
{
	for (size_t i = 0; i < w->nr; i++)
		if (strcmp(w->v[i].what, what) == 0 && strcmp(w->v[i].name, name) == 0)
			return &w->v[i];
	if (w->nr == WAYS_MAX)
		abort();
	snprintf(w->v[w->nr].what, sizeof w->v[0].what, "%s", what);
	snprintf(w->v[w->nr].name, sizeof w->v[0].name, "%s", name);
	return &w->v[w->nr++];
}

/* Look up the block at ADDR, which the program said to be in this way. */
static void
look_up(struct ways *w, const struct census *c, const char *what, const char *name, uint64_t addr)
{
	struct way *way = way_of(w, what, name);
	uint32_t granule = census_granule(&c->slots, addr), chunk = CENSUS_NO_CHUNK;
	struct census_cursor at;

	way->nr++;
	if (granule)
		chunk = census_chunk_at(&c->chunks, &c->slots, granule);
	if (chunk == CENSUS_NO_CHUNK || !(c->chunks.state.v[chunk] & CENSUS_BLOCK)) {
		way->missing++;
		return;
	}
	census_chunk_find(&c->chunks, chunk, &at);
	way->missing += at.start.v != addr && name[0] != 'o'; /* an aligned large block */
	way->reached += (c->chunks.state.v[chunk] & CENSUS_REACHED) != 0;
}

static void
look_up_all(struct ways *w, const struct census *c, const char *said)
{
	char what[16], name[32];
	uint64_t addr;

	for (const char *line = said; line && *line; line = strchr(line, '\n') + 1)
		if (sscanf(line, "%15s %31s 0x%" SCNx64, what, name, &addr) == 3)
			look_up(w, c, what, name, addr);
}

static bool
census_of(struct census *c, struct heap *heap, struct view *v, const struct census_options *how)
{
	struct space_options opt = { .process = &v->p, .count_mmapped = malloc_count_mmapped };
	auto_space struct space space = { 0 };

	return ok(process_find_arenas(&v->p, NULL, &v->e) == 0 &&
			space_read(&space, &v->t, &opt, &v->e) == 0 &&
			census_read(c, heap, &v->p, &space, how, &v->e) == 0,
		"a census is taken %s", v->e.msg);
}

/* Whether the blocks of WAY are reached if read as HOW says. */
static bool
is_found(const struct way *way, const struct census_options *how)
{
	if (how->is_unaligned && strncmp(way->name, "packed", 6) == 0)
		return true;
	if (how->masks_tags &&
		(strcmp(way->name, "counter") == 0 || strcmp(way->name, "high-tag") == 0))
		return true;
	return strcmp(way->what, "held") == 0;
}

static void
check_way(const struct way *way, const struct census_options *how)
{
	ok(!way->missing && way->reached == (is_found(way, how) ? way->nr : 0),
		"%s, %s%s%s: %u blocks, %u reached, %u are no blocks", way->what, way->name,
		how->is_unaligned ? ", unaligned" : "", how->masks_tags ? ", tags masked" : "",
		way->nr, way->reached, way->missing);
}

/* The encoded list is one group, and says how many like it are reached. */
static void
check_list(const struct census_leaks *l)
{
	for (size_t i = 0; i < l->group.nr; i++) {
		const struct census_group *g = &l->group.v[i];

		if (g->shape == CENSUS_LIST && g->head_bytes == 152) {
			ok(g->all.blocks == 20 && g->reached_same_size == 10 && g->same_size == 30,
				"%" PRIu64 " of %" PRIu64
				" blocks like the encoded list are reached",
				g->reached_same_size, g->same_size);
			return;
		}
	}
	ok(false, "the encoded list is a group");
}

/* Each unreachable block is in one group, and in no other. */
static void
check_leaks(struct census *c, const struct ways *w, const struct census_options *how)
{
	auto_census_leaks struct census_leaks l = { 0 };
	struct census_sum sum = { 0 };
	uint64_t expected = 0, rings = 0;
	struct err e;

	if (!ok(census_leaks_find(&l, c, NULL, NULL, &e) == 0,
		    "the unreachable blocks are grouped"))
		return;
	for (size_t i = 0; i < l.group.nr; i++) {
		sum.blocks += l.group.v[i].all.blocks;
		sum.bytes += l.group.v[i].all.bytes;
		if (l.group.v[i].shape == CENSUS_RING)
			rings += l.group.v[i].heads;
	}
	for (size_t i = 0; i < w->nr; i++)
		if (!is_found(&w->v[i], how))
			expected += w->v[i].nr;
	ok(sum.blocks == l.all.blocks && sum.bytes == l.all.bytes &&
			l.all.blocks == c->in_use.blocks - c->reached.blocks &&
			l.all.bytes == c->in_use.bytes - c->reached.bytes,
		"the groups have each unreachable block once");
	ok(l.all.blocks == expected, "%" PRIu64 " of %" PRIu64 " blocks that are lost or hidden",
		l.all.blocks, expected);
	ok(rings == 10, "ten rings, each with one head: %" PRIu64, rings);
	check_list(&l);
}

/* Take a census of V as HOW says, and compare it with what the program has SAID. */
static void
test_census(struct view *v, const char *said, struct census_options how)
{
	auto_census struct census c = { 0 };
	auto_heap struct heap heap = { 0 };
	struct ways ways = { 0 };

	how.max_stop_ns = UINT64_C(300) * 1000000000;
	if (!census_of(&c, &heap, v, &how))
		return;
	ok(!*c.why, "the census is certain: %s", c.why);
	look_up_all(&ways, &c, said);
	for (size_t i = 0; i < ways.nr; i++)
		check_way(&ways.v[i], &how);
	check_leaks(&c, &ways, &how);
}

static void
test_holders(void)
{
	struct child child = child_start(run_holders, NULL);
	struct view v;

	if (ok(child.is_ready, "the program is ready") && view_take(&v, child.pid)) {
		test_census(&v, child.said, (struct census_options){ .nr_skips = 0 });
		test_census(&v, child.said, (struct census_options){ .is_unaligned = true });
		test_census(&v, child.said, (struct census_options){ .masks_tags = true });
		test_census(&v, child.said,
			(struct census_options){ .is_unaligned = true, .masks_tags = true });
		view_release(&v);
	}
	ok(child_end(&child), "the program still works");
}

int
main(void)
{
	if (!skip_if_sanitized("a census of a program with all kinds of holders"))
		test_holders();
	return tap_end();
}
