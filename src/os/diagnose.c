/*
 * Why a target may not be traced.  The kernel says EPERM for a dozen reasons (kernel/ptrace.c,
 * __ptrace_may_access; security/yama/yama_lsm.c); /proc tells which one it was.
 */
#include <config.h>

#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static long
yama_scope(void)
{
	auto_text struct text text = { 0 };
	auto_fd int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || text_read(&text, fd, 64) < 0)
		return 0;
	return strtol(text.v, NULL, 10);
}

static void
lsm_list(char *buf, size_t size)
{
	auto_text struct text text = { 0 };
	auto_fd int fd = open("/sys/kernel/security/lsm", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || text_read(&text, fd, 4096) < 0)
		snprintf(buf, size, "?");
	else
		text_printable(text.v, buf, size);
}

/* /proc/PID belongs to root when the process is not dumpable (fs/proc/base.c, task_dump_owner). */
static bool
is_dumpable(const struct target *t, uint32_t uid)
{
	struct stat st;

	return fstatat(t->proc_fd, "status", &st, 0) < 0 || st.st_uid == uid;
}

/* The first user namespace maps every uid to itself; ours is another one if it does not. */
static bool
is_our_user_namespace_first(void)
{
	auto_text struct text text = { 0 };
	auto_fd int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	unsigned long inside, outside, count;

	return fd < 0 || text_read(&text, fd, 4096) < 0 ||
		sscanf(text.v, "%lu %lu %lu", &inside, &outside, &count) != 3 ||
		(inside == 0 && outside == 0 && count == UINT32_MAX);
}

void
os_rights(struct os_rights *ret)
{
	auto_text struct text text = { 0 };
	auto_fd int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct os_rights us = { .uid = geteuid() };
	const char *line;

	us.yama_scope = yama_scope();
	us.is_first_user_namespace = is_our_user_namespace_first();
	lsm_list(us.lsm, sizeof us.lsm);
	*ret = us;
	if (fd < 0 || text_read(&text, fd, 1 << 20) < 0)
		return;
	line = strstr(text.v, "\nCapEff:");
	if (line) {
		uint64_t caps = strtoull(line + 8, NULL, 16);

		ret->has_ptrace = caps >> CAP_SYS_PTRACE & 1;
		ret->has_read = (caps >> CAP_DAC_READ_SEARCH | caps >> CAP_DAC_OVERRIDE) & 1;
	}
	line = strstr(text.v, "\nSeccomp:");
	ret->has_filter = line && strtol(line + 9, NULL, 10) == 2;
}

static bool
shares_user_namespace(const struct target *t)
{
	struct stat ours, theirs;

	/* Looking at theirs needs the very right that was refused. */
	if (stat("/proc/self/ns/user", &ours) < 0 || fstatat(t->proc_fd, "ns/user", &theirs, 0) < 0)
		return is_our_user_namespace_first();
	return ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static int
refuse(struct err *e, const struct target *t, const char *did, const char *why, const char *help)
{
	err_set_kind(e, ERR_PERMISSION, 0, "may not %s: %d (%s) %s", did, t->pid, t->comm, why);
	e->code = EPERM;
	return err_hint(e, "%s", help);
}

static int
refuse_traced(struct err *e, const struct target *t, const char *did, pid_t tracer)
{
	char name[64] = "?", why[128];
	struct target other = TARGET_NONE;
	struct err ignored;

	if (target_open(&other, tracer, &ignored) == 0)
		snprintf(name, sizeof name, "%s", other.comm);
	target_release(&other);
	snprintf(why, sizeof why, "is traced by process %d (%s), and only one tracer is allowed",
		tracer, name);
	return refuse(e, t, did, why, "End that debugger or tracer first");
}

static int
refuse_yama(struct err *e, const struct target *t, const char *did, long scope)
{
	switch (scope) {
	case 1:
		return refuse(e, t, did, "is not our descendant, and kernel.yama.ptrace_scope is 1",
			"Run memdiag as root, or: sysctl kernel.yama.ptrace_scope=0");
	case 2:
		return refuse(e, t, did, "needs CAP_SYS_PTRACE: kernel.yama.ptrace_scope is 2",
			"Run memdiag as root");
	default:
		return refuse(e, t, did, "is out of reach: kernel.yama.ptrace_scope is 3",
			"Nobody may trace on this machine until it is rebooted with another setting");
	}
}

int
os_diagnose_eperm(const struct target *t, const char *did, struct err *e)
{
	struct os_rights us;
	struct os_status s;
	struct err gone;
	char why[192];

	os_rights(&us);
	if (os_status(t, 0, &s, &gone) < 0) {
		*e = gone;
		return -1;
	}
	if (s.state == 'Z' && t->mem_tid == t->pid)
		return err_set_kind(e, ERR_GONE, 0, "process %d (%s) is a zombie: it has ended", t->pid,
			t->comm);
	if (s.tracer)
		return refuse_traced(e, t, did, s.tracer);
	if (s.uid != us.uid && !us.has_ptrace) {
		snprintf(why, sizeof why, "belongs to uid %u, and we are uid %u", s.uid, us.uid);
		return refuse(e, t, did, why,
			"CAP_SYS_PTRACE is missing: run memdiag as that user or as root; in a "
			"container, give it --cap-add=SYS_PTRACE");
	}
	/* /proc/PID/pagemap and mem are files that only their owner may open. */
	if (s.uid != us.uid && !us.has_read) {
		snprintf(why, sizeof why, "belongs to uid %u, and we are uid %u without "
			"CAP_DAC_READ_SEARCH", s.uid, us.uid);
		return refuse(e, t, did, why, "Run memdiag as that user or as root");
	}
	if (!us.has_ptrace && !is_dumpable(t, s.uid))
		return refuse(e, t, did,
			"is not dumpable (a set-uid program, file capabilities, or its own prctl)",
			"CAP_SYS_PTRACE is needed: run memdiag as root");
	if (!shares_user_namespace(t))
		return refuse(e, t, did, "lives in a user namespace that is not ours",
			"Run memdiag on the host as root, or as root inside that namespace");
	if (us.yama_scope == 3 || (us.yama_scope && !us.has_ptrace))
		return refuse_yama(e, t, did, us.yama_scope);
	if (us.has_filter)
		return refuse(e, t, did, "may be allowed, but a seccomp filter is on memdiag itself",
			"In a container: --security-opt seccomp=unconfined, or a profile that allows "
			"ptrace and process_vm_readv");
	snprintf(why, sizeof why, "is protected by something we cannot see (security modules: %s)",
		us.lsm);
	return refuse(e, t, did, why,
		"Look at the audit log: SELinux deny_ptrace, an AppArmor ptrace rule, Landlock");
}
