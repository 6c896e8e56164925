/*
 * Files of a process and its threads that all users may read: status, stat, comm, the list of
 * threads.  So a refusal needs no explanation here.
 */
#include <config.h>

#include "os/status.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "os/core-proc-priv.h"
#include "os/frozen-threads-priv.h"
#include "os/machine.h"
#include "os/os-priv.h"
#include "os/os.h"
#include "os/status-priv.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files ---- */

int
proc_gone_or(int error)
{
	return error == ENOENT ? ESRCH : error;
}

/* Return whether NAME leads out of /proc, to a file that the target has chosen. */
static bool
is_targets_file(const char *name)
{
	static const char *const links[] = { "root", "cwd", "exe", "fd/", "map_files/" };

	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (strncmp(name, links[i], strlen(links[i])) == 0)
			return true;
	return false;
}

int
proc_open_at(const struct target *t, pid_t tid, const char *name, int flags)
{
	char path[96];

	if (is_targets_file(name) && !(flags & O_PATH)) {
		errno = EINVAL; /* see os/stranger.h */
		return -1;
	}
	if (!tid)
		return openat(t->proc_fd, name, flags | O_CLOEXEC);
	snprintf(path, sizeof path, "%d/%s", tid, name);
	return openat(t->task_fd, path, flags | O_CLOEXEC);
}

static int
read_open_file(const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e)
{
	auto_fd int fd = proc_open_at(t, tid, name, O_RDONLY);

	*out = (struct text){ 0 };
	if (fd >= 0 && text_read(out, fd, PROC_FILE_MAX_BYTES) == 0)
		return 0;
	return err_set(e, proc_gone_or(errno), "cannot read /proc/%d/%s", tid ? tid : t->pid, name);
}

/* ---- stat ---- */

int
proc_parse_stat(const char *text, uint64_t field[NR_STAT_FIELDS])
{
	/*
	 * "pid (comm) S ppid ...": comm may hold spaces and parentheses, so begin at the last one.
	 */
	const char *at = strrchr(text, ')');

	memset(field, 0, NR_STAT_FIELDS * sizeof *field);
	if (!at || strlen(at) < 4)
		return -1;
	at += 3; /* skip ") S": field 4 is next */
	for (int i = 4; i < NR_STAT_FIELDS; i++) {
		char *end;

		field[i] = strtoull(at, &end, 10);
		if (end == at)
			break;
		at = end;
	}
	return 0;
}

int
os_stat_field(const struct target *t, pid_t tid, int nr, uint64_t *ret, struct err *e)
{
	auto_text struct text text = { 0 };
	uint64_t field[NR_STAT_FIELDS];

	assert(nr >= 4 && nr < NR_STAT_FIELDS);
	if (read_open_file(t, tid, "stat", &text, e) < 0)
		return -1;
	if (proc_parse_stat(text.v, field) < 0)
		return err_set(e, 0, "/proc/%d/stat is not what Linux writes", tid);
	*ret = field[nr];
	return 0;
}

/*
 * Flags of include/linux/sched.h.  0x10 is PF_IO_WORKER since 5.10 (before, it was PF_VCPU), and
 * threads of a process have it since 5.12, and since 5.10.162, which took over the io_uring of
 * 5.15.  PF_USER_WORKER exists since 6.4.
 */
#define PF_IO_WORKER UINT64_C(0x10)
#define PF_USER_WORKER UINT64_C(0x4000)

static bool
has_flag(const struct target *t, pid_t tid, uint64_t wanted)
{
	uint64_t flags;
	struct err e;

	return os_stat_field(t, tid, STAT_FLAGS, &flags, &e) == 0 && flags & wanted;
}

bool
os_is_kernel_worker(const struct target *t, pid_t tid)
{
	const unsigned int version = os_linux_version();

	if (t->core)
		return core_is_kernel_worker(t->core, tid);
	if (t->frozen)
		return false; /* os_frozen_add() */
	return has_flag(t, tid,
		(version >= OS_LINUX(5, 10) ? PF_IO_WORKER : 0) |
			(version >= OS_LINUX(6, 4) ? PF_USER_WORKER : 0));
}

int
os_stat(const struct target *t, struct os_stat *ret, struct err *e)
{
	auto_text struct text text = { 0 };
	uint64_t field[NR_STAT_FIELDS];

	if (t->core) {
		core_stat(t->core, ret);
		return 0;
	}
	if (read_open_file(t, 0, "stat", &text, e) < 0)
		return -1;
	if (proc_parse_stat(text.v, field) < 0)
		return err_set(e, 0, "/proc/%d/stat is not what Linux writes", t->pid);
	ret->nr_faults = field[10] + field[12];
	ret->start_ticks = field[22];
	ret->start_stack = (raddr){ field[28] };
	ret->start_brk = (raddr){ field[47] };
	ret->arg_start = (raddr){ field[48] };
	return 0;
}

/* ---- status ---- */

enum field_type { FIELD_KB, FIELD_HEX, FIELD_UINT64, FIELD_INT };

/* The destination of each line of /proc/PID/status.  Other lines are ignored. */
static const struct {
	const char *key;
	enum field_type type;
	size_t offset;
} status_field[] = {
#define F(key, type, member)                                                                       \
	{                                                                                          \
		key, type, offsetof(struct os_status, member)                                      \
	}
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
	F("CapPrm", FIELD_HEX, capabilities),
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

/* "Uid: 0 1000 0 1000": the real, the effective, the saved one, and that for files. */
static bool
take_ids(uint32_t ids[3], const char *numbers)
{
	return sscanf(numbers, "%u %u %u", &ids[0], &ids[1], &ids[2]) == 3;
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
	else if (strcmp(key, "Uid") == 0 && take_ids(s->uids, value))
		s->uid = s->uids[1];
	else if (strcmp(key, "Gid") == 0)
		take_ids(s->gids, value);
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
	if (t->frozen && frozen_find(t->frozen, tid))
		tid = 0; /* it had memory, and the copy has */
	if (read_open_file(t, tid, "status", &text, e) < 0)
		return -1;
	/* The kernel escapes newlines in Name:, so each line is complete. */
	for (line = strtok_r(text.v, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		status_line(&s, line, colon + 1);
	}
	/*
	 * At the moment it goes, a thread belongs to no process any more (fs/proc/array.c,
	 * pid_alive()).
	 */
	if (s.state && !s.tgid)
		return err_set_kind(e, ERR_GONE, 0, "process %d has ended", tid ? tid : t->pid);
	if (!s.state)
		return err_set(
			e, 0, "/proc/%d/status is not what Linux writes", tid ? tid : t->pid);
	if (!s.has_memory && s.state != 'Z' && s.state != 'X')
		s.is_kernel_thread = has_flag(t, tid, PF_KTHREAD);
	*ret = s;
	return 0;
}

/* ---- threads ---- */

struct status_tids {
	pid_t *v;
	size_t nr, room;
};

/* Add the number NAME of a thread.  0, or -1: no memory. */
static int
add_tid(struct status_tids *tids, const char *name)
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

/*
 * List threads without readdir(), which would ask the kernel for a thousand names if only a few are
 * wanted.
 */
static int
list_tids(struct status_tids *tids, int fd, size_t max)
{
	enum { ENTRY_BYTES = 32 }; /* for a number of up to 12 digits */
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
	struct status_tids tids = { 0 };
	auto_fd int fd = -1;

	if (t->core)
		return core_threads(t->core, max, ret_tids, ret_nr, e);
	if (t->frozen)
		return frozen_threads(t->frozen, max, ret_tids, ret_nr, e);
	fd = openat(t->task_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, proc_gone_or(errno), "cannot list /proc/%d/task", t->pid);
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
os_thread_comm(const struct target *t, pid_t tid, char buf[static OS_COMM_BYTES])
{
	auto_text struct text text = { 0 };
	const struct frozen_thread *frozen = t->frozen ? frozen_find(t->frozen, tid) : NULL;
	struct err e;

	if (frozen)
		return strcpy(buf, frozen->comm);
	if (read_open_file(t, tid, "comm", &text, &e) < 0 || !text.len)
		return strcpy(buf, "?");
	if (text.v[text.len - 1] == '\n')
		text.v[text.len - 1] = '\0';
	snprintf(buf, OS_COMM_BYTES, "%s", text.v);
	return buf;
}

const char *
os_thread_name(const struct target *t, pid_t tid, char *buf, size_t size)
{
	char comm[OS_COMM_BYTES];

	if (t->core) /* it has only the main thread's name, escaped when it was read */
		return text_printable(tid == t->pid ? t->comm : "?", buf, size);
	return text_escape(os_thread_comm(t, tid, comm), buf, size);
}
