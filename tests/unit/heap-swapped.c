/*
 * The heap of a process of which one page is in swap, as far as memdiag can see: it is not read
 * in, and what could not be followed for that is said to be in swap, and not to be damaged.  And
 * whether huge pages are known.
 */
#include <config.h>

#include <malloc.h>

#include "child.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "os/pages.h"
#include "swapped-page.h"
#include "tap.h"

static enum os_pages_by by = OS_PAGES_SCAN;

enum os_pages_by __wrap_os_pages_by(const struct os_pages *p);

enum os_pages_by
__wrap_os_pages_by(const struct os_pages *p)
{
	(void)p;
	return by;
}

/* ---- the child ---- */

#define NR_CACHED 16 /* mp_.tcache_count, at most: 7 before glibc 2.42 */

/* A block, with two pages in use behind it. */
static void *
apart(size_t bytes)
{
	void *p = malloc(bytes);

	memset(malloc(2 * PAGE), 1, 2 * PAGE);
	return memset(p, 1, bytes);
}

/* Blocks that are free in four ways, none in a page of another. */
static void
make_heap(void *arg)
{
	void *small[NR_CACHED + 1], *used, *large;

	(void)arg;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i <= NR_CACHED; i++)
		small[i] = apart(40);
	used = apart(3 * PAGE);
	large = apart(3000);
	printf("%p %p %p %p\n", small[2], small[NR_CACHED], large, used);
	for (int i = 0; i <= NR_CACHED; i++)
		free(small[i]);
	free(large);
	child_ready();
}

/* ---- the test ---- */

/* Read the heap while the page of ADDR is in swap; WANT is said of the main arena, "" nothing. */
static void
test_swapped(struct view *v, uint64_t addr, const char *want, const char *name)
{
	auto_heap struct heap h = { 0 };
	const struct heap_options o = { .max_stop_ns = UINT64_C(300000000000) };

	swapped = addr & ~(PAGE - 1);
	if (heap_read(&h, &v->p, &o, &v->e) < 0) {
		ok(false, "%s: %s", name, v->e.msg);
		return;
	}
	ok(strstr(h.arena.v[0].why, want) && !h.arena.v[0].why[0] == !want[0], "%s", name);
	printf("# %s\n", h.arena.v[0].why);
	if (addr)
		is_u64(h.arena.v[0].swapped_bytes, PAGE, "its page counts as swapped");
}

/* Whether the bytes on huge pages that a trim returns are known if pages are read by WAY. */
static void
test_huge(struct view *v, enum os_pages_by way, bool want, const char *name)
{
	auto_heap struct heap h = { 0 };
	const struct heap_options o = { .max_stop_ns = UINT64_C(300000000000) };

	by = way;
	ok(heap_read(&h, &v->p, &o, &v->e) == 0 && h.knows_huge == want, "%s", name);
}

int
main(void)
{
	struct child c;
	struct view v;
	unsigned long cached, fast, large, used;
	char header[64];

	if (skip_if_sanitized("lists of glibc's malloc"))
		return tap_end();
	c = child_start(make_heap, NULL);
	if (!ok(c.is_ready &&
			    sscanf(c.said, "%lx %lx %lx %lx", &cached, &fast, &large, &used) == 4 &&
			    view_take(&v, c.pid),
		    "a child with a heap"))
		return tap_end();
	snprintf(header, sizeof header, "the page at 0x%lx is in swap", used & ~(PAGE - 1));
	test_swapped(&v, 0, "", "nothing in swap");
	test_swapped(&v, cached, "a thread's cache is in swap", "a chunk that a thread has cached");
	test_swapped(&v, fast, "leads to a page in swap", "one in a fast bin");
	test_swapped(&v, large, "the list of bin 1 leads to a page in swap", "an unsorted one");
	test_swapped(&v, used, header, "a chunk in use");
	test_swapped(&v, used + PAGE, "", "the middle of one");
	swapped = 0;
	test_huge(&v, OS_PAGES_SCAN, true, "PAGEMAP_SCAN shows huge pages");
	test_huge(&v, OS_PAGES_PAGEMAP, false, "pagemap does not");
	view_release(&v);
	ok(child_end(&c), "the child lives on");
	return tap_end();
}
