/*
 * A census of a process of which one page is in swap, as far as memdiag can see: the page counts
 * once, and only if it may hold blocks or roots.
 */
#include <config.h>

#include <alloca.h>
#include <inttypes.h>
#include <malloc.h>
#include <sys/mman.h>

#include "census/census.h"
#include "census/read.h"
#include "child.h"
#include "glibc/layout.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "maps/space.h"
#include "swapped-page.h"
#include "tap.h"

#define LARGE_BYTES (UINT64_C(1) << 20)

/* Write to the stack far below what is in use later; return its address. */
static __attribute__((noinline)) uintptr_t
touch_stack(void)
{
	char *low = alloca(64 * PAGE);

	memset(low, 1, 64 * PAGE);
	__asm__ volatile("" : : "r"(low) : "memory"); /* else the stores are left out */
	return (uintptr_t)low;
}

static void
make_memory(void *arg)
{
	char *block = malloc(4 * PAGE), *large = malloc(LARGE_BYTES);
	char *mapping =
		mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	setvbuf(stdout, NULL, _IONBF, 0);
	memset(block, 1, 4 * PAGE);
	memset(large, 1, LARGE_BYTES);
	memset(mapping, 1, 4 * PAGE);
	printf("%p %p %p 0x%" PRIxPTR "\n", (void *)(block + PAGE), (void *)(large + PAGE),
		(void *)(mapping + PAGE), touch_stack() + PAGE);
	child_ready();
}

/* Take a census while the page of ADDR is in swap, which should count as BYTES. */
static void
test_swapped(struct view *v, uint64_t addr, uint64_t bytes, const char *name)
{
	struct space_options opt = { .process = &v->p, .count_mmapped = malloc_count_mmapped };
	const struct census_options how = { .max_stop_ns = UINT64_C(300000000000) };
	auto_space struct space space = { 0 };
	auto_census struct census c = { 0 };
	auto_heap struct heap heap = { 0 };

	swapped = addr & ~(PAGE - 1);
	if (process_find_arenas(&v->p, NULL, &v->e) < 0 ||
		space_read(&space, &v->t, &opt, &v->e) < 0 ||
		census_read(&c, &heap, &v->p, &space, &how, &v->e) < 0) {
		ok(false, "%s: %s", name, v->e.msg);
		return;
	}
	is_u64(c.swapped_bytes, bytes, name);
	ok(!c.why[0] == !bytes, "%s: certain if nothing is missing: %s", name, c.why);
}

int
main(void)
{
	unsigned long block, large, mapping, stack;
	struct child c;
	struct view v;

	if (skip_if_sanitized("pages of glibc's malloc"))
		return tap_end();
	c = child_start(make_memory, NULL);
	if (!ok(c.is_ready &&
			    sscanf(c.said, "%lx %lx %lx %lx", &block, &large, &mapping, &stack) ==
				    4 &&
			    view_take(&v, c.pid),
		    "a child with memory of four kinds"))
		return tap_end();
	test_swapped(&v, 0, 0, "nothing in swap");
	test_swapped(&v, block, PAGE, "a page of a block");
	test_swapped(&v, large, PAGE, "a page of a block with its own mapping");
	test_swapped(&v, mapping, PAGE, "a page of another mapping");
	test_swapped(&v, stack, 0, "a page below the stack pointer");
	view_release(&v);
	ok(child_end(&c), "the child lives on");
	return tap_end();
}
