#include <config.h>

#include "os/pids.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

/* The inode of the first PID namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO). */
#define FIRST_NAMESPACE 0xeffffffcU

static int
pids_read_file(const char *path, struct text *ret)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? text_read(ret, fd, 4096) : -1;
}

static pid_t
to_pid(const char *digits)
{
	char *end;
	const long n = strtol(digits, &end, 10);

	return end > digits && n > 0 && n <= 1 << 22 ? (pid_t)n : -1;
}

/* Return whether /proc belongs to the first namespace: it shows our own number. */
static bool
is_in_proc(void)
{
	char self[16];
	const ssize_t len = readlink("/proc/self", self, sizeof self - 1);

	if (len <= 0)
		return false;
	self[len] = '\0';
	return to_pid(self) == getpid();
}

pid_t
os_end_of_pids(void)
{
	auto_text struct text text = { 0 };
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino != FIRST_NAMESPACE || !is_in_proc() ||
		pids_read_file("/proc/sys/kernel/pid_max", &text) < 0 || !text.len)
		return 0;
	return to_pid(text.v) > 2 * OS_FIRST_PID ? to_pid(text.v) : 0;
}

/* "0.20 0.18 0.12 1/80 11206" (fs/proc/loadavg.c) */
pid_t
os_last_pid(void)
{
	auto_text struct text text = { 0 };
	const char *last;

	if (pids_read_file("/proc/loadavg", &text) < 0 || !text.len)
		return -1;
	last = strrchr(text.v, ' ');
	return last ? to_pid(last + 1) : -1;
}

int
os_each_pid(int (*fn)(pid_t pid, void *arg), void *arg, struct err *e)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int status = 0;

	if (!proc)
		return err_set(e, errno, "cannot list /proc");
	while (!status && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			status = fn((pid_t)atoi(entry->d_name), arg);
	closedir(proc);
	return status;
}
