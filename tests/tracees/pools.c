/*
 * pools SEED VERSION: memory contexts as PostgreSQL VERSION (13, 15, 16, 17) makes them, pools of
 * nginx, nodes of APR, MEM_ROOTs of MariaDB, states of zlib, obstacks, and as many blocks that look
 * like these and are not.  It prints "EVIDENCE BLOCKS BYTES NAME" for each kind.
 *
 * It exports the functions by which memdiag knows these programs.
 */
#include "tracee.h"

#include <malloc.h>
#include <obstack.h>

#define NR_CONTEXTS 60
#define PAGE 4096

typedef uint64_t word;

static word seed;
static int version;

void AllocSetContextCreateInternal(void);
void ngx_create_pool(void);
void apr_allocator_alloc(void);
void my_malloc(void);
void alloc_root(void);
void
AllocSetContextCreateInternal(void)
{
}
void
ngx_create_pool(void)
{
}
void
apr_allocator_alloc(void)
{
}
void
my_malloc(void)
{
}
void
alloc_root(void)
{
}

static word
draw(word below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* ---- what is right ---- */

enum name {
	EXECUTOR,
	CACHE,
	TUPLES,
	MESSAGES,
	NGINX,
	APR,
	MEM_ROOT,
	DEFLATE,
	INFLATE,
	OBSTACK,
	NR_NAMES,
};

static const char *const name[NR_NAMES] = { "ExecutorState", "CacheMemoryContext", "Caller tuples",
	"MessageContext", "ngx_pool_t", "apr_memnode_t", "MEM_ROOT", "deflate_state",
	"inflate_state", "_obstack_chunk" };
static const char *const evidence[NR_NAMES] = { "context", "context", "context", "context", "pool",
	"pool", "pool", "pair", "pair", "pool" };
static struct {
	unsigned long blocks, bytes;
} right[NR_NAMES];

static word *kept[20000];
static unsigned int nr_kept;

/* Return a block of SIZE bytes, with random bytes in it. */
static word *
make_block(size_t size)
{
	unsigned char *p = malloc(size);
	size_t usable;

	if (!p || nr_kept == sizeof kept / sizeof *kept)
		tracee_fail("malloc");
	usable = malloc_usable_size(p);
	for (size_t i = 0; i < usable; i++)
		p[i] = (unsigned char)draw(256);
	kept[nr_kept++] = (word *)p;
	return (word *)p;
}

static void
is_now(const word *p, enum name which)
{
	right[which].blocks++;
	right[which].bytes += malloc_usable_size((void *)p);
}

/* Return the bytes that an end which is none is before the end of a block of SIZE. */
static size_t
draw_gap(size_t size)
{
	return size > 100000 ? 5000 : 100 + draw(400);
}

/* Any size; one of 30 has its own mapping. */
static size_t
draw_size(void)
{
	return 8 * (draw(30) ? 128 + draw(2000) : 17000 + draw(9000));
}

/* ---- contexts of PostgreSQL ---- */

enum kind {
	ASET,
	GENERATION,
	SLAB,
	BUMP,
};

static struct context {
	word *p;
	enum kind kind;
	enum name which;
	word *head; /* of its list of blocks: prev, next */
	size_t slab_bytes;
	int parent, last_child;
} context[NR_CONTEXTS];
static const int methods[4];

static word
at(const void *p)
{
	return (word)(uintptr_t)p;
}

/* Fill the words of the context I, with those of its kind, but for its relatives. */
static void
fill_context(struct context *c)
{
	word *p = c->p;

	memset(p, 0, 256);
	p[0] = 400 + c->kind + (draw(2) << 32) + (draw(2) << 40) + (draw(65536) << 48);
	p[1] = malloc_usable_size(p);
	p[2] = at(&methods[c->kind]) & ~(word)7;
	p[7] = at(name[c->which]);
	c->head = p + (version == 15 ? 17 : version == 16 ? 14 : 12);
	if (c->kind == SLAB) {
		c->slab_bytes = draw_size();
		if (version < 16)
			p[10] = 24, p[11] = 40, p[12] = c->slab_bytes;
		else
			p[10] = 24 | 40ULL << 32, p[11] = c->slab_bytes | 100ULL << 32;
		c->head = p + 16 + 2 * draw(6);
	}
	c->head[0] = c->head[1] = at(c->head);
}

static void
make_context(int i)
{
	struct context *c = &context[i];

	c->which = (enum name)draw(4);
	c->kind = (enum kind)draw(version >= 17 ? 4 : 3);
	c->p = make_block(256 + draw_size());
	c->parent = i ? (int)draw((word)i) : -1;
	c->last_child = -1;
	fill_context(c);
	is_now(c->p, c->which);
	if (c->parent >= 0) {
		struct context *parent = &context[c->parent];

		c->p[3] = at(parent->p);
		c->p[6] = parent->p[4];
		if (c->p[6])
			((word *)(uintptr_t)c->p[6])[5] = at(c->p);
		parent->p[4] = at(c->p);
	}
}

/* Put NODE at the beginning of the list of C. */
static void
link_block(struct context *c, word *node)
{
	word *next = (word *)(uintptr_t)c->head[1];

	node[0] = at(c->head);
	node[1] = at(next);
	next[0] = at(node);
	c->head[1] = at(node);
}

/* Fill word NR of P with its end, and the word before it with a place before that. */
static void
put_end(word *p, size_t size, unsigned int nr)
{
	p[nr] = at(p) + size;
	p[nr - 1] = at(p) + 8 * (nr + 1) + draw(size - 8 * (nr + 1) + 1);
}

static void
fill_slab(struct context *c, word *p)
{
	if (version < 16) {
		link_block(c, p);
		p[2] = 3 | 1ULL << 32;
		p[3] = at(p);
		p[4] = at(c->p);
	} else {
		p[0] = at(c->p);
		p[1] = 5 | 3ULL << 32;
		p[2] = draw(2) ? 0 : at(p) + 64;
		p[3] = at(p) + 64 + draw(c->slab_bytes - 64);
		link_block(c, p + 4);
	}
}

static word *
make_context_block(struct context *c)
{
	size_t size = c->kind == SLAB ? c->slab_bytes : draw_size();
	word *p = make_block(size);

	if (c->kind == ASET) {
		/* The blocks of a context, the last first. */
		p[0] = at(c->p);
		p[1] = 0;
		p[2] = c->p[10];
		if (p[2])
			((word *)(uintptr_t)p[2])[1] = at(p);
		c->p[10] = at(p);
		put_end(p, size, 4);
	} else if (c->kind == SLAB) {
		fill_slab(c, p);
	} else {
		link_block(c, p);
		if (c->kind == BUMP) {
			put_end(p, size, 3);
		} else if (version < 16) {
			p[2] = size;
			put_end(p, size, 5);
		} else {
			p[2] = at(c->p);
			p[3] = size;
			put_end(p, size, 6);
		}
	}
	return p;
}

static void
make_contexts(void)
{
	for (int i = 0; i < NR_CONTEXTS; i++)
		make_context(i);
	for (int i = 0; i < 600; i++) {
		struct context *c = &context[draw(NR_CONTEXTS)];

		is_now(make_context_block(c), c->which);
	}
}

/* ---- contexts that are none ---- */

static void
make_lies(void)
{
	static char in_data[] = "lies";
	struct context lie = { .kind = ASET, .which = EXECUTOR };

	for (int i = 0; i < 200; i++) {
		struct context *c = &context[draw(NR_CONTEXTS)];
		word *p;

		/* Its relatives do not know it; one has a name that is not in a file. */
		lie.p = make_block(256 + draw_size());
		fill_context(&lie);
		lie.p[3] = at(c->p);
		if (draw(4))
			lie.p[4 + draw(3)] = at(c->p);
		if (draw(4) == 0)
			lie.p[7] = at(in_data);
		/* Its end is elsewhere, or its context is none. */
		p = make_context_block(&lie);
		p = make_block(draw_size());
		p[0] = at(c->p);
		p[1] = p[2] = 0;
		put_end(p, malloc_usable_size(p) - draw_gap(malloc_usable_size(p)), 4);
		p = make_block(draw_size());
		p[0] = at(c->p) + 8;
		p[1] = p[2] = 0;
		put_end(p, malloc_usable_size(p), 4);
		/* Not in the list of its context. */
		p = make_block(draw_size());
		p[0] = at(c->p);
		p[1] = draw(2) ? 0 : at(kept[draw(nr_kept - 1)]);
		if (p[1] == at(c->p))
			p[1] = 0;
		p[2] = 0;
		put_end(p, malloc_usable_size(p), 4);
		/* As a block of a list that was freed, whose memory is used again. */
		p = make_block(draw_size());
		p[0] = at(kept[draw(nr_kept)]);
		p[1] = at(kept[draw(nr_kept)]);
		if (p[1] == at(c->p) || p[1] == at(p))
			p[1] = 0;
		p[2] = at(c->p);
		p[3] = malloc_usable_size(p);
		put_end(p, malloc_usable_size(p), draw(2) ? 6 : 5);
	}
}

/* ---- others ---- */

static void
make_nginx(int nr, bool is_lie)
{
	word *next = NULL;

	for (int i = 0; i < nr; i++) {
		size_t size = draw_size();
		word *p = make_block(size);

		put_end(p, size, 1);
		if (p[0] < at(p) + 32)
			p[0] = at(p) + 32;
		p[2] = at(next);
		p[3] = draw(5);
		if (!is_lie) {
			next = p;
			is_now(p, NGINX);
			continue;
		}
		switch (draw(4)) {
		case 0:
			p[0] = p[1] + 1;
			break;
		case 1:
			p[1] -= draw_gap(size);
			p[0] = at(p) + 32;
			break;
		case 2:
			p[2] = at(kept[draw(nr_kept)]) + 8;
			break;
		default:
			p[3] = draw(1UL << 40) + 1000;
		}
	}
}

static void
make_apr(int nr, bool is_lie)
{
	static word *node;
	word *last = NULL, *first = NULL;

	for (int i = 0; i < nr; i++) {
		word pages = 2 + draw(40), *p = make_block(pages * PAGE);

		put_end(p, pages * PAGE, 4);
		p[2] = pages - 1 + (is_lie && draw(2) ? 1 : 0) + (draw(2) << 40);
		p[0] = at(first ? first : p);
		p[1] = at(last ? last : p);
		if (is_lie) {
			/* Not in the ring. */
			p[0] = 0;
			p[1] = at(node);
			continue;
		}
		if (last) {
			last[0] = at(p);
			first[1] = at(p);
		} else {
			first = p;
		}
		last = node = p;
		is_now(p, APR);
	}
}

static void
make_mem_roots(int nr, bool is_lie)
{
	word *next = NULL;

	for (int i = 0; i < nr; i++) {
		size_t size = draw_size();
		word *p = make_block(size + 24);

		p[0] = 0;
		p[1] = size | draw(4);
		p[2] = draw(300);
		p[3] = next ? at(next) + 24 : 0;
		p[4] = draw(size - 24);
		p[5] = size;
		if (!is_lie) {
			next = p;
			is_now(p, MEM_ROOT);
			continue;
		}
		switch (draw(3)) {
		case 0:
			p[1] += 8;
			break;
		case 1:
			p[4] = size;
			break;
		default:
			p[1] = p[5] = size - draw_gap(size) / 8 * 8;
			p[4] = 0;
		}
	}
}

static word streams[200][14];

static void
make_zlib(int nr, bool is_lie, bool is_inflate, unsigned int from)
{
	for (int i = 0; i < nr; i++) {
		word *p = make_block(is_inflate ? 7160 : 5936), *buffer = make_block(1000);
		word *stream = draw(2) ? streams[from + (unsigned int)i] : make_block(112);

		p[0] = at(stream);
		p[1] = is_inflate ? 16191 : 113;
		p[2] = at(buffer);
		stream[7] = at(p);
		if (!is_lie) {
			is_now(p, is_inflate ? INFLATE : DEFLATE);
			continue;
		}
		switch (draw(3)) {
		case 0:
			stream[7] = at(p) + 16;
			break;
		case 1:
			p[0] = 4096;
			break;
		default:
			p[1] = 12345;
		}
	}
}

/* Random bytes in a chunk of an obstack. */
static void *
obstack_block(size_t size)
{
	return make_block(size);
}

#define obstack_chunk_alloc obstack_block
#define obstack_chunk_free free

static void
make_obstacks(int nr)
{
	static struct obstack all[40];

	for (int i = 0; i < nr; i++) {
		obstack_init(&all[i]);
		for (int k = (int)draw(30); k >= 0; k--)
			obstack_alloc(&all[i], 2000 + draw(draw(10) ? 3000 : 200000));
		for (struct _obstack_chunk *c = all[i].chunk; c && (c != all[i].chunk || c->prev);
			c = c->prev)
			is_now((word *)c, OBSTACK);
	}
}

/* Blocks that know their end, and lead to no chunk, to each other, or to a chunk's middle. */
static void
make_obstack_lies(int nr)
{
	word *last = NULL;

	for (int i = 0; i < nr; i++) {
		size_t size = draw_size();
		word *p = make_block(size), *other = make_block(size);

		p[0] = at(p) + size;
		other[0] = at(other) + size;
		switch (draw(4)) {
		case 0: /* alone */
			p[1] = other[1] = 0;
			break;
		case 1: /* a ring */
			p[1] = at(other);
			other[1] = at(p);
			break;
		case 2:
			p[1] = at(other) + 8;
			other[1] = 0;
			break;
		default: /* the one before it does not know its end */
			p[1] = at(other);
			other[0] -= draw_gap(size);
			other[1] = last ? at(last) : 0;
		}
		last = p;
	}
}

/* Random bytes, lists and tables of pointers, and memory of blocks that were freed. */
static void
make_plain(int nr)
{
	for (int i = 0; i < nr; i++) {
		word *p = make_block(24 + draw(3000));
		size_t words = malloc_usable_size(p) / 8;

		for (size_t k = 0; k < words; k++)
			if (draw(3) == 0)
				p[k] = at(kept[draw(nr_kept)]) + (draw(4) ? 0 : 8 * draw(4));
			else if (k && draw(6) == 0)
				p[k] = at(p) + malloc_usable_size(p) - 8 * draw(6);
			else if (draw(4) == 0)
				p[k] = draw(1000);
	}
}

int
main(int argc, char **argv)
{
	seed = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) * UINT64_C(0x9e3779b97f4a7c15);
	version = argc > 2 ? atoi(argv[2]) : 15;
	/* No large block leaves a hole that the next one would be in. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	make_plain(500);
	make_contexts();
	make_nginx(70, false);
	make_apr(60, false);
	make_mem_roots(80, false);
	make_zlib(40, false, false, 0);
	make_zlib(30, false, true, 50);
	make_obstacks(40);
	make_plain(2000);
	make_lies();
	make_nginx(100, true);
	make_apr(100, true);
	make_mem_roots(100, true);
	make_zlib(40, true, false, 100);
	make_zlib(40, true, true, 150);
	make_obstack_lies(100);
	make_plain(2000);
	for (int i = 0; i < NR_NAMES; i++)
		tracee_say("%s %lu %lu %s", evidence[i], right[i].blocks, right[i].bytes, name[i]);
	tracee_ready();
	return tracee_park();
}
