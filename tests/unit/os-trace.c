/*
 * Where the tracing thread is stuck, memdiag can be ended all the same.
 *
 * Stops are reported by SIGCHLD, also to a program that was started with it ignored, as nohup and
 * some shells leave it: the kernel would not send it then (kernel/signal.c,
 * do_notify_parent_cldstop), and each stop would be noticed only when a wait is over.
 *
 * A signal that a thread was about to get when memdiag was killed reaches the thread.
 */
#include <config.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "tap.h"

struct work {
	struct target t;
	bool is_stopped, is_reported;
	struct err e;
};

/* Stop the child; look whether a signal waits for us before anybody has waited for the child. */
static void
stop_child(void *arg)
{
	struct work *w = arg;
	struct os_status status = { 0 };
	struct os_stop stop = { 0 };
	sigset_t pending;

	if (os_seize(&w->t, w->t.pid, &w->e) != 0 || os_interrupt(w->t.pid, &w->e) < 0)
		return;
	while (status.state != 't')
		if (os_status(&w->t, w->t.pid, &status, &w->e) < 0)
			return;
	sigpending(&pending);
	w->is_reported = sigismember(&pending, SIGCHLD);
	w->is_stopped = os_wait(w->t.pid, os_now_ns() + 300000000000, &stop, &w->e) == 0 &&
		stop.kind == OS_STOP_EVENT;
	os_detach(w->t.pid, 0, &w->e);
}

static void
test_disposition(void (*disposition)(int), const char *name)
{
	struct work w = { .t = TARGET_NONE };
	struct err e = { 0 };
	pid_t pid;

	signal(SIGCHLD, disposition);
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	if (ok(target_open(&w.t, pid, &e) == 0 && os_trace(stop_child, &w, &e) == 0,
		    "%s: a child is traced %s", name, e.msg)) {
		ok(w.is_stopped, "%s: it stops %s", name, w.e.msg);
		ok(w.is_reported, "%s: and that is reported", name);
	}
	target_release(&w.t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- asked to end ---- */

#define THROUGH 7
#define ALARMED 8

static int never[2]; /* a pipe that nobody writes to */

static void
leave(int sig)
{
	(void)sig;
	_exit(ALARMED);
}

static void
get_stuck(void *arg)
{
	char byte;

	kill(getpid(), *(const int *)arg);
	while (read(never[0], &byte, 1) < 0)
		;
}

/* Longer than it takes until a thread counts as stuck. */
static void
take_time(void *arg)
{
	kill(getpid(), *(const int *)arg);
	os_attend(3000000000);
	_exit(THROUGH);
}

/* A memdiag that runs FN, which is asked to end by SIG. */
static pid_t
start_asked(void (*fn)(void *arg), int sig)
{
	struct err e;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(300);
		signal(SIGALRM, leave);
		os_trace(fn, &sig, &e);
		_exit(0);
	}
	return pid;
}

static void
test_asked(void)
{
	pid_t stuck = start_asked(get_stuck, SIGTERM), late = start_asked(get_stuck, SIGALRM),
	      busy = start_asked(take_time, SIGTERM);
	int status = -1;

	waitpid(stuck, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "stuck: SIGTERM ends it");
	waitpid(late, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == ALARMED, "stuck: the timeout ends it");
	waitpid(busy, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == THROUGH,
		"not stuck: what it does is waited for");
}

/* ---- killed ---- */

static int said[2]; /* what the tracer has done */

struct killed {
	struct target with_signal, other;
};

static void
say(char what)
{
	if (write(said[1], &what, 1) != 1)
		_exit(98);
}

static bool
hears(char what)
{
	char byte = 0;

	return read(said[0], &byte, 1) == 1 && byte == what;
}

/* Trace one child until a signal stops it, with SIGCHLD taken meanwhile by another os_seize(). */
static void
see_signal(void *arg)
{
	struct killed *k = arg;
	struct os_status status = { 0 };
	struct os_stop stop = { 0 };
	struct err e;

	if (os_seize(&k->with_signal, k->with_signal.pid, &e) < 0)
		return;
	say('s');
	while (status.state != 't')
		if (os_status(&k->with_signal, k->with_signal.pid, &status, &e) < 0)
			return;
	if (os_seize(&k->other, k->other.pid, &e) == 0 &&
		os_wait(k->with_signal.pid, os_now_ns() + 60000000000, &stop, &e) == 0 &&
		stop.kind == OS_STOP_SIGNAL && stop.sig == SIGUSR1)
		say('k');
	for (;;)
		pause();
}

static void
note_signal(int sig)
{
	(void)sig;
	say('g');
}

static pid_t
start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(300);
		signal(SIGUSR1, note_signal);
		say('r');
		for (;;)
			pause();
	}
	return hears('r') ? pid : -1;
}

static void
test_killed(void)
{
	const pid_t target = start_child(), other = start_child(), tracer = fork();
	struct pollfd said_now = { .fd = said[0], .events = POLLIN };
	bool is_seen;

	if (tracer == 0) {
		struct killed k = { TARGET_NONE, TARGET_NONE };
		struct err e;

		if (target_open(&k.with_signal, target, &e) == 0 &&
			target_open(&k.other, other, &e) == 0)
			os_trace(see_signal, &k, &e);
		_exit(0);
	}
	is_seen = hears('s') && kill(target, SIGUSR1) == 0 && hears('k');
	ok(is_seen, "killed: the signal is seen by its tracer");
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	ok(is_seen && poll(&said_now, 1, 30000) == 1 && hears('g'), "killed: and delivered");
	kill(target, SIGKILL);
	kill(other, SIGKILL);
	waitpid(target, NULL, 0);
	waitpid(other, NULL, 0);
}

int
main(void)
{
	if (pipe(never) < 0 || pipe(said) < 0)
		return 99;
	alarm(300);
	test_disposition(SIG_DFL, "SIGCHLD as usual");
	test_disposition(SIG_IGN, "SIGCHLD ignored");
	test_asked();
	test_killed();
	return tap_end();
}
