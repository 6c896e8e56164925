#include <config.h>

#include "os/background.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Close the descriptors that memdiag was started with: another process may read a pipe to its end.
 */
static void
close_inherited(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		const int fd = atoi(entry->d_name), flags = fd > 2 ? fcntl(fd, F_GETFD) : -1;

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			close(fd);
	}
	if (d)
		closedir(d);
}

static int
leave_terminal(void)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || setsid() < 0 || chdir("/") < 0)
		return -1;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	if (null > 2)
		close(null);
	close_inherited();
	return 0;
}

void
os_background_ready(int ready, const struct err *e)
{
	const struct err none = { 0 };

	/* An error means that the process that waits for the result is gone. */
	if (write(ready, e ? e : &none, sizeof none) < 0)
		errno = 0;
	close(ready);
}

static _Noreturn void
background_go_on(void (*fn)(void *arg, int ready), void *arg, int ready)
{
	struct err e;

	if (leave_terminal() == 0) {
		fn(arg, ready);
	} else {
		err_set(&e, errno, "cannot continue in the background");
		os_background_ready(ready, &e);
	}
	_exit(EXIT_SUCCESS);
}

int
os_background(void (*fn)(void *arg, int ready), void *arg, pid_t *ret, struct err *e)
{
	struct err why = { 0 };
	int ends[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, errno, "cannot make a pipe");
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		background_go_on(fn, arg, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_set(e, errno, "cannot make a process");
	}
	do
		n = read(ends[0], &why, sizeof why);
	while (n < 0 && errno == EINTR);
	close(ends[0]);
	if (n == (ssize_t)sizeof why && !why.kind) {
		*ret = pid;
		return 0;
	}
	waitpid(pid, NULL, 0);
	if (n != (ssize_t)sizeof why)
		return err_set(e, 0, "the process in the background has ended");
	*e = why;
	return -1;
}
