/*
 * tcache-layout: the layout of tcache_perthread_struct.
 */
#ifndef MEMDIAG_GLIBC_TCACHE_LAYOUT_H
#define MEMDIAG_GLIBC_TCACHE_LAYOUT_H

#include "glibc/layout-priv.h"

/*
 * Find l->tcache, and by what is in the caches whether there is safe linking.  What could not be
 * looked at by the deadline counts as not there.
 */
void look_for_tcache(struct look *k);

#endif
