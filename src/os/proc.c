#include <config.h>

#include "os/proc.h"

#include "base/cleanup.h"
#include "os/core-proc-priv.h"
#include "os/diagnose.h"
#include "os/frozen-threads-priv.h"
#include "os/os-priv.h"
#include "os/os.h"
#include "os/status-priv.h"
#include "os/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Report, from errno, why a file of /proc/PID cannot be read.  Returns -1. */
static int
refused(const struct target *t, pid_t tid, const char *name, struct err *e)
{
	if (errno == EACCES || errno == EPERM) {
		char did[64];

		snprintf(did, sizeof did, "read /proc/%d/%s", tid ? tid : t->pid, name);
		return os_diagnose_eperm(t, did, e);
	}
	return err_set(e, proc_gone_or(errno), "cannot read /proc/%d/%s", tid ? tid : t->pid, name);
}

int
os_proc_read(const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e)
{
	auto_fd int fd = -1;

	if (t->core)
		return core_proc_read(t, tid, name, out, e);
	fd = proc_open_at(t, tid, name, O_RDONLY);
	*out = (struct text){ 0 };
	if (fd >= 0 && text_read(out, fd, PROC_FILE_MAX_BYTES) == 0)
		return 0;
	return refused(t, tid, name, e);
}

/* Return a stream of what exists only as text. */
static FILE *
core_stream(const struct target *t, const char *name, struct err *e)
{
	auto_text struct text text = { 0 };
	auto_file FILE *f = NULL;

	if (core_proc_read(t, 0, name, &text, e) < 0)
		return NULL;
	f = fmemopen(NULL, text.len + 1, "w+");
	if (f && fwrite(text.v, 1, text.len, f) == text.len && fseek(f, 0, SEEK_SET) == 0)
		return take_ptr(&f);
	err_set(e, errno, "cannot read %s of the core file", name);
	return NULL;
}

FILE *
os_proc_stream(const struct target *t, const char *name, struct err *e)
{
	FILE *f;
	int fd;

	if (t->core)
		return core_stream(t, name, e);
	fd = proc_open_at(t, 0, name, O_RDONLY);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (f)
		return f;
	refused(t, 0, name, e);
	cleanup_fd(&fd);
	return NULL;
}

int
os_proc_open(const struct target *t, const char *name, int flags, struct err *e)
{
	int fd;

	if (t->core)
		return core_refuse(t, "open files of its /proc", e);
	fd = proc_open_at(t, 0, name, flags);
	if (fd < 0)
		return err_set(e, errno, "cannot open /proc/%d/%s", t->pid, name);
	return fd;
}

int
os_proc_link(const struct target *t, const char *name, char *buf, size_t size, struct err *e)
{
	ssize_t n;

	if (t->core)
		return core_proc_link(t, name, buf, size, e);
	n = readlinkat(t->proc_fd, name, buf, size - 1);
	if (n < 0)
		return err_set(e, errno, "cannot read the link /proc/%d/%s", t->pid, name);
	buf[n] = '\0';
	return 0;
}

int
os_thread_syscall(const struct target *t, pid_t tid, struct os_syscall *ret, struct err *e)
{
	auto_text struct text text = { 0 };
	struct os_syscall s = { 0 };
	uint64_t word[8];
	char *at, *end;
	int n = 0;

	if (t->core)
		return core_thread_syscall(t->core, tid, ret, e);
	if (t->frozen)
		return frozen_syscall(t->frozen, tid, ret, e);
	if (os_proc_read(t, tid, "syscall", &text, e) < 0)
		return -1;
	if (strncmp(text.v, "running", 7) == 0) {
		s.is_running = true;
		*ret = s;
		return 0;
	}
	/* "nr a0 .. a5 sp pc", or "-1 sp pc" (fs/proc/base.c, proc_pid_syscall). */
	s.nr = strtol(text.v, &at, 10);
	for (; n < 8; n++, at = end) {
		word[n] = strtoull(at, &end, 16);
		if (end == at)
			break;
	}
	if (n != 8 && n != 2)
		return err_set(e, 0, "/proc/%d/syscall is not what Linux writes", tid);
	if (n == 8)
		memcpy(s.arg, word, sizeof s.arg);
	s.sp = (raddr){ word[n - 2] };
	s.pc = (raddr){ word[n - 1] };
	*ret = s;
	return 0;
}

int
os_own_fd_name(const struct target *t, pid_t tid, int fd, char *buf, size_t size, struct err *e)
{
	struct os_status s;

	if (os_status(t, tid, &s, e) < 0)
		return -1;
	snprintf(buf, size, "/proc/self/task/%d/fd/%d", s.inner_tid ? s.inner_tid : tid, fd);
	return 0;
}

int
os_robust_list(const struct target *t, pid_t tid, raddr *ret_head)
{
	void *head = NULL;
	size_t len;

	if (t->frozen)
		return frozen_robust_list(t->frozen, tid, ret_head);
	if (t->core || syscall(SYS_get_robust_list, tid, &head, &len) < 0 || !head)
		return -1;
	*ret_head = (raddr){ (uintptr_t)head };
	return 0;
}

bool
os_sees_proc(const struct target *t)
{
	struct err ignored;
	auto_fd int fd = os_proc_open(t, "root/proc/self", O_PATH | O_NOFOLLOW, &ignored);

	return fd >= 0;
}
