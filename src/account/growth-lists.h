/*
 * growth-lists: the lists of rows in the outputs of commands that can be compared, and their
 * numbers that may grow.
 */
#ifndef MEMDIAG_ACCOUNT_GROWTH_LISTS_H
#define MEMDIAG_ACCOUNT_GROWTH_LISTS_H

#include "account/growth.h"

/* "groups" and "mappings" of maps. */
extern const struct growth_list maps_growth, mappings_growth;

#define COMPARABLE_LISTS 4

/* The lists in the output of a command; NULL ends them. */
struct comparable {
	const char *command;
	const struct growth_list *list[COMPARABLE_LISTS];
};

/*
 * Return the lists of COMMAND; NULL if its outputs cannot be compared.  For maps, these are the
 * groups.
 */
const struct comparable *comparable_find(const char *command);
/* The lists of maps --by=mapping. */
extern const struct comparable maps_by_mapping;

#endif
