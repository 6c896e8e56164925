/* retained-graph: the parts of RSS, and what holds its blocks, as a profile that report draws. */
#ifndef MEMDIAG_VIEW_RETAINED_GRAPH_H
#define MEMDIAG_VIEW_RETAINED_GRAPH_H

#include <stdbool.h>

#include "base/err.h"
#include "census/layers.h"
#include "diagnose/census.h"
#include "profile/profile.h"
#include "report/report.h"
#include "view/retained.h"

/* The words of report for it. */
extern const struct report_words retained_graph_words;

/*
 * Return whether it is known which bytes of S are in memory.  If not, as in a core file, the graph
 * has the usable bytes of blocks, and nothing else.
 */
bool retained_graph_has_rss(const struct census_answer *s);

/* Return the bytes of the graph of S; it has more if S grew after its pages were counted. */
uint64_t retained_graph_bytes(const struct census_answer *s);

/* Write the title of the graph of S to BUF, and return it; it is not made printable. */
const char *retained_graph_title(const struct census_answer *s, char *buf, size_t size);

/*
 * Make a profile whose stacks are the frames L of R, and if retained_graph_has_rss() all other
 * resident memory.  All bytes are counted once.  The caller frees *RET.  Returns 0, or -1 with E.
 */
int retained_graph_make(struct profile **ret, const struct retained_report *r,
	const struct census_layers *l, struct err *e);

#endif
