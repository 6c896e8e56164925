/*
 * The arenas of a child that says how many there are, against its own malloc_info().
 */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/heap.h"
#include "maps/maps.h"
#include "tap.h"

#define NR_THREADS 20
#define BLOCK_BYTES 100000	/* below the threshold of mmap */

/* ---- a process to look at ---- */

struct child {
	pid_t pid;
	FILE *says;	/* its answers */
	FILE *hears;	/* it ends when this is closed */
};

/* Run FN in a child; it prints what it wants to say to OUT and returns when IN has ended. */
static struct child
child_start(void (*fn)(FILE *out, FILE *in))
{
	struct child c = { 0 };
	int out[2], in[2];

	if (pipe(out) < 0 || pipe(in) < 0)
		abort();
	fflush(stdout);
	c.pid = fork();
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(out[0]);
		close(in[1]);
		fn(fdopen(out[1], "w"), fdopen(in[0], "r"));
		_exit(0);
	}
	close(out[1]);
	close(in[0]);
	c.says = fdopen(out[0], "r");
	c.hears = fdopen(in[1], "w");
	return c;
}

/* What it says up to the next line "ready". */
static char *
child_says(struct child *c)
{
	char *text = NULL, *line = NULL;
	size_t size, room = 0;
	FILE *f = open_memstream(&text, &size);

	while (getline(&line, &room, c->says) > 0 && strcmp(line, "ready\n") != 0)
		fputs(line, f);
	fclose(f);
	free(line);
	return text;
}

static void
child_end(struct child *c, const char *name)
{
	int status = -1;

	fclose(c->hears);
	waitpid(c->pid, &status, 0);
	ok(status == 0, "%s: the child lives on", name);
	fclose(c->says);
}

static void
wait_for_end(FILE *in)
{
	while (fgetc(in) != EOF)
		;
}

/* ---- what memdiag sees of it ---- */

struct view {
	struct target t;
	struct maps m;
	struct objects o;
	struct arenas a;
	struct err e;
	int status;	/* of arenas_find() */
};

static void
view_take(struct view *v, pid_t pid)
{
	*v = (struct view){ .t = TARGET_NONE };
	if (target_open(&v->t, pid, &v->e) < 0 || maps_read(&v->m, &v->t, &v->e) < 0 ||
		objects_find(&v->o, &v->m, &v->t, &v->e) < 0) {
		printf("# %s\n", v->e.msg);
		v->status = -2;
		return;
	}
	v->status = arenas_find(&v->a, &v->t, &v->m, &v->o, &v->e);
	if (v->status < 0)
		printf("# %s\n", v->e.msg);
}

static void
view_release(struct view *v)
{
	arenas_release(&v->a);
	objects_release(&v->o);
	maps_release(&v->m);
	target_release(&v->t);
}

/* ---- against malloc_info ---- */

static pthread_barrier_t barrier;
static void *volatile kept[4000];
static FILE *volatile told;

static void *
use_arena(void *arg)
{
	void *volatile p = malloc(1000);	/* volatile: or the compiler does without */

	pthread_barrier_wait(&barrier);	/* all have their arena */
	if (arg == kept)
		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
			kept[i] = malloc(BLOCK_BYTES);
	if (arg)
		fprintf(told, "thread %d %p\n", gettid(), p);
	pthread_barrier_wait(&barrier);
	while (arg)
		pause();
	return NULL;
}

/* NR_THREADS threads with an arena each, one of them with several heaps.  One thread ends. */
static void
many_arenas(FILE *out, FILE *in)
{
	pthread_t thread[NR_THREADS];

	mallopt(M_ARENA_MAX, NR_THREADS + 1);
	mallopt(M_MMAP_THRESHOLD, 2 * BLOCK_BYTES);
	pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
	told = out;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, use_arena,
			i == 5 ? (void *)kept : i == 7 ? NULL : thread);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	pthread_join(thread[7], NULL);
	malloc_info(0, out);
	fputs("ready\n", out);
	fflush(out);
	wait_for_end(in);
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
same_threads(struct view *v, const char *said)
{
	size_t nr = 0, nr_right = 0, nr_right_alone = 0;
	uint64_t block;
	int tid;

	ok(arenas_find_threads(&v->a, &v->t, 100000, &v->e) == 0, "the threads are found");
	for (; (said = strstr(said, "thread ")); said++) {
		const struct arena *a;

		if (sscanf(said, "thread %d %" SCNx64, &tid, &block) != 2)
			continue;
		nr++;
		a = arena_of(&v->a, tid);
		nr_right += a && holds(a, block);
		nr_right_alone += a && arenas_of_thread(&v->a, &v->t, tid).v == a->addr.v;
	}
	is_u64(nr, NR_THREADS - 1, "all threads but one are left");
	is_u64(nr_right, nr, "each has its arena");
	is_u64(nr_right_alone, nr, "asked alone, too");
	ok(v->a.nr && v->a.v[0].nr_tids == 1 && v->a.v[0].tid[0] == v->t.pid,
		"the main thread has the main arena");
	is_u64(arenas_of_thread(&v->a, &v->t, 0x7ffffff0).v, 0, "a thread that is not there has none");
}

static void
test_many_arenas(void)
{
	struct child c = child_start(many_arenas);
	auto_free char *said = child_says(&c);
	const char *xml = strstr(said, "<malloc");
	struct view v;

	view_take(&v, c.pid);
	is_u64((uint64_t)v.status, 0, "many arenas: found");
	ok(v.a.is_ring_closed, "the ring is closed");
	is_u64(v.a.heap_max_bytes, 64 << 20, "heaps are of 64 MiB");
	same_as_malloc_info(&v.a, xml ? xml : "");
	same_threads(&v, said);
	view_release(&v);
	child_end(&c, "many arenas");
}

int
main(void)
{
	alarm(60);
	test_many_arenas();
	return tap_end();
}
