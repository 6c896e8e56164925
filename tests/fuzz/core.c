/*
 * Whatever a core file says, it is refused or answers: with mappings in order, pages within them, and
 * memory as long as it was asked for at most.
 */
#define _GNU_SOURCE
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/heap.h"
#include "maps/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
	raddr start, end, last;
};

static int
check_run(const struct os_page_run *run, void *arg)
{
	struct told *told = arg;

	/* A segment need not begin at a page. */
	if (run->start.v >= run->end.v || run->start.v < told->last.v || !run->is_present)
		abort();
	told->last = run->end;
	return 0;
}

static void
check_region(const struct target *t, struct os_pages *pages, const struct region *r)
{
	struct told told = { .start = r->start, .end = r->end };
	char buf[64];
	struct err e = { 0 };

	os_pages_walk(pages, r->start, r->end, false, check_run, &told, &e);
	if (os_read_some(t, r->start, buf, sizeof buf, &e) > (ssize_t)sizeof buf ||
		os_read_some(t, (raddr){ r->end.v - 16 }, buf, sizeof buf, &e) >
			(ssize_t)sizeof buf)
		abort();
}

static void
look_for_malloc(const struct target *t, const struct maps *m)
{
	auto_objects struct objects o = { 0 };
	auto_threads struct threads threads = { 0 };
	auto_arenas struct arenas a = { 0 };
	auto_thread_stacks struct thread_stacks s = { 0 };
	struct heap_layout layout;
	struct err e = { 0 };

	if (objects_find(&o, m, t, NULL, &e) < 0 || threads_list(&threads, t, 1000, &e) < 0)
		abort();	/* nothing here is an error but a lack of memory */
	objects_malloc(&o, t);
	thread_stacks_find(&s, t, m, &o, &threads, true, &e);
	if (arenas_find(&a, t, m, &o, NULL, &e) < 0)
		return;
	arenas_find_threads(&a, t, &threads, &e);
	heap_layout_find(&layout, t, m, &o, &a, &e);
}

static void
look_at(const struct target *t)
{
	auto_maps struct maps m = { 0 };
	auto_pages struct os_pages *pages = NULL;
	struct os_core_facts facts;
	struct err e = { 0 };
	raddr end = { 0 };

	if (!os_core_facts(t, &facts) || facts.missing_bytes > facts.memory_bytes)
		abort();
	if (os_pages_open(&pages, t, OS_PAGES_AUTO, &e) < 0 || maps_read(&m, t, &e) < 0)
		abort();
	for (size_t i = 0; i < m.nr; i++) {
		if (m.region[i].start.v < end.v || m.region[i].end.v <= m.region[i].start.v)
			abort();
		end = m.region[i].end;
		check_region(t, pages, &m.region[i]);
	}
	look_for_malloc(t, &m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_fd int fd = memfd_create("core", MFD_CLOEXEC);
	struct target t = TARGET_NONE;
	struct err e = { 0 };
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (target_open_core(&t, path, NULL, &e) == 0)
		look_at(&t);
	else if (t.core || !e.msg[0])
		abort();
	target_release(&t);
	return 0;
}
