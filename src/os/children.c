/* The children and descendants of a target. */
#include <config.h>

#include "os/children.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status.h"
#include "os/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DESCENDANTS_MAX 1000

struct pids {
	pid_t *v;
	size_t nr, room;
};

/*
 * Add the children of all threads of T.  A kernel without CONFIG_PROC_CHILDREN lists no children.
 */
static void
add_children(struct pids *pids, const struct target *t)
{
	auto_free pid_t *tids = NULL;
	size_t nr = 0;
	struct err e;

	if (os_threads(t, SIZE_MAX, &tids, &nr, &e) < 0)
		return;
	for (size_t i = 0; i < nr; i++) {
		auto_text struct text children = { 0 };
		char *at, *end;
		long pid;

		if (os_proc_read(t, tids[i], "children", &children, &e) < 0)
			return;
		for (at = children.v; pid = strtol(at, &end, 10), end != at; at = end) {
			pid_t *new = pids->nr < DESCENDANTS_MAX ? array_add(pids) : NULL;

			if (!new)
				return;
			*new = (pid_t)pid;
		}
	}
}

/* Return whether descriptor FD of process PID is the file FILE. */
static bool
children_has_file(pid_t pid, int fd, const struct statx *file)
{
	char path[48];
	struct statx st;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &st) == 0 &&
		st.stx_ino == file->stx_ino && st.stx_dev_major == file->stx_dev_major &&
		st.stx_dev_minor == file->stx_dev_minor;
}

size_t
os_children_with(const struct target *t, int fd, int file_fd, pid_t *ret_one)
{
	struct pids pids = { 0 };
	struct statx file;
	size_t nr = 0;

	if (statx(file_fd, "", AT_EMPTY_PATH, STATX_INO, &file) < 0)
		return 0;
	add_children(&pids, t);
	for (size_t i = 0; i < pids.nr; i++)
		if (children_has_file(pids.v[i], fd, &file)) {
			*ret_one = pids.v[i];
			nr++;
		}
	free(pids.v);
	return nr;
}

/*
 * Return when process PID started, in clock ticks since boot (proc(5), field 22 of stat); 0 if it
 * has ended.
 */
static uint64_t
children_started_at(pid_t pid)
{
	char path[48], line[1024];
	unsigned long long ticks;
	const char *rest;
	FILE *f;
	bool ok;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	ok = f && fgets(line, sizeof line, f) && (rest = strrchr(line, ')')) &&
		sscanf(rest,
			") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			"%*s %llu",
			&ticks) == 1;
	if (f)
		fclose(f);
	return ok ? ticks : 0;
}

uint64_t
os_boot_ticks(void)
{
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * hz + (uint64_t)now.tv_nsec * hz / 1000000000;
}

size_t
os_children_since(const struct target *t, uint64_t since_ticks, pid_t *ret_one)
{
	struct pids pids = { 0 };
	size_t nr = 0;

	add_children(&pids, t);
	for (size_t i = 0; i < pids.nr; i++)
		if (children_started_at(pids.v[i]) >= since_ticks) {
			*ret_one = pids.v[i];
			nr++;
		}
	free(pids.v);
	return nr;
}

size_t
os_descendants(const struct target *t, uint64_t *ret_rss_bytes, pid_t *ret_largest)
{
	struct pids pids = { 0 };
	uint64_t largest = 0;
	size_t nr = 0;

	*ret_rss_bytes = 0;
	*ret_largest = 0;
	if (t->core)
		return 0;
	add_children(&pids, t);
	/* The list grows by the children of each process on it. */
	for (size_t i = 0; i < pids.nr; i++) {
		auto_target struct target child = TARGET_NONE;
		struct os_status s;
		struct err e;

		if (target_open(&child, pids.v[i], &e) < 0 || os_status(&child, 0, &s, &e) < 0)
			continue;
		nr++;
		*ret_rss_bytes += s.vm_rss_bytes;
		if (s.vm_rss_bytes >= largest) {
			largest = s.vm_rss_bytes;
			*ret_largest = pids.v[i];
		}
		add_children(&pids, &child);
	}
	free(pids.v);
	return nr;
}
