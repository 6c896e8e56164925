/*
 * export-processes PROCESSES THREADS: processes with threads that have allocated something each,
 * and wait.  It prints "ready"; then, for each line of its stdin, the longest duration of an mmap()
 * and munmap() of its own within a second: "stall MICROSECONDS".  It ends with its stdin.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536

static void *
allocate(void *arg)
{
	for (int i = 0; i < 20; i++)
		memset(malloc(3000), 1, 3000);
	for (;;)
		pause();
	return arg;
}

static void
run(int threads, int out)
{
	pthread_attr_t attr;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, &attr, allocate, NULL) != 0)
			exit(write(out, "-", 1) != 1);
	if (write(out, "+", 1) != 1)
		exit(1);
	allocate(NULL);
}

static long long
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void
stall(void)
{
	const long long end = now_ns() + 1000000000;
	long long longest = 0, before, after;

	for (before = now_ns(); before < end; before = after) {
		void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(p, 4096);
		after = now_ns();
		if (after - before > longest)
			longest = after - before;
	}
	printf("stall %lld\n", longest / 1000);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 10, threads = argc > 2 ? atoi(argv[2]) : 100;
	int begun[2];
	char byte, line[64];

	if (pipe(begun) < 0)
		return 1;
	for (int i = 0; i < nr; i++)
		if (fork() == 0)
			run(threads, begun[1]);
	for (int i = 0; i < nr; i++)
		if (read(begun[0], &byte, 1) != 1 || byte != '+') {
			puts("cannot make so many threads");
			fflush(stdout);
			kill(0, SIGTERM);
			return 1;
		}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		stall();
	kill(0, SIGTERM);
	return 0;
}
