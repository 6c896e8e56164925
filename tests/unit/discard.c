/*
 * discard PID [TIMES]: give back the tops of all thread arenas of PID, TIMES times.  Says for each
 * time how many bytes of them were resident before and after, what was given back, how many ranges
 * were busy, and the longest time a lock was held in microseconds; exits as memdiag does.  No test
 * by itself: live tests call it.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "glibc/process.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/target.h"
#include "ui/exit.h"

struct tops {
	const struct target *target;
	struct malloc_layout layout;
	uint64_t page_bytes;
	struct {
		struct inject_range *v;
		size_t nr, room;
	} range;
};

/* The whole pages of the top of the arena at ADDR, behind its header. */
static int
top_pages(const struct tops *t, raddr addr, struct inject_range *ret)
{
	uint64_t header[2];
	struct err e;
	raddr top;

	if (os_read(t->target, raddr_add(addr, t->layout.top), &top, sizeof top, &e) < 0 ||
		os_read(t->target, top, header, sizeof header, &e) < 0)
		return -1;
	ret->arena = addr;
	ret->start.v = (top.v + sizeof header + t->page_bytes - 1) & ~(t->page_bytes - 1);
	ret->end.v = (top.v + (header[1] & ~UINT64_C(7))) & ~(t->page_bytes - 1);
	return ret->start.v < ret->end.v ? 0 : -1;
}

static bool
is_free(struct inject_range *r, void *arg)
{
	struct inject_range now;

	if (top_pages(arg, r->arena, &now) < 0 || now.end.v <= r->start.v ||
		now.start.v >= r->end.v)
		return false;
	if (now.start.v > r->start.v)
		r->start = now.start;
	if (now.end.v < r->end.v)
		r->end = now.end;
	return true;
}

static int
add_up(const struct os_page_run *run, void *arg)
{
	if (run->is_present)
		*(uint64_t *)arg += run->end.v - run->start.v;
	return 0;
}

static uint64_t
resident_bytes(const struct tops *t, struct os_pages *pages)
{
	uint64_t sum = 0;
	struct err e;

	for (size_t i = 0; i < t->range.nr; i++)
		os_pages_walk(
			pages, t->range.v[i].start, t->range.v[i].end, false, add_up, &sum, &e);
	return sum;
}

static int
discard_once(struct tops *t, struct inject_target *callee, const struct arenas *a,
	struct os_pages *pages, struct err *e)
{
	const struct inject_options opt = { .wait_ns = 300000000000, .timeout_ns = 300000000000 };
	struct inject_discard what = { .is_free = is_free, .arg = t };
	struct inject_discarded done;
	struct inject_report report;
	uint64_t before;

	t->range.nr = 0;
	for (size_t i = 0; i < a->nr; i++) {
		struct inject_range r, *new;

		if (!a->v[i].is_main && top_pages(t, a->v[i].addr, &r) == 0 &&
			(new = array_add(&t->range)))
			*new = r;
	}
	what.range = t->range.v;
	what.nr = t->range.nr;
	before = resident_bytes(t, pages);
	if (inject_discard(callee, a, &opt, &what, &done, &report, e) < 0)
		return -1;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %zu %" PRIu64 "\n", before,
		resident_bytes(t, pages), done.bytes, done.nr_busy, done.longest_lock_ns / 1000);
	return 0;
}

static int
discard(pid_t pid, unsigned long times, struct err *e)
{
	auto_target struct target t = TARGET_NONE;
	auto_process struct process p = { 0 };
	auto_inject_target struct inject_target *callee = NULL;
	auto_pages struct os_pages *pages = NULL;
	struct tops tops = { .target = &t, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	int failed = 0;

	if (target_open(&t, pid, e) < 0 || process_read(&p, &t, e) < 0 ||
		inject_target_new(&callee, &p, e) < 0 || process_find_arenas(&p, NULL, e) < 0 ||
		malloc_layout_find(&tops.layout, &p, e) < 0 ||
		os_pages_open(&pages, &t, OS_PAGES_AUTO, e) < 0)
		return -1;
	while (times-- && !failed)
		failed = discard_once(&tops, callee, &p.arenas, pages, e);
	free(tops.range.v);
	return failed;
}

int
main(int argc, char **argv)
{
	struct err e = { 0 };

	if (argc > 1 && discard(atoi(argv[1]), argc > 2 ? strtoul(argv[2], NULL, 0) : 1, &e) == 0)
		return 0;
	fprintf(stderr, "discard: %s\n", e.msg);
	return (int)ui_exit_of(&e);
}
