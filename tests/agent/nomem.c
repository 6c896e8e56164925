/*
 * nomem all|N COMMAND...: run it where the kernel has no memory for the agent: all that the agent
 * maps itself fails, or the Nth of it alone, counted over all the processes.  What the program and
 * libc map is there.  Whose call it is, is told by the address that it comes from.  In the end it
 * says on stderr how many there were.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char **command;
static int listener, status;
static pthread_barrier_t is_filtered;

static void
fail(const char *what)
{
	perror(what);
	exit(99);
}

/* Only its own children, and itself, are under the filter: the first thread answers. */
static void *
run(void *arg)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
	pid_t pid;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		fail("no_new_privs");
	listener = (int)syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0)
		fail("seccomp");
	pthread_barrier_wait(&is_filtered);
	pid = fork();
	if (pid == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(99);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("fork");
	return arg;
}

static bool
looks_like_agent(pid_t tid, uint64_t address)
{
	char name[64], line[4096 + 128];
	uint64_t start, end;
	bool is = false;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/maps", tid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && address >= start &&
			address < end)
			is = strstr(line, "/libmemdiag-agent.so") != NULL;
	if (f)
		fclose(f);
	return is;
}

/* Some programs have thousands of mappings, and call from few places. */
static bool
is_agent(pid_t tid, uint64_t address)
{
	static struct {
		pid_t tid;
		uint64_t address;
		bool is;
	} known[64], *k;

	k = &known[address / 2 % 64];
	if (k->tid != tid || k->address != address) {
		k->tid = tid;
		k->address = address;
		k->is = looks_like_agent(tid, address);
	}
	return k->is;
}

/* All of them for WHICH = 0.  Returns how many there were. */
static unsigned long
answer(unsigned long which)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	unsigned long nr = 0;

	/* It hangs up when nobody is left under the filter. */
	while (poll(&p, 1, -1) < 0 || !(p.revents & POLLHUP)) {
		struct seccomp_notif n = { 0 };
		struct seccomp_notif_resp r = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) != 0)
			continue; /* who asked was killed */
		r.id = n.id;
		if (is_agent((pid_t)n.pid, n.data.instruction_pointer) &&
			(++nr == which || !which)) {
			r.flags = 0;
			r.error = -ENOMEM;
		}
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
	return nr;
}

int
main(int argc, char **argv)
{
	unsigned long which, nr;
	pthread_t thread;

	if (argc < 3)
		return 99;
	which = strcmp(argv[1], "all") == 0 ? 0 : strtoul(argv[1], NULL, 10);
	command = argv + 2;
	pthread_barrier_init(&is_filtered, NULL, 2);
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		fail("pthread_create");
	pthread_barrier_wait(&is_filtered);
	nr = answer(which);
	pthread_join(thread, NULL);
	fprintf(stderr, "nomem: %lu\n", nr);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
