/*
 * CPython (Include/object.h, Include/cpython/object.h, 3.8 to 3.14): every object has the
 * address of its type, and the type of most types is PyType_Type, which is its own type:
 *
 *	object		ob_refcnt, ob_type			8 bytes each; 32 bytes in all where
 *								threads have no lock (3.13t)
 *	type		the same, ob_size, tp_name, tp_basicsize, tp_itemsize, ..., tp_flags
 *
 * A block begins with the object, or with the links of the garbage collector, or with the places
 * of its dictionary and weak references and then those links (two words each).
 */
#include <config.h>

#include "census/type-python.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "elf/symbols.h"
#include "os/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (UINT64_C(1) << 20)
/* Memory in which types are looked for at most. */
#define SEARCH_MAX_BYTES (UINT64_C(8) << 30)
/* From ob_type on (Include/cpython/object.h). */
#define NAME_AFTER_TYPE 16
#define BASICSIZE_AFTER_TYPE 24
#define FLAGS_AFTER_TYPE 160
#define TYPE_SUBCLASS (UINT64_C(1) << 31) /* Py_TPFLAGS_TYPE_SUBCLASS */
#define BASICSIZE_MAX (1 << 20)
#define NAME_BYTES 256
#define METACLASSES_MAX 32

struct python_search {
	struct census_type_table *table;
	const struct target *t;
	const struct regions *m;
	const struct objects *o;
	uint64_t ob_type; /* its offset in an object */
	uint64_t meta[METACLASSES_MAX];
	size_t nr_metas, nr_done; /* NR_DONE: types of these were looked for */
	uint64_t left_bytes;
	char *buf;
	struct err *e;
};

static bool
python_copy(const struct python_search *s, uint64_t addr, void *to, size_t size)
{
	struct err ignored;

	return os_read_present(s->t, (raddr){ addr }, to, size, &ignored) == 0;
}

/* Read the name at ADDR; false if it is not one. */
static bool
python_read_name(const struct python_search *s, uint64_t addr, char *name)
{
	struct err ignored;
	ssize_t n = os_read_some(s->t, (raddr){ addr }, name, NAME_BYTES - 1, &ignored);

	if (n <= 0)
		return false;
	name[n] = '\0';
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return false;
	return *name && strlen(name) < NAME_BYTES - 1;
}

/* Add the type at ADDR, if it is one. */
static int
python_take(struct python_search *s, uint64_t addr)
{
	const uint64_t at = addr + s->ob_type, first = s->ob_type / sizeof(uint64_t);
	const struct object *object = objects_at(s->o, (raddr){ addr });
	struct census_type type = {
		.address = addr,
		.path = object ? object->path : NULL,
		.evidence = CENSUS_PYTHON,
		.words = (1U << first | 1U << (first + 2) | 1U << (first + 4)) & CENSUS_ANY_WORD,
	};
	uint64_t name_at, basicsize, flags;
	char name[NAME_BYTES];

	if (!python_copy(s, at + NAME_AFTER_TYPE, &name_at, sizeof name_at) ||
		!python_copy(s, at + BASICSIZE_AFTER_TYPE, &basicsize, sizeof basicsize) ||
		!python_copy(s, at + FLAGS_AFTER_TYPE, &flags, sizeof flags) ||
		basicsize < s->ob_type + sizeof(uint64_t) || basicsize > BASICSIZE_MAX ||
		!python_read_name(s, name_at, name))
		return 0;
	type.name = name;
	if (census_type_table_add(s->table, &type, s->e) < 0)
		return -1;
	for (size_t i = 0; i < s->nr_metas; i++)
		if (s->meta[i] == addr)
			return 0;
	if (flags & TYPE_SUBCLASS && s->nr_metas < METACLASSES_MAX)
		s->meta[s->nr_metas++] = addr;
	return 0;
}

/* Look for types of the metaclasses from NR_DONE on in the SIZE bytes at ADDR, in the buffer. */
static int
python_search_piece(struct python_search *s, uint64_t addr, size_t size)
{
	for (size_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, s->buf + i, sizeof word);
		for (size_t k = s->nr_done; k < s->nr_metas; k++)
			if (word == s->meta[k] && python_take(s, addr + i - s->ob_type) < 0)
				return -1;
	}
	return 0;
}

static int
python_search_region(struct python_search *s, const struct region *r)
{
	for (uint64_t at = r->start.v; at < r->end.v && s->left_bytes;) {
		uint64_t size = r->end.v - at < PIECE_BYTES ? r->end.v - at : PIECE_BYTES;
		struct err ignored;
		ssize_t n = os_read_present_some(s->t, (raddr){ at }, s->buf, size, &ignored);

		if (n < 0)
			return 0;
		if (n > 0 && python_search_piece(s, at, size) < 0)
			return -1;
		s->left_bytes -= (uint64_t)n < s->left_bytes ? (uint64_t)n : s->left_bytes;
		at += size;
	}
	return 0;
}

/* Types are in the data of objects, and in memory that the program can write. */
static bool
has_python_types(const struct region *r)
{
	return r->prot[0] == 'r' && r->prot[2] != 'x' && r->prot[3] == 'p' &&
		!region_is_kernels(r) && (r->prot[1] == 'w' || region_has_file(r));
}

/* Find PyType_Type, which is its own type: that shows where objects have theirs. */
static bool
python_find_first(struct python_search *s)
{
	for (size_t i = 0; i < s->o->nr; i++) {
		static const uint64_t offset[] = { 8, 24 };
		struct image_symbol symbol;

		if (!s->o->v[i].image || image_find(s->o->v[i].image, "PyType_Type", &symbol) < 0)
			continue;
		for (size_t k = 0; k < sizeof offset / sizeof *offset; k++) {
			uint64_t word;

			if (!python_copy(s, symbol.addr.v + offset[k], &word, sizeof word) ||
				word != symbol.addr.v)
				continue;
			s->ob_type = offset[k];
			s->meta[s->nr_metas++] = symbol.addr.v;
			return true;
		}
	}
	return false;
}

int
census_types_find_python(struct census_type_table *table, const struct target *t,
	const struct regions *m, const struct objects *o, struct err *e)
{
	auto_free char *buf = malloc(PIECE_BYTES);
	struct python_search s = { .table = table,
		.t = t,
		.m = m,
		.o = o,
		.left_bytes = SEARCH_MAX_BYTES,
		.buf = buf,
		.e = e };

	if (!buf)
		return err_set(e, ENOMEM, "cannot look for the types of Python");
	if (!python_find_first(&s))
		return 0;
	/* Types of metaclasses that were found in the first round follow in the second. */
	for (int round = 0; round < 2 && s.nr_done < s.nr_metas; round++) {
		const size_t nr = s.nr_metas;

		for (size_t i = 0; i < m->nr; i++)
			if (has_python_types(&m->region[i]) &&
				python_search_region(&s, &m->region[i]) < 0)
				return -1;
		s.nr_done = nr;
	}
	return 0;
}
