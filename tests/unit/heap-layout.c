/*
 * The layout of malloc's structures in a child, against what the child's own malloc says and does;
 * and in images made by hand of releases that cannot run here.
 */
#include <config.h>

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "child.h"
#include "elf/image.h"
#include "heap/heap.h"
#include "tap.h"

#define NR_THREADS 5
#define KIB ((size_t)1024)

/* ---- against the child's own malloc ---- */

static pthread_barrier_t barrier;
static void *volatile kept[64];

static void *
use_malloc(void *arg)
{
	void *volatile p = malloc(1000);

	(void)arg;
	free(p);
	pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

/* Whether the link in a free block is what it points to; 40 bytes: a tcache's or a fast bin's. */
static void
say_links(void)
{
	uintptr_t *volatile first = malloc(40), *volatile second = malloc(40);
	uintptr_t address = (uintptr_t)first;

	free(first);
	free(second);
	printf("plain %d\n", *second == address || *second == address - 16);
}

static void
use_settings(void *arg)
{
	struct mallinfo2 info;
	pthread_t thread;

	(void)arg;
	setvbuf(stdout, NULL, _IOLBF, 512);
	mallopt(M_TRIM_THRESHOLD, 300001);
	mallopt(M_TOP_PAD, 65537);
	mallopt(M_MMAP_THRESHOLD, 200003);
	mallopt(M_MMAP_MAX, 777);
	mallopt(M_ARENA_TEST, 3);
	mallopt(M_ARENA_MAX, NR_THREADS + 1);
	for (int i = 0; i < 5; i++)
		kept[i] = malloc(300 * KIB);
	free(kept[4]);
	say_links();
	pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread, NULL, use_malloc, NULL);
	pthread_barrier_wait(&barrier);
	info = mallinfo2();
	printf("mmaps %zu %zu top %zu\n", info.hblks, info.hblkhd, info.keepcost);
	malloc_info(0, stdout);
	child_ready();
}

static uint64_t
peek(struct view *v, raddr at)
{
	uint64_t word = 0;

	if (os_read(&v->t, at, &word, sizeof word, &v->e) < 0)
		ok(false, "%s", v->e.msg);
	return word;
}

static void
same_state(struct view *v, const struct arenas *a, const struct heap_layout *l, const char *xml)
{
	auto_malloc_info struct malloc_info mi = { 0 };
	bool same_system = true, same_max = true, same_attached = true, is_top_at_end = true;

	if (!ok(malloc_info_parse(&mi, xml, strlen(xml), &v->e) == 0 && mi.heap.nr == a->nr &&
			a->nr == NR_THREADS + 1, "malloc_info has as many arenas as there are"))
		return;
	for (size_t i = 0; i < a->nr; i++) {
		raddr at = a->v[i].addr;
		uint64_t top = peek(v, raddr_add(at, l->top));
		uint64_t size = peek(v, (raddr){ top + 8 }) & ~UINT64_C(7);

		same_system &= peek(v, raddr_add(at, l->system_mem)) == mi.heap.v[i].system_bytes;
		same_max &= peek(v, raddr_add(at, l->max_system)) == mi.heap.v[i].max_system_bytes;
		same_attached &= (int)peek(v, raddr_add(at, l->attached)) == 1;
		if (i)
			is_top_at_end &= top + size ==
				a->v[i].heap[0].start.v + a->v[i].heap[0].size_bytes;
		is_top_at_end &= peek(v, raddr_add(at, l->next_free)) == 0;
	}
	ok(same_system, "system_mem is malloc_info's");
	ok(same_max, "max_system_mem, too");
	ok(same_attached, "a thread is attached to each");
	ok(is_top_at_end, "top ends where its heap does");
	is_u64(a->v[1].addr.v - a->v[1].heap[0].start.v, l->heap_info_bytes,
		"heap_info is as long as it is");
	ok(l->bins == a->bins_offset && l->next == l->binmap + 16, "the bins are where they are");
	if (l->fastbins)
		is_u64(l->top - l->fastbins, 8 * l->nr_fastbins, "fast bins are before top");
	is_u64(l->word_bytes * 2, l->align_bytes, "alignment");
}

static void
same_params(const struct heap_params *p, const char *said)
{
	size_t nr = 0, bytes = 0;

	said = strstr(said, "mmaps ");
	ok(said && sscanf(said, "mmaps %zu %zu", &nr, &bytes) == 2, "the child says its mmaps");
	is_u64(p->trim_threshold, 300001, "M_TRIM_THRESHOLD");
	is_u64(p->top_pad, 65537, "M_TOP_PAD");
	is_u64(p->mmap_threshold, 200003, "M_MMAP_THRESHOLD");
	is_u64(p->nr_mmaps_max, 777, "M_MMAP_MAX");
	is_u64(p->arena_test, 3, "M_ARENA_TEST");
	is_u64(p->arena_max, NR_THREADS + 1, "M_ARENA_MAX");
	ok(p->no_dyn_threshold, "thresholds do not grow any more");
	is_u64(p->nr_mmaps, nr, "mapped blocks");
	is_u64(p->mmapped, bytes, "and their bytes");
	is_u64(p->max_nr_mmaps, nr + 1, "at most there was one more");
	ok(p->max_mmapped > p->mmapped, "and their bytes were more");
}

/* Each thread's cache by its pointer: in a chunk as long as the layout says, and it counts a block. */
static void
same_caches(struct view *v, const struct arenas *a, const struct heap_layout *l)
{
	auto_free pid_t *tids = NULL;
	size_t nr = 0, nr_right = 0;

	if (!l->tcache.nr_bins)
		return;
	os_threads(&v->t, &tids, &nr, &v->e);
	for (size_t i = 0; i < nr; i++) {
		raddr slot = arenas_slot_of_thread(a, &v->t, tids[i]);
		raddr cache = { peek(v, raddr_add(slot, (uint64_t)l->tcache.from_slot_bytes)) };

		nr_right += (peek(v, (raddr){ cache.v - 8 }) & ~UINT64_C(7)) == l->tcache.chunk_bytes;
	}
	is_u64(nr_right, NR_THREADS + 1, "each thread has its cache");
}

static void
test_running(void)
{
	struct child c = child_start(use_settings, NULL);
	const char *xml = strstr(c.said, "<malloc");
	auto_arenas struct arenas a = { 0 };
	struct heap_layout l = { 0 };
	uint64_t present;
	struct view v;

	if (!view_take(&v, c.pid) ||
		!ok(arenas_find(&a, &v.t, &v.m, &v.o, NULL, &v.e) == 0, "arenas are found"))
		return;
	present = view_present_bytes(&v);
	if (!ok(heap_layout_find(&l, &v.t, &v.m, &v.o, &a, &v.e) == 0, "the layout is told %s",
		    v.e.msg))
		return;
	printf("# %s: %s\n", l.era, l.found_by);
	is_u64(view_present_bytes(&v), present, "looking made no page present");
	same_state(&v, &a, &l, xml ? xml : "");
	ok(l.mp.v, "mp_ is found");
	same_params(&l.params, c.said);
	same_caches(&v, &a, &l);
	ok(l.has_safe_linking == !strstr(c.said, "plain 1"), "links are as they are");
	view_release(&v);
	ok(child_end(&c), "the child lives on");
}

int
main(void)
{
	if (!skip_if_sanitized("the layout of libc's malloc"))
		test_running();
	return tap_end();
}
