/* Facts about a mapping that its line in /proc/PID/maps does not show. */
#include <config.h>

#include "base/cleanup.h"
#include "os/answers.h"
#include "os/core-files.h"
#include "os/core-segments.h"
#include "os/mounts.h"
#include "os/os-priv.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/stranger.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/mapping.h"

/* uapi/linux/fs.h, 6.11+; our headers may be older. */
struct procmap_query {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

/* The longest path and its prefix. */
#define MAX_NAME 4200

#define QUERY _IOWR('f', 17, struct procmap_query)

/* Return the size of the pages in the mapping at START; 0 if the kernel does not report it. */
static uint64_t
page_bytes(const struct target *t, raddr start)
{
	struct procmap_query q = { .size = sizeof q, .address = start.v };
	struct err e;
	auto_fd int fd = os_proc_open(t, "maps", O_RDONLY, &e);

	return fd >= 0 && ioctl(fd, QUERY, &q) == 0 ? q.page_bytes : 0;
}

static enum os_fs
fs_of_type(const char *type)
{
	if (strcmp(type, "rootfs") == 0) /* tmpfs or ramfs */
		return OS_FS_UNKNOWN;
	if (strcmp(type, "tmpfs") == 0 || strcmp(type, "devtmpfs") == 0)
		return OS_FS_TMPFS;
	return strcmp(type, "hugetlbfs") == 0 ? OS_FS_HUGETLB : OS_FS_OTHER;
}

enum os_fs
os_mapping_fs(const struct target *t, raddr start, raddr end, uint64_t dev)
{
	enum os_fs mounted;
	char name[64];
	struct err e;
	struct statfs s;
	auto_fd int fd = -1;
	char type[64];

	if (page_bytes(t, start) > (uint64_t)sysconf(_SC_PAGESIZE))
		return OS_FS_HUGETLB;
	mounted = os_mounted_type(t, dev, type, sizeof type) < 0 ? OS_FS_UNKNOWN : fs_of_type(type);
	if (mounted != OS_FS_UNKNOWN)
		return mounted;
	/* The link leads to the mapped file itself, whatever its name; only root may follow it. */
	snprintf(name, sizeof name, "map_files/%" PRIx64 "-%" PRIx64, start.v, end.v);
	if (!os_file_answers(t, name, dev))
		return OS_FS_OTHER;
	fd = os_proc_open(t, name, O_PATH, &e);
	if (fd < 0 || fstatfs(fd, &s) < 0)
		return OS_FS_UNKNOWN;
	switch (s.f_type) {
	case HUGETLBFS_MAGIC:
		return OS_FS_HUGETLB;
	case TMPFS_MAGIC:
		return OS_FS_TMPFS;
	default:
		return OS_FS_OTHER;
	}
}

/* Open the file /proc/PID/NAME if it still is the one of DEV and INODE; do not open another one. */
static int
mapping_open_file(const struct target *t, const char *name, uint64_t dev, uint64_t inode)
{
	auto_fd int held = -1;
	struct stat st;
	struct err e;

	if (!os_file_answers(t, name, dev))
		return -1;
	held = os_proc_open(t, name, O_PATH, &e);
	return held >= 0 && fstat(held, &st) == 0 && st.st_dev == dev && st.st_ino == inode
		? os_open_held(held, OS_REGULAR)
		: -1;
}

/*
 * Store in BUF the name below /proc/PID of the file that the process finds at PATH; false if PATH
 * is not absolute or too long.
 */
static bool
mapping_name_of(const char *path, char buf[MAX_NAME])
{
	return path && path[0] == '/' && (size_t)snprintf(buf, MAX_NAME, "root%s", path) < MAX_NAME;
}

int
os_file_open(const struct target *t, const char *path, uint64_t dev, uint64_t inode)
{
	char name[MAX_NAME];

	return mapping_name_of(path, name) ? mapping_open_file(t, name, dev, inode) : -1;
}

/* Open a file whatever its name.  Only root may follow the link. */
static int
open_by_place(const struct target *t, raddr start, raddr end, uint64_t dev, uint64_t inode)
{
	char name[64];

	snprintf(name, sizeof name, "map_files/%" PRIx64 "-%" PRIx64, start.v, end.v);
	return mapping_open_file(t, name, dev, inode);
}

/*
 * Try the address range first: it leads to the file itself, without a name, which may lead
 * anywhere.  Whether the file's server answers is checked through the name, which any user may
 * follow.
 */
static int
mapping_open_mapped(const struct target *t, raddr start, raddr end, const char *path, uint64_t dev,
	uint64_t inode)
{
	char name[MAX_NAME];
	int fd;

	if (mapping_name_of(path, name) && !os_file_answers(t, name, dev))
		return -1;
	fd = end.v ? open_by_place(t, start, end, dev, inode) : -1;
	if (fd < 0)
		fd = os_file_open(t, path, dev, inode);
	/*
	 * The kernel prints paths as we see them: for a process in a chroot they begin outside of
	 * it.
	 */
	return fd < 0 && path && path[0] == '/' ? mapping_open_file(t, path, dev, inode) : fd;
}

int
os_mapping_open(const struct target *t, raddr start, raddr end, const char *path, uint64_t dev,
	uint64_t inode)
{
	const struct core_mapping *m;
	const struct core_file *f;

	if (!t->core)
		return mapping_open_mapped(t, start, end, path, dev, inode);
	m = core_mapping_at(t->core, start);
	f = m ? core_file_of(t->core, m) : NULL;
	return f ? fcntl(f->fd, F_DUPFD_CLOEXEC, 3) : -1;
}

int
os_pid_mapping_open(int64_t pid, uint64_t start, uint64_t end)
{
	char link[80];

	snprintf(link, sizeof link, "/proc/%" PRId64 "/map_files/%" PRIx64 "-%" PRIx64, pid, start,
		end);
	return os_open_at(AT_FDCWD, link, OS_REGULAR);
}

int
os_pid_file_open(int64_t pid, const char *path)
{
	auto_free char *name = NULL;

	if (asprintf(&name, "/proc/%" PRId64 "/root%s", pid, path) < 0) {
		name = NULL;
		return -1;
	}
	return os_open_at(AT_FDCWD, name, OS_REGULAR);
}
