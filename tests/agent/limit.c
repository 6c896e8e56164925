/*
 * limit: 64 threads race for what a limit leaves (LIMIT with on-limit=enomem): never a byte over, and
 * nothing is refused that would fit.
 */
#include "count.h"

#define NR 64

static size_t limit;
static pthread_barrier_t filled;	/* twice */
static int stop;
static size_t most, nr_refused, nr_served;

static void *
watch(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		size_t live = memdiag_live_bytes();

		if (live > most)
			most = live;
	}
	return arg;
}

static void *
race(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;
	void *mine[32];

	pthread_barrier_wait(&filled);	/* a thread takes memory, too: let all be there */
	/* Together more than there is. */
	for (int i = 0; i < 32; i++)
		__atomic_add_fetch((mine[i] = malloc(10000)) ? &nr_served : &nr_refused, 1,
			__ATOMIC_RELAXED);
	pthread_barrier_wait(&filled);
	for (int i = 0; i < 20000; i++) {
		size_t at = (size_t)rand_r(&seed) % 32;
		size_t size = (size_t)rand_r(&seed) % 200 ? (size_t)rand_r(&seed) % 20000
							   : (size_t)rand_r(&seed) % 1000000;

		free(mine[at]);
		mine[at] = malloc(size);
		__atomic_add_fetch(mine[at] ? &nr_served : &nr_refused, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < 32; i++)
		free(mine[i]);
	return NULL;
}

/* As many small blocks as there are, each linked to the last. */
static size_t
take_all(size_t size, void **ret_chain)
{
	size_t nr = 0;
	void **p;

	*ret_chain = NULL;
	while ((p = malloc(size))) {
		*p = *ret_chain;
		*ret_chain = p;
		nr++;
	}
	return nr;
}

static void
give_all(void *chain)
{
	while (chain) {
		void *next = *(void **)chain;

		free(chain);
		chain = next;
	}
}

static void *
give(void *chain)
{
	give_all(chain);
	return NULL;
}

/* What is left is less than the block that was refused, and the reserve. */
static void
try_exactly(void)
{
	size_t nr[2], size, left;
	pthread_t thread;
	void *chain;

	for (int i = 0; i < 2; i++) {
		nr[i] = take_all(10000, &chain);
		size = malloc_usable_size(chain);
		left = limit - memdiag_live_bytes();
		ok(left < size + 16384 + 16, "no more than a block and the reserve was left");
		errno = 0;
		ok(!malloc(10000) && errno == ENOMEM, "errno is ENOMEM");
		ok(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			MAP_FAILED, "mmap is refused, too");
		block = malloc(100);
		ok(block != NULL, "the reserve is there for a handler");
		free(block);
		if (i == 0) {
			/* Another thread has to find all of what this one gives back. */
			pthread_create(&thread, NULL, give, chain);
			pthread_join(thread, NULL);
		} else {
			give_all(chain);
		}
	}
	ok(nr[0] - nr[1] <= 1 || nr[1] - nr[0] <= 1, "as many again after another thread freed all");
}

int
main(void)
{
	pthread_t thread[NR], watcher;

	need_agent();
	limit = memdiag_limit_bytes();
	pthread_barrier_init(&filled, NULL, NR);
	for (int i = 0; i < NR; i++)
		pthread_create(&thread[i], NULL, race, (void *)(size_t)i);
	if (pthread_create(&watcher, NULL, watch, NULL) != 0)
		return 99;
	for (int i = 0; i < NR; i++)
		pthread_join(thread[i], NULL);
	stop = 1;
	pthread_join(watcher, NULL);
	printf("# limit %zu, peak %zu, seen %zu; %zu served, %zu refused\n", limit,
		memdiag_peak_bytes(), most, nr_served, nr_refused);
	ok(nr_refused > 0 && nr_served > nr_refused, "the limit was reached, and not only reached");
	ok(memdiag_peak_bytes() <= limit, "it was never passed");
	try_exactly();
	ok(memdiag_peak_bytes() <= limit, "it was never passed by one either");
	return tap_end();
}
