#include <config.h>

#include "export/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/pages.h"

/* ---- capabilities ---- */

static const unsigned int needed[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH };

/* Return whether the process has no other capability: systemd has dropped them. */
static bool
has_only_needed(void)
{
	for (unsigned int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap != needed[0] && cap != needed[1] &&
			capng_have_capability(CAPNG_PERMITTED, cap))
			return false;
	return true;
}

/* Keep of the two capabilities those that the process has. */
static void
choose_capabilities(void)
{
	bool is_there[sizeof needed / sizeof *needed];

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		is_there[i] = capng_have_capability(CAPNG_PERMITTED, needed[i]);
	capng_clear(CAPNG_SELECT_BOTH);
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (is_there[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, needed[i]);
}

int
export_drop_rights(const char *user, struct err *e)
{
	const struct passwd *pw = user ? getpwnam(user) : NULL;
	int failed;

	if (user && !pw)
		return err_set_kind(e, ERR_USAGE, 0, "there is no user '%s'", user);
	if (capng_get_caps_process() < 0)
		return err_set(e, errno, "cannot read memdiag's capabilities");
	if (!user && has_only_needed())
		return 0;
	choose_capabilities();
	if (!user)
		failed = capng_apply(CAPNG_SELECT_CAPS);
	else
		failed = capng_change_id((int)pw->pw_uid, (int)pw->pw_gid,
			CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING);
	if (failed && user)
		return err_set(e, errno, "cannot become user '%s' (%d)", user, failed);
	return failed ? err_set(e, errno, "cannot drop capabilities (%d)", failed) : 0;
}

/* ---- system calls ---- */

/* Possible with any arguments. */
static const int free_calls[] = {
	/* files: open() is below */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(fstatfs),
	SCMP_SYS(statfs),
	SCMP_SYS(lseek),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(write),
	SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),
	SCMP_SYS(writev),
	/* processes */
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(get_robust_list),
	/* sockets */
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(eventfd2),
	/* memdiag's own memory, time and end */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrusage),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(membarrier),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Bits of open()'s flags that change a file or make one. */
#define OPEN_WRITES (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)

static int
allow_free_calls(scmp_filter_ctx filter)
{
	int failed = 0;

	for (size_t i = 0; !failed && i < sizeof free_calls / sizeof *free_calls; i++)
		failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, free_calls[i], 0);
	return failed;
}

/* Calls with arguments that matter.  openat2() and clone3() have theirs in memory: ENOSYS. */
static int
allow_bounded_calls(scmp_filter_ctx f)
{
	const uint64_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
	int failed = 0;

	failed |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
		SCMP_A1(SCMP_CMP_MASKED_EQ, OPEN_WRITES, O_RDONLY));
	failed |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, OPEN_WRITES, O_RDONLY));
	failed |= seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);
	failed |= seccomp_rule_add(
		f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread));
	failed |= seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	failed |= seccomp_rule_add(
		f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	failed |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* Limits of memdiag itself, and only to read them. */
	failed |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
		SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
	failed |= seccomp_rule_add(
		f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, os_pages_scan_request));
	failed |= seccomp_rule_add(
		f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, FIONBIO));
	/* Not F_SETOWN and F_SETSIG, which make the kernel send signals. */
	for (int i = 0; i < 5; i++)
		failed |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_EQ,
				((const uint64_t[]){
					F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_DUPFD_CLOEXEC })[i]));
	return failed;
}

int
export_confine(bool may_rename, struct err *e)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int failed;

	if (!filter)
		return err_set(e, ENOMEM, "cannot make a seccomp filter");
	failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) || allow_free_calls(filter) ||
		allow_bounded_calls(filter) ||
		(may_rename && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(renameat), 0)) ||
		seccomp_load(filter);
	seccomp_release(filter);
	return failed ? err_set(e, 0, "cannot install the seccomp filter") : 0;
}
