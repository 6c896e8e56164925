/*
 * graph: a profile as a graph for Graphviz.
 */
#ifndef MEMDIAG_REPORT_GRAPH_H
#define MEMDIAG_REPORT_GRAPH_H

#include <stdio.h>

#include "base/err.h"
#include "recording/live.h"
#include "report/report.h"

/* Print the graph of calls, for graphviz's dot. */
int report_print_dot(const struct report_view *v, FILE *f, struct err *e);

#endif
