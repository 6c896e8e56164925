/*
 * The layers are made from the bottom up, and nothing of a frame that is too small is visited: a
 * block is looked at once, and no function calls itself, however deep the tree is.
 *
 * Blocks have labels, small numbers: the types, and after them the sizes.  The blocks that make up
 * the frames of a layer are together in NOW, by frame.
 */
#include <config.h>

#include "census/layers.h"

#include "base/array.h"
#include "census/chunks.h"

#include <errno.h>
#include <stdlib.h>

/* Sizes up to this are labels of their own; larger ones share one for each power of two. */
#define EXACT_BYTES 1024
#define NR_SIZES (EXACT_BYTES + 1 + 64)
#define NO_LABEL UINT32_MAX

struct layer_block {
	uint32_t place, frame;
};

/* A frame while layers are made. */
struct layer_frame {
	uint32_t label;
	uint32_t nr;	 /* its blocks that blocks of its own kind do not hold */
	uint32_t others; /* the frame of what is too small above it; 0: none */
	uint32_t new;	 /* its number when dropped frames are removed */
	bool is_dropped;
	size_t at; /* where its next block is in NOW */
};

struct layers_work {
	struct census_layers *l;
	const struct census *c;
	const struct census_dominators *d;
	const struct census_type_table *table;
	struct census_children children;
	bool is_resident;
	uint64_t min_bytes;
	uint32_t nr_types;
	uint32_t *same;	 /* owned; of each type: the first one of that name */
	uint32_t *label; /* owned; of each chunk */
	uint32_t *slot;	 /* owned; of each label: its frame above the present one, 0: none */
	struct {
		struct layer_frame *v; /* owned; as the frames */
		size_t nr, room;
	} more;
	uint32_t *now; /* owned; places, by frame */
	struct {
		struct layer_block *v; /* owned; those of the next layer */
		size_t nr, room;
	} next;
	struct {
		uint32_t *v; /* owned; places to visit for the present frame */
		size_t nr, room;
	} stack;
};

void
census_layers_release(struct census_layers *l)
{
	free(l->frame.v);
	*l = (struct census_layers){ 0 };
}

/* ---- labels ---- */

static uint32_t
layers_size_label(uint64_t bytes)
{
	return bytes <= EXACT_BYTES ? (uint32_t)bytes
				    : EXACT_BYTES + 1 + (uint32_t)(63 - __builtin_clzll(bytes));
}

/* Return whether the chunk at AT is a block that no owner leads to. */
static bool
is_unreachable(const struct layers_work *w, const struct census_cursor *at)
{
	return w->c->chunks.state.v[at->chunk] & CENSUS_BLOCK &&
		w->d->place[census_chunk_node(w->d, at->chunk)] == CENSUS_NO_NODE;
}

/* Return the bytes of the block at AT that count; NEXT as for census_resident_bytes(). */
static uint64_t
layers_block_bytes(const struct layers_work *w, const struct census_cursor *at, size_t *next)
{
	return w->is_resident ? census_resident_bytes(w->c, at, next)
			      : census_block_bytes(w->c, at);
}

/* Fill LABEL, and *UNREACHABLE with the sum of blocks that no owner leads to. */
static void
label_chunks(struct layers_work *w, struct census_sum *unreachable)
{
	struct census_cursor at = CENSUS_CURSOR_NONE;
	size_t next = 0;

	*unreachable = (struct census_sum){ 0 };
	while (census_chunks_next(&w->c->chunks, &at)) {
		const uint32_t type = w->c->type_of.nr
			? w->same[w->c->type_of.v[at.chunk] & CENSUS_TYPE_MASK]
			: CENSUS_NO_TYPE;

		w->label[at.chunk] = type != CENSUS_NO_TYPE
			? type
			: w->nr_types + layers_size_label(census_block_bytes(w->c, &at));
		if (is_unreachable(w, &at)) {
			unreachable->blocks++;
			unreachable->bytes += layers_block_bytes(w, &at, &next);
		}
	}
}

/* Set the members of FRAME that LABEL says. */
static void
frame_of_label(const struct layers_work *w, struct census_frame *frame, uint32_t label)
{
	const uint32_t size = label - w->nr_types;

	if (label < w->nr_types) {
		frame->kind = CENSUS_FRAME_TYPE;
		frame->number = label;
		return;
	}
	frame->kind = CENSUS_FRAME_SIZE;
	frame->first_bytes = frame->last_bytes = size;
	if (size > EXACT_BYTES) {
		frame->first_bytes = UINT64_C(1) << (size - EXACT_BYTES - 1);
		frame->last_bytes = 2 * frame->first_bytes - 1;
		if (frame->first_bytes == EXACT_BYTES)
			frame->first_bytes++;
	}
}

/* ---- frames ---- */

/* Add a frame above PARENT that holds HELD.  Its number, or -1 without memory. */
static int64_t
layers_add_frame(struct layers_work *w, enum census_frame_kind kind, uint32_t parent,
	uint32_t number, const struct census_sum *held)
{
	struct census_frame *frame = w->l->frame.nr < UINT32_MAX ? array_add(&w->l->frame) : NULL;
	struct layer_frame *more = frame ? array_add(&w->more) : NULL;

	if (!more)
		return -1;
	*frame = (struct census_frame){
		.kind = kind, .parent = parent, .number = number, .held = *held
	};
	more->label = NO_LABEL;
	return (int64_t)w->l->frame.nr - 1;
}

/* Add PLACE to FRAME, of the next layer. */
static int
layers_add_place(struct layers_work *w, uint32_t place, uint32_t frame)
{
	struct layer_block *added = array_add(&w->next);

	if (!added)
		return -1;
	*added = (struct layer_block){ place, frame };
	w->more.v[frame].nr++;
	return 0;
}

/* Find or add the frame of LABEL above PARENT, and count HELD for it.  Its number, or -1. */
static int64_t
layers_count(struct layers_work *w, uint32_t parent, uint32_t label, const struct census_sum *held)
{
	int64_t nr = w->slot[label];
	struct census_frame *frame;

	if (nr) {
		frame = &w->l->frame.v[nr];
		frame->held.blocks += held->blocks;
		frame->held.bytes += held->bytes;
		return nr;
	}
	nr = layers_add_frame(w, CENSUS_FRAME_TYPE, parent, 0, held);
	if (nr < 0)
		return -1;
	frame_of_label(w, &w->l->frame.v[nr], label);
	w->more.v[nr].label = label;
	w->slot[label] = (uint32_t)nr;
	return nr;
}

/* ---- the blocks of a frame ---- */

static bool
is_owner_place(const struct layers_work *w, uint32_t place)
{
	return w->d->node[place] <= w->d->nr_owners;
}

/* Take the block at PLACE, which a block of FRAME holds: it is of FRAME, or of one above it. */
static int
layers_take(struct layers_work *w, uint32_t frame, uint32_t place)
{
	const uint32_t label = w->label[w->d->node[place] - w->d->nr_owners - 1];
	int64_t above;

	if (label == w->more.v[frame].label) {
		uint32_t *added = array_add(&w->stack);

		if (added)
			*added = place;
		return added ? 0 : -1;
	}
	above = layers_count(w, frame, label, &w->d->held[place]);
	return above < 0 ? -1 : layers_add_place(w, place, (uint32_t)above);
}

/* Visit the place FIRST of FRAME and all that it holds in the same frame. */
static int
layers_visit(struct layers_work *w, uint32_t frame, uint32_t first)
{
	uint32_t place = first;

	for (;;) {
		w->l->frame.v[frame].blocks += !is_owner_place(w, place);
		for (uint32_t i = w->children.first[place]; i; i = w->children.next[i])
			if (!is_owner_place(w, i) && layers_take(w, frame, i) < 0)
				return -1;
		if (!w->stack.nr)
			return 0;
		place = w->stack.v[--w->stack.nr];
	}
}

/* Count the unreachable blocks above FRAME. */
static int
layers_visit_unreachable(struct layers_work *w, uint32_t frame)
{
	struct census_cursor at = CENSUS_CURSOR_NONE;
	size_t next = 0;

	while (census_chunks_next(&w->c->chunks, &at)) {
		struct census_sum one = { 1, 0 };
		int64_t above;

		if (!is_unreachable(w, &at))
			continue;
		one.bytes = layers_block_bytes(w, &at, &next);
		above = layers_count(w, frame, w->label[at.chunk], &one);
		if (above < 0)
			return -1;
		w->l->frame.v[above].blocks++;
	}
	return 0;
}

/* Free the slots of the frames from FIRST on. */
static void
clear_slots(struct layers_work *w, size_t first)
{
	for (size_t i = first; i < w->more.nr; i++)
		w->slot[w->more.v[i].label] = 0;
}

/* Make the layer above the frames from FIRST to END, whose blocks are in NOW. */
static int
layers_make_next(struct layers_work *w, size_t first, size_t end)
{
	const uint32_t *place = w->now;

	w->next.nr = 0;
	for (size_t i = first; i < end; i++) {
		const size_t above = w->l->frame.nr;
		const uint32_t nr = w->more.v[i].nr;

		for (uint32_t k = 0; k < nr; k++)
			if (layers_visit(w, (uint32_t)i, *place++) < 0)
				return -1;
		if (w->l->frame.v[i].kind == CENSUS_FRAME_UNREACHABLE &&
			layers_visit_unreachable(w, (uint32_t)i) < 0)
			return -1;
		clear_slots(w, above);
	}
	return 0;
}

/* ---- frames that are too small ---- */

static bool
is_small(const struct layers_work *w, const struct census_frame *frame, bool is_last)
{
	switch (frame->kind) {
	case CENSUS_FRAME_OWNER:
	case CENSUS_FRAME_TYPE:
	case CENSUS_FRAME_SIZE:
		return is_last || frame->held.bytes < w->min_bytes;
	default:
		return false;
	}
}

/* Count frame NR for the OTHERS of its parent, and forget its blocks. */
static int
layers_drop(struct layers_work *w, size_t nr)
{
	const struct census_frame dropped = w->l->frame.v[nr];
	const struct census_sum none = { 0 };
	int64_t others = w->more.v[dropped.parent].others;
	struct census_frame *to;

	if (!others) {
		others = layers_add_frame(w, CENSUS_FRAME_OTHERS, dropped.parent, 0, &none);
		if (others < 0)
			return -1;
		w->more.v[dropped.parent].others = (uint32_t)others;
	}
	to = &w->l->frame.v[others];
	to->blocks += dropped.held.blocks;
	to->held.blocks += dropped.held.blocks;
	to->held.bytes += dropped.held.bytes;
	w->more.v[nr].is_dropped = true;
	w->more.v[nr].nr = 0;
	return 0;
}

/* Drop the frames from FIRST on that are too small; IS_LAST: all. */
static int
layers_drop_small(struct layers_work *w, size_t first, bool is_last)
{
	const size_t end = w->l->frame.nr;

	for (size_t i = first; i < end; i++)
		if (is_small(w, &w->l->frame.v[i], is_last) && layers_drop(w, i) < 0)
			return -1;
	return 0;
}

/* Fill NOW with the places of NEXT, by frame, of which the first is FIRST. */
static int
layers_sort(struct layers_work *w, size_t first)
{
	size_t sum = 0;

	for (size_t i = first; i < w->more.nr; i++) {
		w->more.v[i].at = sum;
		sum += w->more.v[i].nr;
	}
	free(w->now);
	w->now = malloc((sum + 1) * sizeof *w->now);
	if (!w->now)
		return -1;
	for (size_t i = 0; i < w->next.nr; i++) {
		struct layer_frame *more = &w->more.v[w->next.v[i].frame];

		if (!more->is_dropped)
			w->now[more->at++] = w->next.v[i].place;
	}
	return 0;
}

/* Remove dropped frames from the list; what was above them was never made. */
static void
layers_compact(struct layers_work *w)
{
	struct census_layers *l = w->l;
	size_t kept = 0;

	for (size_t i = 0; i < l->frame.nr; i++) {
		if (w->more.v[i].is_dropped)
			continue;
		w->more.v[i].new = (uint32_t)kept;
		l->frame.v[kept] = l->frame.v[i];
		l->frame.v[kept].parent = w->more.v[l->frame.v[kept].parent].new;
		kept++;
	}
	l->frame.nr = kept;
}

/* ---- all of it ---- */

/* Add a frame above the first one, which PLACE is of, unless it holds no block. */
static int
layers_add_root(struct layers_work *w, enum census_frame_kind kind, uint32_t number,
	const struct census_sum *held, uint32_t place)
{
	int64_t nr;

	if (!held->blocks)
		return 0;
	nr = layers_add_frame(w, kind, 0, number, held);
	if (nr < 0)
		return -1;
	return place == CENSUS_NO_NODE ? 0 : layers_add_place(w, place, (uint32_t)nr);
}

/* Make the first frame, and those of roots. */
static int
layers_begin(struct layers_work *w, const struct census_sum *unreachable)
{
	const struct census_dominators *d = w->d;
	struct census_sum all = d->held[0], shared = { 0 };

	all.blocks += unreachable->blocks;
	all.bytes += unreachable->bytes;
	if (layers_add_frame(w, CENSUS_FRAME_ALL, 0, 0, &all) < 0)
		return -1;
	for (uint32_t i = w->children.first[0]; i; i = w->children.next[i]) {
		if (!is_owner_place(w, i)) {
			shared.blocks += d->held[i].blocks;
			shared.bytes += d->held[i].bytes;
		} else if (layers_add_root(w, CENSUS_FRAME_OWNER, d->node[i] - 1, &d->held[i], i) <
			0) {
			return -1;
		}
	}
	/* Shared blocks are children of the process, place 0, as owners are. */
	if (layers_add_root(w, CENSUS_FRAME_SHARED, 0, &shared, 0) < 0 ||
		layers_add_root(w, CENSUS_FRAME_UNREACHABLE, 0, unreachable, CENSUS_NO_NODE) < 0)
		return -1;
	return layers_drop_small(w, 1, false);
}

static int
layers_run(struct layers_work *w)
{
	struct census_sum unreachable;
	size_t first = 1, end;

	w->same = census_type_table_by_name(w->table);
	w->nr_types = (uint32_t)w->table->type.nr + 1;
	w->label = malloc((w->c->chunks.state.nr + 1) * sizeof *w->label);
	w->slot = calloc((size_t)w->nr_types + NR_SIZES, sizeof *w->slot);
	if (!w->same || !w->label || !w->slot || census_children_find(&w->children, w->d) < 0)
		return -1;
	label_chunks(w, &unreachable);
	if (layers_begin(w, &unreachable) < 0 || layers_sort(w, first) < 0)
		return -1;
	for (unsigned int layer = 0; first < w->l->frame.nr; layer++) {
		end = w->l->frame.nr;
		if (layers_make_next(w, first, end) < 0 ||
			layers_drop_small(w, end, layer == CENSUS_LAYERS_MAX) < 0 ||
			layers_sort(w, end) < 0)
			return -1;
		first = end;
	}
	layers_compact(w);
	return 0;
}

int
census_layers_make(struct census_layers *l, const struct census *c,
	const struct census_dominators *d, const struct census_type_table *table, bool is_resident,
	uint64_t min_bytes, struct err *e)
{
	struct layers_work w = { .l = l,
		.c = c,
		.d = d,
		.table = table,
		.is_resident = is_resident,
		.min_bytes = min_bytes };
	int failed = layers_run(&w);

	census_children_release(&w.children);
	free(w.same);
	free(w.label);
	free(w.slot);
	free(w.more.v);
	free(w.now);
	free(w.next.v);
	free(w.stack.v);
	if (failed) {
		census_layers_release(l);
		return err_set(e, ENOMEM, "cannot draw what is held");
	}
	return 0;
}
