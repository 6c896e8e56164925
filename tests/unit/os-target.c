/*
 * A process that is held stays the one that was taken hold of, though its number be given to
 * another.
 */
#define _GNU_SOURCE
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"
#include "os/proc.h"
#include "os/status.h"
#include "os/target.h"
#include "tap.h"

static void
wait_for_ever(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A child with the number PID, which must be free; -1 with errno. */
static pid_t
fork_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1
	};
	long got = syscall(SYS_clone3, &args, sizeof args);

	if (got == 0)
		wait_for_ever();
	return (pid_t)got;
}

/* A process that goes on as another program has not ended, and its memory is that of the other. */
static void
test_exec(void)
{
	struct target t = TARGET_NONE;
	struct err e = { 0 };
	int go[2], word = 7;
	char byte = 0;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		exit(99);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &byte, 1) == 1)
			execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		_exit(99);
	}
	ok(target_open(&t, pid, &e) == 0 &&
			os_read(&t, (raddr){ (uintptr_t)&word }, &word, sizeof word, &e) == 0,
		"exec: the memory of a child is read %s", e.msg);
	if (write(go[1], "", 1) != 1)
		exit(99);
	while (os_read(&t, (raddr){ (uintptr_t)&word }, &word, sizeof word, &e) == 0)
		usleep(1000);
	ok(e.kind == ERR_GONE && strstr(e.msg, "has executed another program"),
		"exec: then it says why not: %s", e.msg);
	ok(target_is_alive(&t), "exec: it lives");
	end(pid);
	e = (struct err){ 0 };
	ok(os_read(&t, (raddr){ (uintptr_t)&word }, &word, sizeof word, &e) < 0 && e.code == ESRCH,
		"exec: and later it has ended: %s", e.msg);
	target_release(&t);
	close(go[0]);
	close(go[1]);
}

/*
 * Memory that this program has at the same address each time it is executed; ASan has its own below
 * that.
 */
#define FIXED ((int *)(UINT64_C(1) << 45))

static void
map_fixed(int value)
{
	if (mmap(FIXED, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == MAP_FAILED)
		exit(99);
	*FIXED = value;
}

static int
write_fixed(const struct target *t, int value, struct err *e)
{
	const raddr at = { (uintptr_t)FIXED };

	return os_part_write(
		t, &(struct os_part){ "a page", at, sizeof value }, at, &value, sizeof value, e);
}

/* This program, executed by a child: it says that it is there, and what it has in the end. */
static int
be_executed(void)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map_fixed(1);
	if (write(STDOUT_FILENO, "", 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
		return 99;
	return *FIXED;
}

/* What was meant for a program does not reach the next one, at the same address. */
static void
test_write_after_exec(void)
{
	struct target t = TARGET_NONE;
	struct err e = { 0 };
	int in[2], out[2], status = 0;
	char byte = 0;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		exit(99);
	pid = fork();
	if (pid == 0) {
		map_fixed(1);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		if (write(STDOUT_FILENO, "", 1) == 1 && read(STDIN_FILENO, &byte, 1) == 1)
			execl("/proc/self/exe", "os-target", "executed", (char *)NULL);
		_exit(99);
	}
	/* A child that ends is to be heard of. */
	close(in[0]);
	close(out[1]);
	ok(read(out[0], &byte, 1) == 1 && target_open(&t, pid, &e) == 0 &&
			write_fixed(&t, 2, &e) == 0,
		"exec: the memory of a child is written %s", e.msg);
	if (write(in[1], "", 1) != 1 || read(out[0], &byte, 1) != 1)
		exit(99);
	ok(write_fixed(&t, 3, &e) < 0 && e.kind == ERR_GONE,
		"exec: that of the next program is not: %s", e.msg);
	if (write(in[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid)
		exit(99);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 1, "exec: which has its own contents");
	target_release(&t);
	close(in[1]);
	close(out[0]);
}

/* The main thread ends when a byte comes, the other one when the next comes. */
static int in_of_thread;

static void *
live_longer(void *arg)
{
	pthread_t *leader = arg;
	char byte;

	pthread_join(*leader, NULL);
	_exit(read(in_of_thread, &byte, 1) != 1);
}

static void
leave_thread(int in)
{
	static pthread_t leader;
	pthread_t other;
	char byte;

	leader = pthread_self();
	in_of_thread = in;
	if (read(in, &byte, 1) != 1 || pthread_create(&other, NULL, live_longer, &leader) != 0)
		_exit(1);
	pthread_exit(NULL);
}

/* A process lives as long as any of its threads, and can be held by each. */
static void
test_leader_ends(void)
{
	struct target t = TARGET_NONE;
	struct text text = { 0 };
	struct os_status s;
	struct err e = { 0 };
	int in[2];
	pid_t pid;

	if (pipe(in) < 0)
		exit(99);
	pid = fork();
	if (pid == 0)
		leave_thread(in[0]);
	ok(target_open(&t, pid, &e) == 0 && t.mem_tid == pid, "leader: a child is held %s", e.msg);
	if (write(in[1], "", 1) != 1)
		exit(99);
	while (os_status(&t, pid, &s, &e) == 0 && s.has_memory)
		usleep(1000);
	ok(target_is_alive(&t), "leader: the process lives when its main thread has ended");
	ok(target_renew(&t) && t.mem_tid != pid, "leader: it is held by the other thread");
	ok(os_proc_read(&t, 0, "maps", &text, &e) == 0 && text.len > 0,
		"leader: its mappings can be read %s", e.msg);
	text_release(&text);
	if (write(in[1], "", 1) != 1)
		exit(99);
	while (waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) < 0)
		;
	ok(!target_is_alive(&t) && !target_renew(&t), "leader: it has ended with the last thread");
	waitpid(pid, NULL, 0);
	target_release(&t);
	close(in[0]);
	close(in[1]);
}

/* T lives, and memdiag cannot open files. */
static void
test_no_descriptors(const struct target *t)
{
	struct rlimit was, none;
	struct os_status s;
	struct err e = { 0 };

	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	ok(os_status(t, 0, &s, &e) < 0 && e.code == EMFILE, "its status cannot be read: %s", e.msg);
	ok(target_is_alive(t), "that is not taken for its end");
	setrlimit(RLIMIT_NOFILE, &was);
}

int
main(int argc, char **argv)
{
	struct target t = TARGET_NONE, again = TARGET_NONE;
	struct text text = { 0 };
	struct os_status s;
	struct err e = { 0 };
	int word = 0;
	pid_t pid;

	if (argc > 1 && strcmp(argv[1], "executed") == 0)
		return be_executed();
	test_exec();
	test_write_after_exec();
	test_leader_ends();
	map_fixed(1);
	pid = fork();
	if (pid == 0)
		wait_for_ever();
	ok(target_open(&t, pid, &e) == 0, "a child is held %s", e.msg);
	ok(target_is_alive(&t), "it lives");
	test_no_descriptors(&t);
	end(pid);
	ok(!target_is_alive(&t), "it has ended");
	if (fork_as(pid) != pid) {
		skip("its number is given to another", strerror(errno));
		return tap_end();
	}
	ok(target_open(&again, pid, &e) == 0, "its number is given to another %s", e.msg);
	ok(target_is_alive(&again), "which lives");
	ok(!target_is_alive(&t), "the first one is not taken for it");
	ok(os_proc_read(&t, 0, "maps", &text, &e) < 0 && e.kind == ERR_GONE,
		"what is read of the first one is not the other's: %s", e.msg);
	ok(os_status(&t, 0, &s, &e) < 0 && e.kind == ERR_GONE, "nor is its status");
	ok(write_fixed(&t, 3, &e) < 0 && e.kind == ERR_GONE,
		"what is written to the first one does not reach it: %s", e.msg);
	ok(os_read(&again, (raddr){ (uintptr_t)FIXED }, &word, sizeof word, &e) == 0 && word == 1,
		"it has its own contents");
	target_release(&t);
	target_release(&again);
	end(pid);
	return tap_end();
}
