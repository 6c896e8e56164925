#include <config.h>

#include "ui/deadline.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/thread.h"
#include "os/clock.h"
#include "os/ptrace.h"
#include "ui/exit.h"
#include "ui/progress.h"

/* After this additional time, another thread ends the process. */
#define GRACE_NS UINT64_C(1000000000)

static _Atomic uint64_t end_ns;

/* How it ends. */
static struct {
	int fd;
	const char *words;
	int status;
} end = { STDERR_FILENO, "memdiag: gave up, --timeout has passed\n", UI_FAILED };

static void __attribute__((noreturn)) deadline_end(void)
{
	ui_progress_clear();
	if (write(end.fd, end.words, strlen(end.words)) < 0) {
		/* The descriptor is closed; the exit status is enough. */
	}
	_exit(end.status);
}

void
deadline_end_with(int fd, const char *words, int status)
{
	end.fd = fd;
	end.words = words;
	end.status = status;
}

static void
deadline_give_up(int sig)
{
	(void)sig;
	deadline_end();
}

/*
 * End memdiag even if its thread is stuck.  A thread that waits for a file system runs no handler,
 * and while a signal with a handler is pending, SIGTERM does not end it either (kernel/signal.c,
 * wants_signal()): exit_group() in another thread does.
 */
static void *
watch(void *arg)
{
	for (;;) {
		uint64_t now_ns = os_now_ns();

		if (now_ns < end_ns + GRACE_NS)
			os_sleep_ns(end_ns + GRACE_NS - now_ns);
		/* it ends itself after letting all threads go, or os_trace() ends it */
		else if (os_is_tracing())
			os_sleep_ns(GRACE_NS / 10);
		else
			deadline_end();
	}
	return arg;
}

void
deadline_set(uint64_t ns)
{
	struct itimerval timer = {
		.it_value = { (time_t)(ns / 1000000000), (suseconds_t)(ns / 1000 % 1000000) },
	};
	const bool is_first = !end_ns;

	if (!timer.it_value.tv_sec && !timer.it_value.tv_usec)
		timer.it_value.tv_usec = 1;
	end_ns = os_now_ns() + ns;
	signal(SIGALRM, deadline_give_up);
	setitimer(ITIMER_REAL, &timer, NULL);
	if (is_first) {
		pthread_t thread;

		if (thread_start(&thread, watch, NULL))
			pthread_detach(thread);
	}
}
