/* folded: stacks as lines "root;caller;leaf VALUE", the input of flamegraph.pl and speedscope. */
#ifndef MEMDIAG_REPORT_FOLDED_H
#define MEMDIAG_REPORT_FOLDED_H

#include <stdio.h>

#include "report/calls.h"

/*
 * Write each stack of C once.  A semicolon in a name becomes a colon.  Returns 0, or -1 with E; the
 * caller checks the stream for write errors.
 */
int folded_write(const struct calls *c, FILE *f, struct err *e);

#endif
