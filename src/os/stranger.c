#include <config.h>

#include "os/stranger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/ceiling.h"

static bool
stranger_is_wanted(mode_t mode, unsigned int what)
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
	if (!stranger_is_wanted(st.st_mode, what)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENODEV;
		return -1;
	}
	/* The link leads to the held file itself, whatever its present name. */
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
	return code == ENODEV ? err_set(e, 0, "cannot read '%s': it is not a file", shown)
			      : err_set(e, code, "cannot read '%s'", shown);
}

/* ---- unchanging contents ---- */

/* Return whether only root and the present user can change the file of ST. */
static bool
is_trusted(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * As is_trusted(), for a directory entry; in a sticky directory only the owner of an entry can
 * remove it.
 */
static bool
is_trusted_entry(const struct stat *st)
{
	struct stat like = *st;

	if (S_ISLNK(st->st_mode) || (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX))
		like.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
	return is_trusted(&like);
}

/* As os_path_is_trusted(), following at most LEFT links. */
static bool
is_trusted_path(const char *path, unsigned int left)
{
	auto_free char *part = strdup(path);
	char *at = part;
	struct stat st;

	if (!part || *path != '/' || lstat("/", &st) < 0 || !is_trusted_entry(&st))
		return false;
	while (*at) {
		/* Other users can create a missing entry in a sticky directory. */
		const bool may_make = st.st_mode & (S_IWGRP | S_IWOTH);
		char end;

		at += strspn(at, "/");
		at += strcspn(at, "/");
		end = *at;
		*at = '\0';
		if (lstat(part, &st) < 0)
			return errno == ENOENT && !may_make;
		if (!is_trusted_entry(&st))
			return false;
		if (S_ISLNK(st.st_mode)) {
			auto_free char *real = realpath(part, NULL);

			if (!real || !left || !is_trusted_path(real, left - 1) ||
				lstat(real, &st) < 0)
				return false;
		}
		*at = end;
	}
	return true;
}

bool
os_path_is_trusted(const char *path)
{
	return is_trusted_path(path, 40);
}

static int
copy_contents(int from, uint64_t size_bytes)
{
	auto_fd int copy = memfd_create("memdiag-copy", MFD_CLOEXEC);
	off_t at = 0;
	ssize_t n;
	int ret;

	if (copy < 0)
		return -1;
	if (!os_take_memory(size_bytes))
		return -1;
	while (size_bytes && (n = sendfile(copy, from, &at, size_bytes)) != 0) {
		if (n < 0)
			return -1;
		size_bytes -= (uint64_t)n;
	}
	ret = copy;
	copy = -1;
	return ret;
}

int
os_keep_contents(int fd)
{
	struct stat st;
	int copy;

	if (fstat(fd, &st) < 0)
		st.st_size = 0;
	else if (is_trusted(&st))
		return fd;
	copy = copy_contents(fd, (uint64_t)st.st_size);
	close(fd);
	return copy;
}

int
os_read_whole(struct text *text, int fd, const char *name, struct err *e)
{
	const uint64_t left = os_memory_left();
	char size[32] = "too many bytes";
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot read '%s'", name);
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > left)
		text_bytes((uint64_t)st.st_size, size, sizeof size);
	else if (text_read(text, fd, left) == 0)
		return 0;
	else if (errno != EFBIG && errno != ENOMEM)
		return err_set(e, errno, "cannot read '%s'", name);
	return err_set(e, ENOMEM, "cannot read '%s', which has %s", name, size);
}

int
os_create_at(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}
