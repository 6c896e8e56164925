#include <config.h>

#include "account/selection.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "maps/leaves.h"

void
selection_release(struct selection *sel)
{
	free(sel->own.v);
	free(sel->classes.v);
	*sel = (struct selection){ 0 };
}

static const char *
selection_path_of(const struct space *s, const struct leaf *l)
{
	const char *path = s->process->maps.region[l->region].path;

	return path ? path : "";
}

const char *
leaf_user_class(const struct user_classes *own, const struct space *s, const struct leaf *l)
{
	const char *path;

	if (!own->nr)
		return NULL;
	path = selection_path_of(s, l);
	for (size_t i = 0; *path && i < own->nr; i++)
		if (fnmatch(own->v[i].glob, path, 0) == 0)
			return own->v[i].name;
	return NULL;
}

const char *
leaf_object(const struct space *s, const struct leaf *l)
{
	const char *path = selection_path_of(s, l);

	if (l->object >= 0)
		return s->process->objects.v[l->object].path;
	if (path[0] == '/' || l->kind == LEAF_NAMED || l->kind == LEAF_DEVICE)
		return path;
	return leaf_kind_name((enum leaf_kind)l->kind);
}

/* ---- the selection ---- */

/* True if NAME is a part's name in text or in JSON. */
static bool
is_part(const char *name, enum leaf_kind k)
{
	return strcmp(name, leaf_kind_name(k)) == 0 ||
		strcmp(name, leaf_label(leaf_kind_name(k))) == 0;
}

static bool
is_in_class(const struct selection *sel, const struct space *s, const struct leaf *l)
{
	const enum leaf_kind kind = (enum leaf_kind)l->kind;
	const char *own;

	if (!sel->classes.nr)
		return true;
	own = leaf_user_class(&sel->own, s, l);
	for (size_t i = 0; i < sel->classes.nr; i++) {
		const char *name = sel->classes.v[i];

		/* A leaf in a user-defined class is in no other class. */
		if (own ? strcmp(name, own) == 0
			: strcmp(name, group_name(leaf_kind_group(kind))) == 0 ||
					is_part(name, kind))
			return true;
	}
	return false;
}

static bool
is_of_object(const char *glob, const char *object)
{
	const char *last = strrchr(object, '/');

	return fnmatch(glob, object, 0) == 0 || (last && fnmatch(glob, last + 1, 0) == 0);
}

bool
selection_is_all(const struct selection *sel)
{
	return !sel->classes.nr && !sel->object && !sel->has_range;
}

bool
selection_takes(const struct selection *sel, const struct space *s, const struct leaf *l)
{
	if (sel->has_range && (l->end.v <= sel->start.v || l->start.v >= sel->end.v))
		return false;
	if (sel->object && !is_of_object(sel->object, leaf_object(s, l)))
		return false;
	return is_in_class(sel, s, l);
}

bool
selection_is_any(const struct selection *sel, const struct space *s)
{
	for (size_t i = 0; i < s->leaves.nr; i++)
		if (selection_takes(sel, s, &s->leaves.v[i]))
			return true;
	return false;
}

bool
selection_knows_class(const struct selection *sel, const char *name)
{
	for (int g = 0; g < NR_GROUPS; g++)
		if (strcmp(name, group_name((enum group)g)) == 0)
			return true;
	for (int k = 0; k < NR_LEAF_KINDS; k++)
		if (is_part(name, (enum leaf_kind)k))
			return true;
	for (size_t i = 0; i < sel->own.nr; i++)
		if (strcmp(name, sel->own.v[i].name) == 0)
			return true;
	return false;
}
