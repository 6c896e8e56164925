/* Time namespaces: the same clock shows different times in two processes. */
#include <config.h>

#include "os/ahead.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "os/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Return whether A below AT and B below BT are the same namespace. */
static bool
ahead_is_same(int at, const char *a, int bt, const char *b)
{
	struct stat x, y;

	return fstatat(at, a, &x, 0) == 0 && fstatat(bt, b, &y, 0) == 0 && x.st_ino == y.st_ino &&
		x.st_dev == y.st_dev;
}

/*
 * Read the offset of CLOCK_MONOTONIC to the first time namespace from the line "monotonic SECONDS
 * NS".
 */
static bool
read_offset(int proc_fd, int64_t *ret_ns)
{
	const int fd = openat(proc_fd, "timens_offsets", O_RDONLY | O_CLOEXEC);
	auto_file FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	long long seconds, ns;
	char line[128];

	if (!f && fd >= 0)
		close(fd);
	/*
	 * The file describes the namespace of children: kernel/time/namespace.c,
	 * proc_timens_show_offsets().
	 */
	if (!f || !ahead_is_same(proc_fd, "ns/time", proc_fd, "ns/time_for_children"))
		return false;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "monotonic %lld %lld", &seconds, &ns) == 2) {
			*ret_ns = (int64_t)seconds * 1000000000 + ns;
			return true;
		}
	return false;
}

bool
os_clock_ahead(const struct target *t, uint64_t *ret_ns)
{
	auto_fd int self = open("/proc/self", O_PATH | O_CLOEXEC);
	int64_t ours, theirs;

	if (self < 0)
		return false;
	if (ahead_is_same(self, "ns/time", t->proc_fd, "ns/time")) {
		*ret_ns = 0;
		return true;
	}
	if (!read_offset(self, &ours) || !read_offset(t->proc_fd, &theirs))
		return false;
	*ret_ns = (uint64_t)theirs - (uint64_t)ours;
	return true;
}

uint64_t
os_own_clock_ahead(void)
{
	auto_fd int self = open("/proc/self", O_PATH | O_CLOEXEC);
	int64_t ours;

	return self >= 0 && read_offset(self, &ours) ? (uint64_t)ours : 0;
}
