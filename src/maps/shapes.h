/*
 * shapes: the class of mappings by their sizes and neighbours.
 */
#ifndef MEMDIAG_MAPS_SHAPES_H
#define MEMDIAG_MAPS_SHAPES_H

#include "base/err.h"
#include "glibc/process.h"
#include "maps/maps-priv.h"

/* The same of P, which is a map without its process: what shapes show. */
int spans_infer(struct spans *ret, const struct process *p, struct err *e);

#endif
