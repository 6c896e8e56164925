#include <config.h>

#include "os/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The number of symbolic links that the kernel follows in a path. */
#define MAX_LINKS 40
#define MAX_TRIES 100

/*
 * Store in P the directory of PATH, below DIR_FD, and the last part of PATH.  0, or -1 with errno.
 */
static int
find_directory(struct os_place *p, int dir_fd, const char *path)
{
	size_t len = strlen(path), base;
	char dir[PATH_MAX];

	while (len > 1 && path[len - 1] == '/')
		len--;
	base = len;
	while (base && path[base - 1] != '/')
		base--;
	if (!len || base >= sizeof dir || len - base >= sizeof p->name) {
		errno = len ? ENAMETOOLONG : ENOENT;
		return -1;
	}
	snprintf(dir, sizeof dir, "%.*s", (int)base, base ? path : ".");
	if (!base)
		strcpy(dir, ".");
	snprintf(p->name, sizeof p->name, "%.*s", (int)(len - base), path + base);
	if (!*p->name)
		strcpy(p->name, "."); /* for "/" */
	p->dir_fd = openat(dir_fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p->dir_fd < 0 ? -1 : 0;
}

/* Hold the file that has P's name.  0, also if it does not exist; -1 with errno. */
static int
place_hold(struct os_place *p, int flags)
{
	struct stat st;

	cleanup_fd(&p->held_fd);
	p->mode = 0;
	p->held_fd = openat(p->dir_fd, p->name, O_PATH | O_CLOEXEC | flags);
	if (p->held_fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(p->held_fd, &st) < 0)
		return -1;
	p->mode = st.st_mode;
	if (S_ISLNK(st.st_mode) && st.st_uid != 0 && st.st_uid != geteuid()) {
		errno = ELOOP; /* as with O_NOFOLLOW */
		return -1;
	}
	return 0;
}

/* Return whether P's link is in /proc, where it leads to an open file and not to its name. */
static bool
is_to_open_file(const struct os_place *p)
{
	struct statfs fs;

	return fstatfs(p->held_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Follow P's link: P becomes the place that it leads to.  0, or -1 with errno. */
static int
place_follow(struct os_place *p)
{
	struct os_place next = OS_PLACE_NONE;
	char to[PATH_MAX];
	ssize_t n = readlinkat(p->held_fd, "", to, sizeof to - 1);

	if (n < 0)
		return -1;
	to[n] = '\0';
	if (find_directory(&next, p->dir_fd, to) < 0)
		return -1;
	os_place_release(p);
	*p = next;
	return place_hold(p, O_NOFOLLOW);
}

static int
place_follow_links(struct os_place *p, const char *path)
{
	if (find_directory(p, AT_FDCWD, path) < 0 || place_hold(p, O_NOFOLLOW) < 0)
		return -1;
	for (int i = 0; S_ISLNK(p->mode); i++) {
		if (i == MAX_LINKS) {
			errno = ELOOP;
			return -1;
		}
		p->is_open_file = is_to_open_file(p);
		if ((p->is_open_file ? place_hold(p, 0) : place_follow(p)) < 0)
			return -1;
	}
	return 0;
}

int
os_place_find(struct os_place *ret, const char *path, struct err *e)
{
	*ret = OS_PLACE_NONE;
	if (place_follow_links(ret, path) == 0)
		return 0;
	err_set(e, errno, "cannot write '%s'", path);
	if (e->code == ELOOP)
		err_hint(e, "It is a symbolic link of another user");
	os_place_release(ret);
	return -1;
}

void
os_place_release(struct os_place *p)
{
	cleanup_fd(&p->dir_fd);
	cleanup_fd(&p->held_fd);
	*p = OS_PLACE_NONE;
}

int
os_place_open(const struct os_place *p)
{
	char name[32];

	if (S_ISDIR(p->mode)) {
		errno = EISDIR;
		return -1;
	}
	snprintf(name, sizeof name, "/proc/self/fd/%d", p->held_fd);
	return open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

int
os_place_create(const struct os_place *p, mode_t mode, char name[NAME_MAX + 1])
{
	for (int i = 0; i < MAX_TRIES; i++) {
		uint32_t random = 0;
		int fd;

		if (getrandom(&random, sizeof random, 0) < 0)
			return -1;
		snprintf(name, NAME_MAX + 1, "%.200s.%08x", p->name, random);
		fd = openat(p->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			mode);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

int
os_place_move(const struct os_place *p, const char *name, bool may_replace)
{
	if (may_replace)
		return renameat(p->dir_fd, name, p->dir_fd, p->name);
	if (renameat2(p->dir_fd, name, p->dir_fd, p->name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	/* The file system does not support RENAME_NOREPLACE. */
	if (linkat(p->dir_fd, name, p->dir_fd, p->name, 0) == 0)
		return unlinkat(p->dir_fd, name, 0);
	return errno == EEXIST ? -1 : renameat(p->dir_fd, name, p->dir_fd, p->name);
}

int
os_place_remove(const struct os_place *p, const char *name)
{
	return unlinkat(p->dir_fd, name, 0);
}

int
os_place_open_dir(const struct os_place *p, bool make)
{
	if (make && mkdirat(p->dir_fd, p->name, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(p->dir_fd, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int
os_path_of(int fd, char *buf, size_t size)
{
	char name[32];
	ssize_t n;

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	n = readlink(name, buf, size);
	if (n >= 0 && (size_t)n < size) {
		buf[n] = '\0';
		return 0;
	}
	if (n >= 0)
		errno = ENAMETOOLONG;
	return -1;
}
