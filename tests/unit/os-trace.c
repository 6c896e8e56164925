/*
 * Stops are reported by SIGCHLD, also to a program that was started with it ignored, as nohup and
 * some shells leave it: the kernel would not send it then (kernel/signal.c,
 * do_notify_parent_cldstop), and each stop would be noticed only when a wait is over.
 */
#include <config.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
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

int
main(void)
{
	alarm(300);
	test_disposition(SIG_DFL, "SIGCHLD as usual");
	test_disposition(SIG_IGN, "SIGCHLD ignored");
	return tap_end();
}
