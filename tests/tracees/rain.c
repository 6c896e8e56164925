/*
 * rain [THREADS]: a child process sends every thread a thousand numbered signals a second, and each
 * thread takes note of any that is missing or comes twice.  Half of the threads wait on a
 * semaphore, the others in epoll_wait().  One thread more waits in epoll_wait() while signals come
 * that nobody listens to: that wait must never end.
 *
 *	count	-> how many signals came, once all that were sent have; or what was wrong
 */
#include "tracee.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MAX_THREADS 16
#define PERIOD_NS 1000000

static struct shared {
	pid_t tid[MAX_THREADS + 1]; /* the last is the deaf one's */
	atomic_long nr_sent;	    /* to each thread */
	atomic_bool is_paused, has_paused;
} * shared;

static long nr_threads;
static sem_t never;
static __thread long my_number;
static atomic_long nr_got[MAX_THREADS];
static atomic_int nr_wrong, nr_ready;

static void
take_note(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	if (info->si_value.sival_int != ++nr_got[my_number])
		nr_wrong++;
}

static void
wait_in_epoll(bool is_deaf)
{
	int epoll = epoll_create1(0);
	struct epoll_event event;

	for (;;)
		if (epoll_wait(epoll, &event, 1, -1) != -1 || errno != EINTR || is_deaf)
			nr_wrong++;
}

static void *
wait_in_the_rain(void *arg)
{
	my_number = (long)(intptr_t)arg;
	shared->tid[my_number] = (pid_t)syscall(SYS_gettid);
	nr_ready++;
	if (my_number % 2)
		wait_in_epoll(my_number == nr_threads);
	sem_wait(&never);
	tracee_fail("sem_wait");
	return arg;
}

static void
send_one(pid_t pid, long thread, long number)
{
	siginfo_t info = { .si_code = SI_QUEUE };

	info.si_value.sival_int = (int)number;
	if (syscall(SYS_rt_tgsigqueueinfo, pid, shared->tid[thread], SIGRTMIN, &info) != 0 &&
		errno != EAGAIN)
		_exit(1);
}

static void
send_for_ever(pid_t pid)
{
	struct timespec period = { 0, PERIOD_NS };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		shared->has_paused = shared->is_paused;
		if (!shared->has_paused) {
			long number = ++shared->nr_sent;

			for (long i = 0; i < nr_threads; i++)
				send_one(pid, i, number);
			syscall(SYS_tgkill, pid, shared->tid[nr_threads], SIGURG);
			syscall(SYS_tgkill, pid, shared->tid[nr_threads], SIGCHLD);
		}
		nanosleep(&period, NULL);
	}
}

/* Pause the rain and wait until all of it has fallen. */
static void
count(void)
{
	uint64_t end_ns = tracee_now_ns() + UINT64_C(10000000000);
	struct timespec pause = { 0, 1000000 };
	long i = 0;

	shared->is_paused = true;
	while (!shared->has_paused)
		nanosleep(&pause, NULL);
	while (i < nr_threads && tracee_now_ns() < end_ns)
		if (nr_got[i] < shared->nr_sent)
			nanosleep(&pause, NULL);
		else
			i++;
	if (i < nr_threads)
		tracee_say("%ld of %ld signals to thread %ld came", nr_got[i], shared->nr_sent, i);
	else if (nr_wrong)
		tracee_say("%d times something was wrong", nr_wrong);
	else
		tracee_say("%ld", shared->nr_sent);
	shared->is_paused = false;
}

int
main(int argc, char **argv)
{
	struct sigaction a = { .sa_sigaction = take_note, .sa_flags = SA_RESTART | SA_SIGINFO };
	char line[64];
	sigset_t set;

	/* An odd number, so that the deaf one is in epoll_wait(). */
	nr_threads = tracee_number(argc, argv, 1, 5) | 1;
	if (nr_threads > MAX_THREADS)
		return 1;
	shared = mmap(
		NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		tracee_fail("mmap");
	sem_init(&never, 0, 0);
	sigaction(SIGRTMIN, &a, NULL);
	for (long i = 0; i <= nr_threads; i++)
		tracee_thread(wait_in_the_rain, (void *)(intptr_t)i);
	while (nr_ready <= nr_threads)
		sched_yield();
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (fork() == 0)
		send_for_ever(getppid());
	tracee_ready();
	while (tracee_command(line, sizeof line))
		count();
	return tracee_end();
}
