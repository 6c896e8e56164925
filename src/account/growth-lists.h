/*
 * growth-lists: the lists of rows in the outputs of info, maps and heap, and which of their numbers
 * may grow.
 */
#ifndef MEMDIAG_ACCOUNT_GROWTH_LISTS_H
#define MEMDIAG_ACCOUNT_GROWTH_LISTS_H

#include "account/growth.h"

/* "groups" and "mappings" of maps. */
extern const struct growth_list maps_growth, mappings_growth;

#define COMPARABLE_LISTS 4

/* The lists in the output of a command; the first that is NULL ends them. */
struct comparable {
	const char *command;
	const struct growth_list *list[COMPARABLE_LISTS];
};

/* That of COMMAND; NULL if its outputs cannot be compared.  Of maps, the groups. */
const struct comparable *comparable_find(const char *command);
/* That of maps --by=mapping. */
extern const struct comparable maps_by_mapping;

#endif
