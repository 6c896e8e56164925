/*
 * shapes: the class of mappings by their sizes and neighbours.
 */
#ifndef MEMDIAG_MAPS_SHAPES_H
#define MEMDIAG_MAPS_SHAPES_H

#include "base/err.h"
#include "glibc/process.h"
#include "maps/maps-priv.h"

/* Find the spans of P, a map without its process, by shapes. */
int spans_infer(struct spans *ret, const struct process *p, struct err *e);

#endif
