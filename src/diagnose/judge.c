/* Choose which of the applicable causes are reported, and sort them. */
#include <config.h>

#include "diagnose/judge.h"

#include "diagnose/causes.h"
#include "diagnose/judge-priv.h"

#include <string.h>

static int
severity(const struct verdict *v)
{
	static const char *const order[] = { "critical", "warning", "info" };
	int i = 0;

	while (i < 2 && strcmp(v->severity, order[i]) != 0)
		i++;
	return i;
}

static bool
is_critical(const struct verdict *v)
{
	return severity(v) == 0;
}

static bool
is_weightier(const struct verdict *a, const struct verdict *b)
{
	if (is_critical(a) != is_critical(b))
		return is_critical(a);
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->rank != VERDICT_OF_MEMORY && severity(a) != severity(b))
		return severity(a) < severity(b);
	return a->bytes != b->bytes ? a->bytes > b->bytes : severity(a) < severity(b);
}

void
verdict_insert(struct verdict v[VERDICT_MAX], size_t nr, const struct verdict *new)
{
	size_t at = nr;

	/*
	 * Verdicts are added from the end of the table: among equals, the first in the table leads.
	 */
	for (; at && !is_weightier(&v[at - 1], new); at--)
		v[at] = v[at - 1];
	v[at] = *new;
}

size_t
verdict_judge(const struct verdict_facts *facts, struct verdict v[VERDICT_MAX])
{
	_Static_assert(NR_SUBJECTS <= VERDICT_MAX, "each may say one");
	bool is_said[NR_SUBJECTS] = { false };
	size_t nr = 0;

	/*
	 * Start at the end: the more specific cause of a subject comes first, and replaces the
	 * general one.
	 */
	for (size_t i = nr_causes; i-- > 0;) {
		struct verdict new = { .id = causes[i].id };

		if (is_said[causes[i].subject] || !causes[i].judge(facts, &new))
			continue;
		is_said[causes[i].subject] = true;
		verdict_insert(v, nr++, &new);
	}
	return nr;
}
