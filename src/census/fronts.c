/*
 * Pools know their end: a word of the first ones is the end of the block.  malloc() may give some
 * more bytes than were requested, and a block with its own mapping has up to a page more.
 *
 *	context of PostgreSQL	see type-pools.c
 *	AllocSet, its blocks	context, prev, next, freeptr, endptr (aset.c)
 *	Generation		prev, next, blksize, nchunks and nfree, freeptr, endptr; since 16
 *				with the context before blksize (generation.c)
 *	Bump			prev, next, freeptr, endptr (bump.c, since 17)
 *	Slab			prev, next, nfree and firstFreeChunk, and its first chunk: block,
 *				context; since 16: context, nfree and nunused, freehead, unused,
 *				prev, next (slab.c)
 *	pool of nginx		last, end, next, failed (ngx_palloc.h)
 *	node of APR		next, ref, index, first_avail, endp (apr_allocator.h)
 *	MEM_ROOT of MariaDB	the header of my_malloc(): owner, size, key (my_malloc.c); then
 *				next, left, size (my_alloc.h)
 *	chunk of an obstack	its end, the chunk before it (obstack.h of glibc and libiberty)
 *	state of zlib		the z_stream, whose "state" has the address of this; status or
 *				mode (deflate.h, inflate.h)
 */
#include <config.h>

#include "census/fronts.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "census/slots.h"
#include "os/memory.h"

#include <errno.h>
#include <stdlib.h>

#define WORD sizeof(uint64_t)
/* More than malloc() adds to a request, and posix_memalign(). */
#define EXTRA_BYTES 48
#define PAGE_BYTES 4096
/* The kinds of nodes of PostgreSQL are fewer (nodes/nodetags.h). */
#define TAG_MAX 4096
#define NGINX_FAILED_MAX 64
#define NGINX_HEADER_BYTES (4 * WORD)
#define APR_BOUNDARY_SHIFT 12
#define MY_MALLOC_BYTES (3 * WORD)
/* In the size, which is a multiple of 8. */
#define MY_MALLOC_FLAGS UINT64_C(7)
#define MEM_ROOT_HEADER_BYTES (3 * WORD)
/* The place of "state" in struct z_stream_s (zlib.h, 1.2). */
#define Z_STREAM_STATE 56

/* ---- words ---- */

static bool
is_in_malloc(const struct census *c, uint64_t word)
{
	return census_granule(&c->slots, word) != 0;
}

static bool
is_null_or_in_malloc(const struct census *c, uint64_t word)
{
	return !word || is_in_malloc(c, word);
}

static bool
is_address(uint64_t word)
{
	return word && !(word >> CENSUS_ADDRESS_BITS);
}

bool
census_front_has_size(const struct census_front *b, uint64_t size)
{
	return size && size <= b->bytes &&
		b->bytes - size < EXTRA_BYTES + (b->is_mapped ? PAGE_BYTES : 0);
}

/* Return whether AT is the end of B. */
static bool
is_end(const struct census_front *b, uint64_t at)
{
	return at > b->start.v && census_front_has_size(b, at - b->start.v);
}

bool
census_front_has_end(const struct census_front *b, unsigned int nr)
{
	return is_end(b, b->word[nr]) && b->word[nr - 1] <= b->word[nr] &&
		b->word[nr - 1] >= b->start.v + (nr + 1) * WORD;
}

/* ---- rules ---- */

static bool
may_be_context(const struct census *c, const struct census_front *b)
{
	const uint64_t *w = b->word;

	if (!(uint32_t)w[0] || (uint32_t)w[0] >= TAG_MAX || (w[0] >> 32 & 0xfefe) ||
		!is_address(w[2]) || w[2] % WORD || !is_address(w[7]) || !(w[3] | w[4]))
		return false;
	for (unsigned int i = 3; i < 7; i++)
		if (!is_null_or_in_malloc(c, w[i]))
			return false;
	return true;
}

static bool
may_be_slab(const struct census *c, const struct census_front *b)
{
	const uint64_t *w = b->word, end = b->start.v + b->bytes;

	if (w[3] == b->start.v)
		return is_in_malloc(c, w[0]) && is_in_malloc(c, w[1]) && is_in_malloc(c, w[4]);
	return is_in_malloc(c, w[0]) && is_in_malloc(c, w[4]) && is_in_malloc(c, w[5]) &&
		w[3] > b->start.v && w[3] <= end && (!w[2] || (w[2] > b->start.v && w[2] < end));
}

static bool
may_be_context_block(const struct census *c, const struct census_front *b)
{
	const uint64_t *w = b->word;

	if (census_front_has_end(b, 4) && is_in_malloc(c, w[0]) && is_null_or_in_malloc(c, w[1]) &&
		is_null_or_in_malloc(c, w[2]))
		return true;
	return (census_front_has_end(b, 3) || census_front_has_end(b, 5) ||
		       census_front_has_end(b, 6)) &&
		is_in_malloc(c, w[0]) && is_in_malloc(c, w[1]);
}

static bool
may_be_nginx(const struct census *c, const struct census_front *b)
{
	const uint64_t *w = b->word;

	return is_end(b, w[1]) && w[0] <= w[1] && w[0] >= b->start.v + NGINX_HEADER_BYTES &&
		is_null_or_in_malloc(c, w[2]) && w[3] < NGINX_FAILED_MAX;
}

static bool
may_be_apr(const struct census *c, const struct census_front *b)
{
	const uint64_t *w = b->word;

	return census_front_has_end(b, 4) && is_null_or_in_malloc(c, w[0]) &&
		is_in_malloc(c, w[1]) &&
		((uint64_t)(uint32_t)w[2] + 1) << APR_BOUNDARY_SHIFT == w[4] - b->start.v;
}

static bool
may_be_mem_root(const struct census *c, const struct census_front *b)
{
	const uint64_t *w = b->word;

	return w[5] == (w[1] & ~MY_MALLOC_FLAGS) && w[5] > MEM_ROOT_HEADER_BYTES &&
		w[5] <= b->bytes && w[4] <= w[5] - MEM_ROOT_HEADER_BYTES &&
		census_front_has_size(b, MY_MALLOC_BYTES + w[5]) && is_null_or_in_malloc(c, w[3]);
}

/* In 1.2.3 to 1.3.1 it has 5816 to 5968 bytes. */
static bool
may_be_deflate(const struct census *c, const struct census_front *b)
{
	const uint32_t status = (uint32_t)b->word[1];

	if (b->bytes < 5700 || b->bytes > 6200 || !is_address(b->word[0]) || b->word[0] % WORD)
		return false;
	return (status == 42 || status == 57 || status == 69 || status == 73 || status == 91 ||
		       status == 103 || status == 113 || status == 666) &&
		is_in_malloc(c, b->word[2]);
}

/* In 1.2.9 to 1.3.1 it has 7152 to 7160 bytes; before that it had no pointer to the stream. */
static bool
may_be_inflate(const struct census *c, const struct census_front *b)
{
	const uint32_t mode = (uint32_t)b->word[1];

	(void)c;
	return b->bytes >= 7000 && b->bytes <= 7300 && is_address(b->word[0]) &&
		b->word[0] % WORD == 0 && mode >= 16180 && mode <= 16211;
}

static bool
may_be_obstack(const struct census *c, const struct census_front *b)
{
	return b->bytes >= CENSUS_OBSTACK_MIN_BYTES && is_end(b, b->word[0]) &&
		is_null_or_in_malloc(c, b->word[1]);
}

static const struct {
	enum census_rule rule;
	bool (*may_be)(const struct census *c, const struct census_front *b);
} by_words[] = {
	{ CENSUS_RULE_CONTEXT, may_be_context },
	{ CENSUS_RULE_CONTEXT_BLOCK, may_be_context_block },
	{ CENSUS_RULE_SLAB_BLOCK, may_be_slab },
	{ CENSUS_RULE_NGINX, may_be_nginx },
	{ CENSUS_RULE_APR, may_be_apr },
	{ CENSUS_RULE_MEM_ROOT, may_be_mem_root },
	{ CENSUS_RULE_DEFLATE, may_be_deflate },
	{ CENSUS_RULE_INFLATE, may_be_inflate },
	{ CENSUS_RULE_OBSTACK, may_be_obstack },
};

/* Return those of RULES that B's words allow. */
static unsigned int
rules_for(const struct census *c, unsigned int rules, const struct census_front *b)
{
	unsigned int found = 0;

	for (size_t i = 0; i < sizeof by_words / sizeof *by_words; i++)
		if (rules & by_words[i].rule && by_words[i].may_be(c, b))
			found |= by_words[i].rule;
	return found;
}

int
census_fronts_take(struct census *c, unsigned int rules, const struct census_front *block)
{
	const unsigned int found = rules_for(c, rules, block);
	struct census_front *added;

	if (!found || c->front.nr == CENSUS_FRONTS_MAX)
		return 0;
	added = array_add(&c->front);
	if (!added)
		return -1;
	*added = *block;
	added->rules = (uint16_t)found;
	return 0;
}

/* ---- words elsewhere ---- */

static bool
is_zlib(const struct census_front *b)
{
	return b->rules & (CENSUS_RULE_DEFLATE | CENSUS_RULE_INFLATE);
}

int
census_fronts_pair(struct census *c, const struct target *t, struct err *e)
{
	auto_free raddr *from = calloc(CENSUS_PAIRS_MAX, sizeof *from);
	auto_free uint64_t *word = calloc(CENSUS_PAIRS_MAX, sizeof *word);
	size_t nr = 0, k = 0;

	if (!from || !word)
		return err_set(e, ENOMEM, "cannot keep the blocks and the pointers between them");
	for (size_t i = 0; i < c->front.nr && nr < CENSUS_PAIRS_MAX; i++)
		if (is_zlib(&c->front.v[i]))
			from[nr++].v = c->front.v[i].word[0] + Z_STREAM_STATE;
	if (!nr)
		return 0;
	if (os_read_each(t, from, nr, sizeof *word, word, e) < 0)
		return -1;
	for (size_t i = 0; k < nr; i++)
		if (is_zlib(&c->front.v[i]))
			c->front.v[i].is_paired = word[k++] == c->front.v[i].start.v;
	return 0;
}
