/*
 * unwind-stack: what one stack costs at a depth: nanoseconds of src/unwind, of libunwind's
 * unw_backtrace(), and of the C++ runtime's _Unwind_Backtrace(), warm and cold. Prints lines of
 * "DEPTH WAY STATE NANOSECONDS".
 */
#include <config.h>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unwind.h>

#include "unwind/cache.h"
#include "unwind/unwind.h"

#pragma weak _dl_find_object
extern int _dl_find_object(void *pc, struct dl_find_object *ret);

#define NOINLINE __attribute__((noinline, noclone))
#define COLD_BYTES (64 << 20)
#define NR_COLD 31

static struct unwind_stack *stack;
static struct unwind_thread thread;
static int (*unw_backtrace)(void **, int);
static char *cold;
static unsigned int nr_found;

static void *
map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* ---- the ways ---- */

static NOINLINE void
kept(void)
{
	struct unwind_regs regs;

	unwind_capture(&regs);
	unwind_walk(stack, &regs, &thread);
	nr_found = stack->nr;
}

static NOINLINE void
kept_other(void)
{
	kept();
	__asm__ volatile("" ::: "memory"); /* the call is not a jump */
}

/* Each time the two innermost frames are others than last time. */
static NOINLINE void
kept_but_two(void)
{
	static unsigned int n;

	if (n++ & 1)
		kept_other();
	else
		kept();
}

static NOINLINE void
whole(void)
{
	unwind_stack_forget(stack);
	kept();
}

static NOINLINE void
libunwind(void)
{
	void *pc[256];

	nr_found = (unsigned int)unw_backtrace(pc, 256);
}

static _Unwind_Reason_Code
note(struct _Unwind_Context *c, void *arg)
{
	void **pc = arg;

	pc[nr_found++ % 256] = (void *)_Unwind_GetIP(c);
	return _URC_NO_REASON;
}

static NOINLINE void
runtime(void)
{
	void *pc[256];

	nr_found = 0;
	_Unwind_Backtrace(note, pc);
}

static const struct {
	const char *name;
	void (*walk)(void);
	int nr;
} ways[] = {
	{ "kept", kept, 20000 },
	{ "kept_but_two", kept_but_two, 20000 },
	{ "whole", whole, 5000 },
	{ "unw_backtrace", libunwind, 2000 },
	{ "_Unwind_Backtrace", runtime, 200 },
};

/* ---- measuring ---- */

static double
now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
measure(int depth)
{
	double took[NR_COLD], best, start, empty;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (ways[i].walk == libunwind && !unw_backtrace)
			continue;
		best = 1e18;
		for (int round = 0; round < 20; round++) {
			start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
			for (int n = 0; n < ways[i].nr; n++)
				ways[i].walk();
			start = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / ways[i].nr;
			best = start < best ? start : best;
		}
		printf("%d %s warm %.1f\n", depth, ways[i].name, best);
		for (int n = 0; n < NR_COLD; n++) {
			memset(cold, n, COLD_BYTES);
			start = now_ns(CLOCK_MONOTONIC);
			empty = now_ns(CLOCK_MONOTONIC) - start;
			start = now_ns(CLOCK_MONOTONIC);
			ways[i].walk();
			took[n] = now_ns(CLOCK_MONOTONIC) - start - empty;
		}
		qsort(took, NR_COLD, sizeof *took, compare);
		printf("%d %s cold %.1f\n", depth, ways[i].name, took[NR_COLD / 2]);
	}
}

/* ---- a stack ---- */

static int descend(int depth, int whole_depth);

static NOINLINE int
small(int depth, int whole_depth)
{
	return descend(depth - 1, whole_depth) + 1;
}

static NOINLINE int
large(int depth, int whole_depth)
{
	volatile char place[200];

	place[depth] = 1;
	return descend(depth - 1, whole_depth) + place[depth];
}

static NOINLINE int
descend(int depth, int whole_depth)
{
	if (depth <= 0) {
		measure(whole_depth);
		return 0;
	}
	return depth % 2 ? small(depth - 1, whole_depth) + 1 : large(depth - 1, whole_depth) + 1;
}

int
main(int argc, char **argv)
{
	const struct unwind_host host = { .iterate = dl_iterate_phdr,
		.find_object = _dl_find_object,
		.map = map,
		.page_bytes = 4096,
		.can_unload = true };
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	pthread_attr_t attr;
	size_t bytes;
	void *start;

	if (library)
		unw_backtrace = (int (*)(void **, int))(uintptr_t)dlsym(library, "unw_backtrace");
	stack = map(unwind_stack_bytes(256));
	cold = map(COLD_BYTES);
	if (!stack || !cold || !unwind_start(&host) ||
		pthread_getattr_np(pthread_self(), &attr) != 0)
		return 1;
	unwind_stack_init(stack, 256);
	pthread_attr_getstack(&attr, &start, &bytes);
	thread.own = (struct unwind_bounds){ (uintptr_t)start, (uintptr_t)start + bytes };
	/* main() and what calls it, measure() and the function that walks are frames as well. */
	for (int i = 1; i < argc; i++)
		descend(atoi(argv[i]) - 6, atoi(argv[i]));
	return 0;
}
