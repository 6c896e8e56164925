/* The open files of a target, and their limits. */
#include <config.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "os/core-proc-priv.h"
#include "os/mounts.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status-priv.h"
#include "os/status.h"
#include "os/stranger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/descriptors.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438 /* since 5.6; the same number on all architectures */
#endif
#define MD_PIDFD_THREAD O_EXCL /* PIDFD_THREAD of linux/pidfd.h, since 6.9 */

/* Get the status of a descriptor's file without asking its server: cached values suffice. */
static int
stat_fd(int proc_fd, const char *name, struct statx *ret)
{
	return statx(
		proc_fd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO, ret);
}

const char *
os_fd_path_inside(int fd, char *buf, size_t size)
{
	snprintf(buf, size, "/proc/self/fd/%d", fd);
	return buf;
}

int
os_descriptor(const struct target *t, int fd, struct os_descriptor *ret, struct err *e)
{
	auto_text struct text info = { 0 };
	char name[32];
	struct statx st;
	const char *flags;

	*ret = (struct os_descriptor){ 0 };
	snprintf(name, sizeof name, "fd/%d", fd);
	if (os_proc_link(t, name, ret->name, sizeof ret->name, e) < 0)
		return -1;
	if (stat_fd(t->proc_fd, name, &st) < 0)
		return err_set(e, errno, "cannot examine /proc/%d/%s", (int)t->pid, name);
	ret->mode = st.stx_mode;
	snprintf(name, sizeof name, "fdinfo/%d", fd);
	if (os_proc_read(t, 0, name, &info, e) < 0)
		return -1;
	flags = strstr(info.v, "flags:");
	ret->flags = flags ? (int)strtol(flags + 6, NULL, 8) : O_RDWR;
	return 0;
}

int
os_descriptors(const struct target *t, int **ret, size_t *ret_nr, struct err *e)
{
	struct {
		int *v;
		size_t nr, room;
	} list = { 0 };
	int fd = os_proc_open(t, "fd", O_RDONLY | O_DIRECTORY, e);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool failed = false;

	if (fd < 0)
		return -1;
	if (!dir) {
		close(fd);
		return err_set(e, errno, "cannot list /proc/%d/fd", (int)t->pid);
	}
	while (!failed && (entry = readdir(dir))) {
		int *new = entry->d_name[0] == '.' ? NULL : array_add(&list);

		failed = !new && entry->d_name[0] != '.';
		if (new)
			*new = (int)strtol(entry->d_name, NULL, 10);
	}
	closedir(dir);
	if (failed) {
		free(list.v);
		return err_set(e, ENOMEM, "cannot list /proc/%d/fd", (int)t->pid);
	}
	*ret = list.v;
	*ret_nr = list.nr;
	return 0;
}

uint64_t
os_file_size_limit(const struct target *t)
{
	static const char key[] = "Max file size";
	auto_text struct text limits = { 0 };
	struct err e;
	const char *at;

	if (os_proc_read(t, 0, "limits", &limits, &e) < 0)
		return UINT64_MAX;
	at = strstr(limits.v, key);
	if (!at)
		return UINT64_MAX;
	at += strlen(key);
	at += strspn(at, " ");
	return *at == 'u' ? UINT64_MAX : strtoull(at, NULL, 10);
}

/* ---- copies of descriptors ---- */

/*
 * Return a pidfd of thread TID of T alone, or -1 with errno (EINVAL: before Linux 6.9).  While that
 * thread lives, TID is its number: so if T has a thread TID now, it is the same thread.
 */
static int
open_thread(const struct target *t, pid_t tid)
{
	auto_fd int fd = (int)syscall(SYS_pidfd_open, tid, MD_PIDFD_THREAD);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char name[32];
	int ret = fd;

	if (fd < 0)
		return -1;
	snprintf(name, sizeof name, "%d", (int)tid);
	if (faccessat(t->task_fd, name, F_OK, 0) < 0 || poll(&p, 1, 0) != 0) {
		errno = ESRCH;
		return -1;
	}
	fd = -1;
	return ret;
}

/* As os_copy_fd(), but with errno. */
static int
copy_fd(const struct target *t, pid_t tid, int fd)
{
	auto_fd int thread = tid == t->pid ? -1 : open_thread(t, tid);

	if (thread < 0 && tid != t->pid && errno != EINVAL && errno != ENOSYS)
		return -1;
	/* Without a pidfd this fails with EBADF; without the system call, with ENOSYS. */
	return (int)syscall(SYS_pidfd_getfd, thread < 0 ? t->pidfd : thread, fd, 0);
}

/* Report CODE, the error of copying FD. */
static int
refuse_copy(const struct target *t, int fd, int code, struct err *e)
{
	if (code == ENOSYS)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot copy descriptor %d of %d (%s): it needs pidfd_getfd(), since Linux 5.6",
			fd, t->pid, t->comm);
	if (code == EPERM || code == EACCES) {
		err_set_kind(e, ERR_PERMISSION, code,
			"cannot copy descriptor %d of %d (%s): pidfd_getfd() is refused", fd,
			t->pid, t->comm);
		return err_hint(e,
			"A seccomp filter of memdiag's (in a container: --security-opt seccomp=unconfined) or a security module refuses it: look at the audit log");
	}
	if (code == EBADF && t->mem_tid != t->pid)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot copy descriptor %d of %d (%s): the first thread of the process has ended, and before Linux 6.9 only its descriptors can be copied",
			fd, t->pid, t->comm);
	return err_set(e, code, "cannot copy descriptor %d of %d (%s)", fd, t->pid, t->comm);
}

int
os_copy_fd(const struct target *t, pid_t tid, int fd, struct err *e)
{
	int copy;

	if (t->core)
		return core_refuse(t, "copy its descriptors", e);
	copy = copy_fd(t, tid ? tid : t->mem_tid, fd);
	return copy < 0 ? refuse_copy(t, fd, errno, e) : copy;
}

/* ---- files in memory ---- */

/*
 * While a thread makes a memfd for memdiag, and until memdiag has a descriptor for it, other
 * threads of the target may put any file in its place.  So the file that memdiag holds is examined,
 * not the one that it asked for, and no later step uses the target's descriptor number again.
 *
 * Only memfds that were made with MFD_ALLOW_SEALING lack F_SEAL_SEAL: other files of tmpfs,
 * including deleted ones, System V memory and other memfds have it from the beginning (mm/shmem.c,
 * __shmem_get_inode(); mm/memfd.c), and files of other file systems do not support seals (EINVAL).
 * So an accepted file is memory without a name.  If the target has replaced it with another memfd,
 * the target could write to that one itself: memdiag's copy is the target's own open file.
 *
 * The seals are checked first, because that never waits for the server of a file system.
 */
int
os_check_memfd(int fd, const char *name, struct err *e)
{
	const int seals = fcntl(fd, F_GET_SEALS), flags = fcntl(fd, F_GETFL);
	char path[48], link[300], wanted[300];
	struct statfs fs = { 0 };
	struct stat st = { 0 };
	const char *why = NULL;
	ssize_t n;

	if (seals < 0)
		why = "no file in memory";
	else if (seals & F_SEAL_SEAL)
		why = "a file in memory that no seals can be put on";
	else if (seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		why = "a file in memory that has seals";
	else if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0 || !S_ISREG(st.st_mode) ||
		fs.f_type != TMPFS_MAGIC || st.st_nlink)
		why = "a file in memory of another kind";
	else if (st.st_size)
		why = "a file in memory that has a size";
	else if ((flags & O_ACCMODE) != O_RDWR)
		why = "a file in memory that is not open for reading and writing";
	if (why)
		return err_set(e, 0, "it is %s", why);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
	n = readlink(path, link, sizeof link - 1);
	link[n < 0 ? 0 : n] = '\0';
	return strcmp(link, wanted) == 0
		? 0
		: err_set(e, 0, "it is a file in memory that has another name");
}

/*
 * Return whether PATH_FD, an O_PATH descriptor, is a memfd that user UID made.  An O_PATH
 * descriptor shows no seals, so the kernel's own tmpfs, which no user can mount, is recognized by
 * its device.
 */
static bool
is_memfd_of(int path_fd, uint32_t uid)
{
	struct statx st;

	return statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) ==
		0 &&
		S_ISREG(st.stx_mode) && !st.stx_nlink && !st.stx_size && st.stx_uid == uid &&
		os_is_kernels_tmpfs(makedev(st.stx_dev_major, st.stx_dev_minor));
}

/*
 * Report in E that descriptor FD is not the file that was made for memdiag; E has what it is
 * instead.
 */
static int
refuse_replaced(const struct target *t, int fd, struct err *e)
{
	err_context(e, "descriptor %d of %d (%s), a file in memory for memdiag, was replaced", fd,
		t->pid, t->comm);
	return err_hint(e, "Nothing was written to it");
}

/*
 * As os_copy_memfd(), before Linux 5.6.  O_PATH only holds the file, without opening it: so the
 * file that is opened is the one that was checked.
 */
static int
open_memfd_by_name(const struct target *t, pid_t tid, int fd, struct err *e)
{
	auto_fd int held = -1;
	struct os_status s;
	char name[48];
	int ret;

	if (os_status(t, tid, &s, e) < 0)
		return -1;
	snprintf(name, sizeof name, "fd/%d", fd);
	held = proc_open_at(t, tid, name, O_PATH);
	if (held < 0)
		return err_set(
			e, errno, "cannot hold descriptor %d of %d (%s)", fd, t->pid, t->comm);
	if (!is_memfd_of(held, s.uid)) {
		err_set(e, 0, "it is not an empty file in memory of user %u", s.uid);
		return refuse_replaced(t, fd, e);
	}
	snprintf(name, sizeof name, "/proc/self/fd/%d", held);
	ret = open(name, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return ret < 0
		? err_set(e, errno, "cannot open descriptor %d of %d (%s)", fd, t->pid, t->comm)
		: ret;
}

int
os_copy_memfd(const struct target *t, pid_t tid, int fd, const char *name, struct err *e)
{
	auto_fd int copy = -1;
	int ret;

	if (t->core)
		return core_refuse(t, "copy its descriptors", e);
	copy = copy_fd(t, tid, fd);
	if (copy < 0 && errno != ENOSYS)
		return refuse_copy(t, fd, errno, e);
	if (copy < 0)
		copy = open_memfd_by_name(t, tid, fd, e);
	if (copy < 0)
		return -1;
	if (os_check_memfd(copy, name, e) < 0)
		return refuse_replaced(t, fd, e);
	ret = copy;
	copy = -1;
	return ret;
}

/* Return whether our FD, which may be an O_PATH descriptor, is a file on the kernel's own tmpfs. */
static bool
descriptors_is_in_memory(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
		S_ISREG(st.stx_mode) &&
		os_is_kernels_tmpfs(makedev(st.stx_dev_major, st.stx_dev_minor));
}

int
os_copy_memory_file(const struct target *t, int fd, struct err *e)
{
	auto_fd int held = copy_fd(t, t->mem_tid, fd);
	char name[32];
	int ret;

	if (held < 0 && errno == ENOSYS) { /* before Linux 5.6 */
		snprintf(name, sizeof name, "fd/%d", fd);
		held = proc_open_at(t, 0, name, O_PATH);
	}
	if (held < 0)
		return refuse_copy(t, fd, errno, e);
	if (!descriptors_is_in_memory(held))
		return err_set(e, 0, "descriptor %d of %d (%s) is not a file in memory", fd, t->pid,
			t->comm);
	ret = os_open_held(held, OS_REGULAR);
	return ret < 0 ? refuse_copy(t, fd, errno, e) : ret;
}

int
os_fix_size(int fd, uint64_t bytes, struct err *e)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct stat st;

	if (ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0 ||
		fstat(fd, &st) < 0)
		return err_set(
			e, errno, "cannot make a file of %" PRIu64 " bytes in memory", bytes);
	/* Another process may have changed its size before it had the seals. */
	if ((fcntl(fd, F_GET_SEALS) & seals) != seals || st.st_size != (off_t)bytes)
		return err_set(e, 0, "a file in memory has changed while it was made");
	return 0;
}

bool
os_controls_kernel(int fd)
{
	static const uint32_t magic[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC, SELINUX_MAGIC,
		SMACK_MAGIC, BPF_FS_MAGIC, EFIVARFS_MAGIC, BINFMTFS_MAGIC, PSTOREFS_MAGIC,
		RDTGROUP_SUPER_MAGIC, 0x62656570 /* configfs */, 0x65735543 /* fusectl */ };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
		if ((uint32_t)fs.f_type == magic[i])
			return true;
	return false;
}
