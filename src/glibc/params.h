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
 * Return whether NR mappings of BYTES in all are everything that the account P counts.  P may have
 * been read at another moment than L.  Since 2.43 the account may exceed the mappings by any
 * multiple of two words (see params.c).
 */
bool malloc_is_all_mmapped(
	const struct malloc_layout *l, const struct malloc_params *p, uint64_t nr, uint64_t bytes);

/*
 * Read the present settings and account of mapped blocks; l->mp must be known.  Returns 0, or -1
 * with E.
 */
int malloc_params_read(struct malloc_params *ret, const struct target *t,
	const struct malloc_layout *l, struct err *e);

/* Bring l->params up to date. */
void malloc_params_read_again(struct malloc_layout *l, const struct target *t);

#endif
