/*
 * logger [THREADS]: threads that write numbered lines to stderr, half of them by stdio, a line
 * about every 100 us each, as a server writes its log.
 *
 *	count	-> lines that every thread has written by now
 *	stop	-> as count, after the last line
 *	find	-> find an arena that nobody uses
 *	lock	-> lock that one, so that malloc_info() waits
 * SIGUSR1 opens that lock: whichever thread is free takes it.
 */
#include "tracee.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static struct {
	atomic_ulong nr_lines;
	atomic_bool has_stopped;
} * logger;
static atomic_bool is_stopping;
static atomic_int *locked;

/*
 * A thread's arena lies in heaps at multiples of HEAP_MAX_BYTES, which begin with a pointer to it;
 * it begins with its mutex (malloc/arena.c, struct heap_info; malloc/malloc.c, struct
 * malloc_state).
 */
#define HEAP_MAX_BYTES ((uintptr_t)64 << 20)

static void *
make_arena(void *arg)
{
	uintptr_t block = (uintptr_t)malloc(1000);

	(void)arg;
	return *(void **)(block & ~(HEAP_MAX_BYTES - 1));
}

/* After its thread has ended, which would wait for the lock itself. */
static void
find_an_arena(void)
{
	pthread_t thread;
	void *arena;

	if (pthread_create(&thread, NULL, make_arena, NULL) != 0 ||
		pthread_join(thread, &arena) != 0)
		tracee_fail("pthread_create");
	locked = arena;
}

static void
unlock_it(int sig)
{
	(void)sig;
	*locked = 0;
	syscall(SYS_futex, locked, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *
write_lines(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	struct timespec pause = { 0, 100000 };

	/* A thread without an arena may be given the one that is locked. */
	tracee_use_malloc();
	while (!is_stopping) {
		unsigned long line = logger[me].nr_lines + 1;

		if (me % 2)
			fprintf(stderr, "thread %lu line %lu\n", (unsigned long)me, line);
		else
			dprintf(2, "thread %lu line %lu\n", (unsigned long)me, line);
		logger[me].nr_lines = line;
		nanosleep(&pause, NULL);
	}
	logger[me].has_stopped = true;
	return NULL;
}

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 4);
	struct sigaction unlock = { .sa_handler = unlock_it, .sa_flags = SA_RESTART };
	char line[64], counts[512];

	sigaction(SIGUSR1, &unlock, NULL);
	logger = calloc((size_t)nr, sizeof *logger);
	if (!logger)
		tracee_fail("calloc");
	for (long i = 0; i < nr; i++)
		tracee_thread(write_lines, (void *)(uintptr_t)i);
	for (long i = 0; i < nr; i++)
		while (!logger[i].nr_lines)
			usleep(1000);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		int n = 0;

		if (!locked && (strcmp(line, "find") == 0 || strcmp(line, "lock") == 0))
			find_an_arena();
		if (strcmp(line, "lock") == 0)
			*locked = 1;
		is_stopping = strcmp(line, "stop") == 0;
		for (long i = 0; i < nr && n < (int)sizeof counts; i++) {
			while (is_stopping && !logger[i].has_stopped)
				;
			n += snprintf(
				counts + n, sizeof counts - (size_t)n, "%lu ", logger[i].nr_lines);
		}
		tracee_say("%s", counts);
	}
	return tracee_end();
}
