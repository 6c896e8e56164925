#include <config.h>

#include "export/groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Both a group and a taken name begin with the text. */
static int
compare_group_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Return whether NAME may be exported, and remember it. */
static bool
admit(struct export_names *names, const char *name)
{
	struct export_taken_name *added;

	if (names->names.nr &&
		bsearch(name, names->names.v, names->names.nr, sizeof *names->names.v,
			compare_group_names))
		return true;
	if (names->names.nr >= names->max)
		return false;
	added = array_add(&names->names);
	if (!added)
		return false;
	snprintf(added->text, sizeof added->text, "%s", name);
	qsort(names->names.v, names->names.nr, sizeof *names->names.v, compare_group_names);
	return true;
}

/* Return the group called NAME; a missing one is added.  NULL: no memory. */
static struct export_group *
find_or_add(struct export_groups *groups, const char *name)
{
	struct export_group *g = groups->nr
		? bsearch(name, groups->v, groups->nr, sizeof *groups->v, compare_group_names)
		: NULL;
	size_t i;

	if (g)
		return g;
	if (!array_add(groups))
		return NULL;
	for (i = groups->nr - 1; i && strcmp(groups->v[i - 1].name, name) > 0; i--)
		groups->v[i] = groups->v[i - 1];
	groups->v[i] = (struct export_group){ 0 };
	snprintf(groups->v[i].name, sizeof groups->v[i].name, "%s", name);
	return &groups->v[i];
}

int
export_groups_make(struct export_groups *groups, struct export_scan *s, struct export_names *names,
	struct err *e)
{
	for (size_t i = 0; i < s->processes.nr; i++) {
		struct export_process *p = s->processes.v[i];
		struct export_group *g;

		if (!p->is_read)
			continue;
		if (!admit(names, p->group))
			snprintf(p->group, sizeof p->group, "%s", EXPORT_REST);
		g = find_or_add(groups, p->group);
		if (!g)
			return err_set(e, ENOMEM, "cannot keep the groups");
		export_sums_add(&g->sums, &p->sums);
	}
	return 0;
}

void
export_groups_release(struct export_groups *groups)
{
	free(groups->v);
	*groups = (struct export_groups){ 0 };
}

void
export_names_release(struct export_names *names)
{
	free(names->names.v);
	names->names.v = NULL;
	names->names.nr = names->names.room = 0;
}
