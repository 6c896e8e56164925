#include <config.h>

#include "os/clock.h"

#include <errno.h>
#include <time.h>

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t
os_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t
os_coarse_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t
os_real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t
os_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void
os_sleep_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}
