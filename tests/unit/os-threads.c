/*
 * The threads of this process, of which there are more than the kernel lists at once.
 */
#include <config.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/os.h"
#include "os/status.h"
#include "os/target.h"
#include "tap.h"

#define NR_THREADS 1100

static pthread_barrier_t begin, end;
static pid_t reported[NR_THREADS];

static void *
report_tid(void *arg)
{
	*(pid_t *)arg = gettid();
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	return NULL;
}

static bool
is_listed(pid_t tid, const pid_t *tids, size_t nr)
{
	size_t times = 0;

	for (size_t i = 0; i < nr; i++)
		times += tids[i] == tid;
	return times == 1;
}

static void
test_list(const struct target *t)
{
	pid_t *tids = NULL, *first = NULL;
	size_t nr = 0, nr_first = 0, nr_listed = 0;
	struct err e = { 0 };
	bool is_beginning = true;

	ok(os_threads(t, SIZE_MAX, &tids, &nr, &e) == 0, "threads are listed %s", e.msg);
	for (size_t i = 0; i < NR_THREADS; i++)
		nr_listed += is_listed(reported[i], tids, nr);
	is_u64(nr_listed, NR_THREADS, "every thread is, and once");
	ok(is_listed(getpid(), tids, nr), "and the main one");
	ok(os_threads(t, 7, &first, &nr_first, &e) == 0, "some are listed %s", e.msg);
	is_u64(nr_first, 7, "as many as were asked for");
	for (size_t i = 0; i < nr_first; i++)
		is_beginning &= first[i] == tids[i];
	ok(is_beginning, "and these are the first ones");
	free(tids);
	free(first);
}

int
main(void)
{
	pthread_t thread[NR_THREADS];
	struct target t = TARGET_NONE;
	struct err e = { 0 };

	pthread_barrier_init(&begin, NULL, NR_THREADS + 1);
	pthread_barrier_init(&end, NULL, NR_THREADS + 1);
	for (size_t i = 0; i < NR_THREADS; i++)
		if (pthread_create(&thread[i], NULL, report_tid, &reported[i]) != 0)
			abort();
	pthread_barrier_wait(&begin);
	if (ok(target_open(&t, getpid(), &e) == 0, "a process with many threads %s", e.msg))
		test_list(&t);
	target_release(&t);
	pthread_barrier_wait(&end);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	return tap_end();
}
