/*
 * setuid-waits FUNCTION [other]: one thread is inside FUNCTION (setuid, seteuid, setgid), where it
 * holds libc's lock of the thread stacks and waits for another thread that does not take libc's
 * signal (nptl/nptl_setxid.c, __nptl_setxid).  That one and main wait inside stdio.  With "other" a
 * third waits for nothing in particular.
 *
 *	release	-> "done" when FUNCTION has returned, "stuck" if it does not within 5 s
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define SIGSETXID 33 /* nptl/pthreadP.h; glibc's own functions leave it alone */

static const struct function {
	const char *name;
	int (*set)(uid_t id);
	uid_t (*get)(void);
} functions[] = {
	{ "setuid", setuid, getuid },
	{ "seteuid", seteuid, geteuid },
	{ "setgid", setgid, getgid },
};

static sem_t is_deaf, has_returned;
static int release[2];
static atomic_int setter;

static void
change_setxid(int how)
{
	uint64_t set = UINT64_C(1) << (SIGSETXID - 1);

	if (syscall(SYS_rt_sigprocmask, how, &set, NULL, sizeof set) != 0)
		tracee_fail("rt_sigprocmask");
}

static void *
be_deaf(void *arg)
{
	FILE *f = fdopen(release[0], "r");
	char line[64];

	change_setxid(SIG_BLOCK);
	sem_post(&is_deaf);
	if (!f || !fgets(line, sizeof line, f))
		tracee_fail("release");
	change_setxid(SIG_UNBLOCK);
	fgets(line, sizeof line, f);
	return arg;
}

static void *
set(void *arg)
{
	const struct function *f = arg;

	tracee_use_malloc();
	setter = (int)syscall(SYS_gettid);
	if (f->set(f->get()) != 0)
		tracee_fail(f->name);
	sem_post(&has_returned);
	for (;;)
		poll(NULL, 0, -1);
	return arg;
}

static void *
wait_for_ever(void *arg)
{
	tracee_use_malloc();
	for (;;)
		poll(NULL, 0, -1);
	return arg;
}

/* Until the setter waits for the deaf thread: its only futex. */
static void
await_setter(void)
{
	char name[64], text[256];

	for (long nr = -1; nr != SYS_futex;) {
		ssize_t n;
		int fd;

		snprintf(name, sizeof name, "/proc/self/task/%d/syscall", setter);
		fd = setter ? open(name, O_RDONLY) : -1;
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof text - 1);
		close(fd);
		text[n < 0 ? 0 : n] = '\0';
		nr = strtol(text, NULL, 10);
	}
}

static const char *
let_go(void)
{
	struct timespec t;

	if (write(release[1], "go\n", 3) != 3)
		tracee_fail("write");
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 5;
	while (sem_timedwait(&has_returned, &t) != 0)
		if (errno == ETIMEDOUT)
			return "stuck";
	return "done";
}

int
main(int argc, char **argv)
{
	char line[64];

	if (pipe(release) != 0)
		tracee_fail("pipe");
	sem_init(&is_deaf, 0, 0);
	sem_init(&has_returned, 0, 0);
	if (argc > 2)
		tracee_thread(wait_for_ever, NULL);
	tracee_thread(be_deaf, NULL);
	sem_wait(&is_deaf);
	for (size_t i = 0; argc > 1 && i < sizeof functions / sizeof *functions; i++)
		if (strcmp(argv[1], functions[i].name) == 0)
			tracee_thread(set, (void *)&functions[i]);
	await_setter();
	tracee_ready();
	while (tracee_command_in_stdio(line, sizeof line))
		tracee_say("%s", let_go());
	return tracee_end();
}
