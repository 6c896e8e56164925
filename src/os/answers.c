/*
 * Whether the file system of a mapped file answers.  An open() or a page fault on one whose server
 * does not (NFS, FUSE) waits for ever, and only SIGKILL ends that, if anything does.
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

/* The results so far, by device.  Servers that hang are few, and their files many. */
static struct {
	uint64_t dev;
	bool answers;
} known[MAX_KNOWN];
static size_t nr_known;

/* Types that wait for nothing but a disk of this machine. */
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

/* Keep nothing of memdiag's open: not its output, whose reader waits for the end, nor its locks. */
static void
close_all_but(int a, int b)
{
	for (int fd = 0; fd < 1024; fd++)
		if (fd != a && fd != b)
			close(fd);
}

/* In a child, which may hang for ever. */
static void
try_file(const struct target *t, const char *name, int pipe_fd)
{
	char page[4096];
	int fd;

	close_all_but(t->proc_fd, pipe_fd);
	fd = os_open_at(t->proc_fd, name, OS_REGULAR);
	if (fd >= 0 && pread(fd, page, sizeof page, 0) < 0)
		page[0] = 0; /* it has answered */
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
		return true;
	child = fork();
	if (child == 0)
		try_file(t, name, ends[1]);
	close(ends[1]);
	p.fd = ends[0];
	answers = child < 0 || poll(&p, 1, ANSWERS_WITHIN_MS) != 0;
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		/* One that hangs is left to init. */
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
