/*
 * export-processes PROCESSES THREADS: processes with threads that have allocated something each,
 * and wait.  Says "ready", and ends with its stdin.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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
			exit(1);
	if (write(out, "", 1) != 1)
		exit(1);
	allocate(NULL);
}

int
main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 10, threads = argc > 2 ? atoi(argv[2]) : 100;
	int begun[2];
	char byte;

	if (pipe(begun) < 0)
		return 1;
	for (int i = 0; i < nr; i++)
		if (fork() == 0)
			run(threads, begun[1]);
	for (int i = 0; i < nr; i++)
		if (read(begun[0], &byte, 1) != 1)
			return 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	kill(0, SIGTERM);
	return 0;
}
