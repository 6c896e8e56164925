/*
 * Find out whether the file system of a mapped file answers.  If the server of the file system
 * (NFS, FUSE) does not answer, an open() or a page fault waits for ever; at most SIGKILL ends that
 * wait.
 */
#include <config.h>

#include "os/answers.h"

#include "base/debug.h"
#include "os/mounts.h"
#include "os/os.h"
#include "os/stranger.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWERS_WITHIN_MS 1000
#define MAX_KNOWN 32

/* The results so far, by device.  Few servers hang, but each has many files. */
static struct {
	uint64_t dev;
	bool answers;
} known[MAX_KNOWN];
static size_t nr_known;

/* Return whether file systems of TYPE wait only for a disk of this machine. */
static bool
is_local(const char *type)
{
	static const char *const local[] = { "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs",
		"bcachefs", "overlay", "tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs",
		"squashfs", "erofs", "vfat", "iso9660" };

	for (size_t i = 0; i < sizeof local / sizeof *local; i++)
		if (strcmp(type, local[i]) == 0)
			return true;
	return false;
}

/* Close memdiag's files: the reader of its output waits for the end, and its locks would last. */
static void
close_all_but(int a, int b)
{
	for (int fd = 0; fd < 1024; fd++)
		if (fd != a && fd != b)
			close(fd);
}

/* Read the file NAME in a child, which may hang for ever. */
static void
try_file(const struct target *t, const char *name, int pipe_fd)
{
	char page[4096];
	int fd;

	close_all_but(t->proc_fd, pipe_fd);
	fd = os_open_at(t->proc_fd, name, OS_REGULAR);
	if (fd >= 0 && pread(fd, page, sizeof page, 0) < 0)
		page[0] = 0; /* the file system has answered */
	_exit(write(pipe_fd, "", 1) == 1 ? 0 : 1);
}

static bool
answers_in_time(const struct target *t, const char *name)
{
	struct pollfd p = { .events = POLLIN };
	int ends[2];
	bool answers;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	child = fork();
	if (child == 0)
		try_file(t, name, ends[1]);
	close(ends[1]);
	p.fd = ends[0];
	answers = child > 0 && poll(&p, 1, ANSWERS_WITHIN_MS) > 0;
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		/* init reaps a child that hangs. */
		waitpid(child, NULL, answers ? 0 : WNOHANG);
	}
	return answers;
}

bool
os_file_answers(const struct target *t, const char *name, uint64_t dev)
{
	char type[64];
	bool answers;

	for (size_t i = 0; i < nr_known; i++)
		if (known[i].dev == dev)
			return known[i].answers;
	answers = (os_mounted_type(t, dev, type, sizeof type) == 0 && is_local(type)) ||
		answers_in_time(t, name);
	if (!answers)
		debug("the file system of %s does not answer: its files are not opened", name);
	if (nr_known < MAX_KNOWN) {
		known[nr_known].dev = dev;
		known[nr_known++].answers = answers;
	}
	return answers;
}
