/* threads: many at once, many short ones, blocks that others free, and their last words. */
#include "count.h"

#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#define NR 100

static void *volatile handed[NR][100];
static pthread_barrier_t barrier;

static void *
take_and_hand_on(void *arg)
{
	size_t me = (size_t)arg;

	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < 100; i++)
			handed[me][i] = malloc(i * 50 + round);
		pthread_barrier_wait(&barrier);
		for (size_t i = 0; i < 100; i++)
			free(handed[(me + 1) % NR][i]);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void
run(void *(*fn)(void *), size_t nr)
{
	pthread_t thread[NR];

	for (size_t i = 0; i < nr; i++)
		pthread_create(&thread[i], NULL, fn, (void *)i);
	for (size_t i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
}

static pthread_key_t key;

static void
last_words(void *p)
{
	free(p);
	take_and_free(77);
}

static void *
live_shortly(void *arg)
{
	take_and_free(1000);
	pthread_setspecific(key, malloc(50));
	return arg;
}

/* ---- a place that another thread had ---- */

static const struct wire_thread *
own_place(void)
{
	struct wire_segment *s = memdiag_agent_segment;

	for (uint32_t i = 1; i < s->nr_threads; i++)
		if (wire_threads(s)[i].tid == (uint32_t)gettid())
			return &wire_threads(s)[i];
	return NULL;
}

static void *
leave_a_block(void *arg)
{
	return malloc((size_t)arg);
}

static void *
look_at_own_place(void *arg)
{
	void *volatile p = malloc(5000);
	const struct wire_thread *place = own_place();

	ok(place && place->first_bytes > 0, "a thread has the place of one that left a block");
	is_u64(place ? (uint64_t)(place->live_bytes - place->first_bytes) : 0,
		malloc_usable_size(p), "and what it has itself is known");
	ok(place && !place->is_refused && !place->is_busy, "it was not refused anything yet");
	free(p);
	return arg;
}

/* By now there are so many places that new threads look for one that is left. */
static void
try_left_place(void)
{
	struct wire_segment *s = memdiag_agent_segment;
	static void *left[3 * NR];
	pthread_t thread;

	for (size_t i = 0; i < 3 * NR; i++) {
		pthread_create(&thread, NULL, leave_a_block, (void *)(uintptr_t)3000);
		pthread_join(thread, &left[i]);
	}
	/* As if they had ended in the middle of something. */
	for (uint32_t i = 1; i < s->nr_threads; i++)
		if (wire_threads(s)[i].tid != (uint32_t)gettid())
			wire_threads(s)[i].is_refused = wire_threads(s)[i].is_busy = 1;
	pthread_create(&thread, NULL, look_at_own_place, NULL);
	pthread_join(thread, NULL);
	for (size_t i = 0; i < 3 * NR; i++)
		free(left[i]);
}

/* ---- more threads than places ---- */

#define LARGE 1000000

static void *
have_a_block(void *arg)
{
	void *volatile p = malloc(LARGE);

	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	free(p);
	return arg;
}

/*
 * Where the counters cannot be shared with anybody there are few places, and one that the others
 * share.
 */
static void
try_shared_place(void)
{
	pthread_t thread[NR - 1];
	size_t most;

	begin_count();
	for (size_t i = 0; i < NR - 1; i++)
		pthread_create(&thread[i], NULL, have_a_block, NULL);
	pthread_barrier_wait(&barrier);
	most = memdiag_live_bytes();
	ok(most - count_before >= (NR - 1) * LARGE, "what many have is counted");
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < NR - 1; i++)
		pthread_join(thread[i], NULL);
	counted(0, "and given back");
	ok(memdiag_peak_bytes() >= most, "the peak has it");
}

/* ---- who allocates, and who frees ---- */

static void *volatile goods[100];

static void *
free_goods(void *two)
{
	for (int round = 0; round < 100; round++) {
		pthread_barrier_wait(two);
		for (int i = 0; i < 100; i++)
			free(goods[i]);
		pthread_barrier_wait(two);
	}
	return NULL;
}

/* The threads' own peaks add up to hundreds of MB, but no more than a few were ever live. */
static void
try_producer(void)
{
	size_t most = memdiag_peak_bytes() + 40 * LARGE;
	pthread_barrier_t two;
	pthread_t thread;

	pthread_barrier_init(&two, NULL, 2);
	pthread_create(&thread, NULL, free_goods, &two);
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 100; i++)
			goods[i] = malloc(50000);
		pthread_barrier_wait(&two);
		pthread_barrier_wait(&two);
	}
	pthread_join(thread, NULL);
	ok(memdiag_peak_bytes() < most, "what is handed on is not there twice: %zu of %zu",
		memdiag_peak_bytes(), most);
}

/* ---- odd flows ---- */

static void
on_signal(int sig)
{
	(void)sig;
	take_and_free(333);
}

static jmp_buf back;
static ucontext_t home, away;

static void
coroutine(void)
{
	for (int i = 0; i < 10; i++) {
		block = malloc(1000);
		swapcontext(&away, &home);
		free(block);
	}
}

static void
try_odd_flows(void)
{
	static char stack[1 << 16];
	void *p;

	begin_count();
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	counted(0, "malloc in a signal handler");
	p = malloc(10);
	if (setjmp(back) == 0)
		longjmp(back, 1);
	free(p);
	counted(0, "longjmp");
	getcontext(&away);
	away.uc_stack.ss_sp = stack;
	away.uc_stack.ss_size = sizeof stack;
	away.uc_link = &home;
	makecontext(&away, coroutine, 0);
	for (int i = 0; i < 11; i++)
		swapcontext(&home, &away);
	counted(0, "a coroutine");
}

int
main(void)
{
	size_t blocks;

	need_agent();
	pthread_key_create(&key, last_words);
	pthread_barrier_init(&barrier, NULL, NR);
	run(take_and_hand_on, NR); /* now libc has kept what stacks it keeps */
	begin_count();
	blocks = memdiag_live_blocks();
	run(take_and_hand_on, NR);
	counted(0, "blocks that go from thread to thread");
	is_u64(memdiag_live_blocks(), blocks, "and none is counted that is not there");
	for (int i = 0; i < 100; i++)
		run(live_shortly, 10);
	begin_count();
	for (int i = 0; i < 300; i++)
		run(live_shortly, 10);
	counted(0, "three thousand short threads");
	ok(memdiag_agent_segment->nr_threads < 300, "who go on with each other's places: %u",
		memdiag_agent_segment->nr_threads);
	try_left_place();
	try_producer();
	try_shared_place();
	ok(memdiag_peak_bytes() >= memdiag_live_bytes(), "the peak is not below what is live");
	try_odd_flows();
	return tap_end();
}
