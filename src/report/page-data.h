/*
 * page-data: the numbers and names that a page draws and adds up itself, as JSON.
 */
#ifndef MEMDIAG_REPORT_PAGE_DATA_H
#define MEMDIAG_REPORT_PAGE_DATA_H

#include <stdio.h>

#include "base/err.h"
#include "report/report.h"

/*
 * Print the data of V for src/report/page/model.js: all values of all samples that the options of
 * V's calls keep.  Members:
 *
 *	"types": [{"name", "unit", "text"}], "type": number of the one to show first
 *	"totals": for each type the sum of all samples, of which the options may leave some out
 *	"by", "by_cum", "base", "words": as in V
 *	"nodes": {"name": [...], "file": [...], "object": [...], "code": [...]}, with the numbers of
 *		enum calls_code
 *	"tree": {"depth": [...], "node": [...]}, in preorder; the first is the root, node -1
 *	"samples": {"at": distances of their elements of the tree, sorted, "thread": number of a
 *		thread + 1 or 0, "size": bytes or 0, "values": [[...]], a list for each type}
 *	"moments": {"at_ns", "live", "rss", "mapped": a value for each, "end": [...], "sample",
 *		"bytes", "blocks": changes from the moment before, up to END of each}; absent if V
 *		has no moments
 *	"threads": [{"tid", "name"}]
 *	"lines": {"node": [...], "line": [...], "flat": [[...]], "cum": [[...]]}, lists of values for
 *		each type; "text": [...], the lines of source or null, if V has a directory;
 *		null if V is not by function or no line is known
 *
 * 0, or -1 with E.
 */
int page_data_put(const struct report_view *v, FILE *f, struct err *e);

#endif
