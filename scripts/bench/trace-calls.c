/*
 * trace-calls: a program that maps memory, from 17 functions, when it is asked to.  Commands on
 * standard input, each answered by "done WALL_NS CPU_NS CALLS":
 *
 *	busy N BIG	N times getppid(), and meanwhile BIG times mmap() and munmap() of 64 MiB
 *	pairs N		N times mmap() and munmap() of 1 MiB, as fast as they go
 *	rate N SECONDS	N times a second mmap() or munmap(), for SECONDS
 *	vmas N		have N mappings more
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 17
/* Of each function: together more than what is copied of a stack. */
#define FRAME_BYTES 1024
/* Rate: calls are made in bursts, so often a second. */
#define BURSTS 500

static long long
now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void
map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || munmap(p, bytes) < 0)
		_exit(1);
}

/* ---- what is done DEPTH functions deep ---- */

static long
busy(long n, long nr_big)
{
	for (long i = 0; i < n; i++) {
		syscall(SYS_getppid);
		if (nr_big && i % (n / nr_big) == 0)
			map((size_t)64 << 20);
	}
	return 2 * nr_big;
}

static long
pairs(long n, long unused)
{
	(void)unused;
	for (long i = 0; i < n; i++)
		map((size_t)1 << 20);
	return 2 * n;
}

static long
rate(long n, long seconds)
{
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long burst = 0; burst < BURSTS * seconds; burst++) {
		pairs(n / BURSTS / 2, 0);
		next.tv_nsec += 1000000000 / BURSTS;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return n / BURSTS / 2 * 2 * BURSTS * seconds;
}

/* Neighbours differ, so that the kernel does not join them. */
static long
vmas(long n, long unused)
{
	(void)unused;
	for (long i = 0; i < n; i++)
		if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			_exit(1);
	return n;
}

static long __attribute__((noinline))
deep(int depth, long (*work)(long, long), long a, long b)
{
	char frame[FRAME_BYTES];
	long result;

	memset(frame, depth, sizeof frame);
	result = depth ? deep(depth - 1, work, a, b) : work(a, b);
	__asm__ volatile("" : : "r"(frame) : "memory");
	return result;
}

int
main(void)
{
	static const struct {
		const char *name;
		long (*work)(long, long);
	} known[] = { { "busy", busy }, { "pairs", pairs }, { "rate", rate }, { "vmas", vmas } };
	char line[100], name[20];
	long a, b;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		b = 0;
		if (sscanf(line, "%19s %ld %ld", name, &a, &b) < 2)
			return 1;
		for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
			long long wall, cpu;
			long nr;

			if (strcmp(name, known[i].name) != 0)
				continue;
			cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
			wall = now_ns(CLOCK_MONOTONIC);
			nr = deep(DEPTH - 1, known[i].work, a, b);
			wall = now_ns(CLOCK_MONOTONIC) - wall;
			cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
			printf("done %lld %lld %ld\n", wall, cpu, nr);
		}
	}
	return 0;
}
