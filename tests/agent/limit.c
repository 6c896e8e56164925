/*
 * limit [exact|rounds|stuck]: 64 threads race for what a limit leaves, with on-limit=enomem: never
 * a byte over, and nothing is refused that would fit.  "exact" where nobody is granted more than it
 * needs, "rounds" where malloc rounds up by more than a page, "stuck" for a thread that is busy for
 * ever, which is waited for 2 s.
 */
#include "count.h"

#define NR 64
#define PAGE 4096

static size_t limit;
static pthread_barrier_t filled; /* twice */
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
	const int rounds = tap_share(20000);
	void *mine[32];

	pthread_barrier_wait(&filled); /* a thread takes memory, too: let all be there */
	/* Together more than there is. */
	for (int i = 0; i < 32; i++)
		__atomic_add_fetch(
			(mine[i] = malloc(10000)) ? &nr_served : &nr_refused, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&filled);
	for (int i = 0; i < rounds; i++) {
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

static void *
give(void *chain)
{
	give_all(chain);
	return NULL;
}

/*
 * With less than a block of 2,000 bytes left for all, a handler still has more than that in small
 * blocks.  There is a malloc of the tests that makes 2,016 bytes of 1,000: six of those fit the
 * reserve.
 */
static void
try_reserve(void)
{
	void *chain, *small[6];
	bool has_all = true;

	take_all(2000, &chain);
	for (int i = 0; i < 6; i++)
		has_all &= (small[i] = malloc(1000)) != NULL;
	ok(has_all, "the reserve is there for a handler");
	for (int i = 0; i < 6; i++)
		free(small[i]);
	give_all(chain);
}

/*
 * A thread is seen in the middle of counting: who takes its grant back waits for it, and sees what
 * it has taken.
 */
static pthread_barrier_t parked;
static struct wire_thread *place;
static int64_t slack; /* what it may take without asking */
static int is_answered;

static void *
park(void *arg)
{
	struct wire_segment *s = memdiag_agent_segment;

	take_and_free(1000);
	for (uint32_t i = 1; i < s->nr_threads; i++)
		if (wire_threads(s)[i].tid == (uint32_t)gettid())
			place = &wire_threads(s)[i];
	pthread_barrier_wait(&parked); /* it is known */
	pthread_barrier_wait(&parked); /* and no more of use */
	return arg;
}

/* Once its grant is gone, it takes what it was about to. */
static void *
finish(void *arg)
{
	while (__atomic_load_n(&place->ceiling_bytes, __ATOMIC_ACQUIRE) != INT64_MIN &&
		!__atomic_load_n(&is_answered, __ATOMIC_ACQUIRE))
		sched_yield();
	for (int i = 0; i < 100; i++)
		sched_yield(); /* a time in which nobody may go on without it */
	__atomic_add_fetch(&place->live_bytes, slack, __ATOMIC_RELAXED);
	__atomic_store_n(&place->is_busy, 0, __ATOMIC_RELEASE);
	return arg;
}

/* A thread that does nothing is parked, as if it were in the middle of something. */
static pthread_t
park_one(void)
{
	pthread_t busy;

	pthread_barrier_init(&parked, NULL, 2);
	pthread_create(&busy, NULL, park, NULL);
	pthread_barrier_wait(&parked);
	slack = place->granted_bytes - place->live_bytes;
	return busy;
}

/* A busy thread may still use its grant, so that stays, and the thread asks for everything. */
static void
try_stuck(void)
{
	pthread_t busy = park_one();
	int64_t granted = place->granted_bytes;

	__atomic_store_n(&place->is_busy, 1, __ATOMIC_RELEASE);
	ok(is_enomem(limit - memdiag_live_bytes() - (size_t)slack / 2),
		"the grant of a thread that stays busy is not for others");
	ok(place->granted_bytes == granted && place->ceiling_bytes < 0, "it is kept for it");
	__atomic_store_n(&place->is_busy, 0, __ATOMIC_RELEASE);
	block = malloc(limit - memdiag_live_bytes() - (size_t)memdiag_agent_segment->reserve_bytes -
		2 * PAGE);
	ok(block != NULL, "until it is busy no more");
	free(block);
	pthread_barrier_wait(&parked);
	pthread_join(busy, NULL);
}

/* A child does not keep the grant of a thread that it does not have. */
static void
try_child(void)
{
	pthread_t idle = park_one();
	int status;
	pid_t pid;

	ok(slack > 3 * PAGE, "another thread has something to take: %lld", (long long)slack);
	pid = fork();
	if (pid == 0) {
		block = malloc(limit - memdiag_live_bytes() -
			(size_t)memdiag_agent_segment->reserve_bytes - 2 * PAGE);
		_exit(!block);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0, "which a child has for itself");
	pthread_barrier_wait(&parked);
	pthread_join(idle, NULL);
}

static void
try_busy(void)
{
	int64_t reserve = memdiag_agent_segment->reserve_bytes;
	pthread_t busy = park_one(), helper;
	size_t left;

	pthread_create(&helper, NULL, finish, NULL);
	ok(slack > 3 * PAGE, "it has something to take: %lld", (long long)slack);
	__atomic_store_n(&place->is_busy, 1, __ATOMIC_RELEASE);
	/* It fits unless the thread takes its slack, malloc's rounding to pages included. */
	left = limit - (size_t)reserve - memdiag_live_bytes() - 2 * PAGE;
	ok(is_enomem(left), "what a busy thread takes is waited for");
	__atomic_store_n(&is_answered, 1, __ATOMIC_RELEASE);
	pthread_join(helper, NULL);
	__atomic_sub_fetch(&place->live_bytes, slack, __ATOMIC_RELAXED);
	block = malloc(left);
	ok(block != NULL, "without that it would have been served");
	free(block);
	pthread_barrier_wait(&parked);
	pthread_join(busy, NULL);
}

/* A refused thread may use the reserve, but no longer once enough was free again. */
static void
try_plenty(void)
{
	void *chain;

	take_all(1000, &chain);
	ok(limit - memdiag_live_bytes() >= (size_t)memdiag_agent_segment->reserve_bytes,
		"after plenty the reserve is not for everybody: %zu left",
		limit - memdiag_live_bytes());
	give_all(chain);
}

/* Where it is only known how large a block is when it is there, it is made; so it must not stay. */
static void
try_refused(void)
{
	long before = 0, after;
	void *chain;

	take_all(10000, &chain);
	for (int i = 0; i < 6000; i++) {
		if (i == 1000)
			before = resident_pages();
		block = malloc(10000);
	}
	after = resident_pages();
	ok(!block && before && after - before < 1000,
		"what was refused is not there: %ld pages, then %ld", before, after);
	give_all(chain);
}

/* Without a way to take grants back nobody may have more of one than it uses. */
static void
try_no_slack(void)
{
	struct wire_segment *s = memdiag_agent_segment;
	uint32_t nr_slack = 0;

	for (uint32_t i = 1; i < s->nr_threads; i++)
		nr_slack += wire_threads(s)[i].granted_bytes > wire_threads(s)[i].live_bytes;
	is_u64(nr_slack, 0, "nobody is granted more than it needs");
}

/* posix_memalign() returns the error; errno is the caller's, which gcc takes for granted. */
static bool
is_refused_quietly(size_t size)
{
	int (*volatile function)(void **, size_t, size_t) = posix_memalign;
	void *p = &p;
	int failed;

	errno = 123;
	failed = function(&p, 64, size);
	return failed == ENOMEM && errno == 123 && p == &p;
}

/* The rest of the limit is less than the refused block and the reserve. */
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
		ok(is_enomem(10000), "malloc at the limit sets errno to ENOMEM");
		ok(is_refused_quietly(10000), "posix_memalign at the limit keeps errno");
		ok(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
			"mmap is refused, too");
		try_reserve();
		if (i == 0) {
			/* Another thread has to find all of what this one gives back. */
			pthread_create(&thread, NULL, give, chain);
			pthread_join(thread, NULL);
		} else {
			give_all(chain);
		}
	}
	ok(nr[0] - nr[1] <= 1 || nr[1] - nr[0] <= 1,
		"as many again after another thread freed all");
}

int
main(int argc, char **argv)
{
	pthread_t thread[NR], watcher;

	need_agent();
	limit = memdiag_limit_bytes();
	if (is_told(argc, argv, "stuck")) {
		try_stuck();
		return tap_end();
	}
	pthread_barrier_init(&filled, NULL, NR);
	/* First: the others leave no memory for it. */
	if (pthread_create(&watcher, NULL, watch, NULL) != 0)
		return 99;
	for (int i = 0; i < NR; i++)
		pthread_create(&thread[i], NULL, race, (void *)(size_t)i);
	for (int i = 0; i < NR; i++)
		pthread_join(thread[i], NULL);
	stop = 1;
	pthread_join(watcher, NULL);
	printf("# limit %zu, peak %zu, seen %zu; %zu served, %zu refused\n", limit,
		memdiag_peak_bytes(), most, nr_served, nr_refused);
	ok(nr_refused > 0 && nr_served > nr_refused, "the limit was reached, and not only reached");
	ok(memdiag_peak_bytes() <= limit, "it was never passed");
	ok(most <= limit, "nor was it ever seen to be");
	try_exactly();
	try_plenty();
	try_refused();
	if (is_told(argc, argv, "exact"))
		try_no_slack();
	if (!is_told(argc, argv, "exact") && !is_told(argc, argv, "rounds")) {
		try_busy();
		try_child();
	}
	ok(memdiag_peak_bytes() <= limit, "it was never passed by one either");
	return tap_end();
}
