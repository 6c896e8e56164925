/*
 * One memdiag at a time per target.  The claim is a flock() on the target's own files in the
 * kernel, so it ends with its holder, however the holder ends.
 */
#include <config.h>

#include "os/claim.h"

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/proc.h"
#include "os/ptrace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define CLAIM_PAUSE_NS 1000000
#define PIDFS_MAGIC 0x50494446 /* fs/pidfs.c; PID_FS_MAGIC of linux/magic.h since 6.9 */

/*
 * Return whether FD is on pidfs.  Since 6.9 all pidfds of a process are one inode, in whatever PID
 * namespace they were opened; before, all anonymous files of the machine share one inode.
 */
static bool
is_pidfs(int fd)
{
	struct statfs s;

	return fd >= 0 && fstatfs(fd, &s) == 0 && s.f_type == PIDFS_MAGIC;
}

/*
 * Return the process that holds the flock on FD; 0 if /proc/locks does not show it (another PID
 * namespace).
 */
static pid_t
holder_of(int fd)
{
	auto_file FILE *f = fopen("/proc/locks", "re");
	unsigned int dev_major, dev_minor;
	unsigned long inode;
	char line[256];
	struct stat st;
	int pid;

	if (!f || fstat(fd, &st) < 0)
		return 0;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %x:%x:%lu", &pid, &dev_major,
			    &dev_minor, &inode) == 4 &&
			inode == st.st_ino && makedev(dev_major, dev_minor) == st.st_dev && pid > 0)
			return pid;
	return 0;
}

static int
claim_lock(const struct target *t, int fd, uint64_t end_ns, struct err *e)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_set(e, errno, "cannot lock %d (%s)", (int)t->pid, t->comm);
		if (os_now_ns() >= end_ns || os_is_asked_to_end()) {
			pid_t holder = holder_of(fd);
			char who[48] = "";

			if (holder)
				snprintf(who, sizeof who, " (process %d)", (int)holder);
			return err_set_kind(e, ERR_NO_SAFE_POINT, 0,
				"another memdiag%s is at work on %d (%s)", who, (int)t->pid,
				t->comm);
		}
		os_sleep_ns(CLAIM_PAUSE_NS);
	}
	return 0;
}

int
target_claim(const struct target *t, uint64_t wait_ns, struct err *e)
{
	const uint64_t end_ns = os_now_ns() + wait_ns;

	/* Only a process that may trace the target can open its mem file, and thus delay others. */
	if (t->mem_fd >= 0 && claim_lock(t, t->mem_fd, end_ns, e) < 0)
		return -1;
	/* A memdiag in a container has another /proc, in which mem is another inode. */
	if (t->mem_fd < 0 || !is_pidfs(t->pidfd) || claim_lock(t, t->pidfd, end_ns, e) == 0)
		return 0;
	flock(t->mem_fd, LOCK_UN);
	return -1;
}

void
target_unclaim(const struct target *t)
{
	if (t->mem_fd >= 0)
		flock(t->mem_fd, LOCK_UN);
	if (is_pidfs(t->pidfd))
		flock(t->pidfd, LOCK_UN);
}

/* ---- the log ---- */

/* Open a file other than mem, so that the process can be stopped while its log is written. */
static int
open_log_claim(const struct target *t, struct err *e)
{
	return os_proc_open(t, "auxv", O_RDONLY, e);
}

/* Another memdiag that only checks the claim holds the lock for a moment. */
#define ASKED_NS UINT64_C(200000000)

int
target_claim_log(const struct target *t, int *ret_fd, struct err *e)
{
	const uint64_t end_ns = os_now_ns() + ASKED_NS;
	auto_fd int fd = open_log_claim(t, e);

	if (fd < 0)
		return -1;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_set(e, errno, "cannot lock %d (%s)", (int)t->pid, t->comm);
		if (os_now_ns() < end_ns) {
			os_sleep_ns(CLAIM_PAUSE_NS);
			continue;
		}
		err_set_kind(e, ERR_FAILED, 0, "the log of %d (%s) is being written already",
			(int)t->pid, t->comm);
		return err_hint(
			e, "'memdiag record status -p %d' says by which process", (int)t->pid);
	}
	*ret_fd = fd;
	fd = -1;
	return 0;
}

bool
target_log_is_claimed(const struct target *t)
{
	struct err ignored;
	auto_fd int fd = open_log_claim(t, &ignored);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
