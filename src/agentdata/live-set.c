#include <config.h>

#include "agentdata/live-set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "glibc/process.h"
#include "os/memory.h"
#include "wire/live-set.h"

struct live_set_reading {
	struct live_set *s;
	const struct target *t;
	uint32_t nr_sites;
	/* Room for a piece, twice: words that change during the reading differ in them. */
	void *once, *again;
};
#define PIECE_BYTES WIRE_SHADOW_LEAF_BYTES

static int
live_set_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the blocks in use");
}

static int
live_set_add(struct live_set_reading *r, uint64_t at, uint64_t bytes, uint32_t site, struct err *e)
{
	struct live_block *b = array_add(r->s);

	if (!b)
		return live_set_no_memory(e);
	*b = (struct live_block){ { at }, bytes, site };
	return 0;
}

/* Read BYTES, at most PIECE_BYTES, at AT.  Missing pages are zero. */
static int
read_twice(struct live_set_reading *r, uint64_t at, size_t bytes, struct err *e)
{
	return os_read_present_some(r->t, (raddr){ at }, r->once, bytes, e) < 0 ||
			os_read_present_some(r->t, (raddr){ at }, r->again, bytes, e) < 0
		? -1
		: 0;
}

/* ---- words by address ---- */

/* Read the leaf at AT, for the addresses from START on. */
static int
read_leaf(struct live_set_reading *r, uint64_t at, uint64_t start, struct err *e)
{
	const uint32_t *v = r->once, *again = r->again;

	if (read_twice(r, at, WIRE_SHADOW_LEAF_BYTES, e) < 0)
		return -1;
	for (size_t i = 0; i < WIRE_SHADOW_WORDS; i++) {
		const bool is_large = v[i + 1] == UINT32_MAX;
		const size_t nr = is_large ? 4 : 2;

		if (!v[i] || v[i] >= r->nr_sites || memcmp(&v[i], &again[i], nr * sizeof *v) != 0)
			continue;
		if (live_set_add(r, start + (i << WIRE_SHADOW_WORD_BITS),
			    is_large ? v[i + 2] | (uint64_t)v[i + 3] << 32 : v[i + 1], v[i], e) < 0)
			return -1;
		i += nr - 1;
	}
	return 0;
}

/* Read the NR pointers at AT.  The caller frees *RET. */
static int
read_pointers(
	const struct live_set_reading *r, uint64_t at, size_t nr, uint64_t **ret, struct err *e)
{
	auto_free uint64_t *v = calloc(nr, sizeof *v);

	if (!v)
		return live_set_no_memory(e);
	if (os_read_present_some(r->t, (raddr){ at }, v, nr * sizeof *v, e) < 0)
		return -1;
	*ret = take_ptr(&v);
	return 0;
}

static int
read_shadow(struct live_set_reading *r, uint64_t at, struct err *e)
{
	auto_free uint64_t *tables = NULL;

	if (read_pointers(r, at, WIRE_SHADOW_TABLES, &tables, e) < 0)
		return -1;
	for (uint64_t i = 0; i < WIRE_SHADOW_TABLES; i++) {
		auto_free uint64_t *leaves = NULL;

		if (!tables[i])
			continue;
		if (read_pointers(r, tables[i], WIRE_SHADOW_LEAVES, &leaves, e) < 0)
			return -1;
		for (uint64_t k = 0; k < WIRE_SHADOW_LEAVES; k++)
			if (leaves[k] &&
				read_leaf(r, leaves[k],
					i << WIRE_SHADOW_TABLE_BITS | k << WIRE_SHADOW_LEAF_BITS,
					e) < 0)
				return -1;
	}
	return 0;
}

/* ---- the table ---- */

static int
read_bucket(struct live_set_reading *r, size_t i, struct err *e)
{
	const struct wire_bucket *b = (const struct wire_bucket *)r->once + i;
	const struct wire_bucket *again = (const struct wire_bucket *)r->again + i;

	for (size_t k = 0; k < WIRE_TABLE_BLOCKS; k++) {
		const uint64_t key = b->key[k];
		const uint32_t site = key & ((1 << WIRE_TABLE_SITE_BITS) - 1);

		if (key && key == again->key[k] && b->bytes[k] == again->bytes[k] &&
			site < r->nr_sites &&
			live_set_add(r, key >> WIRE_TABLE_SITE_BITS << 4, b->bytes[k], site, e) < 0)
			return -1;
	}
	return 0;
}

static int
live_set_read_table(struct live_set_reading *r, uint64_t at, uint32_t nr_levels, struct err *e)
{
	const size_t piece = PIECE_BYTES / sizeof(struct wire_bucket);
	size_t left = ((size_t)1 << (WIRE_TABLE_FIRST_BITS + nr_levels)) -
		((size_t)1 << WIRE_TABLE_FIRST_BITS);

	for (size_t nr; left; left -= nr, at += nr * sizeof(struct wire_bucket)) {
		nr = left < piece ? left : piece;
		if (read_twice(r, at, nr * sizeof(struct wire_bucket), e) < 0)
			return -1;
		for (size_t i = 0; i < nr; i++)
			if (read_bucket(r, i, e) < 0)
				return -1;
	}
	return 0;
}

static int
live_set_by_address(const void *a, const void *b)
{
	const uint64_t x = ((const struct live_block *)a)->at.v;
	const uint64_t y = ((const struct live_block *)b)->at.v;

	return (x > y) - (x < y);
}

/*
 * Join the entries of large blocks: a block of 4 GiB and more is three entries of the table, next
 * to each other.
 */
static void
join_large(struct live_set *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++) {
		struct live_block b = s->v[i];

		if (b.bytes == UINT32_MAX && i + 2 < s->nr && s->v[i + 1].at.v == b.at.v + 16 &&
			s->v[i + 2].at.v == b.at.v + 32) {
			b.bytes = s->v[i + 1].bytes | s->v[i + 2].bytes << 32;
			i += 2;
		}
		s->v[nr++] = b;
	}
	s->nr = nr;
}

/* ---- the sampled blocks ---- */

/* Read NR buckets at AT, and their blocks' records at RECORDS; all of them fit into a piece. */
static int
read_sampled_piece(
	struct live_set_reading *r, uint64_t at, uint64_t records, size_t nr, struct err *e)
{
	const struct wire_sampled_bucket *b = r->once;
	const char *record = r->again;

	if (os_read_present_some(r->t, (raddr){ at }, r->once, nr * sizeof *b, e) < 0 ||
		os_read_present_some(r->t, (raddr){ records }, r->again,
			nr * WIRE_SAMPLED_BLOCKS * WIRE_SAMPLED_BYTES, e) < 0)
		return -1;
	for (size_t i = 0; i < nr * WIRE_SAMPLED_BLOCKS; i++) {
		const uint64_t block = b[i / WIRE_SAMPLED_BLOCKS].address[i % WIRE_SAMPLED_BLOCKS];
		uint32_t site;

		memcpy(&site, record + i * WIRE_SAMPLED_BYTES + WIRE_SAMPLED_SITE, sizeof site);
		if (block > WIRE_SAMPLED_BUSY && site && site < r->nr_sites &&
			live_set_add(r, block, 0, site, e) < 0)
			return -1;
	}
	return 0;
}

static int
live_set_read_sampled(struct live_set_reading *r, uint64_t at, struct err *e)
{
	const size_t piece = PIECE_BYTES / (WIRE_SAMPLED_BLOCKS * WIRE_SAMPLED_BYTES);
	auto_free uint64_t *level = NULL;

	if (!at)
		return 0;
	if (read_pointers(r, at, WIRE_SAMPLED_LEVELS, &level, e) < 0)
		return -1;
	for (unsigned int n = 0; n < WIRE_SAMPLED_LEVELS && level[n]; n++) {
		const size_t all = (size_t)WIRE_SAMPLED_FIRST_BUCKETS << 2 * n;
		const uint64_t records = level[n] + all * sizeof(struct wire_sampled_bucket);

		for (size_t i = 0; i < all; i += piece)
			if (read_sampled_piece(r, level[n] + i * sizeof(struct wire_sampled_bucket),
				    records + i * WIRE_SAMPLED_BLOCKS * WIRE_SAMPLED_BYTES,
				    all - i < piece ? all - i : piece, e) < 0)
				return -1;
	}
	return 0;
}

/* ---- all ---- */

static int
read_all(struct live_set_reading *r, const struct wire_live_blocks *at, struct err *e)
{
	uint64_t buckets;
	uint32_t nr_levels;

	if (os_read(r->t, (raddr){ at->buckets_at }, &buckets, sizeof buckets, e) < 0 ||
		os_read(r->t, (raddr){ at->levels_at }, &nr_levels, sizeof nr_levels, e) < 0 ||
		read_shadow(r, at->shadow_at, e) < 0 ||
		live_set_read_sampled(r, at->sampled_at, e) < 0)
		return -1;
	if (!buckets || !nr_levels || nr_levels > WIRE_TABLE_LEVELS)
		return 0;
	return live_set_read_table(r, buckets, nr_levels, e);
}

int
live_set_read(struct live_set *s, const struct process *p, const struct agent_segment *c,
	uint32_t nr_sites, struct err *e)
{
	auto_free void *once = malloc(PIECE_BYTES), *again = malloc(PIECE_BYTES);
	struct live_set_reading r = { s, p->target, nr_sites, once, again };
	struct wire_live_blocks at;

	if (!once || !again)
		return live_set_no_memory(e);
	if (!c->live_set_at.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the agent in the process is of an older memdiag, which does not say where it keeps the blocks in use");
	if (os_read(p->target, c->live_set_at, &at, sizeof at, e) < 0)
		return -1;
	if (at.magic != WIRE_LIVE_BLOCKS_MAGIC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the agent in the process is of another memdiag, or damaged");
	if (read_all(&r, &at, e) < 0)
		return -1;
	if (s->nr)
		qsort(s->v, s->nr, sizeof *s->v, live_set_by_address);
	join_large(s);
	return 0;
}

void
live_set_release(struct live_set *s)
{
	free(s->v);
	*s = (struct live_set){ .v = NULL };
}
