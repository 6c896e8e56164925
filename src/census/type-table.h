/*
 * type-table: addresses that show the type of a block that has one of them in its first words: a
 * vtable of C++, a type object of CPython, a static object with a name.
 */
#ifndef MEMDIAG_CENSUS_TYPE_TABLE_H
#define MEMDIAG_CENSUS_TYPE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"

/* How a type is known, and how far that can be trusted: the first ones most. */
enum census_evidence {
	CENSUS_PYTHON, /* a type object of CPython, with its name in it */
	CENSUS_RTTI,   /* a vtable of C++ with the type_info of its class */
	CENSUS_VTABLE, /* a vtable without a type_info, by its symbol */
	CENSUS_STATIC, /* the start of a static object, by its symbol */
	/* Memory that its own words prove (type-pools.h); it is at no address. */
	CENSUS_CONTEXT, /* a memory context of PostgreSQL, with its name */
	CENSUS_POOL,	/* a block of a pool, that knows its end */
	CENSUS_PAIR,	/* a block and a word elsewhere that have each other's address */
	CENSUS_GOBJECT, /* the address of a class of GObject, and the size of its instances */
	NR_CENSUS_EVIDENCE,
};

/* The most words of a block that are looked at: allocators and wrappers put headers first. */
#define CENSUS_TYPE_WORDS 8
#define CENSUS_ANY_WORD ((1U << CENSUS_TYPE_WORDS) - 1)

struct census_type {
	uint64_t address; /* as it is in blocks; 0: it is at no address */
	const char *name; /* mangled for C++; the table's copy */
	const char *path; /* of the object that has it, or NULL; owned by the objects */
	enum census_evidence evidence;
	unsigned int words; /* bit I: word I of a block may have the address */
};

/* No type. */
#define CENSUS_NO_TYPE 0

struct census_type_table {
	struct {
		struct census_type *v; /* owned; type N is v[N]; the first is not used */
		size_t nr, room;
	} type;
	uint32_t *slot; /* owned; open addressing; numbers of types, 0: free */
	size_t nr_slots;
	uint8_t *is_near;	    /* owned; for each 16 MiB of addresses: a type is there */
	struct census_names *names; /* owned; the memory of names */
	bool has_python;	    /* there are types of CPython */
};

int census_type_table_init(struct census_type_table *t, struct err *e);
void census_type_table_release(struct census_type_table *t);
#define auto_census_type_table __attribute__((cleanup(census_type_table_release)))

/*
 * Add TYPE with a copy of its name, unless its address is there already: so what can be trusted
 * most is added first.  Returns 0, or -1 with E.
 */
int census_type_table_add(
	struct census_type_table *t, const struct census_type *type, struct err *e);

/*
 * Add TYPE, which is at no address, with a copy of its name.  Returns 0 with its number, or -1 with
 * E.
 */
int census_type_table_add_name(
	struct census_type_table *t, const struct census_type *type, uint32_t *ret, struct err *e);

/* The slow path of census_type_at(). */
uint32_t census_type_find(const struct census_type_table *t, uint64_t addr);

/* Return the number of the type at ADDR, or CENSUS_NO_TYPE. */
static inline uint32_t
census_type_at(const struct census_type_table *t, uint64_t addr)
{
	return addr >> 48 || !t->is_near[addr >> 24] ? CENSUS_NO_TYPE : census_type_find(t, addr);
}

/* Return whether word NR of a block after the word LAST may have the address of TYPE. */
bool census_type_fits(const struct census_type *type, unsigned int nr, uint64_t last);

/* Return the type that WORD shows as word NR of a block, after the word LAST, or CENSUS_NO_TYPE. */
static inline uint32_t
census_type_for(const struct census_type_table *t, uint64_t word, unsigned int nr, uint64_t last)
{
	const uint32_t type = census_type_at(t, word);

	return type && census_type_fits(&t->type.v[type], nr, last) ? type : CENSUS_NO_TYPE;
}

/*
 * Return, for each type of T, the number of the first one with its name, which the caller frees;
 * NULL without memory.
 */
uint32_t *census_type_table_by_name(const struct census_type_table *t);

const char *census_evidence_name(enum census_evidence e);

#endif
