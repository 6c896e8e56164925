/* The order in which a census is read: what can be found before the stop, the stop, the rest. */
#include <config.h>

#include "census/read.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "census/chunks.h"
#include "census/collect.h"
#include "census/edges.h"
#include "census/mark.h"
#include "census/roots.h"
#include "census/slots.h"
#include "glibc/process.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/stacks.h"
#include "os/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void
census_release(struct census *c)
{
	census_slots_release(&c->slots);
	census_chunks_release(&c->chunks);
	census_edges_release(&c->edges);
	census_roots_release(&c->roots);
	free(c->type_of.v);
	free(c->pooled.v);
	free(c->front.v);
	free(c->hash.v);
	free(c->partial.v);
	*c = (struct census){ 0 };
}

/* ---- before the stop ---- */

struct mapped_list {
	struct census_mapped *v; /* owned */
	size_t nr, room;
};

/* List the blocks with their own mappings; a leaf may continue in the next mapping. */
static int
list_mapped(struct mapped_list *m, const struct space *space, struct err *e)
{
	for (size_t i = 0; i < space->leaves.nr; i++) {
		const struct leaf *leaf = &space->leaves.v[i];
		struct census_mapped *added;

		if (leaf->kind != LEAF_CHUNK)
			continue;
		if (leaf->is_continued && m->nr) {
			m->v[m->nr - 1].end = leaf->end;
			continue;
		}
		added = array_add(m);
		if (!added)
			return err_set(e, ENOMEM, "cannot list the large blocks");
		*added = (struct census_mapped){ leaf->start, leaf->end };
	}
	return 0;
}

/* ---- after it ---- */

static void
census_sum_up(struct census *c)
{
	struct census_cursor at = CENSUS_CURSOR_NONE;

	c->in_use = c->reached = (struct census_sum){ 0 };
	while (census_chunks_next(&c->chunks, &at)) {
		const uint8_t state = c->chunks.state.v[at.chunk];
		const uint64_t bytes = census_block_bytes(c, &at);

		if (!(state & CENSUS_BLOCK))
			continue;
		c->in_use.blocks++;
		c->in_use.bytes += bytes;
		if (state & CENSUS_REACHED) {
			c->reached.blocks++;
			c->reached.bytes += bytes;
		}
	}
}

/* Note why the result is not certain. */
static void
census_doubt(struct census *c, const struct heap *heap, const struct target *t)
{
	struct os_core_facts facts;
	const bool is_core = os_core_facts(t, &facts);
	const struct heap_arena *worst = NULL;

	for (size_t i = 0; i < heap->arena.nr; i++) {
		const struct heap_arena *arena = &heap->arena.v[i];

		c->swapped_bytes += arena->swapped_bytes;
		if (!worst || arena->certainty < worst->certainty)
			worst = arena;
	}
	if (is_core && (facts.is_filtered || facts.missing_bytes))
		snprintf(c->why, sizeof c->why, "the core file lacks memory of the process");
	else if (c->unread_bytes)
		snprintf(c->why, sizeof c->why, "%" PRIu64 " bytes could not be read",
			c->unread_bytes);
	else if (c->swapped_bytes)
		snprintf(c->why, sizeof c->why,
			"%" PRIu64 " bytes are in swap, and were not brought back",
			c->swapped_bytes);
	else if (c->late_bytes)
		snprintf(c->why, sizeof c->why,
			"%" PRIu64 " bytes of shared memory were read when the process ran again",
			c->late_bytes);
	else if (!heap->is_ring_closed)
		snprintf(c->why, sizeof c->why, "malloc's list of arenas is damaged");
	else if (worst && worst->certainty != HEAP_EXACT)
		snprintf(c->why, sizeof c->why, "arena %u: %s", worst->nr, worst->why);
}

static int
census_finish(struct census *c, const struct heap *heap, const struct target *t, struct err *e)
{
	if (census_chunks_sort(&c->chunks, &c->slots, e) < 0 ||
		census_edges_resolve(&c->edges, &c->chunks, &c->slots, e) < 0)
		return -1;
	census_roots_resolve(&c->roots, &c->chunks, &c->slots);
	if (census_mark(c, e) < 0)
		return -1;
	census_sum_up(c);
	census_doubt(c, heap, t);
	return 0;
}

/* ---- all of it ---- */

static int
read_roots(struct census *c, const struct heap_look *look, void *arg, struct err *e)
{
	return census_roots_read(c, look, arg, e);
}

static int
census_read_with(struct census *c, struct heap *heap, const struct process *p,
	const struct space *space, const struct census_options *options, struct mapped_list *mapped,
	struct err *e)
{
	auto_thread_stacks struct thread_stacks stacks = { 0 };
	struct census_before before = { &p->objects, &space->threads, &stacks, options };
	struct census_collector collector = {
		.census = c,
		.how = options,
		.roots = read_roots,
		.roots_arg = &before,
	};
	struct heap_visitor visitor;
	const struct heap_options how = { .max_stop_ns = options->max_stop_ns,
		.visitor = &visitor };

	if (list_mapped(mapped, space, e) < 0 ||
		thread_stacks_find(
			&stacks, p->target, &p->maps, &p->objects, &space->threads, false, e) < 0)
		return -1;
	collector.mapped = mapped->v;
	collector.nr_mapped = mapped->nr;
	census_collect(&visitor, &collector);
	if (heap_read(heap, p, &how, e) < 0)
		return -1;
	if (options->after)
		options->after(options->arg);
	return census_finish(c, heap, p->target, e);
}

int
census_read(struct census *c, struct heap *heap, const struct process *p, const struct space *space,
	const struct census_options *how, struct err *e)
{
	struct mapped_list mapped = { 0 };
	int failed = census_read_with(c, heap, p, space, how, &mapped, e);

	free(mapped.v);
	if (failed) {
		census_release(c);
		heap_release(heap);
	}
	return failed;
}
