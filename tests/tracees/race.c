/*
 * race THREADS WHAT US: with waiting threads around, do WHAT some US microseconds after the first
 * line on stdin: exec (itself, without threads), exec_by_other (thread), exit, exit_group (by
 * another thread), fork.
 * "race THREADS threads" makes and ends threads all the time.  "race THREADS execs US" executes
 * itself by another thread after US microseconds, again and again until stdin ends.
 */
#include "tracee.h"

#include <errno.h>
#include <semaphore.h>
#include <sys/wait.h>

static sem_t never;

static void *
wait_for_ever(void *arg)
{
	while (sem_wait(&never) != 0)
		;
	return arg;
}

static void *
exit_at_once(void *arg)
{
	_exit(0);
	return arg;
}

static void *
make_one_and_end(void *arg)
{
	pthread_t thread;

	free(malloc(100));
	while (pthread_create(&thread, NULL, make_one_and_end, arg) != 0)
		if (errno != EAGAIN)
			tracee_fail("pthread_create");
	pthread_detach(thread);
	return arg;
}

/* A child that works, and a parent that waits for it. */
static void
fork_and_wait(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		free(malloc(100));
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		tracee_fail("the child");
}

static void
spin_for(long us)
{
	uint64_t end_ns = tracee_now_ns() + (uint64_t)us * 1000;

	while (tracee_now_ns() < end_ns)
		;
}

static void *
begin_again(void *self)
{
	execl("/proc/self/exe", (char *)self, "0", "none", (char *)NULL);
	tracee_fail("exec");
	return NULL;
}

static void *
begin_execs(void *argv)
{
	execv("/proc/self/exe", argv);
	tracee_fail("exec");
	return NULL;
}

/* Another thread does, as long as stdin has nothing. */
static void
begin_again_after(long us, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	if (poll(&in, 1, 0) > 0)
		return;
	usleep((useconds_t)us);
	tracee_thread(begin_execs, argv);
	wait_for_ever(NULL);
}

static void
act(const char *what, char *self)
{
	if (strcmp(what, "exec") == 0) {
		begin_again(self);
	} else if (strcmp(what, "exec_by_other") == 0) {
		tracee_thread(begin_again, self);
		wait_for_ever(NULL);
	} else if (strcmp(what, "exit") == 0) {
		exit(tracee_end());
	} else if (strcmp(what, "exit_group") == 0) {
		tracee_end();
		tracee_thread(exit_at_once, NULL);
		wait_for_ever(NULL);
	} else if (strcmp(what, "fork") == 0) {
		fork_and_wait();
	}
}

int
main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "none";
	char line[64];

	sem_init(&never, 0, 0);
	for (long i = 0; i < tracee_number(argc, argv, 1, 0); i++)
		tracee_thread(wait_for_ever, NULL);
	if (strcmp(what, "threads") == 0)
		tracee_thread(make_one_and_end, NULL);
	tracee_ready();
	if (strcmp(what, "execs") == 0)
		begin_again_after(tracee_number(argc, argv, 3, 0), argv);
	if (!tracee_command(line, sizeof line))
		return tracee_end();
	spin_for(tracee_number(argc, argv, 3, 0));
	act(what, argv[0]);
	return tracee_park();
}
