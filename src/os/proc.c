#include <config.h>

#include "os/os-priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

/* More than any /proc file of a process has: 4 GiB of maps would be 40 million mappings. */
#define PROC_FILE_MAX_BYTES (UINT64_C(4) << 30)

/* An ended process shows as ENOENT of the name or as ESRCH of the read. */
static int
gone_or(int error)
{
	return error == ENOENT ? ESRCH : error;
}

static int
open_at(const struct target *t, pid_t tid, const char *name, int flags)
{
	char path[96];

	if (!tid)
		return openat(t->proc_fd, name, flags | O_CLOEXEC);
	snprintf(path, sizeof path, "%d/%s", tid, name);
	return openat(t->task_fd, path, flags | O_CLOEXEC);
}

/* Say, by errno, why a file of /proc/PID cannot be read.  Returns -1. */
static int
refused(const struct target *t, pid_t tid, const char *name, struct err *e)
{
	if ((errno == EACCES || errno == EPERM) && strcmp(name, "status") != 0) {
		char did[64];

		snprintf(did, sizeof did, "read /proc/%d/%s", tid ? tid : t->pid, name);
		return os_diagnose_eperm(t, did, e);	/* which reads status only */
	}
	return err_set(e, gone_or(errno), "cannot read /proc/%d/%s", tid ? tid : t->pid, name);
}

int
os_proc_read(const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e)
{
	auto_fd int fd = -1;

	if (t->core)
		return core_proc_read(t, tid, name, out, e);
	fd = open_at(t, tid, name, O_RDONLY);
	*out = (struct text){ 0 };
	if (fd >= 0 && text_read(out, fd, PROC_FILE_MAX_BYTES) == 0)
		return 0;
	return refused(t, tid, name, e);
}

/* A stream of what there is as text only. */
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
	fd = open_at(t, 0, name, O_RDONLY);
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
	fd = open_at(t, 0, name, flags);
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

/* ---- status ---- */

enum field_type { FIELD_KB, FIELD_HEX, FIELD_UINT64, FIELD_INT };

/* Where each line of /proc/PID/status goes.  Lines that are not here are passed over. */
static const struct {
	const char *key;
	enum field_type type;
	size_t offset;
} status_field[] = {
#define F(key, type, member) { key, type, offsetof(struct os_status, member) }
	F("Tgid", FIELD_INT, tgid),
	F("PPid", FIELD_INT, ppid),
	F("TracerPid", FIELD_INT, tracer),
	F("Threads", FIELD_INT, nr_threads),
	F("Seccomp", FIELD_INT, seccomp),
	F("VmSize", FIELD_KB, vm_size_bytes),
	F("VmPeak", FIELD_KB, vm_peak_bytes),
	F("VmRSS", FIELD_KB, vm_rss_bytes),
	F("VmHWM", FIELD_KB, vm_hwm_bytes),
	F("RssAnon", FIELD_KB, rss_anon_bytes),
	F("RssFile", FIELD_KB, rss_file_bytes),
	F("RssShmem", FIELD_KB, rss_shmem_bytes),
	F("VmLck", FIELD_KB, vm_locked_bytes),
	F("VmSwap", FIELD_KB, vm_swap_bytes),
	F("VmPTE", FIELD_KB, vm_pte_bytes),
	F("HugetlbPages", FIELD_KB, hugetlb_bytes),
	F("SigBlk", FIELD_HEX, signals_blocked),
	F("voluntary_ctxt_switches", FIELD_UINT64, voluntary_switches),
#undef F
};

/* "NSpid:	1234	12	1": from the outermost namespace to the innermost. */
static void
take_namespaces(struct os_status *s, const char *numbers)
{
	char *end;
	long tid;

	s->nr_pid_namespaces = 0;
	for (; tid = strtol(numbers, &end, 10), end != numbers; numbers = end) {
		s->nr_pid_namespaces++;
		s->inner_tid = (pid_t)tid;
	}
}

static void
status_line(struct os_status *s, const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof status_field / sizeof *status_field; i++) {
		char *at = (char *)s + status_field[i].offset;

		if (strcmp(key, status_field[i].key) != 0)
			continue;
		switch (status_field[i].type) {
		case FIELD_KB:
			*(uint64_t *)(void *)at = strtoull(value, NULL, 10) * 1024;
			break;
		case FIELD_HEX:
			*(uint64_t *)(void *)at = strtoull(value, NULL, 16);
			break;
		case FIELD_UINT64:
			*(uint64_t *)(void *)at = strtoull(value, NULL, 10);
			break;
		case FIELD_INT:
			*(int *)(void *)at = (int)strtol(value, NULL, 10);
			break;
		}
	}
	/* Lines that need more than a number. */
	if (strcmp(key, "State") == 0)
		s->state = value[strspn(value, " \t")];
	else if (strcmp(key, "Uid") == 0)
		sscanf(value, "%*u %u", &s->uid);
	else if (strcmp(key, "Kthread") == 0)	/* 6.12+ */
		s->is_kernel_thread = strtol(value, NULL, 10) == 1;
	else if (strcmp(key, "NSpid") == 0)
		take_namespaces(s, value);
	else if (strcmp(key, "VmSize") == 0)
		s->has_memory = true;
	else if (strcmp(key, "SigPnd") == 0 || strcmp(key, "ShdPnd") == 0)
		s->signals_pending |= strtoull(value, NULL, 16);
	else if (strcmp(key, "x86_Thread_features") == 0)
		s->has_shadow_stack = strstr(value, "shstk") != NULL;
}

int
os_status(const struct target *t, pid_t tid, struct os_status *ret, struct err *e)
{
	auto_text struct text text = { 0 };
	struct os_status s = { .nr_pid_namespaces = 1 };
	char *line, *rest;

	if (t->core) {
		core_status(t, ret);
		return 0;
	}
	if (os_proc_read(t, tid, "status", &text, e) < 0)
		return -1;
	/* The kernel escapes newlines in Name:, so a line is a line. */
	for (line = strtok_r(text.v, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		status_line(&s, line, colon + 1);
	}
	/* In the moment in which it goes it is of no process any more (fs/proc/array.c, pid_alive()). */
	if (s.state && !s.tgid)
		return err_set_kind(e, ERR_GONE, 0, "process %d has ended", tid ? tid : t->pid);
	if (!s.state)
		return err_set(e, 0, "/proc/%d/status is not what Linux writes", tid ? tid : t->pid);
	/* Before 6.12 only the flag in stat tells; a kernel thread has no memory and is no zombie. */
	if (!s.has_memory && s.state != 'Z' && s.state != 'X' && s.ppid == 2)
		s.is_kernel_thread = true;
	*ret = s;
	return 0;
}

int
os_stat(const struct target *t, struct os_stat *ret, struct err *e)
{
	auto_text struct text text = { 0 };
	uint64_t field[53] = { 0 };
	const char *at;
	int i;

	if (t->core) {
		core_stat(t->core, ret);
		return 0;
	}
	if (os_proc_read(t, 0, "stat", &text, e) < 0)
		return -1;
	/* "pid (comm) S ppid ...": comm may hold spaces and parentheses, so begin at the last one. */
	at = strrchr(text.v, ')');
	if (!at || strlen(at) < 4)
		return err_set(e, 0, "/proc/%d/stat is not what Linux writes", t->pid);
	at += 3;	/* past ") S": field 4 is next */
	for (i = 4; i <= 52; i++) {
		char *end;

		field[i] = strtoull(at, &end, 10);
		if (end == at)
			break;
		at = end;
	}
	ret->nr_faults = field[10] + field[12];
	ret->start_ticks = field[22];
	ret->start_stack = (raddr){ field[28] };
	ret->start_brk = (raddr){ field[47] };
	ret->arg_start = (raddr){ field[48] };
	return 0;
}

/* ---- threads ---- */

struct tids {
	pid_t *v;
	size_t nr, room;
};

/* The name of a thread is its number.  0, or -1 when there is no memory. */
static int
add_tid(struct tids *tids, const char *name)
{
	pid_t *tid;

	if (name[0] == '.')
		return 0;
	tid = array_add(tids);
	if (!tid)
		return -1;
	*tid = (pid_t)strtol(name, NULL, 10);
	return 0;
}

/* As readdir(), which would ask the kernel for a thousand names where a few are wanted. */
static int
list_tids(struct tids *tids, int fd, size_t max)
{
	enum { ENTRY_BYTES = 32 };	/* of a number of up to 12 digits */
	_Alignas(struct dirent64) char buf[32768];
	const size_t size =
		max < sizeof buf / ENTRY_BYTES - 2 ? (max + 2) * ENTRY_BYTES : sizeof buf;
	long n;

	while (tids->nr < max && (n = syscall(SYS_getdents64, fd, buf, size)) > 0)
		for (long at = 0; at < n && tids->nr < max;) {
			const struct dirent64 *entry = (const void *)(buf + at);

			if (add_tid(tids, entry->d_name) < 0)
				return -1;
			at += entry->d_reclen;
		}
	return 0;
}

int
os_threads(const struct target *t, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e)
{
	struct tids tids = { 0 };
	auto_fd int fd = -1;

	if (t->core)
		return core_threads(t->core, max, ret_tids, ret_nr, e);
	fd = openat(t->task_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, gone_or(errno), "cannot list /proc/%d/task", t->pid);
	if (list_tids(&tids, fd, max) < 0) {
		free(tids.v);
		return err_set(e, ENOMEM, "cannot list the threads of %d", t->pid);
	}
	if (!tids.nr)
		return err_set(e, ESRCH, "cannot list /proc/%d/task", t->pid);
	*ret_tids = tids.v;
	*ret_nr = tids.nr;
	return 0;
}

const char *
os_thread_name(const struct target *t, pid_t tid, char *buf, size_t size)
{
	auto_text struct text text = { 0 };
	struct err e;

	if (t->core)	/* there is but the name of the main thread in it */
		return text_printable(tid == t->pid ? t->comm : "?", buf, size);
	if (os_proc_read(t, tid, "comm", &text, &e) < 0)
		return text_printable("?", buf, size);
	if (text.len && text.v[text.len - 1] == '\n')
		text.v[text.len - 1] = '\0';
	return text_printable(text.v, buf, size);
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

	if (t->core || syscall(SYS_get_robust_list, tid, &head, &len) < 0 || !head)
		return -1;
	*ret_head = (raddr){ (uintptr_t)head };
	return 0;
}
