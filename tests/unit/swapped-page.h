/*
 * swapped-page: a page of a process that looks as if it were in swap.  The test is linked with
 * --wrap=os_pages_walk.
 */
#ifndef MEMDIAG_TESTS_SWAPPED_PAGE_H
#define MEMDIAG_TESTS_SWAPPED_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/pages.h"

#define PAGE UINT64_C(4096)

/* The page that looks as if it were in swap; 0 for none. */
static uint64_t swapped;

struct callback {
	int (*fn)(const struct os_page_run *run, void *arg);
	void *arg;
};

int __real_os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);
int __wrap_os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);

/* Pass on the part of RUN in [START, END). */
static int
pass(const struct callback *c, const struct os_page_run *run, uint64_t start, uint64_t end)
{
	struct os_page_run part = *run;

	part.start.v = start > run->start.v ? start : run->start.v;
	part.end.v = end < run->end.v ? end : run->end.v;
	part.is_swapped = start == swapped && end == swapped + PAGE;
	part.is_present = !part.is_swapped;
	return part.start.v < part.end.v ? c->fn(&part, c->arg) : 0;
}

static int
swap_page(const struct os_page_run *run, void *arg)
{
	int stop;

	if (!swapped || !run->is_present)
		return pass(arg, run, 0, UINT64_MAX);
	stop = pass(arg, run, 0, swapped);
	stop = stop ? stop : pass(arg, run, swapped, swapped + PAGE);
	return stop ? stop : pass(arg, run, swapped + PAGE, UINT64_MAX);
}

int
__wrap_os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e)
{
	struct callback c = { fn, arg };

	return __real_os_pages_walk(p, start, end, want_kind, swap_page, &c, e);
}

#endif
