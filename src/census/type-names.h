/* type-names: types of one name are one type, although a class may have several vtables. */
#ifndef MEMDIAG_CENSUS_TYPE_NAMES_H
#define MEMDIAG_CENSUS_TYPE_NAMES_H

#include <stdint.h>

#include "census/type-table.h"

/*
 * Return for each type of T the first one with its name; CENSUS_NO_TYPE for CENSUS_NO_TYPE.  The
 * caller frees the array; NULL without memory.
 */
uint32_t *census_types_same(const struct census_type_table *t);

#endif
