/*
 * periodic: the agent's own thread.  It prints the line every period, and writes files of a profile
 * that are requested while the program runs.
 */
#include <config.h>

#include "agent/hook/periodic.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/base/real.h"
#include "agent/base/say.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/status.h"
#include "agent/base/sys.h"
#include "agent/count/count.h"
#include "agent/note/profile.h"
#include "wire/totals.h"

static void
say_counted(void)
{
	struct wire_totals sum;

	count_add_up(&sum);
	if (settings_is_memtracer)
		SAY("[MEMTRACER] allocated memory: %u, metadata memory: %u",
			sum.live_bytes + (uint64_t)segment->base_bytes,
			sum.nr_live * sizeof(uint64_t));
	else
		SAY("memdiag: %u has %u bytes, of them %u mapped, in %u blocks; peak %u",
			segment->pid, sum.live_bytes, sum.mapped_bytes, sum.nr_live,
			sum.peak_bytes);
}

static uint64_t
now_ms(void)
{
	struct timespec t = { 0 };

	sys_call(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * False while the first thread has a list of robust mutexes, which libc creates (2.36,
 * __tls_init_tp) and the kernel removes when the thread ends (futex_cleanup in
 * kernel/futex/core.c).  This check needs no descriptor, which could take a number that the program
 * expects to get, as after close(0).
 */
static bool
may_have_ended(void)
{
	void *list = NULL;
	size_t size;

	return sys_failed(sys_call(SYS_get_robust_list, sys_call(SYS_getpid, 0), &list, &size)) ||
		!list;
}

/*
 * True if all of the program's threads have ended.  Without the agent's thread, the last one would
 * have ended the process (start_thread in nptl/pthread_create.c).
 */
static bool
is_left_alone(void)
{
	char state[2], nr_threads[8];

	if (!may_have_ended())
		return false;
	status_value("State", state, sizeof state);
	if (*state != 'Z') /* the first thread */
		return false;
	status_value("Threads", nr_threads, sizeof nr_threads);
	return strcmp(nr_threads, "2") == 0;
}

/*
 * As MemTracer, the thread reads the clock ten times a second; it checks for requests of files more
 * often.
 */
#define PAUSE_NS 100000000
#define LOOK_NS 20000000

static void *
work_for_ever(void *arg)
{
	const struct timespec pause = { .tv_nsec = profile_is_to_look() ? LOOK_NS : PAUSE_NS };
	uint64_t last = now_ms(), now;

	for (;;) {
		sys_call(SYS_nanosleep, &pause, NULL);
		if (is_left_alone())
			exit(0);
		profile_look();
		now = now_ms();
		if (settings.prints && now - last >= settings.interval_ms) {
			last = now;
			say_counted();
		}
	}
	return arg;
}

void
periodic_start(void)
{
	const uint64_t all = UINT64_MAX;
	uint64_t was = 0;
	unsigned long thread[1];

	if (settings.prints)
		say_counted();
	else if (!profile_is_to_look())
		return;
	/*
	 * Before glibc 2.34 the function is in another library, which a program with one thread
	 * does not load.
	 */
	if (!real.pthread_create)
		return;
	/* The program's signals must reach only its own threads. */
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &was, sizeof all);
	real.pthread_create(thread, NULL, work_for_ever, NULL);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, sizeof was);
}
