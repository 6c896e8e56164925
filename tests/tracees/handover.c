/*
 * handover SEED THREADS: threads hand blocks on in a ring, so that the most that is live at any
 * moment is known whatever the order in which they run: each frees the block that it gets and
 * allocates the next one, or the other way round.  Other threads allocate and free a few bytes
 * meanwhile.  Says the most bytes of each of three phases; between these nothing is live.
 */
#include "tracee.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#define NR_PHASES 3
#define NR_SIZES 4
#define MOST_THREADS 256
/* A ring of more threads than that waits in the kernel: it would not come round by spinning. */
#define MOST_SPINNING 4
#define PHASE_NS UINT64_C(300000000)
#define PAUSE_NS UINT64_C(250000000)
#define FEW_BYTES 24

static size_t nr_ring;
static uint64_t state;

/* Whose turn it is, and the block that it gets; -1: the phase is over. */
static _Atomic long turn = -1;
static sem_t woken[MOST_THREADS];
static void *volatile block;

static size_t size[NR_SIZES], nr_handed;
static bool frees_first;
static uint64_t end_ns;
static atomic_bool is_over;

static uint64_t
some(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

static void
give_turn(long whose)
{
	atomic_store(&turn, whose);
	if (nr_ring > MOST_SPINNING)
		sem_post(&woken[whose]);
}

static void
hand_on(long me)
{
	void *old = block, *new;

	if (tracee_now_ns() >= end_ns) {
		free(old);
		atomic_store(&turn, -1);
		return;
	}
	if (frees_first)
		free(old);
	new = malloc(size[nr_handed++ % NR_SIZES]);
	if (!frees_first)
		free(old);
	block = new;
	give_turn((me + 1) % (long)nr_ring);
}

static void *
be_in_ring(void *arg)
{
	const long me = (long)(intptr_t)arg;

	while (!atomic_load(&is_over)) {
		if (nr_ring > MOST_SPINNING)
			sem_wait(&woken[me]);
		if (atomic_load(&turn) == me)
			hand_on(me);
		else
			sched_yield();
	}
	return NULL;
}

static void
pause_ns(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&t, NULL);
}

static void *
be_beside(void *arg)
{
	while (!atomic_load(&is_over)) {
		for (int i = 0; i < 100; i++) {
			void *volatile few = malloc(FEW_BYTES);

			free(few);
		}
		pause_ns(1000000);
	}
	return arg;
}

static size_t
most_bytes(void)
{
	size_t most = 0;

	for (size_t i = 0; i < NR_SIZES; i++) {
		size_t bytes = size[i] + (frees_first ? 0 : size[(i + 1) % NR_SIZES]);

		most = bytes > most ? bytes : most;
	}
	return most;
}

static void
phase(void)
{
	/* Small ones, and such as libc maps each time. */
	for (size_t i = 0; i < NR_SIZES; i++)
		size[i] = 100000 + some(some(2) ? 20000 : 400000);
	frees_first = some(2);
	nr_handed = 0;
	block = NULL;
	end_ns = tracee_now_ns() + PHASE_NS;
	give_turn(0);
	while (atomic_load(&turn) >= 0)
		pause_ns(1000000);
	tracee_say("%zu", most_bytes());
	pause_ns(PAUSE_NS);
}

int
main(int argc, char **argv)
{
	const size_t nr_threads = argc > 2 ? strtoul(argv[2], NULL, 0) : 4;
	pthread_t thread[MOST_THREADS];

	if (nr_threads < 4 || nr_threads > MOST_THREADS)
		return 64;
	state = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	some(2);
	nr_ring = nr_threads - nr_threads / 4;
	for (size_t i = 0; i < nr_threads; i++)
		if (pthread_create(&thread[i], NULL, i < nr_ring ? be_in_ring : be_beside,
			    (void *)(intptr_t)i) != 0)
			tracee_fail("pthread_create");
	pause_ns(PAUSE_NS);
	for (int i = 0; i < NR_PHASES; i++)
		phase();
	atomic_store(&is_over, true);
	for (size_t i = 0; i < nr_ring; i++)
		sem_post(&woken[i]);
	for (size_t i = 0; i < nr_threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
