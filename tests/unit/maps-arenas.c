/*
 * The arenas of a child that says how many there are, against its own malloc_info().
 */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "heap/heap.h"
#include "maps/maps.h"
#include "tap.h"

#define NR_THREADS 20
#define BLOCK_BYTES 100000	/* below the threshold of mmap */

/* Look for the arenas anew. */
static int
view_arenas(struct view *v, struct arenas *a)
{
	int status;

	arenas_release(a);
	status = arenas_find(a, &v->t, &v->m, &v->o, &v->e);
	if (status < 0)
		printf("# %s\n", v->e.msg);
	return status;
}

/* ---- against malloc_info ---- */

static pthread_barrier_t barrier;
static void *volatile kept[4000];

static void *
use_arena(void *arg)
{
	void *volatile p = malloc(1000);	/* volatile: or the compiler does without */

	pthread_barrier_wait(&barrier);	/* all have their arena */
	if (arg == kept)
		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
			kept[i] = malloc(BLOCK_BYTES);
	if (arg)
		printf("thread %d %p\n", gettid(), p);
	pthread_barrier_wait(&barrier);
	while (arg)
		pause();
	return NULL;
}

/* NR_THREADS threads with an arena each, one of them with several heaps.  One thread ends. */
static void
many_arenas(void *arg)
{
	pthread_t thread[NR_THREADS];

	mallopt(M_ARENA_MAX, NR_THREADS + 1);
	mallopt(M_MMAP_THRESHOLD, 2 * BLOCK_BYTES);
	pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
	(void)arg;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, use_arena,
			i == 5 ? (void *)kept : i == 7 ? NULL : thread);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	pthread_join(thread[7], NULL);
	malloc_info(0, stdout);
	child_ready();
}

static void
same_as_malloc_info(const struct arenas *a, const char *xml)
{
	auto_malloc_info struct malloc_info mi = { 0 };
	bool same_heaps = true, same_size = true;
	size_t most = 0;
	struct err e;

	ok(malloc_info_parse(&mi, xml, strlen(xml), &e) == 0, "malloc_info can be read");
	is_u64(mi.heap.nr, NR_THREADS + 1, "malloc_info lists an arena for each thread");
	if (!is_u64(a->nr, mi.heap.nr, "and so do we"))
		return;
	for (size_t i = 1; i < a->nr; i++) {
		uint64_t size = 0;

		for (size_t j = 0; j < a->v[i].nr_heaps; j++)
			size += a->v[i].heap[j].size_bytes;
		same_heaps &= a->v[i].nr_heaps == mi.heap.v[i].nr_subheaps;
		same_size &= size == mi.heap.v[i].aspace_bytes;
		most = most < a->v[i].nr_heaps ? a->v[i].nr_heaps : most;
	}
	ok(same_heaps, "as many heaps in each, in malloc_info's order");
	ok(most > 5, "one has several (%zu)", most);
	ok(same_size, "of malloc_info's sizes");
}

static bool
holds(const struct arena *a, uint64_t addr)
{
	for (size_t i = 0; i < a->nr_heaps; i++)
		if (raddr_in((raddr){ addr }, a->heap[i].start,
			    raddr_add(a->heap[i].start, a->heap[i].size_bytes)))
			return true;
	return false;
}

static const struct arena *
arena_of(const struct arenas *a, pid_t tid)
{
	for (size_t i = 0; i < a->nr; i++)
		for (size_t j = 0; j < a->v[i].nr_tids; j++)
			if (a->v[i].tid[j] == tid)
				return &a->v[i];
	return NULL;
}

/* Each "thread TID BLOCK" that the child said: the block lies in the arena of the thread. */
static void
same_threads(struct arenas *a, const struct target *t, const char *said)
{
	size_t nr = 0, nr_right = 0, nr_right_alone = 0;
	uint64_t block;
	struct err e;
	int tid;

	ok(arenas_find_threads(a, t, 100000, &e) == 0, "the threads are found");
	for (; (said = strstr(said, "thread ")); said++) {
		const struct arena *used;

		if (sscanf(said, "thread %d %" SCNx64, &tid, &block) != 2)
			continue;
		nr++;
		used = arena_of(a, tid);
		nr_right += used && holds(used, block);
		nr_right_alone += used && arenas_of_thread(a, t, tid).v == used->addr.v;
	}
	is_u64(nr, NR_THREADS - 1, "all threads but one are left");
	is_u64(nr_right, nr, "each has its arena");
	is_u64(nr_right_alone, nr, "asked alone, too");
	ok(a->nr && a->v[0].nr_tids == 1 && a->v[0].tid[0] == t->pid,
		"the main thread has the main arena");
	is_u64(arenas_of_thread(a, t, 0x7ffffff0).v, 0, "a thread that is not there has none");
}

static void
test_many_arenas(void)
{
	struct child c = child_start(many_arenas, NULL);
	const char *xml = strstr(c.said, "<malloc");
	auto_arenas struct arenas a = { 0 };
	struct view v;

	if (view_take(&v, c.pid) && ok(view_arenas(&v, &a) == 0, "many arenas: found")) {
		ok(a.is_ring_closed, "the ring is closed");
		is_u64(a.heap_max_bytes, 64 << 20, "heaps are of 64 MiB");
		same_as_malloc_info(&a, xml ? xml : "");
		same_threads(&a, &v.t, c.said);
	}
	view_release(&v);
	ok(child_end(&c), "many arenas: the child lives on");
}

int
main(void)
{
	alarm(60);
	test_many_arenas();
	return tap_end();
}
