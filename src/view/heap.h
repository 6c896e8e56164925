/* heap: the output of 'memdiag heap' for the heaps that were read. */
#ifndef MEMDIAG_VIEW_HEAP_H
#define MEMDIAG_VIEW_HEAP_H

#include <stddef.h>

#include "account/checks.h"
#include "account/mmapped.h"
#include "base/err.h"
#include "diagnose/heap.h"
#include "diagnose/verdict.h"
#include "glibc/arenas.h"
#include "heap/heap.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/ui.h"
#include "ui/warnings.h"

/* Tables printed below the summary. */
enum heap_view {
	HEAP_ARENAS = 1,
	HEAP_HISTOGRAM = 2,
	HEAP_FREE = 4,
	HEAP_THREADS = 8,
	HEAP_PINS = 16,
	HEAP_PAGES = 32,
	HEAP_MMAPPED = 64,
};

/* The data to print. */
struct heap_report {
	const struct target *t;
	const char *core;		/* the core file that was read, or NULL */
	const struct os_status *status; /* NULL: unknown, for a core file */
	const struct heap *h;
	const struct heap_mmapped *mmapped;
	const struct checks *checks;
	const struct arenas *arenas; /* not NULL: the layout is unknown, and H is empty */
	unsigned int views;	     /* of enum heap_view */
	size_t limit;		     /* of lines in each table; 0: unlimited */
	const struct verdict *verdict;
	size_t nr_verdicts;
	const struct warnings *warnings;
};

/* heap.c */

/*
 * Return a report of all of S, which must outlive it, with the tables of VIEWS (enum heap_view),
 * each at most LIMIT lines; 0: no limit.
 */
struct heap_report heap_report_of(const struct heap_answer *s, unsigned int views, size_t limit);
/* Print the document that malloc_info() would write.  Returns 0, or -1 with E if S has no heaps. */
int heap_print_xml(const struct heap_answer *s, struct ui_output *out, struct err *e);

#endif
