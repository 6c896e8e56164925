/*
 * coroutines MAPPINGS: what a pair of malloc and free takes on the stack of the thread, and on
 * stacks that the program has made itself, in a process that has so many mappings more.  Prints
 * both in nanoseconds of CPU, the best of some rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#define NR 16
#define PAIRS 1000 /* on each stack before the next one */
#define ROUNDS 5
#define STACK_BYTES ((size_t)64 << 10)

static ucontext_t outside, inside[NR];

static void *
map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	return at;
}

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void
allocate(void)
{
	for (int i = 0; i < PAIRS; i++) {
		void *volatile block = malloc(300);

		free(block);
	}
}

static void
run(int i)
{
	for (;;) {
		allocate();
		swapcontext(&inside[i], &outside);
	}
}

static double
on_thread(void)
{
	const double start = now_ns();

	for (int i = 0; i < NR; i++)
		allocate();
	return (now_ns() - start) / NR / PAIRS;
}

static double
on_others(void)
{
	const double start = now_ns();

	for (int i = 0; i < NR; i++)
		swapcontext(&outside, &inside[i]);
	return (now_ns() - start) / NR / PAIRS;
}

int
main(int argc, char **argv)
{
	double thread = 1e12, others = 1e12;

	for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i -= 2)
		mprotect(map(8192), 4096, PROT_NONE);
	for (int i = 0; i < NR; i++) {
		getcontext(&inside[i]);
		inside[i].uc_stack.ss_sp = map(STACK_BYTES);
		inside[i].uc_stack.ss_size = STACK_BYTES;
		inside[i].uc_link = NULL;
		makecontext(&inside[i], (void (*)(void))run, 1, i);
	}
	for (int i = 0; i < ROUNDS; i++) {
		const double a = on_thread(), b = on_others();

		thread = a < thread ? a : thread;
		others = b < others ? b : others;
	}
	printf("%.1f %.1f\n", thread, others);
	return 0;
}
