/*
 * Whatever a core file says, it is refused or answers: with mappings in order, pages within them,
 * and memory as long as it was asked for at most.
 */
#define _GNU_SOURCE
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/link-map.h"
#include "glibc/arena-threads.h"
#include "glibc/layout.h"
#include "glibc/process.h"
#include "maps/stacks.h"
#include "os/core.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/target.h"

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
look_for_malloc(struct process *p)
{
	auto_threads struct threads threads = { 0 };
	auto_thread_stacks struct thread_stacks s = { 0 };
	const struct target *t = p->target;
	struct malloc_layout layout;
	struct err e = { 0 };

	if (threads_list(&threads, t, 1000, &e) < 0)
		abort(); /* nothing here is an error but a lack of memory */
	objects_malloc(&p->objects, t);
	thread_stacks_find(&s, t, &p->maps, &p->objects, &threads, true, &e);
	if (process_find_arenas(p, NULL, &e) < 0)
		return;
	arenas_find_threads(&p->arenas, t, &threads, &e);
	malloc_layout_find(&layout, p, &e);
}

static void
look_at(const struct target *t)
{
	auto_process struct process p = { 0 };
	auto_pages struct os_pages *pages = NULL;
	struct os_core_facts facts;
	struct err e = { 0 };
	raddr end = { 0 };

	if (!os_core_facts(t, &facts) || facts.missing_bytes > facts.memory_bytes)
		abort();
	if (os_pages_open(&pages, t, OS_PAGES_AUTO, &e) < 0 || process_read(&p, t, &e) < 0)
		abort();
	for (size_t i = 0; i < p.maps.nr; i++) {
		if (p.maps.region[i].start.v < end.v ||
			p.maps.region[i].end.v <= p.maps.region[i].start.v)
			abort();
		end = p.maps.region[i].end;
		check_region(t, pages, &p.maps.region[i]);
	}
	look_for_malloc(&p);
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
