/* growth-census: the lists in the outputs of types and retained, and their sums that may grow. */
#ifndef MEMDIAG_ACCOUNT_GROWTH_CENSUS_H
#define MEMDIAG_ACCOUNT_GROWTH_CENSUS_H

#include "account/growth.h"

/* The shares of all blocks, the types with their own blocks, those below, and those in pools. */
extern const struct growth_list types_shares_growth, types_growth, types_below_growth,
	types_pooled_growth;

/* Blocks of several roots or of none, the roots, and the types. */
extern const struct growth_list retained_shares_growth, retained_roots_growth,
	retained_types_growth;

#endif
