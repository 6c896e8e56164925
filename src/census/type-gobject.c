/*
 * GObject (gobject/gtype.c, gobject/gtype.h, glib/gquark.c of GLib 2.36 to 2.78): a type is the
 * address of its TypeNode, or the number of a fundamental type.
 *
 *	TypeNode	ref_count, plugin (8), n_children (16), n_supers (20, the lowest byte),
 *			children (24), data (32), qname (40), ..., supers (72): its own type first
 *	InstanceData	..., class_init (32), ..., class (56), instance_size (64), private_size (66)
 *	instance	the private part of private_size, then the address of the class
 *	class		its type, ...
 *
 * The nodes of fundamental types are in a static array, by number; all others are children of
 * these.  The quark qname is a place in a static array of strings.
 */
#include <config.h>

#include "census/type-gobject.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "census/chunks.h"
#include "census/edges.h"
#include "census/fronts.h"
#include "census/slots.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "elf/symbols.h"
#include "os/memory.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint64_t)
#define FUNDAMENTAL_SHIFT 2
#define FUNDAMENTAL_NR 256
/* Numbers of fundamental types: G_TYPE_NONE, G_TYPE_INTERFACE, G_TYPE_OBJECT. */
#define TYPE_NONE 1
#define TYPE_INTERFACE 2
#define TYPE_OBJECT 20
#define CHILDREN_MAX 65536
/* The most nodes, children included, and places that are read: a process may use no GObject. */
#define NODES_MAX 200000
#define PLACES_MAX 20000
#define DATA_MAX_BYTES (UINT64_C(4) << 20)
#define NAME_BYTES 256
/* An array of quarks is recognised by so many strings of the first ones. */
#define QUARKS_LOOKED_AT 30
#define QUARKS_MIN 26

struct gtype_node {
	uint32_t n_children, n_supers;
	uint64_t children, data, type; /* TYPE: its own */
	uint32_t qname;
};

struct gobject_search {
	struct census_gclasses *classes;
	struct census_type_table *table;
	const struct target *t;
	const struct regions *m;
	const struct objects *o;
	uint64_t quarks;		      /* the address of the array */
	unsigned int left_nodes, left_places; /* to look at */
	struct {
		uint64_t *v; /* owned; addresses of nodes */
		size_t nr, room;
	} node;
	struct err *e;
};

static int
gobject_fail(struct err *e)
{
	return err_set(e, ENOMEM, "cannot list the classes of GObject");
}

static bool
gobject_copy(const struct gobject_search *s, uint64_t addr, void *to, size_t size)
{
	struct err ignored;

	return addr && os_read_present(s->t, (raddr){ addr }, to, size, &ignored) == 0;
}

/* ---- names ---- */

/* Read the name at ADDR, which must begin as one of a type, into NAME; false if it is not one. */
static bool
gobject_read_name(const struct gobject_search *s, uint64_t addr, char *name)
{
	struct err ignored;
	ssize_t n = addr ? os_read_some(s->t, (raddr){ addr }, name, NAME_BYTES - 1, &ignored) : 0;
	size_t length;

	if (n <= 0)
		return false;
	name[n] = '\0';
	length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+");
	return length && !name[length];
}

/* Return whether the array of quarks is at ADDR: no string, then strings. */
static bool
is_quarks(const struct gobject_search *s, uint64_t addr)
{
	uint64_t quark[QUARKS_LOOKED_AT];
	char name[NAME_BYTES];
	int nr = 0;

	if (!gobject_copy(s, addr, quark, sizeof quark) || quark[0])
		return false;
	for (int i = 1; i < QUARKS_LOOKED_AT; i++)
		nr += gobject_read_name(s, quark[i], name);
	return nr >= QUARKS_MIN;
}

/* ---- static variables ---- */

/*
 * Call TAKE with the words from each place on, and how many there are, in the writable memory of
 * OBJECT, until it returns true.  Returns whether it did, or -1 with E.
 */
static int
gobject_each_word(struct gobject_search *s, const struct object *object,
	bool (*take)(struct gobject_search *s, const uint64_t *word, size_t nr))
{
	for (size_t i = 0; i < s->m->nr; i++) {
		const struct region *r = &s->m->region[i];
		/* The last page of its data and later memory may be one mapping. */
		const uint64_t end = r->end.v < object->end.v ? r->end.v : object->end.v;
		const uint64_t bytes = end > r->start.v ? (end - r->start.v) / WORD * WORD : 0;
		auto_free uint64_t *word = NULL;

		if (r->start.v < object->start.v || !bytes || r->prot[1] != 'w' ||
			bytes > DATA_MAX_BYTES)
			continue;
		word = malloc(bytes);
		if (!word)
			return gobject_fail(s->e);
		if (!gobject_copy(s, r->start.v, word, bytes))
			continue;
		for (size_t k = 0; k < bytes / WORD; k++)
			if (take(s, word + k, bytes / WORD - k))
				return true;
	}
	return false;
}

static bool
gobject_take_quarks(struct gobject_search *s, const uint64_t *word, size_t nr)
{
	(void)nr;
	if (!*word || *word % WORD || !s->left_places)
		return false;
	s->left_places--;
	if (!is_quarks(s, *word))
		return false;
	s->quarks = *word;
	return true;
}

/* ---- types ---- */

static bool
gobject_read_node(const struct gobject_search *s, uint64_t addr, struct gtype_node *ret)
{
	uint64_t word[10];

	if (addr % WORD || !gobject_copy(s, addr, word, sizeof word))
		return false;
	*ret = (struct gtype_node){
		.n_children = (uint32_t)word[2],
		.n_supers = word[2] >> 32 & 0xff,
		.children = word[3],
		.data = word[4],
		.qname = (uint32_t)word[5],
		.type = word[9],
	};
	return ret->n_children <= CHILDREN_MAX;
}

/* Return whether the node of the fundamental type NR is at ADDR. */
static bool
is_fundamental(const struct gobject_search *s, uint64_t addr, unsigned int nr)
{
	struct gtype_node node;

	return addr && gobject_read_node(s, addr, &node) && !node.n_supers &&
		node.type == (uint64_t)nr << FUNDAMENTAL_SHIFT;
}

/* Keep the nodes of fundamental types if WORD is the first of their array. */
static bool
gobject_take_fundamentals(struct gobject_search *s, const uint64_t *word, size_t nr)
{
	if (nr < FUNDAMENTAL_NR || word[0] || !word[TYPE_NONE] || !s->left_places)
		return false;
	s->left_places--;
	if (!is_fundamental(s, word[TYPE_NONE], TYPE_NONE) ||
		!is_fundamental(s, word[TYPE_INTERFACE], TYPE_INTERFACE) ||
		!is_fundamental(s, word[TYPE_OBJECT], TYPE_OBJECT))
		return false;
	for (unsigned int i = TYPE_NONE; i < FUNDAMENTAL_NR; i++) {
		uint64_t *added = is_fundamental(s, word[i], i) ? array_add(&s->node) : NULL;

		if (added)
			*added = word[i];
	}
	return true;
}

/* Keep the class of NODE, if it has instances. */
static int
gobject_take_class(struct gobject_search *s, const struct gtype_node *node)
{
	uint64_t data[9], type, name_at;
	struct census_type found = { .evidence = CENSUS_GOBJECT };
	struct census_gclass class = { 0 };
	struct census_gclass *added;
	const struct object *object;
	char name[NAME_BYTES];

	if (!gobject_copy(s, node->data, data, sizeof data) || !data[7] ||
		!gobject_copy(s, data[7], &type, sizeof type) || type != node->type ||
		!gobject_copy(s, s->quarks + node->qname * WORD, &name_at, sizeof name_at) ||
		!gobject_read_name(s, name_at, name))
		return 0;
	class.addr = data[7];
	class.bytes = (uint32_t)(data[8] & 0xffff) + (uint32_t)(data[8] >> 16 & 0xffff);
	object = objects_at(s->o, (raddr){ data[4] });
	if (!(data[8] & 0xffff))
		return 0;
	found.name = name;
	found.path = object ? object->path : NULL;
	if (census_type_table_add_name(s->table, &found, &class.type, s->e) < 0)
		return -1;
	added = array_add(s->classes);
	if (!added)
		return gobject_fail(s->e);
	*added = class;
	return 0;
}

/* Keep the children of NODE. */
static int
gobject_take_children(struct gobject_search *s, const struct gtype_node *node)
{
	auto_free uint64_t *child = malloc(((size_t)node->n_children + 1) * sizeof *child);

	if (!child)
		return gobject_fail(s->e);
	if (!node->n_children || node->n_children > s->left_nodes ||
		!gobject_copy(s, node->children, child, node->n_children * sizeof *child))
		return 0;
	for (uint32_t i = 0; i < node->n_children && s->left_nodes; i++) {
		struct gtype_node found;
		uint64_t *added;

		s->left_nodes--;
		/* Only its own node has the address of a type: so no node is kept twice. */
		if (!gobject_read_node(s, child[i], &found) || found.type != child[i] ||
			found.n_supers != node->n_supers + 1)
			continue;
		added = array_add(&s->node);
		if (!added)
			return gobject_fail(s->e);
		*added = child[i];
	}
	return 0;
}

static int
gobject_search(struct gobject_search *s)
{
	const struct object *gobject = objects_defining(s->o, "g_type_create_instance");
	const struct object *glib = objects_defining(s->o, "g_quark_to_string");
	int found = 0;

	if (gobject && glib && image_class(gobject->image) == ELFCLASS64)
		found = gobject_each_word(s, glib, gobject_take_quarks);

	s->left_places = PLACES_MAX;
	if (found > 0)
		found = gobject_each_word(s, gobject, gobject_take_fundamentals);
	for (size_t i = 0; found > 0 && i < s->node.nr; i++) {
		struct gtype_node node;

		if (gobject_read_node(s, s->node.v[i], &node) &&
			(gobject_take_class(s, &node) < 0 || gobject_take_children(s, &node) < 0))
			found = -1;
	}
	return found < 0 ? -1 : 0;
}

int
census_gclasses_find(struct census_gclasses *g, struct census_type_table *table,
	const struct target *t, const struct regions *m, const struct objects *o, struct err *e)
{
	struct gobject_search s = {
		.classes = g,
		.table = table,
		.t = t,
		.m = m,
		.o = o,
		.left_nodes = NODES_MAX,
		.left_places = PLACES_MAX,
		.e = e,
	};
	int failed = gobject_search(&s);

	free(s.node.v);
	return failed;
}

void
census_gclasses_release(struct census_gclasses *g)
{
	free(g->v);
	*g = (struct census_gclasses){ 0 };
}

/* ---- instances ---- */

/* A class and the chunk that has it. */
struct gclass_chunk {
	uint32_t chunk;
	const struct census_gclass *class;
};

static int
gclass_by_chunk(const void *a, const void *b)
{
	const struct gclass_chunk *x = a, *y = b;

	return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* Return the type of the instance at AT, which is a block without a type, or CENSUS_NO_TYPE. */
static uint32_t
gclass_type_of(const struct census *c, const struct census_cursor *at,
	const struct gclass_chunk *class, size_t nr_classes)
{
	const struct census_front block = { .bytes = census_block_bytes(c, at) };
	uint32_t nr;
	const uint32_t *to = census_edges_of(&c->edges, at->chunk, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const struct gclass_chunk key = { .chunk = to[i] };
		const struct gclass_chunk *found = c->chunks.state.v[to[i]] & CENSUS_SEEN
			? bsearch(&key, class, nr_classes, sizeof *class, gclass_by_chunk)
			: NULL;

		if (found && census_front_has_size(&block, found->class->bytes))
			return found->class->type;
	}
	return CENSUS_NO_TYPE;
}

/* List the classes that are blocks, which become CENSUS_SEEN; return how many there are. */
static size_t
gclass_list(struct gclass_chunk *class, struct census *c, const struct census_gclasses *g)
{
	size_t nr = 0;

	for (size_t i = 0; i < g->nr; i++) {
		const uint32_t granule = census_granule(&c->slots, g->v[i].addr);
		const uint32_t chunk =
			granule ? census_chunk_at(&c->chunks, &c->slots, granule) : CENSUS_NO_CHUNK;

		if (chunk == CENSUS_NO_CHUNK || !(c->chunks.state.v[chunk] & CENSUS_BLOCK))
			continue;
		c->chunks.state.v[chunk] |= CENSUS_SEEN;
		class[nr++] = (struct gclass_chunk){ chunk, &g->v[i] };
	}
	if (nr)
		qsort(class, nr, sizeof *class, gclass_by_chunk);
	return nr;
}

int
census_gclasses_judge(struct census *c, const struct census_gclasses *g, struct err *e)
{
	auto_free struct gclass_chunk *class = calloc(g->nr + 1, sizeof *class);
	struct census_cursor at = CENSUS_CURSOR_NONE;
	size_t nr;

	if (!class)
		return gobject_fail(e);
	nr = gclass_list(class, c, g);
	while (nr && census_chunks_next(&c->chunks, &at))
		if (c->chunks.state.v[at.chunk] & CENSUS_BLOCK &&
			!(c->type_of.v[at.chunk] & CENSUS_TYPE_MASK))
			c->type_of.v[at.chunk] = gclass_type_of(c, &at, class, nr);
	for (size_t i = 0; i < nr; i++)
		c->chunks.state.v[class[i].chunk] &= (uint8_t)~CENSUS_SEEN;
	return 0;
}
