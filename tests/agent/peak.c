/*
 * peak: the most that several threads had together, beside a sum that the program keeps itself.  It
 * may differ by a hundredth or 64 KiB, and by what threads were just doing when one read the sum.
 */
#include "count.h"

#define THREADS 4
#define BLOCKS 10000
#define MIB (1L << 20)

static long total, most;
static size_t max_size;
static pthread_barrier_t all;
static void *box[THREADS][BLOCKS];

static void *
take(size_t size)
{
	void *p = malloc(size);
	long now = __atomic_add_fetch(&total, (long)malloc_usable_size(p), __ATOMIC_RELAXED);
	long was = __atomic_load_n(&most, __ATOMIC_RELAXED);

	while (now > was &&
		!__atomic_compare_exchange_n(
			&most, &was, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return p;
}

static void
give(void *p)
{
	__atomic_sub_fetch(&total, (long)malloc_usable_size(p), __ATOMIC_RELAXED);
	free(p);
}

static void *
at_random(void *number)
{
	unsigned int seed = (unsigned int)(uintptr_t)number;
	void **mine = box[(uintptr_t)number];

	for (int k = tap_share(50000); k; k--) {
		int i = rand_r(&seed) % 200;

		if (mine[i])
			give(mine[i]);
		mine[i] = mine[i] ? NULL : take((size_t)rand_r(&seed) % max_size);
	}
	for (int i = 0; i < 200; i++)
		if (mine[i])
			give(mine[i]);
	memset(mine, 0, 200 * sizeof *mine);
	return NULL;
}

/*
 * Each fills it up and empties it again, one after the other: their own peaks are four times what
 * there was.
 */
static void *
in_turns(void *number)
{
	void **mine = box[(uintptr_t)number];

	for (unsigned int turn = 0; turn < 5 * THREADS; turn++) {
		if (turn % THREADS == (uintptr_t)number) {
			for (int i = 0; i < BLOCKS; i++)
				mine[i] = take(100 + max_size / 20);
			for (int i = 0; i < BLOCKS; i++)
				give(mine[i]);
		}
		pthread_barrier_wait(&all);
	}
	return NULL;
}

/* One allocates, the next one frees. */
static void *
hand_over(void *number)
{
	for (unsigned int turn = 0; turn < 5 * THREADS; turn++) {
		if (turn % THREADS == (uintptr_t)number)
			for (int i = 0; i < BLOCKS; i++)
				box[0][i] = take(100 + max_size / 20);
		pthread_barrier_wait(&all);
		if ((turn + 1) % THREADS == (uintptr_t)number)
			for (int i = 0; i < BLOCKS; i++)
				give(box[0][i]);
		pthread_barrier_wait(&all);
	}
	return NULL;
}

static void
try_threads(void *(*fn)(void *), size_t size, const char *what)
{
	pthread_t thread[THREADS];
	long before, peak;

	memset(box, 0, sizeof box);
	total = most = 0;
	max_size = size;
	memdiag_reset_peak();
	before = (long)memdiag_live_bytes();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, fn, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	peak = (long)memdiag_peak_bytes() - before;
	if (!ok(labs(peak - most) <= most / 50 + (long)THREADS * (long)size + MIB / 16,
		    "blocks of at most %zu bytes %s", size, what))
		printf("# counted %ld, were %ld\n", peak, most);
}

/* The last blocks of a grant are taken unseen, but not those that an answer contained. */
static void
try_answers(void)
{
	size_t peak = 0, reported = 0;

	for (int nr = 1; nr <= 200 && peak >= reported; nr++) {
		memdiag_reset_peak();
		for (int i = 0; i < nr; i++)
			box[0][i] = malloc(100);
		reported = memdiag_live_bytes();
		for (int i = 0; i < nr; i++)
			free(box[0][i]);
		peak = memdiag_peak_bytes();
	}
	if (!ok(peak >= reported, "the peak is not below what was once reported as live"))
		printf("# peak %zu, reported %zu\n", peak, reported);
}

int
main(void)
{
	need_agent();
	pthread_barrier_init(&all, NULL, THREADS);
	for (size_t size = 500; size <= 50000; size *= 10) {
		try_threads(at_random, size, "at random");
		try_threads(in_turns, size, "of one thread after the other");
		try_threads(hand_over, size, "that another thread frees");
	}
	try_answers();
	return tap_end();
}
