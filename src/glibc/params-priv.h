/*
 * params-priv: what other files of glibc/ use of params.c.
 */
#ifndef MEMDIAG_GLIBC_PARAMS_PRIV_H
#define MEMDIAG_GLIBC_PARAMS_PRIV_H

#include "glibc/layout-priv.h"

/* Find l->mp and l->params. */
void look_for_params(struct look *k);

#endif
