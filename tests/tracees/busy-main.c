/*
 * busy-main [THREADS]: main, and each further thread, is inside malloc or free three quarters of
 * the time and computes in the rest.  Nobody ever waits.
 *
 *	count	-> rounds so far
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

#define NR_BLOCKS 256

static atomic_ulong nr_rounds;
static volatile uint64_t result;

/* About the time of one burst; returns how long it took. */
static uint64_t
allocate_for_a_while(void)
{
	uint64_t start_ns = tracee_now_ns();
	void *block[NR_BLOCKS];

	for (int i = 0; i < NR_BLOCKS; i++)
		block[i] = malloc(1100 + (size_t)i * 37 % 4000);
	for (int i = 0; i < NR_BLOCKS; i += 2)
		free(block[i]);
	for (int i = 1; i < NR_BLOCKS; i += 2)
		free(block[i]);
	return tracee_now_ns() - start_ns;
}

static void
compute_for(uint64_t ns)
{
	uint64_t end_ns = tracee_now_ns() + ns, x = end_ns;

	do
		for (int i = 0; i < 2000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
	while (tracee_now_ns() < end_ns);
	result = x;
}

static void
work(void)
{
	compute_for(allocate_for_a_while() / 3);
	nr_rounds++;
}

static void *
work_for_ever(void *arg)
{
	for (;;)
		work();
	return arg;
}

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 0);
	char line[64];
	ssize_t n;

	fcntl(0, F_SETFL, O_NONBLOCK);
	for (long i = 0; i < nr; i++)
		tracee_thread(work_for_ever, NULL);
	tracee_ready();
	while ((n = read(0, line, sizeof line)) != 0) {
		if (n > 0)
			tracee_say("%lu", nr_rounds);
		else if (errno != EAGAIN)
			tracee_fail("read");
		for (int i = 0; i < 100; i++)
			work();
	}
	return tracee_end();
}
