#include <config.h>

#include "census/type-table.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_SLOTS ((size_t)1 << 24)
#define NAMES_BYTES ((size_t)64 << 10)
/* Names are data of the target. */
#define NAME_MAX_BYTES 4096

/* A piece of memory for names, which do not move. */
struct census_names {
	struct census_names *next;
	size_t used;
	char text[NAMES_BYTES];
};

const char *
census_evidence_name(enum census_evidence e)
{
	static const char *const name[] = {
		[CENSUS_PYTHON] = "python",
		[CENSUS_RTTI] = "rtti",
		[CENSUS_VTABLE] = "vtable",
		[CENSUS_STATIC] = "static",
		[CENSUS_CONTEXT] = "context",
		[CENSUS_POOL] = "pool",
		[CENSUS_PAIR] = "pair",
		[CENSUS_GOBJECT] = "gobject",
	};

	return name[e];
}

static int
type_table_fail(struct err *e)
{
	return err_set(e, ENOMEM, "cannot list the types of blocks");
}

int
census_type_table_init(struct census_type_table *t, struct err *e)
{
	/* 16 MiB of addresses; only the pages that are used become memory. */
	t->is_near = calloc(NEAR_SLOTS, 1);
	return t->is_near && array_add(&t->type) ? 0 : type_table_fail(e);
}

void
census_type_table_release(struct census_type_table *t)
{
	while (t->names) {
		struct census_names *next = t->names->next;

		free(t->names);
		t->names = next;
	}
	free(t->type.v);
	free(t->slot);
	free(t->is_near);
	*t = (struct census_type_table){ 0 };
}

/* Return a copy of NAME, at most NAME_MAX_BYTES of it; NULL without memory. */
static const char *
type_table_keep(struct census_type_table *t, const char *name)
{
	const size_t size = strnlen(name, NAME_MAX_BYTES - 1);
	char *copy;

	if (!t->names || NAMES_BYTES - t->names->used < size + 1) {
		struct census_names *more = malloc(sizeof *more);

		if (!more)
			return NULL;
		more->next = t->names;
		more->used = 0;
		t->names = more;
	}
	copy = t->names->text + t->names->used;
	memcpy(copy, name, size);
	copy[size] = '\0';
	t->names->used += size + 1;
	return copy;
}

static size_t
slot_of(const struct census_type_table *t, uint64_t addr)
{
	return (size_t)(addr * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (t->nr_slots - 1);
}

static void
put(struct census_type_table *t, uint32_t nr)
{
	size_t at = slot_of(t, t->type.v[nr].address);

	while (t->slot[at])
		at = (at + 1) & (t->nr_slots - 1);
	t->slot[at] = nr;
}

/* Make room, so that at most half of the slots are taken. */
static int
type_table_grow(struct census_type_table *t)
{
	const size_t nr_slots = t->nr_slots ? 2 * t->nr_slots : 1024;
	uint32_t *slot = calloc(nr_slots, sizeof *slot);

	if (!slot)
		return -1;
	free(t->slot);
	t->slot = slot;
	t->nr_slots = nr_slots;
	for (uint32_t i = 1; i < t->type.nr; i++)
		if (t->type.v[i].address)
			put(t, i);
	return 0;
}

int
census_type_table_add_name(
	struct census_type_table *t, const struct census_type *type, uint32_t *ret, struct err *e)
{
	struct census_type *added = array_add(&t->type);

	if (!added)
		return type_table_fail(e);
	*added = *type;
	added->name = type_table_keep(t, type->name);
	if (!added->name) {
		t->type.nr--;
		return type_table_fail(e);
	}
	*ret = (uint32_t)t->type.nr - 1;
	return 0;
}

int
census_type_table_add(struct census_type_table *t, const struct census_type *type, struct err *e)
{
	uint32_t nr;

	if (type->address >> 48 || census_type_at(t, type->address))
		return 0;
	if (2 * t->type.nr >= t->nr_slots && type_table_grow(t) < 0)
		return type_table_fail(e);
	if (census_type_table_add_name(t, type, &nr, e) < 0)
		return -1;
	t->has_python |= type->evidence == CENSUS_PYTHON;
	put(t, nr);
	t->is_near[type->address >> 24] = 1;
	return 0;
}

uint32_t
census_type_find(const struct census_type_table *t, uint64_t addr)
{
	for (size_t at = slot_of(t, addr); t->slot[at]; at = (at + 1) & (t->nr_slots - 1))
		if (t->type.v[t->slot[at]].address == addr)
			return t->slot[at];
	return CENSUS_NO_TYPE;
}

static int
type_by_name(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct census_type *type = arg;
	const int order = strcmp(type[*x].name, type[*y].name);

	return order ? order : (*x > *y) - (*x < *y);
}

uint32_t *
census_type_table_by_name(const struct census_type_table *t)
{
	const struct census_type *type = t->type.v;
	const uint32_t nr = (uint32_t)t->type.nr;
	uint32_t *same = calloc((size_t)nr + 1, sizeof *same);
	auto_free uint32_t *sorted = malloc(((size_t)nr + 1) * sizeof *sorted);

	if (!same || !sorted) {
		free(same);
		return NULL;
	}
	for (uint32_t i = 0; i + 1 < nr; i++)
		sorted[i] = i + 1;
	if (nr > 1)
		qsort_r(sorted, nr - 1, sizeof *sorted, type_by_name, t->type.v);
	for (uint32_t i = 0; i + 1 < nr; i++)
		same[sorted[i]] = i && strcmp(type[sorted[i]].name, type[sorted[i - 1]].name) == 0
			? same[sorted[i - 1]]
			: sorted[i];
	return same;
}

/*
 * Return whether a word is the number of references to an object of CPython: a small one, or
 * that of an object that is never freed (Include/refcount.h, 3.12 to 3.14).  An array of types
 * has addresses there.
 */
static bool
is_refcount(uint64_t word)
{
	return (word && word <= 1U << 24) || word == 0xffffffff || word == 0x3fffffff ||
		word == 0xc0000000 || word == 0x50000000;
}

bool
census_type_fits(const struct census_type *type, unsigned int nr, uint64_t last)
{
	return type->words >> nr & 1 && (type->evidence != CENSUS_PYTHON || is_refcount(last));
}
