/*
 * A vtable of C++ (Itanium C++ ABI, 2.5.2 and 2.9):
 *
 *	vtable - 16	offset to the top of the object: 0, or negative for a second base
 *	vtable - 8	type_info ->	its own vtable, in the C++ library
 *					name -> "3Foo", "N1a1bE", with '*' if it is local
 *	vtable		addresses of functions
 *
 * An object of a class begins with the address of the vtable.  All of it is in the data of files,
 * where ld.so has filled it in: the words are read from memory.
 */
#include <config.h>

#include "census/type-find.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "elf/symbols.h"
#include "os/memory.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A second base is not further from the top of an object. */
#define TOP_MAX_BYTES (64 << 10)
#define NAME_BYTES 1024
/* No piece of a string that is read reaches into another page. */
#define STRING_STEP 64
/* The words of a vtable, up to its first function, at most: a class has few virtual bases. */
#define VTABLE_WORDS 32
/* The data of an object that is read at most. */
#define DATA_MAX_BYTES (UINT64_C(512) << 20)

struct type_search {
	struct census_type_table *table;
	const struct target *t;
	const struct regions *m;
	const struct objects *o;
	const struct object *object; /* the present one */
	/* type_infos that were looked at: 0 is not one */
	struct {
		uint64_t info;
		const char *name; /* of the table of types, NULL: it is not one */
	} seen[1024];		  /* by address */
	struct err *e;
};

/* ---- C++ ---- */

/* Return whether NAME can be that of a class: <nested-name>, <source-name> or <substitution>. */
static bool
is_class_name(const char *name)
{
	size_t length = strlen(name);

	if (length < 2 || length >= NAME_BYTES - 1 ||
		!(isdigit((unsigned char)*name) || strchr("NSZIPDtK", *name)))
		return false;
	return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$") ==
		length;
}

/*
 * Read the string at ADDR, which must lie in an object, into BUF.  False if it is not one.  Names
 * of classes are in memory that the program may never have touched, so they are read from the file.
 */
static bool
type_find_string(const struct type_search *s, uint64_t addr, char *buf, size_t size)
{
	const struct object *o = objects_at(s->o, (raddr){ addr });
	size_t done = 0;

	while (o && o->image && done < size) {
		size_t step = STRING_STEP - (addr + done) % STRING_STEP;

		if (step > size - done)
			step = size - done;
		if (image_read(o->image, (raddr){ addr + done }, buf + done, step) < 0)
			return false;
		if (memchr(buf + done, '\0', step))
			return true;
		done += step;
	}
	return false;
}

/* Read the name of the class of the type_info at INFO; false if it is not one. */
static bool
read_class(const struct type_search *s, uint64_t info, char *buf, size_t size)
{
	uint64_t word[2];
	struct err ignored;

	if (os_read_present(s->t, (raddr){ info }, word, sizeof word, &ignored) < 0 ||
		!objects_at(s->o, (raddr){ word[0] }) || !type_find_string(s, word[1], buf, size))
		return false;
	if (*buf == '*')
		memmove(buf, buf + 1, strlen(buf));
	return is_class_name(buf);
}

/* Add the vtable at ADDR of the class with the type_info at INFO, if it is one. */
static int
take_vtable(struct type_search *s, uint64_t addr, uint64_t info)
{
	const size_t at = info / sizeof(uint64_t) % (sizeof s->seen / sizeof *s->seen);
	struct census_type type = {
		.address = addr,
		.path = s->object->path,
		.evidence = CENSUS_RTTI,
		.words = CENSUS_ANY_WORD,
	};
	char name[NAME_BYTES];

	if (s->seen[at].info != info) {
		s->seen[at].info = info;
		s->seen[at].name = NULL;
		if (!read_class(s, info, name, sizeof name))
			return 0;
		type.name = name;
	} else if (s->seen[at].name) {
		type.name = s->seen[at].name;
	} else {
		return 0;
	}
	if (census_type_table_add(s->table, &type, s->e) < 0)
		return -1;
	s->seen[at].name = s->table->type.v[census_type_at(s->table, addr)].name;
	return 0;
}

/* Look for vtables in the SIZE bytes at AT, which are at ADDR in the target. */
static int
search_vtables(struct type_search *s, const char *at, size_t size, uint64_t addr)
{
	for (size_t i = 8; i + 16 <= size; i += 8) {
		int64_t top;
		uint64_t info, function;

		memcpy(&info, at + i, sizeof info);
		if (info % 8 || info < s->o->v[0].start.v)
			continue;
		memcpy(&top, at + i - 8, sizeof top);
		memcpy(&function, at + i + 8, sizeof function);
		if (top > 0 || top < -TOP_MAX_BYTES || top % 8 ||
			!objects_at(s->o, (raddr){ info }) ||
			(function && !objects_at(s->o, (raddr){ function })))
			continue;
		if (take_vtable(s, addr + i + 8, info) < 0)
			return -1;
	}
	return 0;
}

/* Search the present bytes of [START, END). */
static int
search_range(struct type_search *s, uint64_t start, uint64_t end)
{
	auto_free char *buf = NULL;
	struct err ignored;

	if (end <= start || end - start > DATA_MAX_BYTES)
		return 0;
	buf = malloc(end - start);
	if (!buf)
		return err_set(s->e, ENOMEM, "cannot look for the types of blocks");
	if (os_read_present_some(s->t, (raddr){ start }, buf, end - start, &ignored) <= 0)
		return 0;
	return search_vtables(s, buf, end - start, start);
}

/*
 * Search the mappings of the present object's file that are not executable: .data.rel.ro and .data,
 * and .rodata, where the vtables are of a program that is not position-independent.
 */
static int
search_object(struct type_search *s)
{
	const struct object *o = s->object;

	for (size_t i = 0; i < s->m->nr; i++) {
		const struct region *r = &s->m->region[i];
		/* Only a part of the last page of its data belongs to it. */
		const uint64_t end = r->end.v < o->end.v ? r->end.v : o->end.v;

		if (r->start.v < o->start.v || r->prot[0] != 'r' || r->prot[2] == 'x' ||
			r->inode != o->inode)
			continue;
		if (search_range(s, r->start.v, end) < 0)
			return -1;
	}
	return 0;
}

/* ---- symbols ---- */

static bool
is_code(const struct type_search *s, uint64_t addr)
{
	const struct region *r = regions_find(s->m, (raddr){ addr });

	return r && r->prot[2] == 'x';
}

/*
 * Return the address of the vtable SYMBOL that objects have, that of its first function: before it
 * are the type_info and the offset to the top, and offsets of virtual bases.
 */
static uint64_t
vtable_address(const struct type_search *s, const struct image_symbol *symbol)
{
	uint64_t word[VTABLE_WORDS];
	const size_t nr = symbol->size_bytes / sizeof *word < VTABLE_WORDS
		? symbol->size_bytes / sizeof *word
		: VTABLE_WORDS;
	struct err ignored;

	if (os_read_present(s->t, symbol->addr, word, nr * sizeof *word, &ignored) == 0)
		for (size_t i = 2; i < nr; i++)
			if (is_code(s, word[i]))
				return symbol->addr.v + i * sizeof *word;
	return symbol->addr.v + 2 * sizeof *word;
}

static int
take_symbol(const char *name, const struct image_symbol *symbol, void *arg)
{
	struct type_search *s = arg;
	const bool is_vtable = strncmp(name, "_ZTV", 4) == 0;
	struct census_type type = {
		.address = symbol->addr.v,
		.name = name,
		.path = s->object->path,
		.evidence = CENSUS_STATIC,
		.words = CENSUS_ANY_WORD,
	};

	if (symbol->type != STT_OBJECT || symbol->size_bytes < 16)
		return 0;
	if (is_vtable) {
		type.address = vtable_address(s, symbol);
		type.name += 4;
		type.evidence = CENSUS_VTABLE;
	} else if (name[0] == '_' && name[1] == 'Z' && name[2] == 'T') {
		return 0; /* type_info, its name, VTT */
	}
	return census_type_table_add(s->table, &type, s->e);
}

int
census_types_find_objects(struct census_type_table *table, const struct target *t,
	const struct regions *m, const struct objects *o, struct err *e)
{
	struct type_search s = { .table = table, .t = t, .m = m, .o = o, .e = e };

	for (size_t i = 0; i < o->nr; i++) {
		s.object = &o->v[i];
		if (s.object->image && image_class(s.object->image) == ELFCLASS64 &&
			search_object(&s) < 0)
			return -1;
	}
	for (size_t i = 0; i < o->nr; i++) {
		s.object = &o->v[i];
		if (s.object->image &&
			(image_each(s.object->image, take_symbol, &s) < 0 ||
				image_each_in_file(s.object->image, take_symbol, &s) < 0))
			return -1;
	}
	return 0;
}
