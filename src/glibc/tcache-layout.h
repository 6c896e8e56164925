/*
 * tcache-layout: the layout of tcache_perthread_struct.
 */
#ifndef MEMDIAG_GLIBC_TCACHE_LAYOUT_H
#define MEMDIAG_GLIBC_TCACHE_LAYOUT_H

#include "glibc/layout-priv.h"

/*
 * Find l->tcache, and from the caches' contents whether links are mangled.  Caches that could not
 * be read by the deadline count as missing.
 */
void look_for_tcache(struct look *k);

#endif
