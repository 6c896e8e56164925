/* Processes found by their name. */
#include <config.h>

#include "os/named.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "os/children.h"
#include "os/os.h"
#include "os/pids.h"
#include "os/proc.h"
#include "os/status.h"
#include "os/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * TASK_COMM_LEN of the kernel's include/linux/sched.h, without the NUL: the kernel truncates comm
 * to that.
 */
#define COMM_LENGTH 15

struct named_found {
	const char *name; /* which is looked for */
	struct os_named *v;
	size_t nr, room;
};

/* Store the base name of the program that T runs in BUF; false if it may not be read. */
static bool
program_name(const struct target *t, char *buf, size_t size)
{
	char path[PATH_MAX];
	const char *base;
	struct err e;

	if (os_proc_link(t, "exe", path, sizeof path, &e) < 0)
		return false;
	base = strrchr(path, '/');
	snprintf(buf, size, "%s", base ? base + 1 : path);
	return true;
}

/*
 * The kernel appends " (deleted)" to a program that was removed; but a file may really have such a
 * name.
 */
static bool
is_program(const char *program, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(program, name, length) == 0 &&
		(!program[length] || strcmp(program + length, " (deleted)") == 0);
}

/* Return whether T is called NAME by its comm, which is truncated, or by the file that it runs. */
static bool
is_called(const struct target *t, const char *name)
{
	auto_text struct text comm = { 0 };
	char program[PATH_MAX];
	struct err e;

	if (os_proc_read(t, 0, "comm", &comm, &e) < 0)
		return false;
	if (comm.len && comm.v[comm.len - 1] == '\n')
		comm.v[comm.len - 1] = '\0';
	if (comm.v && strcmp(comm.v, name) == 0)
		return true;
	if (program_name(t, program, sizeof program))
		return is_program(program, name);
	return comm.v && strlen(name) > COMM_LENGTH && strncmp(comm.v, name, COMM_LENGTH) == 0 &&
		!comm.v[COMM_LENGTH];
}

/* Store the arguments of T in BUF, separated by spaces; its name if it has no arguments. */
static void
command_line(const struct target *t, char *buf, size_t size)
{
	auto_fd int fd = -1;
	ssize_t n;
	struct err e;

	fd = os_proc_open(t, "cmdline", O_RDONLY, &e);
	n = fd < 0 ? 0 : read(fd, buf, size - 1);
	if (n <= 0) {
		snprintf(buf, size, "[%s]", t->comm);
		return;
	}
	while (n > 1 && !buf[n - 1])
		n--;
	buf[n] = '\0';
	for (ssize_t i = 0; i < n; i++)
		if (!buf[i])
			buf[i] = ' ';
}

/*
 * Add process PID to the struct named_found ARG if it has the name; ignore it if it ends meanwhile.
 * 1: no memory.
 */
static int
add_if_called(pid_t pid, void *arg)
{
	struct named_found *found = arg;
	const uint64_t now = os_boot_ticks(), hz = (uint64_t)sysconf(_SC_CLK_TCK);
	auto_target struct target t = TARGET_NONE;
	struct os_status status;
	struct os_named *n;
	struct err e;

	/* Zombies and kernel threads cannot be opened. */
	if (pid == getpid() || target_open(&t, pid, &e) < 0 || !is_called(&t, found->name) ||
		os_status(&t, 0, &status, &e) < 0)
		return 0;
	n = array_add(found);
	if (!n)
		return 1;
	n->pid = pid;
	n->age_s = now > t.start_ticks ? (now - t.start_ticks) / hz : 0;
	n->rss_bytes = status.vm_rss_bytes;
	command_line(&t, n->command, sizeof n->command);
	return 0;
}

static int
named_compare_pids(const void *a, const void *b)
{
	const struct os_named *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int
os_processes_named(const char *name, struct os_named **ret, size_t *ret_nr, struct err *e)
{
	struct named_found found = { .name = name };
	const int status = os_each_pid(add_if_called, &found, e);

	if (status) {
		free(found.v);
		return status < 0
			? -1
			: err_set(e, ENOMEM, "cannot list the processes called '%s'", name);
	}
	if (found.nr)
		qsort(found.v, found.nr, sizeof *found.v, named_compare_pids);
	*ret = found.v;
	*ret_nr = found.nr;
	return 0;
}
