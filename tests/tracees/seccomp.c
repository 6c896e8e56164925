/*
 * seccomp [list|refuse|thread [poll]]: a program whose system call filter ends it for memfd_create(), which
 * it never calls; with "list" for all but what it needs; with "refuse" such calls fail; with "thread" as
 * "list", if a thread of it makes them that waits forever.  With "poll" it waits for its commands there.
 */
#include "tracee.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/syscall.h>

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##what)
#define ON(nr, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), RETURN(what)

static struct sock_filter all_but_one[] = {
	LOAD_NUMBER,
	ON(SYS_memfd_create, KILL_PROCESS),
	RETURN(ALLOW),
};

/* What malloc, threads and tracee.h take. */
static struct sock_filter listed[] = {
	LOAD_NUMBER,
	ON(SYS_read, ALLOW),
	ON(SYS_poll, ALLOW),
	ON(SYS_write, ALLOW),
	ON(SYS_brk, ALLOW),
	ON(SYS_mmap, ALLOW),
	ON(SYS_munmap, ALLOW),
	ON(SYS_mprotect, ALLOW),
	ON(SYS_madvise, ALLOW),
	ON(SYS_futex, ALLOW),
	ON(SYS_clone, ALLOW),
	ON(SYS_clone3, ALLOW),
	ON(SYS_set_robust_list, ALLOW),
	ON(SYS_rseq, ALLOW),
	ON(SYS_rt_sigprocmask, ALLOW),
	ON(SYS_rt_sigreturn, ALLOW),
	ON(SYS_restart_syscall, ALLOW),
	ON(SYS_exit, ALLOW),
	ON(SYS_exit_group, ALLOW),
	RETURN(KILL_PROCESS),
};

static void
filter(struct sock_filter *v, size_t size)
{
	struct sock_fprog program = { (unsigned short)(size / sizeof *v), v };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		tracee_fail("seccomp");
}

/* Park there instead of in read(): what is left of such a wait the kernel keeps. */
static int
park_in_poll(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	char line[64];

	for (;;) {
		while (poll(&p, 1, -1) < 0)
			tracee_say("poll was broken off");
		if (!tracee_command(line, sizeof line))
			return tracee_end();
		tracee_say("what is '%s'?", line);
	}
}

static int waits_in[2];
static pthread_barrier_t filtered;

static void *
filter_thread(void *arg)
{
	char c;

	tracee_use_malloc();
	filter(listed, sizeof listed);
	pthread_barrier_wait(&filtered);
	return read(waits_in[0], &c, 1) == 0 ? NULL : arg;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t thread;

	if (strcmp(what, "thread") == 0) {
		if (pipe(waits_in) < 0)
			tracee_fail("pipe");
		pthread_barrier_init(&filtered, NULL, 2);
		pthread_create(&thread, NULL, filter_thread, NULL);
		pthread_barrier_wait(&filtered);
	}
	tracee_ready();
	if (strcmp(what, "refuse") == 0)
		listed[sizeof listed / sizeof *listed - 1].k = SECCOMP_RET_ERRNO | EPERM;
	if (strcmp(what, "list") == 0 || strcmp(what, "refuse") == 0)
		filter(listed, sizeof listed);
	else if (!*what)
		filter(all_but_one, sizeof all_but_one);
	return argc > 2 ? park_in_poll() : tracee_park();
}
