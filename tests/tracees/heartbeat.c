/*
 * heartbeat [THREADS [ARENAS [MIB]]]: one thread beats every 20 us and remembers its longest
 * pause; the others hold MIB megabytes in small blocks, spread over ARENAS arenas, and wait.
 *
 *	gap	-> longest pause since the last time it was asked, in microseconds
 */
#include "tracee.h"

#include <malloc.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t filled, never;
static atomic_ullong longest_ns, nr_beats;
static size_t share_bytes;

static void *
beat(void *arg)
{
	struct timespec pause = { 0, 20000 };
	uint64_t last_ns = tracee_now_ns();

	for (;;) {
		uint64_t now_ns;

		nanosleep(&pause, NULL);
		now_ns = tracee_now_ns();
		if (now_ns - last_ns > longest_ns)
			longest_ns = now_ns - last_ns;
		last_ns = now_ns;
		nr_beats++;
	}
	return arg;
}

/*
 * A pause is known when the beat after it is done; the one under way may have read the clock before
 * the pause.
 */
static unsigned long long
longest_pause_ns(void)
{
	const unsigned long long seen = nr_beats;

	while (nr_beats < seen + 2)
		usleep(20);
	return atomic_exchange(&longest_ns, 0);
}

static void *
hold_and_wait(void *arg)
{
	for (size_t sum = 0, size = 48; sum < share_bytes; sum += size, size = 48 + sum % 153)
		memset(malloc(size), 1, size);
	sem_post(&filled);
	while (sem_wait(&never) != 0)
		;
	return arg;
}

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 1);
	char line[64];

	mallopt(M_ARENA_MAX, (int)tracee_number(argc, argv, 2, 1));
	share_bytes = ((size_t)tracee_number(argc, argv, 3, 64) << 20) / (size_t)nr;
	sem_init(&filled, 0, 0);
	sem_init(&never, 0, 0);
	for (long i = 0; i < nr; i++)
		tracee_thread(hold_and_wait, NULL);
	for (long i = 0; i < nr; i++)
		sem_wait(&filled);
	tracee_thread(beat, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%llu", longest_pause_ns() / 1000);
	return tracee_end();
}
