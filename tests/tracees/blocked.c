/*
 * blocked [multi]: all signals are blocked in all threads, as in programs that take them with
 * sigwait() or signalfd().
 *	pend N	make signal N pending for the process and for the thread that waits
 *	check	say which signals are pending
 */
#include "tracee.h"

#include <signal.h>
#include <sys/syscall.h>

static void *
wait_for_commands(void *arg)
{
	char line[64];

	tracee_use_malloc();
	while (tracee_command(line, sizeof line)) {
		unsigned long pending = 0;
		int sig;

		if (sscanf(line, "pend %d", &sig) == 1) {
			kill(getpid(), sig);
			syscall(SYS_tgkill, getpid(), gettid(), sig);
		}
		syscall(SYS_rt_sigpending, &pending, 8);
		tracee_say("%lx", pending);
	}
	tracee_end();
	_exit(0);
	return arg;
}

int
main(int argc, char **argv)
{
	sigset_t all;
	int never[2];
	char c;

	(void)argv;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (argc < 2) {
		tracee_ready();
		wait_for_commands(NULL);
	}
	if (pipe(never) != 0)
		tracee_fail("pipe");
	tracee_thread(wait_for_commands, NULL);
	tracee_ready();
	return read(never[0], &c, 1) != 1;
}
