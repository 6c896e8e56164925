/*
 * Events where the kernel refuses them, each time with what is missing; and on kernels that know
 * less, or have fewer processors, than this one: system calls of memdiag are answered by the test
 * (--wrap=syscall).
 */
#include <config.h>

#include "os-perf.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/resource.h>

#include "deny-call.h"
#include "os/diagnose.h"
#include "os/perf-priv.h"
#include "os/perf-refuse.h"
#include "os/perf.h"

#define NOBODY 65534
#define BIG 60000000
#define MIB ((size_t)1 << 20)

/* ---- another kernel ---- */

static struct {
	bool has_no_lost, has_no_barrier;
	int offline_cpus; /* so many from 0 on */
	int nr_refused;
} kernel;

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

long
__wrap_syscall(long nr, ...)
{
	long arg[5]; /* none of the calls here has more */
	va_list ap;

	va_start(ap, nr);
	for (size_t i = 0; i < 5; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	errno = 0;
	if (nr == SYS_membarrier && kernel.has_no_barrier)
		errno = EINVAL;
	if (nr == SYS_perf_event_open) {
		const struct perf_event_attr *attr = (const void *)arg[0];

		if (kernel.has_no_lost && attr->read_format & PERF_COUNTS_LOST)
			errno = EINVAL;
		else if ((int)arg[2] < kernel.offline_cpus)
			errno = ENODEV;
	}
	if (errno) {
		kernel.nr_refused++;
		return -1;
	}
	return __real_syscall(nr, arg[0], arg[1], arg[2], arg[3], arg[4]);
}

static const struct perf_source a_source = {
	.kind = PERF_TRACEPOINT,
	.filter = "len == 60000000",
	.period = 1,
};

static struct perf_source
source_of_maps(void)
{
	struct perf_source source = a_source;

	source.id = id_mmap;
	return source;
}

/* Whether our own system calls are seen. */
static size_t
nr_seen(struct perf *p, size_t nr)
{
	struct perf_record r;
	size_t nr_right = 0;

	for (size_t i = 0; i < nr; i++)
		munmap(mmap(NULL, BIG, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), BIG);
	perf_stop(p);
	while (perf_next(p, &r))
		nr_right += r.type == PERF_EVENT && r.pid == getpid();
	return nr_right;
}

static void
test_old_kernel(void)
{
	struct perf_source source = source_of_maps();
	struct perf *p;

	kernel.has_no_lost = kernel.has_no_barrier = true;
	p = watch(&source, 1, MIB);
	is_u64(nr_seen(p, 100), 100, "a kernel before 6.0 reports the same");
	is_u64(perf_nr_lost(p), 0, "and no losses that nothing announces");
	is_u64((uint64_t)kernel.nr_refused, 2, "it is asked once for the count, and once to wait");
	perf_free(p);
	memset(&kernel, 0, sizeof kernel);
}

static void
test_offline(void)
{
	const struct perf_options o = { .ring_bytes = MIB };
	struct perf_source source = source_of_maps();
	const long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct err e = { 0 };
	struct perf *p;
	cpu_set_t last;

	kernel.offline_cpus = 1 << 16;
	ok(perf_open(&p, &o, &e) < 0, "no processor at all is an error");
	is_error(&e, ERR_UNSUPPORTED, "any processor", "which says so");
	kernel.offline_cpus = 1;
	if (nr_cpus < 2) {
		skip("a processor that is offline is left out", "there is only one");
	} else {
		CPU_ZERO(&last);
		CPU_SET((size_t)nr_cpus - 1, &last);
		sched_setaffinity(0, sizeof last, &last);
		p = watch(&source, 1, MIB);
		is_u64(nr_seen(p, 10), 10, "a processor that is offline is left out");
		perf_free(p);
	}
	memset(&kernel, 0, sizeof kernel);
}

/* ---- rights ---- */

static struct answer {
	int result;
	struct err e;
	struct rlimit during, after;
} * answer;

static int
open_source(const struct perf_source *source, size_t ring_bytes)
{
	const struct perf_options o = {
		.source = source,
		.nr_sources = 1,
		.regs_mask = REGS_MASK,
		.stack_bytes = 4096,
		.ring_bytes = ring_bytes,
	};
	struct perf *p = NULL;

	answer->result = perf_open(&p, &o, &answer->e);
	if (answer->result == 0)
		getrlimit(RLIMIT_NOFILE, &answer->during);
	perf_free(p);
	getrlimit(RLIMIT_NOFILE, &answer->after);
	return answer->result;
}

/* Try to watch in a child that DO(ARG) has taken something from. */
static bool
is_refused(bool (*prepare)(void *arg), void *arg)
{
	memset(answer, 0, sizeof *answer);
	return in_child(prepare, arg) && answer->result < 0;
}

static bool
as_nobody(void *source)
{
	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return false;
	open_source(source, MIB);
	return true;
}

static int
paranoid(void)
{
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
		return -1;
	close(fd);
	return atoi(text);
}

static void
test_nobody(void)
{
	struct perf_source tracepoint = source_of_maps(), fault = { .kind = PERF_MINOR_FAULTS };
	char name[64];

	if (paranoid() <= 0) {
		skip("without rights", "all users may watch events here");
		return;
	}
	snprintf(name, sizeof name, "perf_event_paranoid is %d", paranoid());
	ok(is_refused(as_nobody, &tracepoint), "who is not root may not watch system calls");
	is_error(&answer->e, ERR_PERMISSION, "CAP_PERFMON", "the right is named");
	ok(strstr(answer->e.msg, name), "and the setting that forbids it: %s", name);
	ok(strstr(answer->e.msg, "sysctl kernel.perf_event_paranoid=-1"),
		"and the one that would allow tracepoints");
	ok(is_refused(as_nobody, &fault), "nor page faults");
	ok(strstr(answer->e.msg, "sysctl kernel.perf_event_paranoid=0"), "which need less: %s",
		answer->e.msg);
}

static bool
deny_and_open(void *error)
{
	struct perf_source source = source_of_maps();

	if (!deny_call(SYS_perf_event_open, *(unsigned int *)error))
		return false;
	open_source(&source, MIB);
	return true;
}

static void
test_filtered(void)
{
	unsigned int error = EPERM;

	ok(is_refused(deny_and_open, &error), "a seccomp filter may refuse it");
	is_error(&answer->e, ERR_PERMISSION, "seccomp filter", "which is named");
	ok(strstr(answer->e.msg, "seccomp=unconfined"), "and what a container needs");
	is_u64((uint64_t)answer->e.code, EPERM, "with the kernel's reason");
	error = ENOSYS;
	ok(is_refused(deny_and_open, &error), "or hide it");
	is_error(&answer->e, ERR_PERMISSION, "seccomp filter", "which is named as well");
}

/* Without a filter nobody has that call. */
static void
test_no_perf(void)
{
	struct os_rights us;
	struct err e = { 0 };

	os_rights(&us);
	if (us.has_filter) {
		skip("a kernel without events", "a seccomp filter is on this test");
		return;
	}
	perf_refuse_event(ENOSYS, -1, &e);
	is_error(&e, ERR_UNSUPPORTED, "CONFIG_PERF_EVENTS", "a kernel without events");
	perf_refuse_event(EACCES, -1, &e);
	is_error(&e, ERR_PERMISSION, "security module", "a security module");
}

static bool
lock_nothing(void *arg)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const struct rlimit none = { 0 };
	struct perf_source source = source_of_maps();

	(void)arg;
	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	data[0].effective &= ~(1U << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, data) < 0 || setrlimit(RLIMIT_MEMLOCK, &none) < 0)
		return false;
	open_source(&source, 64 * MIB);
	return true;
}

static void
test_locked(void)
{
	if (paranoid() < 0) {
		skip("buffers are memory that is locked", "kernel.perf_event_paranoid is -1");
		return;
	}
	ok(is_refused(lock_nothing, NULL), "buffers are memory that is locked");
	is_error(
		&answer->e, ERR_PERMISSION, "kernel.perf_event_mlock_kb is ", "its limit is named");
	ok(strstr(answer->e.msg, "ulimit -l"), "and the other");
}

/* ---- files ---- */

static bool
limit_files(void *limit)
{
	struct perf_source source = source_of_maps();

	if (setrlimit(RLIMIT_NOFILE, limit) < 0)
		return false;
	open_source(&source, MIB);
	return true;
}

static void
test_files(void)
{
	struct rlimit limit = { 10, 10 };
	unsigned long need = 0;
	const char *at;

	ok(is_refused(limit_files, &limit), "a limit of 10 files is too low");
	is_error(&answer->e, ERR_FAILED, "and 10 may be", "the limit is named");
	at = strstr(answer->e.msg, "ulimit -n ");
	need = at ? strtoul(at + strlen("ulimit -n "), NULL, 10) : 0;
	ok(need > (unsigned long)sysconf(_SC_NPROCESSORS_ONLN) * 2, "and what is needed (%lu)",
		need);
	limit.rlim_cur = limit.rlim_max = need;
	ok(!is_refused(limit_files, &limit) && answer->result == 0, "which is enough: %s",
		answer->e.msg);
	limit.rlim_cur = 10;
	ok(!is_refused(limit_files, &limit) && answer->result == 0,
		"a limit that can be raised is raised: %s", answer->e.msg);
	ok(answer->during.rlim_cur > 10 && answer->during.rlim_cur <= need &&
			answer->during.rlim_max == need,
		"as far as it may");
	is_u64(answer->after.rlim_cur, 10, "and restored");
}

static size_t
nr_files(void)
{
	size_t nr = 0;

	for (int fd = 0; fd < 1000; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void
test_filters(void)
{
	const struct perf_source source[] = { { .kind = PERF_TRACEPOINT, .id = id_mmap },
		{ .kind = PERF_TRACEPOINT, .id = id_munmap, .filter = "no_such_field > 1" } };
	const struct perf_options o = { .source = source, .nr_sources = 2, .ring_bytes = MIB };
	const size_t nr = nr_files();
	struct err e = { 0 };
	struct perf *p;

	ok(perf_open(&p, &o, &e) < 0, "a filter that the kernel does not understand");
	is_error(&e, ERR_FAILED, "no_such_field > 1", "is named");
	is_u64(nr_files(), nr, "and what was open is closed");
}

int
main(void)
{
	answer = shared_memory(sizeof *answer);
	if (!can_watch())
		return tap_end();
	memset(&kernel, 0, sizeof kernel);
	test_nobody();
	test_filtered();
	test_no_perf();
	test_locked();
	test_files();
	test_filters();
	test_old_kernel();
	test_offline();
	return tap_end();
}
