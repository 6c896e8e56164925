/*
 * A process that is held stays the one that was taken hold of, though its number be given to another.
 */
#define _GNU_SOURCE
#include <config.h>

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "tap.h"

static void
wait_for_ever(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A child with the number PID, which must be free; -1 with errno. */
static pid_t
fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid,
		.set_tid_size = 1 };
	long got = syscall(SYS_clone3, &args, sizeof args);

	if (got == 0)
		wait_for_ever();
	return (pid_t)got;
}

int
main(void)
{
	struct target t = TARGET_NONE, again = TARGET_NONE;
	struct text text = { 0 };
	struct os_status s;
	struct err e = { 0 };
	pid_t pid = fork();

	if (pid == 0)
		wait_for_ever();
	ok(target_open(&t, pid, &e) == 0, "a child is held %s", e.msg);
	ok(target_is_alive(&t), "it lives");
	end(pid);
	ok(!target_is_alive(&t), "it has ended");
	if (fork_as(pid) != pid) {
		skip("its number is given to another", strerror(errno));
		return tap_end();
	}
	ok(target_open(&again, pid, &e) == 0, "its number is given to another %s", e.msg);
	ok(target_is_alive(&again), "which lives");
	ok(!target_is_alive(&t), "the first one is not taken for it");
	ok(os_proc_read(&t, 0, "maps", &text, &e) < 0 && e.kind == ERR_GONE,
		"what is read of the first one is not the other's: %s", e.msg);
	ok(os_status(&t, 0, &s, &e) < 0 && e.kind == ERR_GONE, "nor is its status");
	target_release(&t);
	target_release(&again);
	end(pid);
	return tap_end();
}
