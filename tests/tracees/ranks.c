/*
 * ranks: two threads with real-time priorities on one processor; the higher one frees blocks that
 * the lower one has allocated, whenever it is woken, whatever the lower one is doing then.
 *
 * Before "ready" it says "refused" if it may have no such priorities.  A line is answered with
 * "done" when the higher one has freed blocks in WAKES more turns, or "stuck" if that takes too
 * long: main is on another processor, or has the ordinary priority's share of this one.
 */
#include "tracee.h"

#include <sched.h>
#include <stdatomic.h>

#define NR_BLOCKS 4096
#define EACH_TIME 8
#define WAKES 20000
#define STUCK_MS 10000

static void *_Atomic block[NR_BLOCKS];
static atomic_int stops, is_refused, nr_ready;
static atomic_long nr_wakes;

static void
sleep_ns(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

static void
have_priority(int priority)
{
	const struct sched_param p = { .sched_priority = priority };
	cpu_set_t all, first;

	CPU_ZERO(&first);
	if (sched_getaffinity(0, sizeof all, &all) < 0)
		tracee_fail("sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&first); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &first);
	if (sched_setaffinity(0, sizeof first, &first) < 0)
		tracee_fail("sched_setaffinity");
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) != 0)
		is_refused = 1;
	nr_ready++;
}

static void *
be_low(void *arg)
{
	have_priority(10);
	while (!is_refused && !stops)
		/* It sleeps now and then: others need the processor, too. */
		for (int i = 0; i < NR_BLOCKS && !stops; i++) {
			free(atomic_exchange(&block[i], malloc(64)));
			if (i % 1024 == 0)
				sleep_ns(100000);
		}
	return arg;
}

static void *
be_high(void *arg)
{
	unsigned int at = 0;

	have_priority(20);
	while (!is_refused && !stops) {
		sleep_ns(50000);
		for (int i = 0; i < EACH_TIME; i++)
			free(atomic_exchange(&block[at = (at + 7) % NR_BLOCKS], NULL));
		nr_wakes++;
	}
	return arg;
}

static bool
goes_on(void)
{
	const long until = nr_wakes + WAKES;
	long was = nr_wakes;

	for (int ms = 0; nr_wakes < until; ms++) {
		sleep_ns(1000000);
		if (nr_wakes != was)
			ms = 0;
		else if (ms == STUCK_MS)
			return false;
		was = nr_wakes;
	}
	return true;
}

int
main(void)
{
	char line[64];

	tracee_thread(be_low, NULL);
	tracee_thread(be_high, NULL);
	while (nr_ready < 2)
		sleep_ns(1000000);
	if (is_refused)
		tracee_say("refused");
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (!goes_on()) {
			tracee_say("stuck");
			_exit(1);
		}
		tracee_say("done");
	}
	stops = 1;
	return tracee_end();
}
