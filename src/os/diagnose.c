/*
 * The reason why a target may not be traced.  The kernel returns EPERM for a dozen reasons
 * (kernel/ptrace.c, __ptrace_may_access; security/yama/yama_lsm.c); /proc shows which one applies.
 */
#include <config.h>

#include "os/diagnose.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "os/machine.h"
#include "os/os.h"
#include "os/rights.h"
#include "os/status.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Store in BUF, printable, the profile of AppArmor ("docker-default (enforce)") or the context of
 * SELinux ("system_u:system_r:container_t:s0") of the process whose directory in /proc is PROC_FD;
 * "" if not found.  attr/current belongs to the first such module; AppArmor's own file may exist
 * without AppArmor, but is not readable then.
 */
static void
read_label(int proc_fd, char *buf, size_t size)
{
	static const char *const files[] = { "attr/apparmor/current", "attr/current" };

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof files / sizeof *files && !buf[0]; i++) {
		auto_text struct text text = { 0 };
		auto_fd int fd = openat(proc_fd, files[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 || text_read(&text, fd, 4096) < 0)
			continue;
		text.v[strcspn(text.v, "\n")] = '\0';
		text_printable(text.v, buf, size);
	}
}

/* Return whether the setting in PATH exists and begins with a 1. */
static bool
is_on(const char *path)
{
	char value[8];

	os_setting(path, value, sizeof value);
	return value[0] == '1';
}

static bool
is_selinux_enforcing(void)
{
	return is_on("/sys/fs/selinux/enforce");
}

/*
 * Return whether LABEL confines.  A profile's mode follows its name; a context's third field is its
 * type.
 */
static bool
is_confining(const char *label)
{
	const char *type = strchr(label, ':');

	if (strstr(label, " ("))
		return !strstr(label, " (complain)") && !strstr(label, " (unconfined)");
	type = type ? strchr(type + 1, ':') : NULL;
	return type && strncmp(type + 1, "unconfined", 10) != 0 && is_selinux_enforcing();
}

/* /proc/PID belongs to root when the process is not dumpable (fs/proc/base.c, task_dump_owner). */
static bool
is_dumpable(const struct target *t, uint32_t uid)
{
	struct stat st;

	return fstatat(t->proc_fd, "status", &st, 0) < 0 || st.st_uid == uid;
}

/* Return whether our user namespace is the first one, which maps every uid to itself. */
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

/*
 * Store in BUF the option hidepid= of the /proc that is mounted here, as mountinfo has it: a number
 * before Linux 5.8, a word since (fs/proc/root.c, proc_show_options()); "" if it hides nothing.
 * *RET_GID is the group that may see all processes.
 */
static void
hidepid(char *buf, size_t size, uint32_t *ret_gid)
{
	auto_file FILE *f = fopen("/proc/self/mountinfo", "re");
	auto_free char *line = NULL;
	size_t room = 0;

	buf[0] = '\0';
	*ret_gid = 0;
	while (f && getline(&line, &room, f) > 0) {
		const char *options = strstr(line, " - proc "), *hides, *gid;
		char place[8];

		if (!options || sscanf(line, "%*u %*u %*s %*s %7s", place) != 1 ||
			strcmp(place, "/proc") != 0)
			continue;
		/* The last /proc mounted there is the visible one. */
		buf[0] = '\0';
		hides = strstr(options, ",hidepid=");
		gid = strstr(options, ",gid=");
		*ret_gid = gid ? (uint32_t)strtoul(gid + 5, NULL, 10) : 0;
		if (hides)
			snprintf(buf, size, "%.*s", (int)strcspn(hides + 1, ",\n"), hides + 1);
	}
	if (strcmp(buf, "hidepid=0") == 0 || strcmp(buf, "hidepid=off") == 0)
		buf[0] = '\0';
}

void
os_rights(struct os_rights *ret)
{
	auto_text struct text text = { 0 };
	auto_fd int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd int fd = openat(self, "status", O_RDONLY | O_CLOEXEC);
	char scope[16];
	struct os_rights us = { .uid = geteuid(), .gid = getegid() };
	const char *line;
	uint32_t gid;

	os_setting("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
	us.yama_scope = strtol(scope, NULL, 10);
	us.is_first_user_namespace = is_our_user_namespace_first();
	os_setting("/sys/kernel/security/lsm", us.lsm, sizeof us.lsm);
	if (!us.lsm[0])
		snprintf(us.lsm, sizeof us.lsm, "?");
	read_label(self, us.label, sizeof us.label);
	if (!is_confining(us.label))
		us.label[0] = '\0';
	hidepid(us.hidepid, sizeof us.hidepid, &gid);
	/* fs/proc/base.c, has_pid_permissions() */
	us.hides_others = us.hidepid[0] && !group_member(gid);
	*ret = us;
	if (fd < 0 || text_read(&text, fd, 1 << 20) < 0)
		return;
	line = strstr(text.v, "\nCapEff:");
	if (line) {
		uint64_t caps = strtoull(line + 8, NULL, 16);

		ret->capabilities = caps;
		ret->has_ptrace = caps >> CAP_SYS_PTRACE & 1;
		ret->has_read = (caps >> CAP_DAC_READ_SEARCH | caps >> CAP_DAC_OVERRIDE) & 1;
		ret->hides_others &= !ret->has_ptrace;
	}
	line = strstr(text.v, "\nSeccomp:");
	ret->has_filter = line && strtol(line + 9, NULL, 10) == 2;
}

static bool
shares_user_namespace(const struct target *t)
{
	struct stat ours, theirs;

	/* Reading the target's namespace needs the right that was refused. */
	if (stat("/proc/self/ns/user", &ours) < 0 || fstatat(t->proc_fd, "ns/user", &theirs, 0) < 0)
		return is_our_user_namespace_first();
	return ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static int
refuse_access(
	struct err *e, const struct target *t, const char *did, const char *why, const char *help)
{
	err_set_kind(e, ERR_PERMISSION, 0, "may not %s: %d (%s) %s", did, t->pid, t->comm, why);
	e->code = EPERM;
	return err_hint(e, "%s", help);
}

static int
refuse_traced(struct err *e, const struct target *t, const char *did, pid_t tracer)
{
	char path[32], name[64] = "?", why[128];
	auto_text struct text text = { 0 };
	auto_fd int fd = -1;

	snprintf(path, sizeof path, "/proc/%d/comm", tracer);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && text_read(&text, fd, 64) == 0) {
		text.v[strcspn(text.v, "\n")] = '\0';
		text_printable(text.v, name, sizeof name);
	}
	snprintf(why, sizeof why, "is traced by process %d (%s), and only one tracer is allowed",
		tracer, name);
	return refuse_access(e, t, did, why, "End that debugger or tracer first");
}

/*
 * Return which users have the right: for a caller that is not root, or that is root without a
 * capability.
 */
static const char *
who_may(const struct os_rights *us)
{
	return us->uid ? "Run memdiag as root; in a container, give it --cap-add=SYS_PTRACE"
		       : "memdiag is root, but lacks CAP_SYS_PTRACE: in a container, give it "
			 "--cap-add=SYS_PTRACE";
}

static int
refuse_yama(struct err *e, const struct target *t, const char *did, const struct os_rights *us)
{
	const char *help = us->uid
		? "Run memdiag as root, or: sysctl kernel.yama.ptrace_scope=0"
		: "memdiag is root, but lacks CAP_SYS_PTRACE: in a container, give it "
		  "--cap-add=SYS_PTRACE; or, on the host: sysctl kernel.yama.ptrace_scope=0";

	switch (us->yama_scope) {
	case 1:
		return refuse_access(e, t, did,
			"is not a child of memdiag, and kernel.yama.ptrace_scope is 1", help);
	case 2:
		return refuse_access(
			e, t, did, "needs CAP_SYS_PTRACE: kernel.yama.ptrace_scope is 2", help);
	default:
		return refuse_access(e, t, did, "is out of reach: kernel.yama.ptrace_scope is 3",
			"Tracing is off on this machine until it is rebooted with another setting");
	}
}

#define SECCOMP_WHY "a seccomp filter applies to memdiag itself"
#define SECCOMP_HELP "--security-opt seccomp=unconfined"

/* Report that a security module confines memdiag itself. */
static int
refuse_confined(struct err *e, const struct target *t, const char *did, const struct os_rights *us)
{
	char why[320], help[256] = "Look at the audit log: ausearch -m avc -ts recent";

	snprintf(why, sizeof why, "is protected by a security module: memdiag runs as '%s'%s",
		us->label, us->has_filter ? ", and " SECCOMP_WHY : "");
	if (strstr(us->label, " ("))
		snprintf(help, sizeof help,
			"Allow 'ptrace,' in that profile, or run aa-complain on its file in /etc/apparmor.d; "
			"in a container: --security-opt apparmor=unconfined%s",
			us->has_filter ? " " SECCOMP_HELP : "");
	else if (us->has_filter)
		snprintf(help, sizeof help,
			"Look at the audit log: ausearch -m avc -ts recent; "
			"in a container: --security-opt label=disable " SECCOMP_HELP);
	return refuse_access(e, t, did, why, help);
}

/* Report a security module: all other reasons are excluded. */
static int
refuse_module(struct err *e, const struct target *t, const char *did, const struct os_rights *us)
{
	char label[128], why[400];

	if (is_selinux_enforcing() && is_on("/sys/fs/selinux/booleans/deny_ptrace"))
		return refuse_access(e, t, did,
			"is protected by SELinux: its boolean deny_ptrace is on",
			"Run: setsebool deny_ptrace off");
	if (us->label[0])
		return refuse_confined(e, t, did, us);
	if (us->has_filter)
		return refuse_access(e, t, did, "may be allowed, but " SECCOMP_WHY,
			"In a container: " SECCOMP_HELP ", or a profile that allows ptrace and "
			"process_vm_readv");
	read_label(t->proc_fd, label, sizeof label);
	snprintf(why, sizeof why,
		"was traced by another process a moment ago, or is protected by a security module (the kernel has: %s%s%s)",
		strcmp(us->lsm, "?") ? us->lsm : "list not readable",
		label[0] ? "; the process runs as " : "", label);
	return refuse_access(e, t, did, why,
		"Try again; "
		"else look at the audit log: SELinux, an AppArmor ptrace rule, Landlock");
}

/*
 * Return whether one of IDS differs from OURS: the real, the effective and the saved one must be
 * equal (__ptrace_may_access()).
 */
static bool
diagnose_find_other(const uint32_t ids[3], uint32_t ours, uint32_t *ret)
{
	for (int i = 0; i < 3; i++)
		if (ids[i] != ours) {
			*ret = ids[i];
			return true;
		}
	return false;
}

/*
 * Fail, with E, if the target belongs to another user or group and we lack the capability for that.
 */
static int
check_owner(const struct target *t, const struct os_status *s, const struct os_rights *us,
	const char *did, struct err *e)
{
	uint32_t other;
	char why[256];

	if (us->has_ptrace)
		return 0;
	if (diagnose_find_other(s->uids, us->uid, &other)) {
		snprintf(why, sizeof why, "belongs to uid %u, and we are uid %u", other, us->uid);
		return refuse_access(e, t, did, why,
			"CAP_SYS_PTRACE is missing: run memdiag as that user or as root; "
			"in a container, give it --cap-add=SYS_PTRACE");
	}
	if (diagnose_find_other(s->gids, us->gid, &other)) {
		snprintf(why, sizeof why, "runs with gid %u, and memdiag with gid %u", other,
			us->gid);
		return refuse_access(e, t, did, why,
			"CAP_SYS_PTRACE is missing: run memdiag with that group (sg) or as root; "
			"in a container, give it --cap-add=SYS_PTRACE");
	}
	return 0;
}

int
os_diagnose_hidden(pid_t pid, int code, struct err *e)
{
	struct os_rights us;

	os_rights(&us);
	/* kill() finds a hidden process too, and fails with EPERM. */
	if (us.hides_others && (kill(pid, 0) == 0 || errno == EPERM)) {
		err_set_kind(e, ERR_PERMISSION, 0, "may not look at process %d: " OS_HIDES, pid,
			us.hidepid);
		e->code = EPERM;
		return err_hint(e, OS_HIDES_HELP);
	}
	if (code == ENOENT)
		return err_set_kind(e, ERR_GONE, 0, "there is no process %d", pid);
	return err_set(e, code, "cannot open /proc/%d", pid);
}

int
os_diagnose_eperm(const struct target *t, const char *did, struct err *e)
{
	struct os_rights us;
	struct os_status s;
	struct err gone;
	char why[256];

	os_rights(&us);
	if (os_status(t, 0, &s, &gone) < 0) {
		*e = gone;
		return -1;
	}
	if (s.state == 'Z' && t->mem_tid == t->pid)
		return err_set_kind(e, ERR_GONE, 0, "process %d (%s) is a zombie: it has ended",
			t->pid, t->comm);
	if (s.tracer)
		return refuse_traced(e, t, did, s.tracer);
	if (check_owner(t, &s, &us, did, e) < 0)
		return -1;
	/* Only their owner may open /proc/PID/pagemap and mem. */
	if (s.uid != us.uid && !us.has_read) {
		snprintf(why, sizeof why,
			"belongs to uid %u, and we are uid %u without CAP_DAC_READ_SEARCH", s.uid,
			us.uid);
		return refuse_access(e, t, did, why, "Run memdiag as that user or as root");
	}
	/*
	 * __ptrace_may_access(): a tracer without the capability must have all capabilities of the
	 * target.
	 */
	if (!us.has_ptrace && s.capabilities & ~us.capabilities)
		return refuse_access(
			e, t, did, "has capabilities that memdiag does not have", who_may(&us));
	if (!us.has_ptrace && !is_dumpable(t, s.uid))
		return refuse_access(e, t, did,
			"is not dumpable (a set-uid program, file capabilities, or its own prctl)",
			"CAP_SYS_PTRACE is needed: run memdiag as root");
	if (!shares_user_namespace(t))
		return refuse_access(e, t, did, "is in another user namespace than memdiag",
			"Run memdiag on the host as root, or as root inside that namespace");
	if (us.yama_scope == 3 || (us.yama_scope && !us.has_ptrace))
		return refuse_yama(e, t, did, &us);
	return refuse_module(e, t, did, &us);
}
