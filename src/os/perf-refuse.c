/* The reasons why the kernel refuses events (kernel/events/core.c, perf_event_open()). */
#include <config.h>

#include "os/perf-refuse.h"

#include "base/text.h"
#include "os/diagnose.h"
#include "os/machine.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* linux/capability.h has it since 5.8; we also build with older headers. */
#define PERFMON_BIT 38

#define DID "cannot watch the events of all processes"

/* Capabilities in another user namespace than the first do not suffice. */
static bool
may_perfmon(const struct os_rights *us)
{
	return us->is_first_user_namespace &&
		(us->capabilities >> PERFMON_BIT | us->capabilities >> CAP_SYS_ADMIN) & 1;
}

/* Fill E with CODE, but with a message that is more precise than errno's. */
static int __attribute__((format(printf, 3, 4)))
refuse_perf(struct err *e, int code, const char *fmt, ...)
{
	char why[sizeof e->msg];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	err_set_kind(e, ERR_PERMISSION, 0, "%s", why);
	e->code = code;
	return -1;
}

static int
refuse_filtered(int code, struct err *e)
{
	refuse_perf(e, code,
		DID ": a seccomp filter applies to memdiag, and refuses perf_event_open()");
	return err_hint(e,
		"In a container: give it --cap-add=PERFMON, or --security-opt seccomp=unconfined");
}

static int
refuse_right(const struct os_rights *us, int code, int max_paranoid, struct err *e)
{
	char paranoid[32];

	os_setting("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid);
	refuse_perf(e, code,
		DID ": memdiag has no CAP_PERFMON%s, and kernel.perf_event_paranoid is %s",
		us->is_first_user_namespace ? ""
					    : " (capabilities of a user namespace do not suffice)",
		paranoid[0] ? paranoid : "not readable");
	if (!us->uid && us->is_first_user_namespace)
		return err_hint(e,
			"Give it that capability (in a container --cap-add=PERFMON), or: sysctl kernel.perf_event_paranoid=%d",
			max_paranoid);
	return err_hint(e,
		"Run memdiag as root%s, or: sysctl kernel.perf_event_paranoid=%d; "
		"in a container, give it --cap-add=PERFMON",
		us->is_first_user_namespace ? "" : " of the host", max_paranoid);
}

static int
refuse_locked(const struct os_rights *us, int code, struct err *e)
{
	char lockdown[64];

	os_setting("/sys/kernel/security/lockdown", lockdown, sizeof lockdown);
	refuse_perf(e, code,
		DID
		": memdiag has the right to, but a security module refuses it (the kernel has: %s; "
		"lockdown: %s)",
		strcmp(us->lsm, "?") ? us->lsm : "list not readable",
		lockdown[0] ? lockdown : "not readable");
	return err_hint(
		e, "Look at the audit log; lockdown is set when the machine starts (lockdown=)");
}

int
perf_refuse_event(int code, int max_paranoid, struct err *e)
{
	struct os_rights us;

	os_rights(&us);
	if (code == ENOSYS && !us.has_filter)
		return err_set_kind(e, ERR_UNSUPPORTED, code,
			DID ": this kernel has no perf_event_open() (CONFIG_PERF_EVENTS)");
	if (code == ENOSYS)
		return refuse_filtered(code, e);
	if (code != EPERM && code != EACCES)
		return err_set(e, code, DID);
	/*
	 * A filter that refuses every call and a missing right look alike, and often both apply:
	 * Docker's profile allows perf_event_open() only with CAP_PERFMON.
	 */
	if (!may_perfmon(&us))
		return refuse_right(&us, code, max_paranoid, e);
	return us.has_filter ? refuse_filtered(code, e) : refuse_locked(&us, code, e);
}

/* perf_mmap() fails with EPERM if the user would exceed the limit of locked memory. */
int
perf_refuse_ring(int code, size_t bytes, size_t nr_cpus, struct err *e)
{
	struct rlimit limit = { 0 };
	char mlock_kb[32], size[32];

	text_bytes(bytes, size, sizeof size);
	if (code != EPERM)
		return err_set(
			e, code, "cannot map a buffer of %s for the events of a processor", size);
	os_setting("/proc/sys/kernel/perf_event_mlock_kb", mlock_kb, sizeof mlock_kb);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	refuse_perf(e, code,
		"cannot map buffers of %s for the events of %zu processors: kernel.perf_event_mlock_kb is %s for each, and %llu KiB may be locked (ulimit -l)",
		size, nr_cpus, mlock_kb[0] ? mlock_kb : "not readable",
		(unsigned long long)limit.rlim_cur >> 10);
	return err_hint(e, "Run memdiag as root, or: sysctl kernel.perf_event_mlock_kb=%zu",
		(bytes >> 10) * 2);
}
