/*
 * params: malloc's parameters, struct malloc_par.
 */
#ifndef MEMDIAG_GLIBC_PARAMS_H
#define MEMDIAG_GLIBC_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "glibc/layout.h"

struct target;

/*
 * Whether NR mappings of BYTES in all are everything that the account P counts.  P may be of
 * another moment than L's.  Since 2.43 the account may exceed the mappings by any multiple of two
 * words (see params.c).
 */
bool malloc_is_all_mmapped(
	const struct malloc_layout *l, const struct malloc_params *p, uint64_t nr, uint64_t bytes);

/*
 * Read the settings and the account of mapped blocks as they are now; l->mp must be known.  Returns
 * 0, or -1 with E.
 */
int malloc_params_read(struct malloc_params *ret, const struct target *t,
	const struct malloc_layout *l, struct err *e);

/* Bring l->params up to date. */
void malloc_params_read_again(struct malloc_layout *l, const struct target *t);

#endif
