/*
 * sites [THREADS [c++|own]]: allocate at places that are known, at random, and keep the account for
 * each.  With "c++" some of them call operator new, with "own" functions that only the malloc has
 * which the program runs with: jemalloc, tcmalloc or mimalloc.
 *
 *	play SEED N PERIOD	-> "done" when each thread has done N steps
 *	sum SITE		-> bytes and blocks allocated so far, and in use, and the standard
 *				   deviations of both numbers of bytes where one byte in the last
 *				   PERIOD is sampled
 *	usable			-> bytes, by malloc_usable_size(), and blocks in use
 *	drop			-> "done" when all blocks are freed
 *
 * SITE is the number in the name of a function below, each of which calls one function of malloc's.
 */
#include "tracee.h"

#include <malloc.h>
#include <math.h>
#include <semaphore.h>

#define NR_SITES 8
#define NR_BLOCKS 500
#define MAX_THREADS 8

struct account {
	double bytes, blocks, variance;
};

struct block {
	void *at;
	size_t size;
	int site;
};

static struct worker {
	struct account allocated[NR_SITES], freed[NR_SITES];
	struct block block[NR_BLOCKS];
	unsigned int seed;
	sem_t go, done;
} worker[MAX_THREADS];
static int nr_threads = 1;
static long nr_steps;
static double period;

/* ---- functions that not every malloc has ---- */

#define WEAK __attribute__((weak))
WEAK void *_Znwm(size_t), *_Znam(size_t), *_ZnwmRKSt9nothrow_t(size_t, const void *);
WEAK void *_ZnwmSt11align_val_t(size_t, size_t);
WEAK void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *);
WEAK void _ZdlPvm(void *, size_t), _ZdaPv(void *), _ZdlPvRKSt9nothrow_t(void *, const void *);
WEAK void _ZdlPvmSt11align_val_t(void *, size_t, size_t), _ZdaPvSt11align_val_t(void *, size_t);
WEAK void *mallocx(size_t, int), *rallocx(void *, size_t, int);
WEAK void sdallocx(void *, size_t, int), dallocx(void *, int);
WEAK void *tc_malloc(size_t), *tc_new(size_t), *tc_calloc(size_t, size_t);
WEAK void *tc_newarray_nothrow(size_t, const void *), *tc_realloc(void *, size_t);
WEAK void *tc_memalign(size_t, size_t), tc_free_sized(void *, size_t), tc_delete(void *);
WEAK void tc_deletearray(void *), tc_free(void *);
WEAK void *mi_malloc(size_t), *mi_malloc_aligned(size_t, size_t), *mi_zalloc(size_t);
WEAK void *mi_mallocn(size_t, size_t), *mi_realloc(void *, size_t), *mi_new(size_t);
WEAK void *mi_calloc_aligned(size_t, size_t, size_t), *mi_zalloc_aligned(size_t, size_t);
WEAK void mi_free(void *), mi_free_size(void *, size_t), mi_free_aligned(void *, size_t);

#define ALIGN_64 6 /* MALLOCX_ALIGN(64) */
#define ZERO 0x40  /* MALLOCX_ZERO */

static enum kind {
	USUAL,
	CXX,
	JEMALLOC,
	TCMALLOC,
	MIMALLOC,
} kind;
static const char nothrow;

static enum kind
kind_of(const char *word)
{
	if (strcmp(word, "c++") == 0)
		return CXX;
	if (strcmp(word, "own") != 0)
		return USUAL;
	return mallocx ? JEMALLOC : tc_malloc ? TCMALLOC : mi_malloc ? MIMALLOC : USUAL;
}

/* ---- the places ---- */

/* Not the last call of a function, which would leave no frame of it. */
#define SITE(number, usual, cxx, je, tc, mi)                                                       \
	static __attribute__((noinline)) void *site_##number(void *old, size_t size)               \
	{                                                                                          \
		void *volatile block;                                                              \
                                                                                                   \
		switch (kind) {                                                                    \
		case USUAL:                                                                        \
			block = usual;                                                             \
			break;                                                                     \
		case CXX:                                                                          \
			block = cxx;                                                               \
			break;                                                                     \
		case JEMALLOC:                                                                     \
			block = je;                                                                \
			break;                                                                     \
		case TCMALLOC:                                                                     \
			block = tc;                                                                \
			break;                                                                     \
		case MIMALLOC:                                                                     \
			block = mi;                                                                \
			break;                                                                     \
		}                                                                                  \
		(void)old;                                                                         \
		return block;                                                                      \
	}

SITE(0, malloc(size), _Znwm(size), mallocx(size, 0), tc_malloc(size), mi_malloc(size))
SITE(1, malloc(size), _Znam(size), mallocx(size, ALIGN_64), tc_new(size),
	mi_malloc_aligned(size, 64))
SITE(2, calloc(1, size), _ZnwmRKSt9nothrow_t(size, &nothrow), mallocx(size, ZERO),
	tc_calloc(1, size), mi_zalloc(size))
SITE(3, calloc(size, 1), _ZnwmSt11align_val_t(size, 64), calloc(size, 1),
	tc_newarray_nothrow(size, &nothrow), mi_mallocn(size, 1))
SITE(4, realloc(old, size), realloc(old, size), old ? rallocx(old, size, 0) : mallocx(size, 0),
	tc_realloc(old, size), mi_realloc(old, size))
SITE(5, realloc(NULL, size), realloc(NULL, size), realloc(NULL, size), tc_realloc(NULL, size),
	mi_new(size))
SITE(6, memalign(64, size), _ZnamSt11align_val_tRKSt9nothrow_t(size, 64, &nothrow),
	memalign(64, size), tc_memalign(64, size), mi_calloc_aligned(1, size, 64))
SITE(7, aligned_alloc(16, size), aligned_alloc(16, size), aligned_alloc(16, size), tc_malloc(size),
	mi_zalloc_aligned(size, 32))

static void *(*const site[NR_SITES])(
	void *, size_t) = { site_0, site_1, site_2, site_3, site_4, site_5, site_6, site_7 };

/* ---- the account ---- */

static void
note(struct account *a, size_t size, double sign)
{
	const double p = -expm1(-(double)(size + 1) / period);

	a->bytes += sign * (double)size;
	a->blocks += sign;
	a->variance += sign * (double)size * (double)size * (1 - p) / p;
}

/* Small ones are the most, large ones are few; each place has sizes of its own. */
static size_t
some_size(struct worker *w, int k)
{
	const size_t most = (size_t)16 << (k + rand_r(&w->seed) % 6);

	return 1 + (size_t)rand_r(&w->seed) % most;
}

/* Each by what the C++ standard, or the malloc's manual, wants for its place. */
static void
give(const struct block *b)
{
	if (kind == CXX && b->site == 0)
		_ZdlPvm(b->at, b->size);
	else if (kind == CXX && b->site == 1)
		_ZdaPv(b->at);
	else if (kind == CXX && b->site == 2)
		_ZdlPvRKSt9nothrow_t(b->at, &nothrow);
	else if (kind == CXX && b->site == 3)
		_ZdlPvmSt11align_val_t(b->at, b->size, 64);
	else if (kind == CXX && b->site == 6)
		_ZdaPvSt11align_val_t(b->at, 64);
	else if (kind == JEMALLOC && b->site == 0)
		sdallocx(b->at, b->size, 0);
	else if (kind == JEMALLOC && b->site == 1)
		dallocx(b->at, ALIGN_64);
	else if (kind == JEMALLOC && b->site == 2)
		dallocx(b->at, 0);
	else if (kind == TCMALLOC && b->site == 0)
		tc_free_sized(b->at, b->size);
	else if (kind == TCMALLOC && b->site == 1)
		tc_delete(b->at);
	else if (kind == TCMALLOC && b->site == 3)
		tc_deletearray(b->at);
	else if (kind == TCMALLOC && b->site == 4)
		tc_free(b->at);
	else if (kind == MIMALLOC && b->site == 0)
		mi_free_size(b->at, b->size);
	else if (kind == MIMALLOC && b->site == 1)
		mi_free_aligned(b->at, 64);
	else if (kind == MIMALLOC && b->site < 6)
		mi_free(b->at);
	else
		free(b->at);
}

static void
drop(struct worker *w, struct block *b)
{
	if (!b->at)
		return;
	give(b);
	note(&w->freed[b->site], b->size, 1);
	b->at = NULL;
}

static void
step(struct worker *w)
{
	struct block *b = &w->block[rand_r(&w->seed) % NR_BLOCKS];
	const int k = rand_r(&w->seed) % NR_SITES;
	const size_t size = some_size(w, k);

	if (b->at && k == 4)
		note(&w->freed[b->site], b->size, 1);
	else
		drop(w, b);
	b->at = site[k](b->at, size);
	if (!b->at)
		tracee_fail("malloc");
	b->size = size;
	b->site = k;
	note(&w->allocated[k], size, 1);
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		while (sem_wait(&w->go))
			;
		for (long i = 0; i < nr_steps; i++)
			step(w);
		sem_post(&w->done);
	}
	return NULL;
}

static void
play(unsigned int seed)
{
	for (int i = 0; i < nr_threads; i++) {
		worker[i].seed = seed * 1000 + (unsigned int)i;
		sem_post(&worker[i].go);
	}
	for (int i = 0; i < nr_threads; i++)
		while (sem_wait(&worker[i].done))
			;
	tracee_say("done");
}

static void
sum(int k)
{
	struct account in = { 0 }, out = { 0 };

	for (int i = 0; i < nr_threads; i++) {
		const struct worker *w = &worker[i];

		in.bytes += w->allocated[k].bytes;
		in.blocks += w->allocated[k].blocks;
		in.variance += w->allocated[k].variance;
		out.bytes += w->freed[k].bytes;
		out.blocks += w->freed[k].blocks;
		out.variance += w->freed[k].variance;
	}
	tracee_say("%.0f %.0f %.0f %.0f %.0f %.0f", in.bytes, in.blocks, in.bytes - out.bytes,
		in.blocks - out.blocks, sqrt(in.variance), sqrt(fabs(in.variance - out.variance)));
}

static void
usable(void)
{
	size_t bytes = 0, nr = 0;

	for (int i = 0; i < nr_threads; i++)
		for (int k = 0; k < NR_BLOCKS; k++)
			if (worker[i].block[k].at) {
				bytes += malloc_usable_size(worker[i].block[k].at);
				nr++;
			}
	tracee_say("%zu %zu", bytes, nr);
}

int
main(int argc, char **argv)
{
	char line[128];
	unsigned int seed;
	int k;

	nr_threads = (int)tracee_number(argc, argv, 1, 1);
	if (nr_threads < 1 || nr_threads > MAX_THREADS)
		return 99;
	kind = argc > 2 ? kind_of(argv[2]) : USUAL;
	for (int i = 0; i < nr_threads; i++) {
		sem_init(&worker[i].go, 0, 0);
		sem_init(&worker[i].done, 0, 0);
		tracee_thread(work, &worker[i]);
	}
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (sscanf(line, "play %u %ld %lf", &seed, &nr_steps, &period) == 3) {
			play(seed);
		} else if (sscanf(line, "sum %d", &k) == 1 && k >= 0 && k < NR_SITES) {
			sum(k);
		} else if (strcmp(line, "usable") == 0) {
			usable();
		} else if (strcmp(line, "drop") == 0) {
			for (int i = 0; i < nr_threads; i++)
				for (k = 0; k < NR_BLOCKS; k++)
					drop(&worker[i], &worker[i].block[k]);
			tracee_say("done");
		} else {
			tracee_say("what?");
		}
	}
	return tracee_end();
}
