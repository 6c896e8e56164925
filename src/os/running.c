#include <config.h>

#include "os/running.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "os/pids.h"
#include "os/status-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A stat file has less: comm, and 51 numbers of at most 20 digits. */
#define STAT_BYTES 2048

/* Fields of proc(5). */
#define STAT_START 22
#define STAT_VSIZE 23
#define STAT_RSS 24

struct running_found {
	struct os_running *v;
	size_t nr, room;
};

/* Read the stat file of process PID; false if it has ended. */
static bool
read_stat(pid_t pid, char buf[STAT_BYTES])
{
	auto_fd int fd = -1;
	char path[32];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, STAT_BYTES - 1);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* Fill R from the line STAT; false if the process has no memory. */
static bool
parse_running(struct os_running *r, const char *stat)
{
	static long page_bytes;
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
	uint64_t field[NR_STAT_FIELDS];
	size_t n;

	if (!open || !close || close < open || proc_parse_stat(stat, field) < 0 ||
		field[STAT_FLAGS] & PF_KTHREAD || !field[STAT_VSIZE])
		return false;
	if (!page_bytes)
		page_bytes = sysconf(_SC_PAGESIZE);
	n = (size_t)(close - open - 1);
	if (n >= sizeof r->comm)
		n = sizeof r->comm - 1;
	memcpy(r->comm, open + 1, n);
	r->comm[n] = '\0';
	r->start_ticks = field[STAT_START];
	r->rss_bytes = field[STAT_RSS] * (uint64_t)page_bytes;
	return true;
}

static int
compare_running(const void *a, const void *b)
{
	const struct os_running *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Add process PID to the struct running_found ARG if it has memory.  1: no memory for that. */
static int
add_running(pid_t pid, void *arg)
{
	struct running_found *found = arg;
	struct os_running one = { .pid = pid }, *r;
	char stat[STAT_BYTES];

	if (pid == getpid() || !read_stat(pid, stat) || !parse_running(&one, stat))
		return 0;
	r = array_add(found);
	if (!r)
		return 1;
	*r = one;
	return 0;
}

int
os_list_running(struct os_running **ret, size_t *ret_nr, struct err *e)
{
	struct running_found found = { 0 };
	const int status = os_each_pid(add_running, &found, e);

	if (status) {
		free(found.v);
		return status < 0 ? -1 : err_set(e, ENOMEM, "cannot list the processes");
	}
	if (found.nr)
		qsort(found.v, found.nr, sizeof *found.v, compare_running);
	*ret = found.v;
	*ret_nr = found.nr;
	return 0;
}
