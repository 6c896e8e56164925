/*
 * struct MemoryContextData of PostgreSQL (nodes/memnodes.h, 13 to 17), in words:
 *
 *	0	the kind of node, isReset, allowInCritSection	4	first child
 *	1	allocated bytes					5	previous child
 *	2	methods, in the program				6	next child
 *	3	parent						7	name, a constant string
 *	10	its blocks (struct AllocSetContext in aset.c)
 *
 * It is believed if its parent and its siblings, or its children, have its address where they
 * should.  A block belongs to a context by its own word, or by the list of blocks that it is in,
 * which ends in the context.
 */
#include <config.h>

#include "census/type-pools.h"

#include "base/array.h"
#include "census/fronts.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "elf/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* NAMEDATALEN of PostgreSQL is 64; names of contexts are constants in the source. */
#define NAME_BYTES 128
#define NAMES_MAX 4096
#define WORD sizeof(uint64_t)

#define PG_BLOCK (CENSUS_RULE_CONTEXT_BLOCK | CENSUS_RULE_SLAB_BLOCK)

/* Words of a context. */
enum {
	PG_METHODS = 2,
	PG_PARENT,
	PG_FIRST,
	PG_PREV,
	PG_NEXT,
	PG_NAME,
	PG_BLOCKS = 10,
};

/* The front of a block. */
struct judge_block {
	struct census_front *b;
	uint32_t type; /* of a context, or of a block of one; 0: none, or not known yet */
	bool is_seen;  /* its context, or the chunks before it, were looked for */
};

struct pools_judge {
	struct census *c;
	struct census_type_table *table;
	const struct objects *o;
	struct judge_block *block; /* owned; by address */
	size_t nr;
	struct {
		struct judge_name {
			uint64_t addr;
			uint32_t type; /* 0: it is no name */
		} * v;		       /* owned */
		size_t nr, room;
	} name;
	struct err *e;
};

/* ---- rules ---- */

unsigned int
census_pool_rules(const struct objects *o)
{
	unsigned int rules = CENSUS_RULE_DEFLATE | CENSUS_RULE_INFLATE | CENSUS_RULE_OBSTACK;

	for (size_t i = 0; i < o->nr; i++)
		if (o->v[i].image && image_class(o->v[i].image) != ELFCLASS64)
			return 0;
	/* Modules need these, so that stripped programs have them, too. */
	if (objects_defining(o, "AllocSetContextCreateInternal"))
		rules |= CENSUS_RULE_CONTEXT | PG_BLOCK;
	if (objects_defining(o, "ngx_create_pool"))
		rules |= CENSUS_RULE_NGINX;
	if (objects_defining(o, "apr_allocator_alloc"))
		rules |= CENSUS_RULE_APR;
	if (objects_defining(o, "my_malloc") && objects_defining(o, "alloc_root"))
		rules |= CENSUS_RULE_MEM_ROOT;
	return rules;
}

/* ---- blocks by address ---- */

static int
judge_by_address(const void *a, const void *b)
{
	const struct judge_block *x = a, *y = b;

	return (x->b->start.v > y->b->start.v) - (x->b->start.v < y->b->start.v);
}

/* Compare an address with a block: 0 if the block contains it. */
static int
judge_in_block(const void *addr, const void *block)
{
	const struct census_front *b = ((const struct judge_block *)block)->b;
	const uint64_t at = *(const uint64_t *)addr;

	if (at < b->start.v)
		return -1;
	return at - b->start.v >= b->bytes;
}

/* Return the block that contains ADDR; NULL if its front was not kept. */
static struct judge_block *
judge_at(const struct pools_judge *j, uint64_t addr)
{
	return bsearch(&addr, j->block, j->nr, sizeof *j->block, judge_in_block);
}

/* Return the block at ADDR to which RULE may apply; NULL if it may not. */
static struct judge_block *
judge_for(const struct pools_judge *j, uint64_t addr, enum census_rule rule)
{
	struct judge_block *found = judge_at(j, addr);

	return found && found->b->start.v == addr && found->b->rules & rule ? found : NULL;
}

static int
judge_by_place(struct pools_judge *j)
{
	j->nr = j->c->front.nr;
	j->block = calloc(j->nr + 1, sizeof *j->block);
	if (!j->block)
		return err_set(j->e, ENOMEM, "cannot judge the blocks of pools");
	for (size_t i = 0; i < j->nr; i++)
		j->block[i].b = &j->c->front.v[i];
	if (j->nr)
		qsort(j->block, j->nr, sizeof *j->block, judge_by_address);
	return 0;
}

/* ---- contexts of PostgreSQL ---- */

/* Return whether the word NR of the context at ADDR is SELF. */
static bool
context_has(const struct pools_judge *j, uint64_t addr, unsigned int nr, uint64_t self)
{
	const struct judge_block *other = judge_for(j, addr, CENSUS_RULE_CONTEXT);

	return other && other->b->word[nr] == self;
}

/* Return whether the relatives of the context B have its address. */
static bool
is_related(const struct pools_judge *j, const struct census_front *b)
{
	const uint64_t *w = b->word, self = b->start.v;

	if (w[PG_FIRST] && !context_has(j, w[PG_FIRST], PG_PARENT, self))
		return false;
	if (w[PG_NEXT] && !context_has(j, w[PG_NEXT], PG_PREV, self))
		return false;
	if (w[PG_PREV])
		return context_has(j, w[PG_PREV], PG_NEXT, self);
	return w[PG_PARENT] ? context_has(j, w[PG_PARENT], PG_FIRST, self) : w[PG_FIRST] != 0;
}

/* Read the name at ADDR, a constant of an object, into BUF; NULL if it is not one. */
static const struct object *
judge_read_name(const struct pools_judge *j, uint64_t addr, char *buf, size_t size)
{
	const struct object *o = objects_at(j->o, (raddr){ addr });
	size_t length = 0;

	if (!o || !o->image)
		return NULL;
	/* The string may be the last one of its segment. */
	while (length < size &&
		image_read(o->image, (raddr){ addr + length }, buf + length, 1) == 0 &&
		buf[length] >= ' ' && buf[length] < 127)
		length++;
	return length && length < size && !buf[length] ? o : NULL;
}

/* Get the type of contexts whose name is at ADDR, 0 if that is no name.  0, or -1 with E. */
static int
judge_name(struct pools_judge *j, uint64_t addr, uint32_t *ret)
{
	struct census_type type = { .evidence = CENSUS_CONTEXT };
	char name[NAME_BYTES];
	const struct object *o;
	struct judge_name *added;

	for (size_t i = 0; i < j->name.nr; i++)
		if (j->name.v[i].addr == addr) {
			*ret = j->name.v[i].type;
			return 0;
		}
	*ret = CENSUS_NO_TYPE;
	if (j->name.nr == NAMES_MAX)
		return 0;
	o = judge_read_name(j, addr, name, sizeof name);
	if (o) {
		type.name = name;
		type.path = o->path;
		if (census_type_table_add_name(j->table, &type, ret, j->e) < 0)
			return -1;
	}
	added = array_add(&j->name);
	if (!added)
		return err_set(j->e, ENOMEM, "cannot judge the blocks of pools");
	*added = (struct judge_name){ addr, *ret };
	return 0;
}

/* Find the contexts among the blocks. */
static int
judge_contexts(struct pools_judge *j)
{
	for (size_t i = 0; i < j->nr; i++) {
		const struct census_front *b = j->block[i].b;

		if (b->rules & CENSUS_RULE_CONTEXT &&
			objects_at(j->o, (raddr){ b->word[PG_METHODS] }) && is_related(j, b) &&
			judge_name(j, b->word[PG_NAME], &j->block[i].type) < 0)
			return -1;
	}
	return 0;
}

/*
 * Return what follows the block B in the list that it is in, by its words 0 and 1: another block,
 * or the context, which has the head of the list or the first block in it.  NULL if that has not
 * the address of B in turn: the words of a block that was freed do not count.
 */
static struct judge_block *
judge_next(const struct pools_judge *j, const struct census_front *b)
{
	struct judge_block *next = judge_at(j, b->word[1]);
	const uint64_t offset = next ? b->word[1] - next->b->start.v : 0;

	if (!next || offset % WORD || offset >= sizeof next->b->word ||
		next->b->word[offset / WORD] != b->start.v)
		return NULL;
	if (!offset)
		return next->b->rules & PG_BLOCK ? next : NULL;
	return next->b->rules & CENSUS_RULE_CONTEXT && next->type && offset > PG_NAME * WORD ? next
											     : NULL;
}

/* Return the type of the context of B, a block of a slab; a context has the size of its blocks. */
static uint32_t
judge_slab(const struct pools_judge *j, const struct census_front *b)
{
	const bool is_older = b->word[3] == b->start.v;
	const struct judge_block *context =
		judge_for(j, b->word[is_older ? 4 : 0], CENSUS_RULE_CONTEXT);

	/* A slab has many lists of blocks, whose heads are not among its first words. */
	if (!context || (is_older && judge_at(j, b->word[1]) != context && !judge_next(j, b)))
		return CENSUS_NO_TYPE;
	/* Its third number after the 10 words of all contexts, which has 4 bytes since 16. */
	return census_front_has_size(
		       b, is_older ? context->b->word[12] : (uint32_t)context->b->word[11])
		? context->type
		: CENSUS_NO_TYPE;
}

/*
 * Return whether word NR of the block of CONTEXT at ADDR is SELF; that of a block within the
 * context is not known.
 */
static bool
block_has(const struct pools_judge *j, const struct judge_block *context, uint64_t addr,
	unsigned int nr, uint64_t self)
{
	const struct judge_block *other = judge_at(j, addr);

	return other == context ||
		(other && other->b->start.v == addr &&
			other->b->rules & CENSUS_RULE_CONTEXT_BLOCK && other->b->word[nr] == self);
}

/* Return whether B is in the list of blocks of CONTEXT, by its words 1 and 2 (aset.c). */
static bool
is_in_set(const struct pools_judge *j, const struct census_front *b,
	const struct judge_block *context)
{
	const uint64_t *w = b->word, self = b->start.v;

	if (w[2] && !block_has(j, context, w[2], 1, self))
		return false;
	return w[1] ? block_has(j, context, w[1], 2, self) : context->b->word[PG_BLOCKS] == self;
}

/* Return the type of the context that a word of the block B has the address of. */
static uint32_t
judge_own_context(const struct pools_judge *j, const struct census_front *b)
{
	const struct judge_block *context;

	if (census_front_has_end(b, 4)) {
		context = judge_for(j, b->word[0], CENSUS_RULE_CONTEXT);
		if (context && context->type && is_in_set(j, b, context))
			return context->type;
	}
	if (census_front_has_end(b, 6)) {
		context = judge_for(j, b->word[2], CENSUS_RULE_CONTEXT);
		if (context && context->type && judge_next(j, b))
			return context->type;
	}
	return b->rules & CENSUS_RULE_SLAB_BLOCK ? judge_slab(j, b) : CENSUS_NO_TYPE;
}

/*
 * Return the type of the context that the list of the block AT leads to; each block is seen once.
 */
static uint32_t
judge_list(const struct pools_judge *j, struct judge_block *at)
{
	while (at && !at->type && !at->is_seen) {
		at->is_seen = true;
		at = judge_next(j, at->b);
	}
	return at ? at->type : CENSUS_NO_TYPE;
}

static void
judge_context_blocks(struct pools_judge *j)
{
	for (size_t i = 0; i < j->nr; i++)
		if (!j->block[i].type && j->block[i].b->rules & PG_BLOCK)
			j->block[i].type = judge_own_context(j, j->block[i].b);
	for (size_t i = 0; i < j->nr; i++) {
		struct judge_block *at = &j->block[i];
		uint32_t type;

		if (at->type || at->is_seen || !(at->b->rules & CENSUS_RULE_CONTEXT_BLOCK))
			continue;
		type = judge_list(j, at);
		/* All blocks on the way to the context are its. */
		for (; type && !at->type; at = judge_next(j, at->b))
			at->type = type;
	}
}

/* ---- others ---- */

static const struct {
	enum census_rule rule;
	enum census_evidence evidence;
	const char *name;
	const char *symbol; /* of the object that makes these */
} fixed[] = {
	{ CENSUS_RULE_OBSTACK, CENSUS_POOL, "_obstack_chunk", NULL },
	{ CENSUS_RULE_NGINX, CENSUS_POOL, "ngx_pool_t", "ngx_create_pool" },
	{ CENSUS_RULE_APR, CENSUS_POOL, "apr_memnode_t", "apr_allocator_alloc" },
	{ CENSUS_RULE_MEM_ROOT, CENSUS_POOL, "MEM_ROOT", "alloc_root" },
	{ CENSUS_RULE_DEFLATE, CENSUS_PAIR, "deflate_state", NULL },
	{ CENSUS_RULE_INFLATE, CENSUS_PAIR, "inflate_state", NULL },
};

/* Return whether B is what RULE, which its words allow, says. */
static bool
is_right(const struct pools_judge *j, const struct census_front *b, enum census_rule rule)
{
	const struct judge_block *other;

	switch (rule) {
	case CENSUS_RULE_NGINX: /* the next block of the pool */
		return !b->word[2] || judge_for(j, b->word[2], CENSUS_RULE_NGINX);
	case CENSUS_RULE_APR: /* nodes in use are a ring: the one before it has its address */
		other = judge_for(j, b->word[1], CENSUS_RULE_APR);
		return other && other->b->word[0] == b->start.v;
	case CENSUS_RULE_MEM_ROOT:
		return true;
	default:
		return b->is_paired;
	}
}

/* Judge the blocks to which the rule at AT may apply. */
static int
judge_fixed(struct pools_judge *j, size_t at)
{
	const struct object *o = fixed[at].symbol ? objects_defining(j->o, fixed[at].symbol) : NULL;
	const struct census_type added = {
		.name = fixed[at].name,
		.path = o ? o->path : NULL,
		.evidence = fixed[at].evidence,
	};
	uint32_t type = CENSUS_NO_TYPE;

	for (size_t i = 0; i < j->nr; i++) {
		const struct census_front *b = j->block[i].b;

		if (!(b->rules & fixed[at].rule) || !is_right(j, b, fixed[at].rule))
			continue;
		if (!type && census_type_table_add_name(j->table, &added, &type, j->e) < 0)
			return -1;
		j->c->type_of.v[b->chunk] = type;
	}
	return 0;
}

/* ---- obstacks ---- */

/* Return the chunk whose address is word 1 of B, if it may be of an obstack; else NULL. */
static struct judge_block *
obstack_before(const struct pools_judge *j, const struct judge_block *b)
{
	return b->b->word[1] ? judge_for(j, b->b->word[1], CENSUS_RULE_OBSTACK) : NULL;
}

/*
 * Return whether the chunks before B lead to a first one, which has none before it.  Each is seen
 * once.
 */
static bool
is_chain(const struct pools_judge *j, struct judge_block *b)
{
	struct judge_block *at = b;

	while (at && at->b->word[1] && !at->is_seen) {
		at->is_seen = true;
		at = obstack_before(j, at);
	}
	/* A first chunk alone may be another structure that knows its end. */
	return at && at != b && (at->b->is_paired || !at->b->word[1]);
}

/* Pair the chunks of obstacks with those before them. */
static void
judge_obstacks(struct pools_judge *j)
{
	for (size_t i = 0; i < j->nr; i++) {
		struct judge_block *at = &j->block[i];

		if (!(at->b->rules & CENSUS_RULE_OBSTACK) || at->is_seen || !is_chain(j, at))
			continue;
		for (; at && !at->b->is_paired; at = obstack_before(j, at))
			at->b->is_paired = true;
	}
	for (size_t i = 0; i < j->nr; i++)
		j->block[i].is_seen = false;
}

/* ---- all of them ---- */

static int
judge_all(struct pools_judge *j)
{
	if (judge_by_place(j) < 0)
		return -1;
	judge_obstacks(j);
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (judge_fixed(j, i) < 0)
			return -1;
	if (judge_contexts(j) < 0)
		return -1;
	judge_context_blocks(j);
	for (size_t i = 0; i < j->nr; i++)
		if (j->block[i].type)
			j->c->type_of.v[j->block[i].b->chunk] = j->block[i].type;
	return 0;
}

int
census_types_judge(
	struct census *c, struct census_type_table *table, const struct objects *o, struct err *e)
{
	struct pools_judge j = { .c = c, .table = table, .o = o, .e = e };
	int failed = judge_all(&j);

	free(j.block);
	free(j.name.v);
	return failed;
}
