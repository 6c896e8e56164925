/*
 * kicks: a thread waits in read() and gets SIGABRT by pthread_kill() from another one, each after
 * the last one has come: soon after it is traced, or 10 ms later.
 *
 *	count	-> signals handled so far
 */
#include "tracee.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static sem_t has_come;
static atomic_ulong nr_signals;
static int never[2];
static pthread_t waiting;
static int waiting_tid;

static void
note_signal(int sig)
{
	(void)sig;
	nr_signals++;
	sem_post(&has_come);
}

static void *
wait_there(void *arg)
{
	char c;

	tracee_use_malloc();
	waiting_tid = (int)syscall(SYS_gettid);
	sem_post(&has_come);
	return read(never[0], &c, 1) == 1 ? NULL : arg;
}

static bool
is_traced(void)
{
	char path[64], text[512] = "", *tracer;
	int fd;

	snprintf(path, sizeof path, "/proc/self/task/%d/status", waiting_tid);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
		tracee_fail("status");
	close(fd);
	tracer = strstr(text, "TracerPid:\t");
	return tracer && atoi(tracer + 11) != 0;
}

static uint64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void *
kick(void *arg)
{
	uint32_t random = 1;

	for (;;) {
		uint64_t end;

		while (sem_wait(&has_come) != 0)
			;
		while (is_traced())
			;
		for (end = now_us() + 10000; now_us() < end && !is_traced();)
			;
		random = random * 1664525 + 1013904223;
		for (end = now_us() + (random >> 16) % 256; now_us() < end;)
			;
		pthread_kill(waiting, SIGABRT);
	}
	return arg;
}

int
main(void)
{
	struct sigaction a = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
	pthread_t thread;
	char line[64];
	/* readv() is no call to be borrowed in. */
	const struct iovec in = { line, sizeof line };

	sem_init(&has_come, 0, 0);
	sigaction(SIGABRT, &a, NULL);
	if (pipe(never) < 0 || pthread_create(&waiting, NULL, wait_there, NULL) != 0 ||
		pthread_create(&thread, NULL, kick, NULL) != 0)
		tracee_fail("pthread_create");
	tracee_ready();
	while (readv(0, &in, 1) > 0)
		tracee_say("%lu", nr_signals);
	return tracee_end();
}
