#include <config.h>

#include "os/stranger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

static bool
is_wanted(mode_t mode, unsigned int what)
{
	return (S_ISREG(mode) && what & OS_REGULAR) || (S_ISDIR(mode) && what & OS_DIRECTORY) ||
		(S_ISFIFO(mode) && what & OS_PIPE);
}

int
os_open_held(int held_fd, unsigned int what)
{
	char name[32];
	struct stat st;

	if (fstat(held_fd, &st) < 0)
		return -1;
	if (!is_wanted(st.st_mode, what)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENODEV;
		return -1;
	}
	/* The link leads to the very file that is held, whatever its name is by now. */
	snprintf(name, sizeof name, "/proc/self/fd/%d", held_fd);
	return open(
		name, O_RDONLY | O_CLOEXEC | O_NOCTTY | (S_ISFIFO(st.st_mode) ? 0 : O_NONBLOCK));
}

int
os_open_at(int dir_fd, const char *name, unsigned int what)
{
	auto_fd int held =
		openat(dir_fd, name, O_PATH | O_CLOEXEC | (what & OS_NO_LINK ? O_NOFOLLOW : 0));

	return held < 0 ? -1 : os_open_held(held, what);
}

int
os_open(const char *path, unsigned int what, struct err *e)
{
	const int fd = os_open_at(AT_FDCWD, path, what), code = errno;
	char shown[300];

	if (fd >= 0)
		return fd;
	text_printable(path, shown, sizeof shown);
	return code == ENODEV ? err_set(e, 0, "cannot read '%s': it is no file", shown)
			      : err_set(e, code, "cannot read '%s'", shown);
}

int
os_create_at(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}
