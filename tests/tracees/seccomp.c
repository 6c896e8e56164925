/*
 * seccomp [list|load|refuse|thread [poll]]: a program whose system call filter ends it for
 * memfd_create(), which it never calls; with "list" for all but what it needs, with "load" and what
 * memdiag says that a library takes; with "refuse" such calls fail; with "thread" as "list", if a
 * thread of it makes them that waits forever.  With "poll" it waits for its commands there.
 *	threads N	N threads at a time that allocate, twice
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

/* The system calls of malloc, threads and tracee.h. */
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

static const long load_calls[] = {
#define CALL(needs, since, must, name) SYS_##name,
#define CALL_WITH(needs, since, must, name, ...) SYS_##name,
#include "inject/calls.def"
};

static void
filter(struct sock_filter *v, size_t size)
{
	struct sock_fprog program = { (unsigned short)(size / sizeof *v), v };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		tracee_fail("seccomp");
}

static void
filter_for_load(void)
{
	struct sock_filter
		all[sizeof listed / sizeof *listed + 2 * sizeof load_calls / sizeof *load_calls];
	const size_t nr = sizeof listed / sizeof *listed - 1;
	struct sock_filter *at = all + nr;

	memcpy(all, listed, nr * sizeof *all);
	for (size_t i = 0; i < sizeof load_calls / sizeof *load_calls; i++) {
		const struct sock_filter pass[] = { ON((unsigned int)load_calls[i], ALLOW) };

		*at++ = pass[0];
		*at++ = pass[1];
	}
	*at++ = listed[nr];
	filter(all, (size_t)(at - all) * sizeof *all);
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

static pthread_barrier_t all_allocate;

static void *
allocate(void *arg)
{
	tracee_use_malloc();
	pthread_barrier_wait(&all_allocate);
	return arg;
}

static void
run_threads(size_t nr)
{
	pthread_t thread[200];

	pthread_barrier_init(&all_allocate, NULL, (unsigned int)nr);
	for (size_t i = 0; i < nr && i < sizeof thread / sizeof *thread; i++)
		if (pthread_create(&thread[i], NULL, allocate, NULL))
			tracee_fail("pthread_create");
	for (size_t i = 0; i < nr && i < sizeof thread / sizeof *thread; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&all_allocate);
}

static int
park(void)
{
	char line[64];

	while (tracee_command(line, sizeof line)) {
		unsigned int nr = 0;

		if (sscanf(line, "threads %u", &nr) == 1 && nr && nr <= 200) {
			run_threads(nr);
			run_threads(nr);
			tracee_say("done");
		} else {
			tracee_say("what is '%s'?", line);
		}
	}
	return tracee_end();
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
	if (strcmp(what, "load") == 0)
		run_threads(150); /* the first ones ask the kernel more */
	tracee_ready();
	if (strcmp(what, "refuse") == 0)
		listed[sizeof listed / sizeof *listed - 1].k = SECCOMP_RET_ERRNO | EPERM;
	if (strcmp(what, "list") == 0 || strcmp(what, "refuse") == 0)
		filter(listed, sizeof listed);
	else if (strcmp(what, "load") == 0)
		filter_for_load();
	else if (!*what)
		filter(all_but_one, sizeof all_but_one);
	return argc > 2 ? park_in_poll() : park();
}
