#include <config.h>

#include "census/type-names.h"

#include <stdlib.h>
#include <string.h>

static int
type_by_name(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct census_type *type = arg;
	const int order = strcmp(type[*x].name, type[*y].name);

	return order ? order : (*x > *y) - (*x < *y);
}

uint32_t *
census_types_same(const struct census_type_table *t)
{
	const struct census_type *type = t->type.v;
	const uint32_t nr = (uint32_t)t->type.nr;
	uint32_t *sorted = malloc((nr + 1) * sizeof *sorted);
	uint32_t *same = calloc(nr + 1, sizeof *same);

	if (!sorted || !same) {
		free(sorted);
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
	free(sorted);
	return same;
}
