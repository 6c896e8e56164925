/* What lies behind a mapping, beyond what its line in /proc/PID/maps says. */
#include <config.h>

#include "os/os-priv.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

/* uapi/linux/fs.h, 6.11+; our headers may be older. */
struct procmap_query {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct procmap_query)

/* The size of the pages in the mapping at START, 0 if the kernel cannot tell. */
static uint64_t
page_bytes(const struct target *t, raddr start)
{
	struct procmap_query q = { .size = sizeof q, .address = start.v };
	struct err e;
	auto_fd int fd = os_proc_open(t, "maps", O_RDONLY, &e);

	return fd >= 0 && ioctl(fd, QUERY, &q) == 0 ? q.page_bytes : 0;
}

enum os_fs
os_mapping_fs(const struct target *t, raddr start, raddr end)
{
	char name[64];
	struct err e;
	struct statfs s;
	auto_fd int fd = -1;

	if (page_bytes(t, start) > (uint64_t)sysconf(_SC_PAGESIZE))
		return OS_FS_HUGETLB;
	/* The link leads to the very file, with any name or none; root alone may follow it. */
	snprintf(name, sizeof name, "map_files/%" PRIx64 "-%" PRIx64, start.v, end.v);
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

/* The file PATH as the process sees it, if it is still the one. */
static int
open_by_name(const struct target *t, const char *path, uint64_t dev, uint64_t inode)
{
	char name[4200];
	struct stat st;
	struct err e;
	int fd;

	if (!path || path[0] != '/' ||
		(size_t)snprintf(name, sizeof name, "root%s", path) >= sizeof name)
		return -1;
	/* Non-blocking: by now the name may belong to a FIFO. */
	fd = os_proc_open(t, name, O_RDONLY | O_NONBLOCK, &e);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == dev && st.st_ino == inode)
		return fd;
	close(fd);
	return -1;
}

int
os_mapping_open(
	const struct target *t, raddr start, const char *path, uint64_t dev, uint64_t inode)
{
	const struct core_mapping *m;
	const struct core_file *f;

	if (!t->core)
		return open_by_name(t, path, dev, inode);
	m = core_mapping_at(t->core, start);
	f = m ? core_file_of(t->core, m) : NULL;
	return f ? fcntl(f->fd, F_DUPFD_CLOEXEC, 3) : -1;
}
