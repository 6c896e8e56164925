/* Whether a target still runs the program that it ran when it was opened. */
#include <config.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memory.h"
#include "os/target.h"
#include "tests/unit/tap.h"

int
main(void)
{
	struct target t = TARGET_NONE, again = TARGET_NONE;
	int to[2], from[2];
	struct err e = { 0 };
	char line[8] = "";
	pid_t child;

	if (pipe(to) < 0 || pipe(from) < 0)
		return 99;
	child = fork();
	if (child == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		/* The same program once more, so that nothing but its memory differs. */
		execl("/bin/sh", "sh", "-c", "echo ready; read x; exec sh -c 'echo again; read x'",
			(char *)NULL);
		_exit(1);
	}
	ok(read(from[0], line, 6) == 6 && target_open(&t, child, &e) == 0, "a program runs %s",
		e.msg);
	ok(os_runs_same_program(&t), "it is the same");
	ok(write(to[1], "\n", 1) == 1 && read(from[0], line, 6) == 6, "it executes another one");
	ok(!os_runs_same_program(&t), "which is not the same");
	ok(target_open(&again, child, &e) == 0 && os_runs_same_program(&again),
		"opened again it is");
	ok(target_is_alive(&t), "the process lives");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ok(!os_runs_same_program(&again), "a process that has ended runs none");
	target_release(&t);
	target_release(&again);
	return tap_end();
}
