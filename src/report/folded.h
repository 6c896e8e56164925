/*
 * folded: stacks as lines "root;caller;leaf VALUE", which flamegraph.pl and speedscope read.
 */
#ifndef MEMDIAG_REPORT_FOLDED_H
#define MEMDIAG_REPORT_FOLDED_H

#include <stdio.h>

#include "report/calls.h"

/*
 * Write each stack of C once.  A semicolon in a name becomes a colon.  0, or -1 with E; whether the
 * stream could be written is the caller's to check.
 */
int folded_write(const struct calls *c, FILE *f, struct err *e);

#endif
