#include <config.h>

#include "census/owners.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/objects.h"
#include "elf/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

struct variable {
	uint64_t start, end;
	const char *name;
};

struct owners_search {
	struct census_owners *owners;
	struct census *c;
	const struct objects *o;
	const struct object *object; /* that VARIABLE is of */
	struct {
		struct variable *v; /* sorted by start */
		size_t nr, room;
	} variable;
	struct err *e;
};

static int
owners_fail(struct err *e)
{
	return err_set(e, ENOMEM, "cannot list the variables that hold blocks");
}

void
census_owners_release(struct census_owners *owners)
{
	free(owners->owner.v);
	free(owners->to);
	*owners = (struct census_owners){ 0 };
}

/* ---- variables ---- */

static int
owners_take_symbol(const char *name, const struct image_symbol *symbol, void *arg)
{
	struct owners_search *s = arg;
	struct variable *added;

	if (symbol->type != STT_OBJECT || !symbol->size_bytes)
		return 0;
	added = array_add(&s->variable);
	if (!added)
		return owners_fail(s->e);
	*added = (struct variable){ symbol->addr.v, symbol->addr.v + symbol->size_bytes, name };
	return 0;
}

/* The largest of those that begin at the same place comes last. */
static int
variable_by_start(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* List the variables of OBJECT, unless it is the present one. */
static int
owners_read_object(struct owners_search *s, const struct object *object)
{
	if (object == s->object)
		return 0;
	s->object = object;
	s->variable.nr = 0;
	if (!object->image)
		return 0;
	if (image_each(object->image, owners_take_symbol, s) < 0 ||
		image_each_in_file(object->image, owners_take_symbol, s) < 0)
		return -1;
	if (s->variable.nr)
		qsort(s->variable.v, s->variable.nr, sizeof *s->variable.v, variable_by_start);
	return 0;
}

/* Return the variable that has ADDR, of the present object; NULL without one. */
static const struct variable *
variable_at(const struct owners_search *s, uint64_t addr)
{
	size_t from = 0, to = s->variable.nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (s->variable.v[mid].start <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from && s->variable.v[from - 1].end > addr ? &s->variable.v[from - 1] : NULL;
}

/* ---- owners ---- */

/* Fill RET with the owner of ROOT; its blocks are not known yet. */
static int
owner_of_root(struct owners_search *s, const struct census_root *root, struct census_owner *ret)
{
	const struct census_range *range = &s->c->roots.range.v[root->range];
	const struct object *object;
	const struct variable *variable;

	*ret = (struct census_owner){
		.kind = range->kind, .start = range->start, .type = range->type
	};
	if (range->kind == CENSUS_STACK || range->kind == CENSUS_REGISTER) {
		ret->kind = CENSUS_STACK;
		ret->tid = range->tid;
		ret->start.v = 0;
	}
	if (range->kind != CENSUS_GLOBAL)
		return 0;
	object = objects_at(s->o, (raddr){ root->at });
	if (!object)
		return 0;
	ret->path = object->path;
	if (owners_read_object(s, object) < 0)
		return -1;
	variable = variable_at(s, root->at);
	ret->start = object->start;
	if (variable) {
		ret->name = variable->name;
		ret->start.v = variable->start;
	}
	return 0;
}

/* A root with its owner, of which FIRST is the block, and NR is not set. */
static int
owner_by_place(const void *a, const void *b)
{
	const struct census_owner *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return (x->start.v > y->start.v) - (x->start.v < y->start.v);
}

static int
root_by_place(const void *a, const void *b)
{
	const struct census_root *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Fill FOUND, of each root, with its owner. */
static int
owners_of_roots(struct owners_search *s, struct census_owner *found)
{
	const size_t nr = s->c->roots.root.nr;

	/* In order of address, so that the variables of each object are read once. */
	if (nr)
		qsort(s->c->roots.root.v, nr, sizeof *s->c->roots.root.v, root_by_place);
	for (size_t i = 0; i < nr; i++) {
		if (owner_of_root(s, &s->c->roots.root.v[i], &found[i]) < 0)
			return -1;
		found[i].first = s->c->roots.root.v[i].to;
	}
	if (nr)
		qsort(found, nr, sizeof *found, owner_by_place);
	return 0;
}

/* List the owners in FOUND, each once, and their blocks. */
static int
owners_list(struct owners_search *s, const struct census_owner *found)
{
	struct census_owners *owners = s->owners;

	for (size_t i = 0; i < s->c->roots.root.nr; i++) {
		struct census_owner *last =
			owners->owner.nr ? &owners->owner.v[owners->owner.nr - 1] : NULL;

		if (!last || owner_by_place(last, &found[i]) != 0) {
			last = array_add(&owners->owner);
			if (!last)
				return owners_fail(s->e);
			*last = found[i];
			last->first = (uint32_t)i;
			last->nr = 0;
		}
		owners->to[i] = found[i].first;
		last->nr++;
	}
	return 0;
}

int
census_owners_find(
	struct census_owners *owners, struct census *c, const struct objects *o, struct err *e)
{
	struct owners_search s = { .owners = owners, .c = c, .o = o, .e = e };
	auto_free struct census_owner *found = calloc(c->roots.root.nr + 1, sizeof *found);
	int failed;

	owners->to = calloc(c->roots.root.nr + 1, sizeof *owners->to);
	if (!found || !owners->to)
		failed = owners_fail(e);
	else
		failed = owners_of_roots(&s, found) < 0 || owners_list(&s, found) < 0 ? -1 : 0;
	free(s.variable.v);
	if (failed)
		census_owners_release(owners);
	return failed;
}
