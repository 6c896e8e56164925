/*
 * What memdiag export cannot do once it is confined: each call that stops, changes or signals a
 * process, writes to a file or starts a program is made with arguments with which it works before.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export/confine.h"
#include "tests/unit/tap.h"

static char word[16] = "unchanged";
static char path[64], other[80];
static pid_t child;
static int child_fd;

/* ---- calls, each with what would work ---- */

static long
try_ptrace(void)
{
	return ptrace(PTRACE_SEIZE, child, 0, 0);
}

static long
try_process_vm_writev(void)
{
	char text[] = "changed";
	struct iovec from = { text, sizeof text }, to = { word, sizeof text };

	return process_vm_writev(child, &from, 1, &to, 1, 0);
}

static long
try_kill(void)
{
	return kill(child, SIGUSR1);
}

static long
try_kill_0(void)
{
	return kill(child, 0);
}

static long
try_tgkill(void)
{
	return syscall(SYS_tgkill, child, child, SIGUSR1);
}

static long
try_tkill(void)
{
	return syscall(SYS_tkill, child, SIGUSR1);
}

static long
try_sigqueue(void)
{
	return sigqueue(child, SIGUSR1, (union sigval){ 0 });
}

static long
try_pidfd_send_signal(void)
{
	return syscall(SYS_pidfd_send_signal, child_fd, SIGUSR1, NULL, 0);
}

static long
try_pidfd_getfd(void)
{
	return syscall(SYS_pidfd_getfd, child_fd, 1, 0);
}

static long
try_fork(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid;
}

static long
try_clone(void)
{
	const long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

/* glibc must go on to clone(), so the error differs. */
static long
try_clone3(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	const long pid = syscall(SYS_clone3, &args, sizeof args);

	if (pid == 0)
		_exit(0);
	if (pid < 0 && errno == ENOSYS)
		errno = EPERM;
	return pid;
}

static long
try_execve(void)
{
	return execl("/nonexistent/program", "program", (char *)NULL);
}

static long
try_write_only(void)
{
	return open(path, O_WRONLY);
}

static long
try_read_write(void)
{
	return open(path, O_RDWR);
}

static long
try_create(void)
{
	return open(other, O_RDONLY | O_CREAT, 0600);
}

static long
try_truncating_open(void)
{
	return open(path, O_RDONLY | O_TRUNC);
}

static long
try_append(void)
{
	return open(path, O_WRONLY | O_APPEND);
}

static long
try_tmpfile(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

static long
try_openat2(void)
{
	const uint64_t how[3] = { O_RDWR };
	const long fd = syscall(SYS_openat2, AT_FDCWD, path, how, sizeof how);

	if (fd < 0 && errno == ENOSYS)
		errno = EPERM;
	return fd;
}

static long
try_memory_of_child(void)
{
	char name[32];

	snprintf(name, sizeof name, "/proc/%d/mem", (int)child);
	return open(name, O_RDWR);
}

static long
try_truncate(void)
{
	return truncate(path, 0);
}

static long
try_unlink(void)
{
	return unlink(path);
}

static long
try_rename(void)
{
	return rename(path, other);
}

static long
try_mkdir(void)
{
	return mkdir(other, 0700);
}

static long
try_chmod(void)
{
	return chmod(path, 0777);
}

static long
try_process_madvise(void)
{
	struct iovec page = { (void *)((uintptr_t)word & ~UINT64_C(4095)), 4096 };

	return syscall(SYS_process_madvise, child_fd, &page, 1, MADV_COLD, 0);
}

static long
try_prlimit(void)
{
	const uint64_t limit[2] = { 0, 0 };

	return syscall(SYS_prlimit64, child, 7, limit, NULL);
}

static long
try_executable_mapping(void)
{
	return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long
try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long
try_perf(void)
{
	return syscall(SYS_perf_event_open, NULL, child, -1, -1, 0);
}

static long
try_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long
try_tiocsti(void)
{
	return ioctl(0, TIOCSTI, "x");
}

static long
try_owner(void)
{
	return fcntl(0, F_SETOWN, child);
}

static long
try_setpgid(void)
{
	return setpgid(child, 0);
}

static const struct {
	const char *name;
	long (*call)(void);
} calls[] = {
	{ "ptrace", try_ptrace },
	{ "process_vm_writev", try_process_vm_writev },
	{ "kill", try_kill },
	{ "kill with signal 0", try_kill_0 },
	{ "tgkill", try_tgkill },
	{ "tkill", try_tkill },
	{ "rt_sigqueueinfo", try_sigqueue },
	{ "pidfd_send_signal", try_pidfd_send_signal },
	{ "pidfd_getfd", try_pidfd_getfd },
	{ "fork", try_fork },
	{ "clone of a process", try_clone },
	{ "clone3", try_clone3 },
	{ "execve", try_execve },
	{ "open with O_WRONLY", try_write_only },
	{ "open with O_RDWR", try_read_write },
	{ "open with O_CREAT", try_create },
	{ "open with O_TRUNC", try_truncating_open },
	{ "open with O_APPEND", try_append },
	{ "open with O_TMPFILE", try_tmpfile },
	{ "openat2", try_openat2 },
	{ "open of a process's memory for writing", try_memory_of_child },
	{ "truncate", try_truncate },
	{ "unlink", try_unlink },
	{ "rename", try_rename },
	{ "mkdir", try_mkdir },
	{ "chmod", try_chmod },
	{ "process_madvise", try_process_madvise },
	{ "prlimit of another process", try_prlimit },
	{ "mmap with PROT_EXEC", try_executable_mapping },
	{ "socket", try_socket },
	{ "perf_event_open", try_perf },
	{ "io_uring_setup", try_io_uring },
	{ "ioctl with TIOCSTI", try_tiocsti },
	{ "fcntl with F_SETOWN", try_owner },
	{ "setpgid", try_setpgid },
};

/* ---- what must go on ---- */

static void *
thread(void *arg)
{
	return arg;
}

static void
test_allowed(void)
{
	char text[sizeof word];
	struct iovec to = { text, sizeof text }, from = { word, sizeof word };
	int fd = open("/proc/self/maps", O_RDONLY);
	pthread_t t;

	ok(fd >= 0 && read(fd, text, 1) == 1, "a file can be read");
	ok(pthread_create(&t, NULL, thread, NULL) == 0 && pthread_join(t, NULL) == 0,
		"a thread can be started");
	ok(process_vm_readv(child, &to, 1, &from, 1, 0) == sizeof word &&
			strcmp(text, "unchanged") == 0,
		"memory can be read, and is unchanged");
	ok(malloc(1 << 24), "memory can be allocated");
}

/* The child runs until it is told to end, and never sees a signal. */
static void
run_child(int fd)
{
	char byte;

	while (read(fd, &byte, 1) < 0)
		;
	_exit(0);
}

int
main(void)
{
	int ends[2], status, fd;
	struct err e;

	snprintf(path, sizeof path, "/tmp/memdiag-confine.XXXXXX");
	fd = mkstemp(path);
	snprintf(other, sizeof other, "%s.other", path);
	if (fd < 0 || write(fd, word, sizeof word) != sizeof word || pipe(ends) < 0)
		return 99;
	child = fork();
	if (child == 0) {
		close(ends[1]);
		run_child(ends[0]);
	}
	child_fd = (int)syscall(SYS_pidfd_open, child, 0);
	/* Files are changed by a process of its own, so that this one can remove them. */
	if (fork() == 0) {
		if (!ok(export_confine(false, &e) == 0, "the filter is installed"))
			puts(e.msg);
		for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
			errno = 0;
			ok(calls[i].call() == -1 && errno == EPERM, "%s is refused (%s)",
				calls[i].name, strerror(errno));
		}
		test_allowed();
		fflush(stdout);
		_exit(tap_failed != 0);
	}
	tap_nr = 1 + (int)(sizeof calls / sizeof *calls) + 4;
	wait(&status);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "all of that");
	close(ends[1]);
	ok(waitpid(child, &status, 0) == child && status == 0, "the other process ended by itself");
	ok(access(path, R_OK) == 0 && lseek(fd, 0, SEEK_END) == sizeof word,
		"the file is as it was");
	ok(access(other, F_OK) < 0, "no other file is there");
	unlink(path);
	return tap_end();
}
