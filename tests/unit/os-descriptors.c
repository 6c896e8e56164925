/*
 * Copies of a target's descriptors: what is accepted for the memfd that memdiag has had made, and
 * what happens where pidfd_getfd() does not exist or is refused.  This process is the target.
 */
#define _GNU_SOURCE
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deny-call.h"
#include "os/descriptors.h"
#include "os/os.h"
#include "os/target.h"
#include "tap.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#define NAME "memdiag-test"
#define SEALING (MFD_CLOEXEC | MFD_ALLOW_SEALING)

static struct target t = TARGET_NONE;

/* ---- files ---- */

/* A file of its own in DIR, deleted already; -1 if that is not possible. */
static int
deleted_file(const char *dir)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "%s/memdiag-XXXXXX", dir);
	fd = mkstemp(path);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static bool
is_tmpfs(int fd)
{
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static int
with_size(int fd)
{
	return ftruncate(fd, 1) == 0 ? fd : -1;
}

static int
with_seals(int fd, int seals)
{
	return fcntl(fd, F_ADD_SEALS, seals) == 0 ? fd : -1;
}

/* FD opened again with FLAGS; it is closed. */
static int
opened_again(int fd, int flags)
{
	char path[48];
	int again;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	close(fd);
	return again;
}

/* One end of the two that MAKE makes; the other stays open. */
static int
end_of(int (*make)(int ends[2]))
{
	int ends[2];

	return make(ends) == 0 ? ends[1] : -1;
}

static int
make_sockets(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int
make_pipe(int ends[2])
{
	return pipe(ends);
}

/* ---- the proof ---- */

typedef int proof(int fd, struct err *e);

static int
check_ours(int fd, struct err *e)
{
	return os_check_memfd(fd, NAME, e);
}

static int
copy_and_close(int fd, struct err *e)
{
	int copy = os_copy_memfd(&t, t.pid, fd, NAME, e);

	if (copy < 0)
		return -1;
	close(copy);
	return 0;
}

static void
is_refused(proof *prove, int fd, const char *what)
{
	struct err e = { 0 };

	if (fd < 0) {
		skip(what, strerror(errno));
		return;
	}
	ok(prove(fd, &e) < 0, "refused: %s: %s", what, e.msg);
	close(fd);
}

static void
test_proof(proof *prove)
{
	int fd = memfd_create(NAME, SEALING), shm;
	struct err e = { 0 };

	ok(prove(fd, &e) == 0, "accepted: an empty memfd that can be sealed %s", e.msg);
	close(fd);
	is_refused(prove, open("/dev/null", O_RDWR), "a device");
	is_refused(prove, open("/tmp", O_RDONLY | O_DIRECTORY), "a directory");
	is_refused(prove, end_of(make_pipe), "a pipe");
	is_refused(prove, end_of(make_sockets), "a socket");
	is_refused(prove, deleted_file("/tmp"), "a deleted file");
	shm = deleted_file("/dev/shm");
	if (is_tmpfs(shm))
		is_refused(prove, shm, "a deleted file of a tmpfs");
	else
		skip("a deleted file of a tmpfs", "/dev/shm is none");
	is_refused(prove, memfd_create(NAME, MFD_CLOEXEC), "a memfd that cannot be sealed");
	is_refused(prove, memfd_create("memdiag-other", SEALING), "a memfd of another name");
	is_refused(prove, with_size(memfd_create(NAME, SEALING)), "a memfd that has a size");
	is_refused(prove, with_seals(memfd_create(NAME, SEALING), F_SEAL_WRITE),
		"a memfd that has a seal");
	is_refused(prove, with_seals(memfd_create(NAME, SEALING), F_SEAL_SEAL),
		"a memfd that takes no more seals");
}

static void
test_access(void)
{
	is_refused(check_ours, opened_again(memfd_create(NAME, SEALING), O_RDONLY),
		"a memfd that is open for reading");
	is_refused(check_ours, opened_again(memfd_create(NAME, SEALING), O_PATH),
		"a memfd that is not open, but held");
	is_refused(copy_and_close, opened_again(deleted_file("/tmp"), O_PATH),
		"a deleted file that is held");
}

/* ---- a size for good ---- */

static void
test_size(void)
{
	int fd = memfd_create(NAME, SEALING);
	struct err e = { 0 };
	struct stat st;

	ok(os_fix_size(fd, 10000, &e) == 0, "a memfd is given a size %s", e.msg);
	ok(fstat(fd, &st) == 0 && st.st_size == 10000, "of that many bytes");
	ok(ftruncate(fd, 9999) < 0 && ftruncate(fd, 10001) < 0, "which stays");
	close(fd);
	fd = memfd_create(NAME, MFD_CLOEXEC);
	ok(os_fix_size(fd, 10000, &e) < 0, "but not one that cannot be sealed: %s", e.msg);
	close(fd);
}

/* ---- any descriptor ---- */

static void
test_copy(void)
{
	int fd = open("/dev/null", O_RDONLY), copy;
	struct err e = { 0 };

	copy = os_copy_fd(&t, 0, fd, &e);
	ok(copy >= 0, "a descriptor is copied %s", e.msg);
	ok((fcntl(copy, F_GETFL) & O_ACCMODE) == O_RDONLY && write(copy, "", 1) < 0,
		"and is for reading only, as the target's");
	close(copy);
	close(fd);
	ok(os_copy_fd(&t, 0, fd, &e) < 0 && e.code == EBADF, "one that is closed: %s", e.msg);
}

static void
test_control(void)
{
	int fd = open("/proc/self/oom_score_adj", O_RDONLY);

	ok(os_controls_kernel(fd), "a file of /proc is one by which the kernel is controlled");
	close(fd);
	fd = deleted_file("/tmp");
	ok(!os_controls_kernel(fd), "one in /tmp is not");
	close(fd);
}

/* ---- without pidfd_getfd() ---- */

/* In a child, as a filter stays. */
static void
test_denied(void)
{
	int fd = memfd_create(NAME, SEALING), status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct target child = TARGET_NONE;
		struct err e = { 0 }, ours = { 0 };

		_exit(target_open(&child, getpid(), &e) < 0 || !deny_call(SYS_pidfd_getfd, EPERM) ||
			os_copy_fd(&child, 0, 2, &e) >= 0 || e.kind != ERR_PERMISSION ||
			os_copy_memfd(&child, child.pid, fd, NAME, &ours) >= 0 ||
			ours.kind != ERR_PERMISSION);
	}
	waitpid(pid, &status, 0);
	ok(status == 0, "where pidfd_getfd() is refused, nothing is opened instead");
	close(fd);
}

static void
test_missing(void)
{
	struct err e = { 0 };
	int fd;

	if (!deny_call(SYS_pidfd_getfd, ENOSYS)) {
		skip("without pidfd_getfd()", strerror(errno));
		return;
	}
	ok(os_copy_fd(&t, 0, 2, &e) < 0 && e.kind == ERR_UNSUPPORTED,
		"without pidfd_getfd() no descriptor is copied: %s", e.msg);
	test_proof(copy_and_close);
	is_refused(copy_and_close, opened_again(deleted_file("/tmp"), O_PATH),
		"a deleted file that is held");
	fd = memfd_create(NAME, SEALING);
	if (geteuid() == 0 && fchown(fd, 65534, 65534) == 0) {
		is_refused(copy_and_close, fd, "a memfd of another user");
	} else {
		skip("a memfd of another user", "only root can make one");
		close(fd);
	}
}

int
main(void)
{
	struct err e = { 0 };

	alarm(300);
	if (!ok(target_open(&t, getpid(), &e) == 0, "this process is held %s", e.msg))
		return tap_end();
	test_proof(check_ours);
	test_proof(copy_and_close);
	test_access();
	test_size();
	test_copy();
	test_control();
	test_denied();
	test_missing();
	target_release(&t);
	return tap_end();
}
