#include <config.h>

#include "report/unnamed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void
unnamed_release(struct unnamed *u)
{
	free(u->v);
	*u = (struct unnamed){ 0 };
}

static const char *
unnamed_build_id_of(const struct profile *p, const char *path)
{
	for (size_t i = 0; i < p->mappings.nr; i++)
		if (p->mappings.v[i].path == path)
			return p->mappings.v[i].build_id;
	return "";
}

/* Return the object at PATH, added if missing; NULL if memory is exhausted. */
static struct unnamed_object *
report_unnamed_find(struct unnamed *u, const struct profile *p, const char *path)
{
	struct unnamed_object *o;

	for (size_t i = 0; i < u->nr; i++)
		if (strcmp(u->v[i].path, path) == 0)
			return &u->v[i];
	o = array_add(u);
	if (o)
		*o = (struct unnamed_object){ path, unnamed_build_id_of(p, path), 0 };
	return o;
}

static int
unnamed_by_value(const void *a, const void *b)
{
	const struct unnamed_object *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return strcmp(x->path, y->path);
}

int
unnamed_find(struct unnamed *u, const struct calls *c, struct err *e)
{
	for (size_t i = 0; c->options.by != CALLS_BY_OBJECT && i < c->nodes.nr; i++) {
		const struct calls_node *n = &c->nodes.v[i];
		const int64_t value = n->flat < 0 ? profile_sum(0, -n->flat) : n->flat;
		struct unnamed_object *o;

		if (*n->function || !value)
			continue;
		o = report_unnamed_find(u, c->p, n->object);
		if (!o)
			return err_set(e, ENOMEM, "cannot add up functions without names");
		o->value = profile_sum(o->value, value);
		u->value = profile_sum(u->value, value);
	}
	if (u->nr)
		qsort(u->v, u->nr, sizeof *u->v, unnamed_by_value);
	return 0;
}
