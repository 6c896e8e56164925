/*
 * The frames of random trees of dominators against an oracle that follows each block to its root,
 * and keeps every frame; and of lists of a million blocks.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "census/chunks.h"
#include "census/dominators.h"
#include "census/layers.h"
#include "census/read.h"
#include "census/type-table.h"
#include "draw.h"
#include "tap.h"

#define NR_SEEDS 8000
#define NR_LONG 1000000
#define BLOCKS_MAX 150
#define OWNERS_MAX 6
#define FRAMES_MAX (BLOCKS_MAX * 2 + OWNERS_MAX + 4)
#define NR_TYPES 3
#define HEADER 16

/* The dominator of a block: a block before it in ORDER, or one of these. */
enum { OF_PROCESS = -1, OF_NOTHING = -2, OF_OWNER = -3 /* and less: OF_OWNER - owner */ };

static struct plan {
	int nr, nr_owners, order[BLOCKS_MAX], dominator[BLOCKS_MAX];
	uint32_t type[BLOCKS_MAX];
	uint64_t bytes[BLOCKS_MAX], resident[BLOCKS_MAX]; /* usable */
	bool is_block[BLOCKS_MAX];
	bool is_resident; /* these count */
} plan;

/* ---- a tree ---- */

static int
draw_dominator(int at, uint64_t shape)
{
	if (shape == 0 && at) /* a list */
		return plan.order[at - 1];
	if (shape == 1 && at && draw(4)) /* deep */
		return plan.order[at - 1 - (int)draw((uint64_t)(at < 3 ? at : 3))];
	if (at && draw(5))
		return plan.order[draw((uint64_t)at)];
	if (plan.nr_owners && draw(3))
		return OF_OWNER - (int)draw((uint64_t)plan.nr_owners);
	return draw(2) ? OF_PROCESS : OF_NOTHING;
}

static void
make_plan(void)
{
	const uint64_t shape = draw(3), nr_sizes = 1 + draw(6);

	memset(&plan, 0, sizeof plan);
	plan.nr = 1 + (int)draw(BLOCKS_MAX - 1);
	plan.nr_owners = (int)draw(OWNERS_MAX);
	plan.is_resident = draw(2);
	for (int i = 0; i < plan.nr; i++)
		plan.order[i] = i;
	for (int i = 0; i < plan.nr; i++) {
		int other = i + (int)draw((uint64_t)(plan.nr - i)), kept = plan.order[i];

		plan.order[i] = plan.order[other];
		plan.order[other] = kept;
	}
	for (int i = 0; i < plan.nr; i++) {
		const uint64_t exponent = 5 + draw(nr_sizes) * 3;

		plan.bytes[i] = (UINT64_C(1) << exponent) + draw(2) * 16 - 8;
		plan.resident[i] = draw(4) ? plan.bytes[i] : draw(plan.bytes[i] - HEADER);
		plan.type[i] = (uint32_t)draw(NR_TYPES + 1);
		plan.is_block[i] = true;
	}
	for (int at = 0; at < plan.nr; at++) {
		int dominator = draw_dominator(at, shape), i = plan.order[at];

		/* Nothing leads to what an unreachable block holds, and no sums are made of it. */
		if (dominator >= 0 && plan.dominator[dominator] == OF_NOTHING)
			dominator = OF_NOTHING;
		plan.dominator[i] = dominator;
		if (dominator == OF_NOTHING)
			plan.is_block[i] = draw(2);
	}
}

static uint64_t
counted(int i)
{
	return plan.is_resident ? plan.resident[i] : plan.bytes[i];
}

/* ---- the oracle ---- */

/* A frame: the largest numbers are those of owners, and of blocks that nobody holds alone. */
struct frame {
	int parent, depth;
	uint64_t key;
	struct census_sum own, held;
};

enum { KEY_SHARED = 1 << 20, KEY_UNREACHABLE, KEY_OWNER };

static struct frame frames[FRAMES_MAX];
static int nr_frames;

/* The frame of a block without a type is by its size. */
static uint64_t
key_of(int i)
{
	uint64_t bytes = 1;

	if (plan.type[i])
		return plan.type[i] == 2 ? 1 : plan.type[i];
	if (plan.bytes[i] <= 1024)
		return 1000 + plan.bytes[i];
	while (2 * bytes <= plan.bytes[i])
		bytes *= 2;
	return 1000000000 + bytes;
}

static int
find_frame(int parent, uint64_t key)
{
	for (int i = 1; i < nr_frames; i++)
		if (frames[i].parent == parent && frames[i].key == key)
			return i;
	frames[nr_frames] =
		(struct frame){ .parent = parent, .depth = frames[parent].depth + 1, .key = key };
	return nr_frames++;
}

/* The frame that block I is part of: that of its dominator, if they are of a kind. */
static int
frame_of(int i)
{
	const int dominator = plan.dominator[i];
	int below;

	if (dominator >= 0) {
		below = frame_of(dominator);
		return frames[below].key == key_of(i) ? below : find_frame(below, key_of(i));
	}
	below = find_frame(0,
		dominator == OF_PROCESS		  ? KEY_SHARED
			: dominator == OF_NOTHING ? KEY_UNREACHABLE
						  : KEY_OWNER + (uint64_t)(OF_OWNER - dominator));
	return find_frame(below, key_of(i));
}

static void
understand_plan(void)
{
	frames[0] = (struct frame){ 0 };
	nr_frames = 1;
	for (int i = 0; i < plan.nr; i++) {
		int at = plan.is_block[i] ? frame_of(i) : 0;

		if (!plan.is_block[i])
			continue;
		frames[at].own.blocks++;
		frames[at].own.bytes += counted(i);
		for (;; at = frames[at].parent) {
			frames[at].held.blocks++;
			frames[at].held.bytes += counted(i);
			if (!at)
				break;
		}
	}
}

/* ---- what is found ---- */

/* Fill D with nodes in the order of the plan, which has dominators before what they dominate. */
static void
take_dominators(struct census_dominators *d)
{
	const uint32_t nr_nodes = (uint32_t)(1 + plan.nr_owners + plan.nr + 1);

	d->nr_owners = (uint32_t)plan.nr_owners;
	d->node = calloc(nr_nodes, sizeof *d->node);
	d->place = malloc(nr_nodes * sizeof *d->place);
	d->idom = calloc(nr_nodes, sizeof *d->idom);
	d->held = calloc(nr_nodes, sizeof *d->held);
	memset(d->place, 0xff, nr_nodes * sizeof *d->place);
	for (uint32_t i = 0; i <= d->nr_owners; i++) {
		d->node[i] = d->place[i] = i;
		d->nr++;
	}
	for (int at = 0; at < plan.nr; at++) {
		const int i = plan.order[at], dominator = plan.dominator[i];
		const uint32_t node = census_chunk_node(d, (uint32_t)i);

		if (dominator == OF_NOTHING)
			continue;
		d->node[d->nr] = node;
		d->idom[d->nr] = dominator >= 0
			? d->place[census_chunk_node(d, (uint32_t)dominator)]
			: dominator == OF_PROCESS
			? 0
			: census_owner_node((uint32_t)(OF_OWNER - dominator));
		d->place[node] = d->nr++;
	}
}

static void
take_census(struct census *c)
{
	uint64_t at = UINT64_C(0x555500000010), end = at;

	c->word_bytes = 8;
	c->chunks.granule_shift = 4;
	for (int i = 0; i < plan.nr; i++)
		end += plan.bytes[i] + 8;
	/* A free chunk is the last, so that no block has the end of the extent. */
	census_chunks_begin_extent(&c->chunks, (raddr){ at }, (raddr){ end + 32 });
	c->type_of.v = calloc((size_t)plan.nr + 1, sizeof *c->type_of.v);
	c->type_of.nr = (size_t)plan.nr + 1;
	c->partial.v = calloc((size_t)plan.nr, sizeof *c->partial.v);
	for (int i = 0; i < plan.nr; i++) {
		census_chunks_add(&c->chunks, at, plan.is_block[i] ? CENSUS_BLOCK : 0);
		c->type_of.v[i] = plan.type[i];
		if (plan.resident[i] < plan.bytes[i])
			c->partial.v[c->partial.nr++] =
				(struct census_partial){ (uint32_t)i, plan.resident[i] };
		at += plan.bytes[i] + 8;
	}
	census_chunks_add(&c->chunks, at, 0);
}

static void
take_table(struct census_type_table *table)
{
	static const char *const name[] = { "pair", "pair", "other" };
	struct err e;

	census_type_table_init(table, &e);
	for (uint32_t i = 0; i < NR_TYPES; i++) {
		struct census_type type = { .address = 4096 * (i + 1), .name = name[i] };

		census_type_table_add(table, &type, &e);
	}
}

/* ---- comparing ---- */

static uint64_t
key_of_frame(const struct census_frame *frame)
{
	switch (frame->kind) {
	case CENSUS_FRAME_OWNER:
		return KEY_OWNER + frame->number;
	case CENSUS_FRAME_SHARED:
		return KEY_SHARED;
	case CENSUS_FRAME_UNREACHABLE:
		return KEY_UNREACHABLE;
	case CENSUS_FRAME_TYPE:
		return frame->number;
	case CENSUS_FRAME_SIZE:
		if (frame->first_bytes == frame->last_bytes)
			return 1000 + frame->first_bytes;
		/* 1024 bytes are a size of their own. */
		if (frame->first_bytes == 1024 || frame->last_bytes % 1024 != 1023)
			return 0;
		return 1000000000 + (frame->first_bytes == 1025 ? 1024 : frame->first_bytes);
	default:
		return 0;
	}
}

static bool
same_sum(const struct census_sum *a, const struct census_sum *b)
{
	return a->blocks == b->blocks && a->bytes == b->bytes;
}

static bool
is_dropped(const struct frame *f, uint64_t min_bytes)
{
	return f->depth > CENSUS_LAYERS_MAX + 1 ||
		(f->key != KEY_SHARED && f->key != KEY_UNREACHABLE && f->held.bytes < min_bytes);
}

/*
 * Whether frame AT of L is frame WANT, and what is above it as well.  *NR counts those compared.
 */
static bool
same_frame(const struct census_layers *l, uint32_t at, int want, uint64_t min_bytes, size_t *nr)
{
	struct census_sum others = { 0 }, found_others = { 0 };
	int nr_above = 0;

	++*nr;
	if (!same_sum(&l->frame.v[at].held, &frames[want].held) ||
		l->frame.v[at].blocks != frames[want].own.blocks)
		return false;
	for (int i = 1; i < nr_frames; i++)
		if (frames[i].parent == want && is_dropped(&frames[i], min_bytes)) {
			others.blocks += frames[i].held.blocks;
			others.bytes += frames[i].held.bytes;
		} else {
			nr_above += frames[i].parent == want;
		}
	for (uint32_t i = at + 1; i < l->frame.nr; i++) {
		const struct census_frame *frame = &l->frame.v[i];
		int found = 1;

		if (frame->parent != at)
			continue;
		if (frame->kind == CENSUS_FRAME_OTHERS) {
			++*nr;
			if (found_others.blocks || frame->blocks != frame->held.blocks)
				return false;
			found_others = frame->held;
			continue;
		}
		while (found < nr_frames &&
			(frames[found].parent != want || frames[found].key != key_of_frame(frame)))
			found++;
		if (found == nr_frames || is_dropped(&frames[found], min_bytes) ||
			!same_frame(l, i, found, min_bytes, nr))
			return false;
		nr_above--;
	}
	return !nr_above && same_sum(&others, &found_others);
}

static bool
test_seed(uint64_t nr)
{
	auto_census struct census c = { 0 };
	auto_census_dominators struct census_dominators d = { 0 };
	auto_census_type_table struct census_type_table table = { 0 };
	auto_census_layers struct census_layers l = { 0 };
	uint64_t min_bytes;
	size_t nr_same = 0;
	struct err e;

	seed = nr * UINT64_C(0x9e3779b97f4a7c15) + 1;
	make_plan();
	understand_plan();
	min_bytes = draw(3) ? draw(frames[0].held.bytes / 8 + 2) : 0;
	take_census(&c);
	take_dominators(&d);
	take_table(&table);
	/* The sums of usable bytes are those of resident ones if all are. */
	if (!plan.is_resident)
		c.partial.nr = 0;
	census_dominators_count_resident(&d, &c);
	if (census_layers_make(&l, &c, &d, &table, plan.is_resident, min_bytes, &e) == 0 &&
		l.frame.v[0].kind == CENSUS_FRAME_ALL &&
		same_frame(&l, 0, 0, min_bytes, &nr_same) && nr_same == l.frame.nr)
		return true;
	printf("# seed %llu: %d blocks, at least %llu bytes: %zu frames of %zu are right\n",
		(unsigned long long)nr, plan.nr, (unsigned long long)min_bytes, nr_same,
		l.frame.nr);
	return false;
}

/* ---- long lists ---- */

/* A list below one owner, whose blocks have NR_KINDS types in turn. */
static void
test_list(uint32_t nr_kinds, size_t nr_frames_wanted)
{
	auto_census struct census c = { .word_bytes = 8 };
	auto_census_dominators struct census_dominators d = { .nr_owners = 1, .nr = NR_LONG + 2 };
	auto_census_type_table struct census_type_table table = { 0 };
	auto_census_layers struct census_layers l = { 0 };
	const uint64_t start = UINT64_C(0x555500000010);
	uint64_t above = 0;
	struct err e;

	c.chunks.granule_shift = 4;
	c.type_of.v = calloc(NR_LONG, sizeof *c.type_of.v);
	c.type_of.nr = NR_LONG;
	d.node = calloc(d.nr, sizeof *d.node);
	d.place = calloc(d.nr, sizeof *d.place);
	d.idom = calloc(d.nr, sizeof *d.idom);
	d.held = calloc(d.nr, sizeof *d.held);
	census_chunks_begin_extent(
		&c.chunks, (raddr){ start }, (raddr){ start + UINT64_C(32) * NR_LONG });
	for (uint32_t i = 0; i < NR_LONG; i++) {
		census_chunks_add(&c.chunks, start + 32 * (uint64_t)i, CENSUS_BLOCK);
		c.type_of.v[i] = 2 + i % nr_kinds;
	}
	for (uint32_t i = 0; i < d.nr; i++) {
		d.node[i] = d.place[i] = i;
		d.idom[i] = i ? i - 1 : 0;
	}
	take_table(&table);
	census_dominators_count_resident(&d, &c);
	ok(census_layers_make(&l, &c, &d, &table, true, 0, &e) == 0 &&
			l.frame.nr == nr_frames_wanted,
		"a list of %d blocks of %u kinds has %zu frames", NR_LONG, nr_kinds,
		nr_frames_wanted);
	for (size_t i = 1; i < l.frame.nr; i++)
		above += l.frame.v[i].blocks;
	is_u64(above, NR_LONG, "which have all of them");
	is_u64(l.frame.v[0].held.blocks, NR_LONG, "as the first frame has");
}

int
main(void)
{
	int nr = tap_share(NR_SEEDS), nr_same = 0;

	for (int i = 1; i <= nr; i++)
		nr_same += test_seed((uint64_t)i);
	ok(nr_same == nr, "%d random trees of %d have the frames that the oracle has", nr_same, nr);
	test_list(1, 3);
	test_list(2, 2 + CENSUS_LAYERS_MAX + 1);
	return tap_end();
}
