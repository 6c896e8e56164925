/*
 * vfork: a parent that waits in vfork() for a child which runs in its memory.  The child says its
 * number, and reads stdin; its end lets the parent go on.
 */
#include "tracee.h"

#include <sys/wait.h>

int
main(void)
{
	char line[64];
	pid_t child = vfork();
	int status;

	if (child < 0)
		tracee_fail("vfork");
	if (child == 0) {
		tracee_say("child %d", getpid());
		tracee_ready();
		while (tracee_command(line, sizeof line))
			;
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		tracee_fail("the child");
	return tracee_end();
}
