/* Queries and notes shared by the files that determine malloc's layout. */
#include <config.h>

#include "glibc/look.h"

#include <stdarg.h>
#include <stdio.h>

bool
look_is_anonymous(const struct look *k, raddr a)
{
	const struct region *r = regions_find(k->m, a);

	return r && r->prot[1] == 'w' && region_may_be_malloc(r);
}

void
look_narrow(struct look *k, unsigned int first, unsigned int last)
{
	first = first > k->l->first ? first : k->l->first;
	last = last < k->l->last ? last : k->l->last;
	if (first > last)
		return;
	k->l->first = first;
	k->l->last = last;
}

void
look_note(struct look *k, const char *fmt, ...)
{
	char *to = k->l->found_by;
	size_t len = strlen(to);
	va_list ap;

	len += (size_t)snprintf(to + len, sizeof k->l->found_by - len, "%s", len ? ", " : "");
	if (len >= sizeof k->l->found_by)
		return;
	va_start(ap, fmt);
	vsnprintf(to + len, sizeof k->l->found_by - len, fmt, ap);
	va_end(ap);
}

bool
look_is_arena(const struct look *k, uint64_t addr)
{
	for (size_t i = 0; i < k->a->nr; i++)
		if (k->a->v[i].addr.v == addr)
			return true;
	return false;
}
