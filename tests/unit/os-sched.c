/*
 * Since when a thread sleeps.  It must never be said to sleep for longer than it does; by how much
 * less depends on how busy the machine is.
 */
#include <config.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/sched.h"
#include "os/target.h"
#include "tap.h"

#define NR_SLEEPERS 16

static struct sleeper {
	pid_t tid;
	uint64_t before_ns; /* right before it went to sleep */
	int wake[2];
	pthread_t thread;
} sleepers[NR_SLEEPERS];

static pthread_barrier_t begun;

static void *
sleep_until_woken(void *arg)
{
	struct sleeper *s = arg;
	char c;

	s->tid = gettid();
	pthread_barrier_wait(&begun);
	do
		s->before_ns = os_now_ns();
	while (read(s->wake[0], &c, 1) > 0);
	return NULL;
}

static void
await_sleep(const struct target *t, const struct sleeper *s)
{
	struct os_syscall call = { .is_running = true };
	struct err e;

	while (os_thread_syscall(t, s->tid, &call, &e) == 0 &&
		(call.is_running || call.arg[0] != (uint64_t)s->wake[0]))
		os_sleep_ns(100000);
}

int
main(void)
{
	auto_target struct target t = TARGET_NONE;
	struct os_asleep asleep[NR_SLEEPERS], again;
	struct err e = { 0 };
	size_t nr_told = 0, nr_right = 0;

	if (target_open(&t, getpid(), &e) < 0)
		return 99;
	pthread_barrier_init(&begun, NULL, NR_SLEEPERS + 1);
	for (size_t i = 0; i < NR_SLEEPERS; i++)
		if (pipe(sleepers[i].wake) != 0 ||
			pthread_create(
				&sleepers[i].thread, NULL, sleep_until_woken, &sleepers[i]) != 0)
			return 99;
	pthread_barrier_wait(&begun);
	for (size_t i = 0; i < NR_SLEEPERS; i++)
		await_sleep(&t, &sleepers[i]);
	os_sleep_ns(300000000);
	for (size_t i = 0; i < NR_SLEEPERS; i++) {
		if (os_thread_asleep(&t, sleepers[i].tid, &asleep[i], &e) < 0)
			break;
		nr_told++;
		nr_right += asleep[i].since_ns >= sleepers[i].before_ns &&
			asleep[i].since_ns <= os_now_ns();
	}
	if (!nr_told && e.kind == ERR_UNSUPPORTED) {
		skip("since when threads sleep", e.msg);
		return tap_end();
	}
	is_u64(nr_told, NR_SLEEPERS, "since when threads sleep is known");
	is_u64(nr_right, NR_SLEEPERS, "it is not before they did, nor in the future");

	ok(write(sleepers[0].wake[1], "x", 1) == 1, "one is woken up");
	do {
		os_sleep_ns(100000);
		await_sleep(&t, &sleepers[0]);
	} while (os_thread_asleep(&t, sleepers[0].tid, &again, &e) == 0 &&
		again.nr_sleeps == asleep[0].nr_sleeps);
	is_u64(again.nr_sleeps, asleep[0].nr_sleeps + 1, "it has slept once more");
	ok(again.since_ns >= sleepers[0].before_ns, "and since then");
	ok(os_thread_asleep(&t, 1 << 30, &again, &e) < 0, "of no thread it is not known");
	for (size_t i = 0; i < NR_SLEEPERS; i++) {
		close(sleepers[i].wake[1]);
		pthread_join(sleepers[i].thread, NULL);
	}
	return tap_end();
}
