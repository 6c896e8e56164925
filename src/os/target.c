#include <config.h>

#include "os/target.h"

#include "base/cleanup.h"
#include "os/core-priv.h"
#include "os/diagnose.h"
#include "os/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Return the first thread of the process at TASK_FD that has memory, 0 if not found. */
static pid_t
find_living_thread(const struct target *t)
{
	auto_free pid_t *tids = NULL;
	struct os_status s;
	struct err e;
	size_t nr = 0;

	if (os_threads(t, SIZE_MAX, &tids, &nr, &e) < 0)
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (os_status(t, tids[i], &s, &e) == 0 && s.has_memory && s.state != 'Z')
			return tids[i];
	return 0;
}

/* Hold T by a living thread: the leader has ended, so its files are empty. */
static int
open_living_thread(struct target *t, struct err *e)
{
	char name[32];
	pid_t tid = find_living_thread(t);
	int fd;

	if (!tid)
		return err_set_kind(e, ERR_GONE, 0,
			"process %d is a zombie: it has ended and only waits for its parent",
			t->pid);
	snprintf(name, sizeof name, "%d", tid);
	fd = openat(t->task_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno == ENOENT ? ESRCH : errno, "cannot open thread %d", tid);
	close(t->proc_fd);
	t->proc_fd = fd;
	t->mem_tid = tid;
	return 0;
}

static int
open_directories(struct target *t, pid_t pid, struct err *e)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d", pid);
	t->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->proc_fd < 0)
		return os_diagnose_hidden(pid, errno, e);
	t->task_fd = openat(t->proc_fd, "task", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->task_fd < 0)
		return os_diagnose_hidden(pid, errno, e);
	return 0;
}

static int
identify(struct target *t, const struct os_status *s, struct err *e)
{
	struct os_stat st = { 0 };

	if (s->is_kernel_thread)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d is a kernel thread: it has no memory of its own", t->pid);
	t->mem_tid = t->pid;
	if ((s->state == 'Z' || s->state == 'X' || !s->has_memory) && open_living_thread(t, e) < 0)
		return -1;
	if (os_stat(t, &st, e) < 0)
		return -1;
	t->start_ticks = st.start_ticks;
	t->mem_fd = openat(t->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	t->pagemap_fd = openat(t->proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
	os_thread_name(t, t->pid, t->comm, sizeof t->comm);
	return 0;
}

int
target_open(struct target *t, pid_t pid, struct err *e)
{
	struct os_status s;

	*t = (struct target)TARGET_NONE;
	t->pid = pid;
	t->pidfd = pidfd_open(pid);
	if (open_directories(t, pid, e) < 0 || os_status(t, 0, &s, e) < 0)
		goto fail;
	if (s.tgid != pid) { /* a thread's number: hold its process */
		pid_t tgid = s.tgid;

		target_release(t);
		return target_open(t, tgid, e);
	}
	if (identify(t, &s, e) < 0)
		goto fail;
	return 0;
fail:
	target_release(t);
	return -1;
}

int
target_reopen(struct target *t, struct err *e)
{
	auto_fd int mem = t->mem_fd < 0 ? -1 : openat(t->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	auto_fd int pidfd = -1;

	if (mem < 0 && t->mem_fd >= 0)
		return err_set(e, errno == ENOENT ? ESRCH : errno, "cannot open /proc/%d/mem",
			(int)t->pid);
	if (t->pidfd >= 0) {
		pidfd = pidfd_open(t->pid);
		/* The number stays its own as long as the process exists. */
		if (pidfd < 0 || !target_is_alive(t))
			return err_set(e, pidfd < 0 ? errno : ESRCH, "cannot hold process %d",
				(int)t->pid);
	}
	cleanup_fd(&t->mem_fd);
	cleanup_fd(&t->pidfd);
	t->mem_fd = mem;
	t->pidfd = pidfd;
	mem = pidfd = -1;
	return 0;
}

void
target_release(struct target *t)
{
	cleanup_fd(&t->proc_fd);
	cleanup_fd(&t->task_fd);
	cleanup_fd(&t->mem_fd);
	cleanup_fd(&t->pagemap_fd);
	cleanup_fd(&t->pidfd);
	core_free(t->core);
	*t = (struct target)TARGET_NONE;
}

bool
target_is_alive(const struct target *t)
{
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };
	struct os_status s;
	struct err e;

	if (t->core)
		return true;
	/* A pidfd turns readable when the whole thread group has ended (kernel/pid.c, 5.3). */
	if (t->pidfd >= 0 && poll(&p, 1, 0) > 0)
		return false;
	/*
	 * The threads end before that, and each releases the memory first.  If the status cannot be
	 * read because memdiag lacks memory or descriptors, the process may still live.
	 */
	if (os_status(t, t->mem_tid, &s, &e) < 0 ? e.kind != ERR_GONE : s.has_memory)
		return true;
	return find_living_thread(t) != 0;
}

bool
target_renew(struct target *t)
{
	struct os_status s;
	struct err e;

	if (!target_is_alive(t))
		return false;
	if (!t->core && (os_status(t, t->mem_tid, &s, &e) < 0 ? e.kind == ERR_GONE : !s.has_memory))
		(void)open_living_thread(t, &e);
	return true;
}
