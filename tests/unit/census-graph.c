/*
 * The census of random heaps against an oracle that knows each word: which chunk has which address,
 * which blocks are reached, and which of the others are heads.  The heaps are given to the visitor
 * as the walk gives them: in pieces, some arenas twice.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "census/chunks.h"
#include "census/collect.h"
#include "census/contents.h"
#include "census/dominators.h"
#include "census/edges.h"
#include "census/leaks.h"
#include "census/looks.h"
#include "census/mark.h"
#include "census/owners.h"
#include "census/paths.h"
#include "census/reach.h"
#include "census/read.h"
#include "census/retained.h"
#include "census/roots.h"
#include "census/slots.h"
#include "census/type-groups.h"
#include "census/type-table.h"
#include "census/types.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "heap/heap.h"
#include "heap/visit.h"
#include "draw.h"
#include "tap.h"

#define NR_SEEDS 8000
#define CHUNKS_MAX 300
#define EXTENTS_MAX 6
#define WORDS_MAX 400
#define NONE (-1)

struct chunk {
	uint64_t start, end; /* from the program's pointer to the next chunk's */
	int extent;
	enum heap_use use;
	uint64_t word[WORDS_MAX];
	int nr_words;
	bool is_reached, can_reach[CHUNKS_MAX];
};

static struct plan {
	unsigned int word_bytes, align, header;
	struct {
		uint64_t start, end;
		int arena, first, nr;
	} extent[EXTENTS_MAX];
	int nr_extents;
	struct chunk chunk[CHUNKS_MAX];
	int nr;
	uint64_t root[40];
	int nr_roots;
} plan;

/* ---- a heap ---- */

/* The chunk that has ADDR, or NONE. */
static int
owner_of(uint64_t addr)
{
	for (int i = 0; i < plan.nr; i++)
		if (addr >= plan.chunk[i].start && addr < plan.chunk[i].end)
			return i;
	return NONE;
}

/*
 * Chunks are mostly small, so that an extent has several in a line of the index, and none in
 * others.
 */
static uint64_t
draw_bytes(void)
{
	uint64_t least = 4 * plan.word_bytes, unit = plan.align;
	uint64_t units = draw(10) ? draw(12) : draw(10) ? draw(200) : draw(5000);

	return (least + unit - 1) / unit * unit + units * unit;
}

static void
plan_extent(uint64_t start, int arena)
{
	int x = plan.nr_extents++, nr = 1 + (int)draw(50);
	uint64_t at = start;

	plan.extent[x].arena = arena;
	plan.extent[x].first = plan.nr;
	while (nr-- && plan.nr < CHUNKS_MAX) {
		struct chunk *c = &plan.chunk[plan.nr++];

		*c = (struct chunk){ .start = at + plan.header, .extent = x };
		c->use = draw(4) ? HEAP_USE_BLOCK : draw(2) ? HEAP_USE_FREE : HEAP_USE_CACHED;
		at += draw_bytes();
		c->end = at + plan.header;
		plan.extent[x].nr++;
	}
	/* What follows the last chunk, up to the end, is its. */
	plan.chunk[plan.nr - 1].end = at + plan.header + draw(3) * plan.align;
	plan.extent[x].start = start;
	plan.extent[x].end = plan.chunk[plan.nr - 1].end;
}

static uint64_t
draw_word(void)
{
	const struct chunk *c = &plan.chunk[draw((uint64_t)plan.nr)];
	const uint64_t far = plan.word_bytes == 8 ? UINT64_C(0x7fff00000000) : 0x7f000000;

	switch (draw(10)) {
	case 0:
		return 0;
	case 1:
		return draw(UINT64_C(1) << 20);
	case 2:
		return far + draw(UINT64_C(1) << 20);
	case 3: /* around the ends of extents */
		return plan.extent[draw((uint64_t)plan.nr_extents)].end + draw(64) - 32;
	case 4:
		return plan.extent[draw((uint64_t)plan.nr_extents)].start + draw(64) - 32;
	case 5:
		return c->start + draw(c->end - c->start);
	case 6: /* one past the usable bytes */
		return c->end - plan.word_bytes;
	case 7: /* the header of the next */
		return c->end - plan.header;
	default:
		return c->start;
	}
}

/* Bytes of text as a word; now and then the last one. */
static uint64_t
draw_text(void)
{
	uint64_t word = 0;

	for (unsigned int i = 0; i < plan.word_bytes && draw(20); i++)
		word |= ('a' + draw(26)) << 8 * i;
	return word;
}

static void
plan_words(struct chunk *c)
{
	uint64_t room = (c->end - c->start) / plan.word_bytes;
	const int most = draw(20) ? 6 : WORDS_MAX;
	const bool is_text = !draw(10), is_zero = !draw(20);

	for (c->nr_words = 0; c->nr_words < most && (uint64_t)c->nr_words < room; c->nr_words++) {
		uint64_t *word = &c->word[c->nr_words];

		if (is_text)
			*word = draw_text();
		else if (c->nr_words && !draw(4))
			*word = word[-1];
		else
			*word = is_zero || draw(3) ? 0 : draw_word();
	}
	/* More edges than fit into a byte. */
	for (int i = 0; most == WORDS_MAX && i < c->nr_words && draw(50); i++)
		c->word[i] = draw_word();
}

/* Let a word of some blocks have the address of one that they have a word of. */
static void
plan_pairs(void)
{
	for (int i = 0; i < plan.nr; i++) {
		const struct chunk *from = &plan.chunk[i];
		const int k = from->nr_words ? (int)draw((uint64_t)from->nr_words) : 0;
		const int to = from->nr_words ? owner_of(from->word[k]) : NONE;

		if (to != NONE && plan.chunk[to].nr_words && !draw(3))
			plan.chunk[to].word[draw((uint64_t)plan.chunk[to].nr_words)] = from->start;
	}
}

static void
make_plan(void)
{
	uint64_t at;
	int arena = 0;

	memset(&plan, 0, sizeof plan);
	plan.word_bytes = draw(4) ? 8 : 4;
	plan.align = plan.word_bytes == 4 && draw(2) ? 8 : 16;
	plan.header = 2 * plan.word_bytes;
	/* On i386 chunks are not aligned, but the program's pointers are. */
	at = (plan.word_bytes == 8 ? UINT64_C(0x555500000000) : 0x8000000) +
		((16 - plan.header) % plan.align) + draw(1 << 20) / 4096 * 4096;
	for (int i = 1 + (int)draw(EXTENTS_MAX - 1); i > 0; i--) {
		plan_extent(at, arena);
		arena += draw(2) != 0;
		at = (plan.extent[plan.nr_extents - 1].end & -(uint64_t)4096) + 4096 +
			(draw(2) ? draw(64) << 20 : 0) + ((16 - plan.header) % plan.align);
	}
	for (int i = 0; i < plan.nr; i++)
		plan_words(&plan.chunk[i]);
	plan_pairs();
	for (plan.nr_roots = 0; plan.nr_roots < (int)draw(40); plan.nr_roots++)
		plan.root[plan.nr_roots] =
			plan.nr_roots && !draw(4) ? plan.root[plan.nr_roots - 1] : draw_word();
}

/* ---- what is right ---- */

static bool
is_block(int i)
{
	return i != NONE && plan.chunk[i].use == HEAP_USE_BLOCK;
}

/* Whether word K of a chunk is one that malloc leaves there: the address of a chunk's header. */
static bool
is_left(uint64_t word, int k)
{
	const int next = owner_of(word + plan.header);
	const uint64_t in_slot = (word + plan.header) & ((UINT64_C(1) << CENSUS_SLOT_SHIFT) - 1);

	return k < CENSUS_LIST_WORDS && next != NONE &&
		plan.chunk[next].start == word + plan.header && in_slot >= plan.align;
}

/* The blocks that words lead to. */
static int edges[CHUNKS_MAX][WORDS_MAX];

static void
find_edges(void)
{
	for (int i = 0; i < plan.nr; i++)
		for (int k = 0; k < plan.chunk[i].nr_words; k++) {
			const uint64_t word = plan.chunk[i].word[k];
			const int to = is_block(i) ? owner_of(word) : NONE;

			edges[i][k] = is_block(to) && to != i && !is_left(word, k) ? to : NONE;
		}
}

/* The block that word K of chunk I leads to, or NONE. */
static int
edge(int i, int k)
{
	return edges[i][k];
}

static void
reach(int i)
{
	if (!is_block(i) || plan.chunk[i].is_reached)
		return;
	plan.chunk[i].is_reached = true;
	for (int k = 0; k < plan.chunk[i].nr_words; k++)
		reach(edge(i, k));
}

static bool
is_lost(int i)
{
	return is_block(i) && !plan.chunk[i].is_reached;
}

/* Which lost blocks lead to which, over any number of steps. */
static void
close_paths(void)
{
	for (int i = 0; i < plan.nr; i++)
		for (int k = 0; k < plan.chunk[i].nr_words; k++)
			if (is_lost(i) && edge(i, k) != NONE && is_lost(edge(i, k)))
				plan.chunk[i].can_reach[edge(i, k)] = true;
	for (int via = 0; via < plan.nr; via++)
		for (int i = 0; i < plan.nr; i++)
			for (int to = 0; plan.chunk[i].can_reach[via] && to < plan.nr; to++)
				plan.chunk[i].can_reach[to] |= plan.chunk[via].can_reach[to];
}

/* Whether nothing leads to I but what I leads to; it is the lowest of its ring. */
static bool
is_head(int i)
{
	for (int from = 0; from < plan.nr; from++)
		if (from != i && plan.chunk[from].can_reach[i] &&
			(!plan.chunk[i].can_reach[from] || from < i))
			return false;
	return is_lost(i);
}

/* ---- what is found ---- */

static void
visit_words(const struct heap_visitor *v, const struct chunk *c)
{
	static char buf[WORDS_MAX * 8];
	int at = 0, size = (int)plan.word_bytes;

	for (int k = 0; k < c->nr_words; k++)
		memcpy(buf + k * size, &c->word[k], (size_t)size);
	while (at < c->nr_words) {
		int nr = 1 + (int)draw((uint64_t)(c->nr_words - at));

		v->words(buf + at * size, (uint64_t)(nr * size),
			(uint64_t)((c->nr_words - at - nr) * size), v->arg);
		at += nr;
	}
}

static void
visit_extent(const struct heap_visitor *v, int x, int nr)
{
	v->segment((raddr){ plan.extent[x].start }, (raddr){ plan.extent[x].end }, v->arg);
	for (int i = plan.extent[x].first; i < plan.extent[x].first + nr; i++) {
		const struct chunk *c = &plan.chunk[i];

		visit_words(v, c);
		v->chunk(c->start - plan.header, c->end - c->start, c->use, v->arg);
	}
}

static void
visit_arenas(const struct heap_visitor *v)
{
	for (int x = 0, last = NONE; x < plan.nr_extents; last = plan.extent[x++].arena) {
		if (plan.extent[x].arena != last) {
			v->arena(false, v->arg);
			/* The first read is given up in the middle of the first segment. */
			if (!draw(3)) {
				visit_extent(v, x, (int)draw((uint64_t)plan.extent[x].nr));
				v->arena(true, v->arg);
			}
		}
		visit_extent(v, x, plan.extent[x].nr);
	}
}

static int
add_roots(struct census *c, const struct heap_look *look, void *arg, struct err *e)
{
	(void)look;
	(void)arg;
	(void)e;
	c->roots.root.v = calloc((size_t)plan.nr_roots + 1, sizeof *c->roots.root.v);
	for (int i = 0; i < plan.nr_roots; i++) {
		uint32_t granule = census_granule(&c->slots, plan.root[i]);

		if (granule)
			c->roots.root.v[c->roots.root.nr++] =
				(struct census_root){ (uint64_t)i * plan.word_bytes, granule,
					i % 2 };
	}
	return 0;
}

#define NR_TYPES 3
static const char *const path_of_type[] = { "/lib/a", "/lib/b", NULL };

/* The type of block I: two of three have the same name. */
static uint32_t
type_of_block(int i)
{
	return is_block(i) && i % 5 < NR_TYPES ? (uint32_t)(i % 5) + 1 : CENSUS_NO_TYPE;
}

/* Give blocks types, and roots kinds. */
static void
set_types(struct census *c)
{
	c->type_of.v = calloc((size_t)plan.nr, sizeof *c->type_of.v);
	for (int i = 0; i < plan.nr; i++)
		c->type_of.v[c->type_of.nr++] = type_of_block(i);
	c->roots.range.v = calloc(2, sizeof *c->roots.range.v);
	c->roots.range.v[0].kind = CENSUS_GLOBAL;
	c->roots.range.v[1].kind = CENSUS_STACK;
	c->roots.range.nr = 2;
}

static bool
take_census(struct census *c)
{
	struct region region[EXTENTS_MAX];
	struct regions maps = { .region = region };
	const struct arenas arenas = { .nr = 0 };
	const struct malloc_layout layout = { .word_bytes = plan.word_bytes,
		.align_bytes = plan.align };
	const struct heap_look look = { .maps = &maps, .arenas = &arenas, .layout = &layout };
	const struct census_options how = { .wants_hashes = true, .wants_contents = true };
	struct census_collector collector = { .census = c, .how = &how, .roots = add_roots };
	struct heap_visitor v;
	struct err e;

	for (int x = 0; x < plan.nr_extents; x++)
		region[maps.nr++] = (struct region){ .start = { plan.extent[x].start },
			.end = { plan.extent[x].end },
			.prot = "rw-p",
			.path = "[heap]" };
	census_collect(&v, &collector);
	if (v.begin(&look, v.arg, &e) < 0)
		return false;
	visit_arenas(&v);
	if (v.end(&look, v.arg, &e) != 0 || census_chunks_sort(&c->chunks, &c->slots, &e) < 0 ||
		census_edges_resolve(&c->edges, &c->chunks, &c->slots, &e) < 0)
		return false;
	census_roots_resolve(&c->roots, &c->chunks, &c->slots);
	set_types(c);
	return census_mark(c, &e) == 0;
}

/* ---- comparing ---- */

static bool
same_places(const struct census *c)
{
	struct census_cursor next = CENSUS_CURSOR_NONE, found;

	for (int i = 0; i < plan.nr; i++) {
		const struct chunk *want = &plan.chunk[i];

		census_chunk_find(&c->chunks, (uint32_t)i, &found);
		if (!census_chunks_next(&c->chunks, &next) || next.chunk != (uint32_t)i ||
			next.start.v != want->start || next.end.v != want->end ||
			found.start.v != want->start || found.end.v != want->end ||
			next.extent != found.extent)
			return false;
	}
	return !census_chunks_next(&c->chunks, &next) && c->chunks.state.nr == (size_t)plan.nr;
}

/*
 * Whether blocks count as resident by the words that were given; but for the last bytes, in which
 * a header may be.
 */
static bool
same_resident(const struct census *c)
{
	struct census_cursor at = CENSUS_CURSOR_NONE;
	size_t next = 0;

	while (census_chunks_next(&c->chunks, &at)) {
		const struct chunk *want = &plan.chunk[at.chunk];
		const uint64_t given = (uint64_t)want->nr_words * plan.word_bytes;
		const bool is_whole = given + plan.header >= want->end - want->start;

		if (is_block((int)at.chunk) &&
			census_resident_bytes(c, &at, &next) !=
				(is_whole ? census_block_bytes(c, &at) : given))
			return false;
	}
	/* Blocks alone are kept, each once. */
	for (size_t i = 0; i < c->partial.nr; i++)
		if (!is_block((int)c->partial.v[i].chunk) ||
			(i && c->partial.v[i - 1].chunk >= c->partial.v[i].chunk))
			return false;
	return true;
}

static bool
same_owners(const struct census *c)
{
	for (int i = 0; i < 500; i++) {
		uint64_t addr = draw_word();
		uint32_t granule = census_granule(&c->slots, addr);
		uint32_t chunk =
			granule ? census_chunk_at(&c->chunks, &c->slots, granule) : CENSUS_NO_CHUNK;
		/* A granule is not divided. */
		int want = owner_of(addr & -(uint64_t)plan.align);

		if (chunk != (want == NONE ? CENSUS_NO_CHUNK : (uint32_t)want)) {
			printf("# 0x%llx is in %d, not %d\n", (unsigned long long)addr, (int)chunk,
				want);
			return false;
		}
	}
	return true;
}

static bool
same_edges(const struct census *c)
{
	for (int i = 0; i < plan.nr; i++) {
		uint32_t nr, at = 0;
		const uint32_t *to = census_edges_of(&c->edges, (uint32_t)i, &nr);

		for (int k = 0; k < plan.chunk[i].nr_words; k++)
			if (edge(i, k) != NONE && (at >= nr || to[at++] != (uint32_t)edge(i, k))) {
				printf("# word %d of chunk %d, 0x%llx: %u of %u\n", k, i,
					(unsigned long long)plan.chunk[i].word[k], at, nr);
				return false;
			}
		if (at != nr) {
			printf("# chunk %d: %u pointers, not %u\n", i, nr, at);
			return false;
		}
	}
	return true;
}

static bool
same_reached(const struct census *c)
{
	for (int i = 0; i < plan.nr; i++)
		if (plan.chunk[i].is_reached != !!(c->chunks.state.v[i] & CENSUS_REACHED) ||
			is_block(i) != !!(c->chunks.state.v[i] & CENSUS_BLOCK))
			return false;
	return true;
}

static struct census_type_table table;

/* Make the table of the types: those of the names "pair" and "other", with files or without. */
static bool
make_types(void)
{
	static const char *const name[] = { "pair", "pair", "other" };
	struct err e;

	if (census_type_table_init(&table, &e) < 0)
		return false;
	for (uint32_t i = 0; i < NR_TYPES; i++) {
		struct census_type type = {
			.address = 4096 * (i + 1), .name = name[i], .path = path_of_type[i]
		};

		if (census_type_table_add(&table, &type, &e) < 0)
			return false;
	}
	return true;
}

/* The first type of the name of that of block I. */
static uint32_t
first_type(int i)
{
	return type_of_block(i) == 2 ? 1 : type_of_block(i);
}

/* Which lost blocks have the address of another lost one of their type, or the reverse. */
static void
find_linked(bool *is_linked)
{
	for (int from = 0; from < plan.nr; from++)
		for (int k = 0; is_lost(from) && k < plan.chunk[from].nr_words; k++) {
			int to = edge(from, k);

			if (is_lost(to) && first_type(from) == first_type(to))
				is_linked[from] = is_linked[to] = true;
		}
}

/* Whether the blocks of each type were counted, and heads of types are in groups of these. */
static bool
same_leak_types(const struct census_leaks *l)
{
	struct census_type_blocks want[NR_TYPES + 1] = { 0 };
	uint64_t heads[NR_TYPES + 1] = { 0 };
	bool is_linked[CHUNKS_MAX] = { false };

	find_linked(is_linked);
	for (int i = 0; i < plan.nr; i++) {
		struct census_type_blocks *type = &want[first_type(i)];

		if (!type_of_block(i))
			continue;
		type->all++;
		type->reached += plan.chunk[i].is_reached;
		type->linked += is_linked[i];
	}
	for (size_t i = 0; i < l->group.nr; i++) {
		const struct census_group *g = &l->group.v[i];

		heads[g->type] += g->heads;
		for (int k = 0; k < CENSUS_NR_EXAMPLES && g->example[k].v; k++)
			if (first_type(owner_of(g->example[k].v)) != g->type)
				return false;
	}
	for (int i = 0; i < plan.nr; i++) {
		/* Any block of a ring may be its head. */
		if (plan.chunk[i].can_reach[i] && is_lost(i))
			return memcmp(want + 1, l->type + 1, 3 * sizeof *want) == 0;
		heads[first_type(i)] -= is_head(i);
	}
	return !heads[0] && !heads[1] && !heads[2] && !heads[3] &&
		memcmp(want + 1, l->type + 1, 3 * sizeof *want) == 0;
}

/* The number of heads and of their rings, and what hangs on them together. */
static bool
same_leaks(struct census *c)
{
	auto_census_leaks struct census_leaks l = { 0 };
	uint64_t heads = 0, rings = 0, singles = 0, blocks = 0;
	struct err e;

	if (census_leaks_find(&l, c, &table, NULL, &e) < 0 || !same_leak_types(&l))
		return false;
	for (int i = 0; i < plan.nr; i++) {
		bool leads = false;

		blocks += is_lost(i);
		if (!is_head(i))
			continue;
		for (int to = 0; to < plan.nr; to++)
			leads |= plan.chunk[i].can_reach[to];
		heads++;
		rings += plan.chunk[i].can_reach[i];
		singles += !leads;
	}
	for (size_t i = 0; i < l.group.nr; i++) {
		rings -= l.group.v[i].shape == CENSUS_RING ? l.group.v[i].heads : 0;
		singles -= l.group.v[i].shape == CENSUS_SINGLE ? l.group.v[i].heads : 0;
		heads -= l.group.v[i].heads;
		blocks -= l.group.v[i].all.blocks;
	}
	for (size_t i = 0; i < c->chunks.state.nr; i++)
		if (c->chunks.state.v[i] & CENSUS_SEEN)
			return false;
	return !heads && !rings && !singles && !blocks;
}

/* ---- dominators ---- */

/* Whether owner I, which is root I, is of a thread. */
static bool
is_thread(int i)
{
	return i % 3 == 2;
}

static bool is_held[CHUNKS_MAX], is_kept[CHUNKS_MAX];

/*
 * Visit what block I leads to without block WITHOUT; through threads' blocks only to others of
 * these.
 */
static void
visit(bool *seen, int i, int without, bool of_thread)
{
	if (!is_block(i) || i == without || seen[i] || (of_thread && is_held[i]))
		return;
	seen[i] = true;
	for (int k = 0; k < plan.chunk[i].nr_words; k++)
		visit(seen, edge(i, k), without, of_thread && !is_held[i]);
}

/* Visit all blocks without a block and without an owner. */
static void
visit_all(bool *seen, int without, int without_owner)
{
	memset(seen, 0, CHUNKS_MAX * sizeof *seen);
	for (int threads = 0; threads < 2; threads++)
		for (int i = 0; i < plan.nr_roots; i++)
			if (is_thread(i) == threads && i != without_owner)
				visit(seen, owner_of(plan.root[i]), without, threads);
}

/* What is not visited without a block or an owner is what it dominates. */
static bool
is_right_sum(const struct census_dominators *d, uint32_t node, int without, int without_owner)
{
	const uint32_t place = d->place[node];
	uint64_t blocks = 0;
	static bool all[CHUNKS_MAX];

	visit_all(all, NONE, NONE);
	visit_all(is_kept, without, without_owner);
	for (int i = 0; i < plan.nr; i++)
		blocks += all[i] && !is_kept[i];
	if (place == CENSUS_NO_NODE ? !blocks : d->held[place].blocks == blocks)
		return true;
	printf("# node %u holds %llu, not %llu blocks\n", node,
		(unsigned long long)(place == CENSUS_NO_NODE ? 0 : d->held[place].blocks),
		(unsigned long long)blocks);
	return false;
}

/* ---- bytes ---- */

static uint64_t
usable_bytes(int i)
{
	const struct chunk *c = &plan.chunk[i];

	return c->end - c->start - (c->end == plan.extent[c->extent].end ? 0 : plan.word_bytes);
}

static void
add_block(struct census_sum *sum, int i)
{
	sum->blocks++;
	sum->bytes += usable_bytes(i);
}

/* ---- paths ---- */

/* The steps from any owner of threads or not to each block; 0: none leads to it. */
static void
count_steps(int *steps, bool of_thread)
{
	bool is_more = true;

	memset(steps, 0, CHUNKS_MAX * sizeof *steps);
	for (int i = 0; i < plan.nr_roots; i++)
		if (is_thread(i) == of_thread && is_block(owner_of(plan.root[i])))
			steps[owner_of(plan.root[i])] = 1;
	for (int step = 1; is_more; step++) {
		is_more = false;
		for (int i = 0; i < plan.nr; i++)
			for (int k = 0; steps[i] == step && k < plan.chunk[i].nr_words; k++)
				if (edge(i, k) != NONE && !steps[edge(i, k)]) {
					steps[edge(i, k)] = step + 1;
					is_more = true;
				}
	}
}

/* Whether each pair of neighbours in the path to block I is an edge, and it begins at its owner. */
static bool
is_chain(const struct census_path *path, const struct census_owners *owners, int i)
{
	const struct census_owner *owner = &owners->owner.v[path->owner];
	size_t at = 0;

	if (path->hop.v[path->hop.nr - 1] != (uint32_t)i ||
		owners->to[owner->first] != path->hop.v[0])
		return false;
	while (++at < path->hop.nr) {
		int from = (int)path->hop.v[at - 1], k = 0;

		while (k < plan.chunk[from].nr_words && edge(from, k) != (int)path->hop.v[at])
			k++;
		if (k == plan.chunk[from].nr_words)
			return false;
	}
	return true;
}

/* Whether the path of R to each block is one of the shortest, and its owner is known. */
static bool
same_paths(const struct census *c, const struct census_owners *owners, const struct census_reach *r)
{
	static int steps[CHUNKS_MAX], of_threads[CHUNKS_MAX];
	struct err e;
	uint32_t *owner = census_reach_owners(r, c, &e);
	bool is_same = owner != NULL;

	count_steps(steps, false);
	count_steps(of_threads, true);
	for (int i = 0; i < plan.nr && is_same; i++) {
		auto_census_path struct census_path path = { 0 };
		size_t want = (size_t)(steps[i] ? steps[i] : of_threads[i]);

		if (!is_block(i))
			continue;
		is_same = census_path_find(&path, r, (uint32_t)i, &e) == 0 && path.hop.nr == want &&
			owner[i] == (want ? path.owner + 1 : 0) &&
			(!want || is_chain(&path, owners, i));
		if (!is_same)
			printf("# the path to %d has %zu steps, not %zu\n", i, path.hop.nr, want);
	}
	free(owner);
	return is_same;
}

/* Whether the roots and the blocks that have the address of each block were counted. */
static bool
same_referrers(const struct census *c)
{
	struct err e;
	uint32_t *got = census_referrers_count(c, &e);
	bool is_same = got != NULL;

	for (int to = 0; to < plan.nr && is_same; to++) {
		uint32_t want = 0;

		for (int i = 0; i < plan.nr_roots; i++)
			want += is_block(to) && owner_of(plan.root[i]) == to;
		for (int from = 0; from < plan.nr; from++) {
			bool has = false;

			for (int k = 0; k < plan.chunk[from].nr_words; k++)
				has |= edge(from, k) == to;
			want += has;
		}
		is_same = got[to] == want;
	}
	free(got);
	return is_same;
}

/* ---- ways ---- */

/* The owner and the types on the path to a block, each once in a row. */
struct word_path {
	uint32_t step[CHUNKS_MAX + 1];
	size_t nr;
};

static void
path_words(struct word_path *words, const struct census_path *path)
{
	memset(words, 0, sizeof *words);
	if (path->hop.nr)
		words->step[words->nr++] = path->owner + 1;
	for (size_t i = 0; i < path->hop.nr; i++) {
		const uint32_t type = type_of_block((int)path->hop.v[i]);

		if (!i || type != type_of_block((int)path->hop.v[i - 1]))
			words->step[words->nr++] = type;
	}
}

/* Whether WAY has the blocks of the wanted types whose paths have the same words as its first. */
static bool
same_way(const struct census_way *way, const struct census_reach *r, const bool *is_wanted)
{
	static struct word_path want, got;
	auto_census_path struct census_path first = { 0 };
	struct census_sum sum = { 0 };
	size_t least = SIZE_MAX;
	struct err e;

	if (census_path_find(&first, r, way->first, &e) < 0)
		return false;
	path_words(&want, &first);
	for (int i = 0; i < plan.nr; i++) {
		auto_census_path struct census_path path = { 0 };

		if (!is_block(i) || !is_wanted[type_of_block(i)])
			continue;
		if (census_path_find(&path, r, (uint32_t)i, &e) < 0)
			return false;
		path_words(&got, &path);
		if (memcmp(&want, &got, sizeof want) != 0)
			continue;
		add_block(&sum, i);
		least = path.hop.nr < least ? path.hop.nr : least;
	}
	return memcmp(&sum, &way->sum, sizeof sum) == 0 && least == first.hop.nr &&
		way->is_reached == (first.hop.nr != 0);
}

/* Whether the ways to blocks of some types are right, and have each of these blocks once. */
static bool
same_ways(const struct census *c, const struct census_reach *r)
{
	auto_census_ways struct census_ways ways = { 0 };
	const bool is_wanted[NR_TYPES + 1] = { false, draw(2), draw(2), draw(2) };
	struct census_sum sum = { 0 };
	struct err e;

	if (census_ways_find(&ways, c, r, is_wanted, &e) < 0)
		return false;
	for (size_t i = 0; i < ways.way.nr; i++) {
		sum.blocks += ways.way.v[i].sum.blocks;
		sum.bytes += ways.way.v[i].sum.bytes;
		if ((i && ways.way.v[i].sum.bytes > ways.way.v[i - 1].sum.bytes) ||
			!same_way(&ways.way.v[i], r, is_wanted))
			return false;
	}
	for (int i = 0; i < plan.nr; i++)
		if (is_block(i) && is_wanted[type_of_block(i)]) {
			sum.blocks--;
			sum.bytes -= usable_bytes(i);
			ways.all.blocks--;
			ways.all.bytes -= usable_bytes(i);
		}
	return !sum.blocks && !sum.bytes && !ways.all.blocks && !ways.all.bytes;
}

/* ---- contents ---- */

/* The edges of block I that are kept, at most MOST; return how many. */
static int
kept_edges(int i, int *to, int most)
{
	int nr = 0;

	for (int k = 0; k < plan.chunk[i].nr_words && nr < most; k++)
		if (edge(i, k) != NONE)
			to[nr++] = edge(i, k);
	return nr;
}

static bool
is_node(int i)
{
	const uint64_t bytes = plan.chunk[i].end - plan.chunk[i].start;
	int to[8], back[8];

	for (int n = kept_edges(i, to, 8); n > 0; n--)
		for (int k = kept_edges(to[n - 1], back, 8); k > 0; k--) {
			const struct chunk *other = &plan.chunk[to[n - 1]];

			if (back[k - 1] == i && other->end - other->start + 16 >= bytes &&
				other->end - other->start <= bytes + 16)
				return true;
		}
	return false;
}

/* Which blocks three edges in a row, or three words of roots, lead to. */
static void
find_arrays(bool *is_array)
{
	static int to[WORDS_MAX];

	for (int i = 0; i < plan.nr; i++) {
		const int nr = kept_edges(i, to, WORDS_MAX);

		for (int k = 2; k < nr; k++)
			is_array[to[k]] |= to[k] == to[k - 1] && to[k] == to[k - 2];
	}
	for (int k = 2; k < plan.nr_roots; k++) {
		const int block = owner_of(plan.root[k]);

		if (is_block(block) && owner_of(plan.root[k - 1]) == block &&
			owner_of(plan.root[k - 2]) == block)
			is_array[block] = true;
	}
}

/* What is in the first bytes of block I. */
static enum census_contents
words_of(int i, int nr_edges)
{
	const struct chunk *c = &plan.chunk[i];
	const size_t given = (size_t)c->nr_words * plan.word_bytes;
	const size_t size = given < 64 ? given : 64;
	static char bytes[WORDS_MAX * 8 + 1];
	bool is_zero = true;
	size_t length;

	for (int k = 0; k < c->nr_words; k++) {
		memcpy(bytes + (size_t)k * plan.word_bytes, &c->word[k], plan.word_bytes);
		is_zero = is_zero && !c->word[k];
	}
	if (is_zero)
		return CENSUS_CONTENTS_ZEROES;
	length = text_length(bytes, size);
	if (length < 4 || length * 2 < size || (bytes[length] && length + 3 < size))
		return CENSUS_CONTENTS_OTHER;
	return nr_edges && usable_bytes(i) > 64 ? CENSUS_CONTENTS_OTHER : CENSUS_CONTENTS_TEXT;
}

static bool
same_contents(const struct census *c)
{
	static bool is_array[CHUNKS_MAX];
	static int to[WORDS_MAX];
	struct err e;
	uint32_t *got = census_contents_find(c, &e);
	bool is_same = got != NULL;

	memset(is_array, 0, sizeof is_array);
	find_arrays(is_array);
	for (int i = 0; i < plan.nr && is_same; i++) {
		const int nr = kept_edges(i, to, WORDS_MAX);
		enum census_contents want = is_block(i) ? words_of(i, nr) : CENSUS_CONTENTS_OTHER;

		if (is_block(i) && want != CENSUS_CONTENTS_ZEROES) {
			if (is_node(i))
				want = CENSUS_CONTENTS_NODE;
			else if (is_array[i])
				want = CENSUS_CONTENTS_ARRAY;
			else if (want == CENSUS_CONTENTS_OTHER && nr >= 3 &&
				2 * (uint64_t)nr >= usable_bytes(i) / plan.word_bytes)
				want = CENSUS_CONTENTS_POINTERS;
		}
		is_same = !is_block(i) || got[i] == want;
		if (!is_same)
			printf("# block %d has %s, not %s\n", i, census_contents_names[got[i]],
				census_contents_names[want]);
	}
	free(got);
	return is_same;
}

/* ---- types ---- */

static bool
is_of_name(int i, bool is_pair)
{
	uint32_t type = type_of_block(i);

	return type && (type < 3) == is_pair;
}

/* How many blocks the blocks of a name dominate together. */
static uint64_t
held_by_name(bool is_pair)
{
	static bool all[CHUNKS_MAX], held[CHUNKS_MAX];
	uint64_t nr = 0;

	memset(held, 0, sizeof held);
	visit_all(all, NONE, NONE);
	for (int i = 0; i < plan.nr; i++) {
		if (!is_of_name(i, is_pair) || !all[i])
			continue;
		visit_all(is_kept, i, NONE);
		for (int k = 0; k < plan.nr; k++)
			held[k] |= all[k] && !is_kept[k];
	}
	for (int i = 0; i < plan.nr; i++)
		nr += held[i];
	return nr;
}

static bool
same_types(struct census *c, const struct census_dominators *d)
{
	auto_census_retained struct census_retained r = { 0 };
	struct err e;

	if (census_retained_sum(&r, c, d, &table, &e) < 0)
		return false;
	for (int is_pair = 0; is_pair < 2; is_pair++) {
		uint64_t want = held_by_name(is_pair), got = 0;

		for (size_t i = 0; i < r.type.nr; i++)
			if ((table.type.v[r.type.v[i].type].name[0] == 'p') == is_pair)
				got += r.type.v[i].held.blocks;
		if (got != want) {
			printf("# %s holds %llu blocks, not %llu\n", is_pair ? "pair" : "other",
				(unsigned long long)got, (unsigned long long)want);
			return false;
		}
	}
	return true;
}

/* ---- sums of types ---- */

/* What is right of a block: how it is known, and the types that may be its owner. */
static struct {
	enum { UNKNOWN, PROVEN, INFERRED, GLOBAL } known;
	unsigned int owners; /* bit I: type I + 1 is one of the nearest */
	int steps;	     /* from these, or from a global variable */
} known[CHUNKS_MAX];

/* Let the blocks of HOW spread for STEPS steps to blocks that are not known yet. */
static void
spread(int steps)
{
	for (int step = 1; step <= steps; step++)
		for (int i = 0; i < plan.nr; i++)
			for (int k = 0; known[i].known && known[i].steps == step - 1 &&
				k < plan.chunk[i].nr_words;
				k++) {
				int to = edge(i, k);

				if (to == NONE || (known[to].known && known[to].steps != step) ||
					known[to].known == PROVEN ||
					(known[i].known == GLOBAL && known[to].known == INFERRED))
					continue;
				known[to].known = known[i].known == GLOBAL ? GLOBAL : INFERRED;
				known[to].steps = step;
				known[to].owners |= known[i].owners;
			}
}

static bool
is_global_root(int i)
{
	return i % 2 == 0;
}

static void
understand_types(void)
{
	memset(known, 0, sizeof known);
	for (int i = 0; i < plan.nr; i++)
		if (type_of_block(i)) {
			known[i].known = PROVEN;
			known[i].owners = 1U << (type_of_block(i) - 1);
		}
	spread(CENSUS_OWNER_STEPS);
	for (int i = 0; i < plan.nr; i++)
		known[i].steps = known[i].known ? -1 : 0;
	for (int i = 0; i < plan.nr_roots; i++) {
		int to = owner_of(plan.root[i]);

		if (is_block(to) && is_global_root(i) && !known[to].known)
			known[to].known = GLOBAL;
	}
	spread(CENSUS_OWNER_STEPS - 1);
}

/* The blocks that global variables lead to. */
static bool is_below_global[CHUNKS_MAX];

static void
find_below_globals(void)
{
	memset(is_below_global, 0, sizeof is_below_global);
	for (int i = 0; i < plan.nr_roots; i++)
		if (is_global_root(i))
			visit(is_below_global, owner_of(plan.root[i]), NONE, false);
}

/* Whether block I is in the group G; of those that are inferred, whether it may be. */
static bool
is_in_group(enum census_by by, const struct census_type_group *g, int i)
{
	const int arena = plan.extent[plan.chunk[i].extent].arena;

	if (by == CENSUS_BY_SIZE)
		return usable_bytes(i) >= g->from_bytes && usable_bytes(i) <= g->to_bytes;
	if (by == CENSUS_BY_HOLDER)
		return !plan.chunk[i].is_reached
			? !g->owner
			: g->owner && (g->owner->kind == CENSUS_GLOBAL) == is_below_global[i];
	if (by == CENSUS_BY_ARENA)
		return g->arena ? arena % 2 == 0 && g->arena->nr == (unsigned int)arena
				: arena % 2 == 1;
	for (int type = 0; g->has_type && type < NR_TYPES; type++)
		if (known[i].owners >> type & 1 && g->path == path_of_type[type])
			return true;
	return !g->has_type && !known[i].owners;
}

/* Whether the sum GOT is WANT; UNSURE is a part of WANT that may be in other groups. */
static bool
is_sum(const struct census_sum *got, const struct census_sum *want, const struct census_sum *unsure)
{
	return got->blocks <= want->blocks && got->blocks + unsure->blocks >= want->blocks &&
		got->bytes <= want->bytes && got->bytes + unsure->bytes >= want->bytes;
}

/* Whether group G of BY has the sums GOT. */
static bool
same_group(enum census_by by, const struct census_type_group *g, const struct census_known *got)
{
	struct census_sum want[4] = { 0 }, unsure[4] = { 0 };

	for (int i = 0; i < plan.nr; i++) {
		if (!is_block(i) || !is_in_group(by, g, i))
			continue;
		add_block(&want[known[i].known], i);
		if (by == CENSUS_BY_MODULE && (known[i].owners & (known[i].owners - 1)))
			add_block(&unsure[known[i].known], i);
	}
	return is_sum(&got->proven, &want[PROVEN], &unsure[PROVEN]) &&
		is_sum(&got->inferred, &want[INFERRED], &unsure[INFERRED]) &&
		is_sum(&got->global, &want[GLOBAL], &unsure[GLOBAL]) &&
		is_sum(&got->unknown, &want[UNKNOWN], &unsure[UNKNOWN]);
}

/* Whether the groups of BY have the right sums, which together are those of all types. */
static bool
same_groups(struct census *c, const struct heap *heap, enum census_by by)
{
	auto_census_type_groups struct census_type_groups g = { 0 };
	auto_census_type_sums struct census_type_sums sums = { 0 };
	const struct objects objects = { 0 };
	const struct census_groups_from made_of = { c, &table, heap, &objects };
	struct census_known all = { 0 };
	struct census_grouping rule;
	struct err e;

	if (census_type_groups_make(&g, by, &made_of, &e) < 0)
		return false;
	rule = census_type_groups_rule(&g);
	if (census_types_sum(&sums, c, &table, &rule, &e) < 0)
		return false;
	for (size_t i = 0; i < g.group.nr; i++) {
		struct census_sum *to[] = { &all.proven, &all.inferred, &all.global, &all.unknown };
		const struct census_known *k = &sums.group[i];
		const struct census_sum from[] = { k->proven, k->inferred, k->global, k->unknown };

		for (int n = 0; n < 4; n++) {
			to[n]->blocks += from[n].blocks;
			to[n]->bytes += from[n].bytes;
		}
		if (!same_group(by, &g.group.v[i], k)) {
			printf("# group %zu by %s differs\n", i, census_by_names[by]);
			return false;
		}
	}
	return memcmp(&all, &sums.known, sizeof all) == 0;
}

/* Whether blocks are in the right groups, if arenas with even numbers are arenas of malloc. */
static bool
same_sums(struct census *c)
{
	struct heap_segment segment[EXTENTS_MAX];
	struct heap_arena arena[EXTENTS_MAX];
	struct heap heap = { .arena.v = arena };

	for (int x = 0; x < plan.nr_extents; x++) {
		struct heap_arena *last = heap.arena.nr ? &arena[heap.arena.nr - 1] : NULL;

		segment[x] = (struct heap_segment){ .start = { plan.extent[x].start },
			.end = { plan.extent[x].end } };
		if (plan.extent[x].arena % 2)
			continue;
		if (last && last->nr == (unsigned int)plan.extent[x].arena) {
			last->segment.nr++;
			continue;
		}
		arena[heap.arena.nr++] =
			(struct heap_arena){ .nr = (unsigned int)plan.extent[x].arena,
				.segment = { &segment[x], 1, 1 } };
	}
	understand_types();
	find_below_globals();
	return same_groups(c, &heap, CENSUS_BY_MODULE) && same_groups(c, &heap, CENSUS_BY_ARENA) &&
		same_groups(c, &heap, CENSUS_BY_SIZE) && same_groups(c, &heap, CENSUS_BY_HOLDER);
}

static bool
same_dominators(struct census *c)
{
	auto_census_dominators struct census_dominators d = { 0 };
	auto_census_owners struct census_owners owners = { 0 };
	auto_census_reach struct census_reach r = { 0 };
	int root_of[40];
	bool is_same;
	struct err e;

	owners.to = calloc(c->roots.root.nr + 1, sizeof *owners.to);
	owners.owner.v = calloc(c->roots.root.nr + 1, sizeof *owners.owner.v);
	for (size_t i = 0; i < c->roots.root.nr; i++) {
		root_of[i] = (int)(c->roots.root.v[i].at / plan.word_bytes);
		owners.to[i] = c->roots.root.v[i].to;
		owners.owner.v[owners.owner.nr++] =
			(struct census_owner){ .kind = is_thread(root_of[i]) ? CENSUS_STACK
									     : CENSUS_GLOBAL,
				.first = (uint32_t)i,
				.nr = 1 };
	}
	memset(is_held, 0, sizeof is_held);
	for (int i = 0; i < plan.nr_roots; i++)
		if (!is_thread(i))
			visit(is_held, owner_of(plan.root[i]), NONE, false);
	is_same = census_dominators_find(&d, c, &owners, &e) == 0;
	for (int i = 0; i < plan.nr && is_same; i++)
		if (is_block(i))
			is_same = is_right_sum(&d, census_chunk_node(&d, (uint32_t)i), i, NONE);
	for (size_t i = 0; i < owners.owner.nr && is_same; i++)
		is_same = is_right_sum(&d, census_owner_node((uint32_t)i), NONE, root_of[i]);
	return is_same && census_reach_all(&r, c, &owners, &e) == 0 && same_paths(c, &owners, &r) &&
		same_referrers(c) && same_ways(c, &r) && same_types(c, &d);
}

/* Find what is right of the plan. */
static void
understand_plan(void)
{
	for (int i = 0; i < plan.nr; i++) {
		plan.chunk[i].is_reached = false;
		memset(plan.chunk[i].can_reach, 0, sizeof plan.chunk[i].can_reach);
	}
	find_edges();
	for (int i = 0; i < plan.nr_roots; i++)
		reach(owner_of(plan.root[i]));
	close_paths();
}

/* Change a word of a lost block with words.  Its number, or NONE. */
static int
change_lost(void)
{
	int first = (int)draw((uint64_t)plan.nr);

	for (int n = 0; n < plan.nr; n++) {
		int i = (first + n) % plan.nr;
		struct chunk *c = &plan.chunk[i];

		if (!is_lost(i) || !c->nr_words)
			continue;
		c->word[draw((uint64_t)c->nr_words)] += UINT64_C(1) << 20;
		return i;
	}
	return NONE;
}

/* Whether L has the lost blocks but CHANGED and those that it leads to. */
static bool
has_unchanged(const struct census_looks *l, int changed)
{
	size_t nr = 0;

	for (size_t i = 0; i < l->lost.nr; i++) {
		int owner = owner_of(l->lost.v[i].addr.v);

		if (!is_lost(owner) || plan.chunk[owner].start != l->lost.v[i].addr.v ||
			(i && l->lost.v[i - 1].addr.v >= l->lost.v[i].addr.v))
			return false;
		if (changed != NONE && (owner == changed || plan.chunk[changed].can_reach[owner]))
			return false;
	}
	for (int i = 0; i < plan.nr; i++)
		nr += is_lost(i) &&
			(changed == NONE || (i != changed && !plan.chunk[changed].can_reach[i]));
	return nr == l->lost.nr;
}

/* Three looks: C, what has not changed, and what has.  The plan is another one afterwards. */
static bool
same_looks(struct census *c)
{
	auto_census_looks struct census_looks l = { 0 };
	auto_census struct census again = { 0 }, last = { 0 };
	int changed;
	size_t nr;
	struct err e;

	if (census_looks_add(&l, c, &e) < 0 || !has_unchanged(&l, NONE) || !take_census(&again) ||
		census_looks_add(&l, &again, &e) < 0 || !has_unchanged(&l, NONE) || l.removed)
		return false;
	nr = l.lost.nr;
	changed = change_lost();
	understand_plan();
	return take_census(&last) && census_looks_add(&l, &last, &e) == 0 &&
		has_unchanged(&l, changed) && l.nr == 3 && l.removed == nr - l.lost.nr;
}

static bool
test_seed(uint64_t nr)
{
	auto_census struct census c = { 0 };
	const char *wrong = NULL;

	seed = nr * UINT64_C(0x9e3779b97f4a7c15) + 1;
	make_plan();
	understand_plan();
	if (!take_census(&c))
		wrong = "the census and its reading";
	else if (!same_places(&c))
		wrong = "the places of chunks";
	else if (!same_resident(&c))
		wrong = "the bytes in memory";
	else if (!same_owners(&c))
		wrong = "the chunk at an address";
	else if (!same_edges(&c))
		wrong = "the pointers of each block";
	else if (!same_reached(&c))
		wrong = "what is reached";
	else if (!same_leaks(&c))
		wrong = "the heads of what is lost";
	else if (!same_sums(&c))
		wrong = "the sums by module, arena, size or holder";
	else if (!same_contents(&c))
		wrong = "the contents";
	else if (nr % 4 == 0 && !same_dominators(&c))
		wrong = "the dominators";
	else if (!same_looks(&c))
		wrong = "what several looks find";
	if (wrong)
		printf("# seed %llu: %s differ\n", (unsigned long long)nr, wrong);
	return !wrong;
}

int
main(void)
{
	int nr = tap_share(NR_SEEDS), nr_same = 0;

	if (!ok(make_types(), "a table of types"))
		return tap_end();
	for (int i = 1; i <= nr; i++)
		nr_same += test_seed((uint64_t)i);
	ok(nr_same == nr, "%d random heaps of %d are as the oracle has them", nr_same, nr);
	census_type_table_release(&table);
	return tap_end();
}
