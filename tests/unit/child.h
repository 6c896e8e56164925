/*
 * child: a process that a unit test looks at: a fork of the test that does something, says lines,
 * then "ready", and ends with exit status 0 when its stdin ends.
 */
#ifndef MEMDIAG_TESTS_CHILD_H
#define MEMDIAG_TESTS_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "glibc/process.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "tap.h"

struct child {
	pid_t pid;
	char *said;    /* what it said before "ready" */
	bool is_ready; /* false: it ended first */
	FILE *out, *in;
};

/*
 * For the child: it has done what it had to.  Its pages may be counted from now on, so what it
 * needs to wait is touched before: read() without a buffer of stdio's.
 */
static inline void
child_ready(void)
{
	char c;

	if (read(0, &c, 0) == 0 && puts("ready") != EOF)
		fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

static inline void
child_listen(struct child *c)
{
	char *line = NULL;
	size_t size, room = 0;
	FILE *f = open_memstream(&c->said, &size);

	while (!c->is_ready && getline(&line, &room, c->out) > 0) {
		c->is_ready = strcmp(line, "ready\n") == 0;
		if (!c->is_ready)
			fputs(line, f);
	}
	fclose(f);
	free(line);
}

/* Start a child that runs DO, with ARG; returns when it is ready or has ended. */
static inline struct child
child_start(void (*run)(void *arg), void *arg)
{
	struct child c = { 0 };
	int out[2], in[2];

	/* A child that is started later must not hold the stdin of this one open. */
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(in, O_CLOEXEC) < 0)
		abort();
	fflush(stdout);
	c.pid = fork();
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		for (int i = 0; i < 2; i++) {
			close(in[i]);
			close(out[i]);
		}
		run(arg);
		_exit(0);
	}
	close(out[1]);
	close(in[0]);
	c.out = fdopen(out[0], "r");
	c.in = fdopen(in[1], "w");
	child_listen(&c);
	return c;
}

/* End it.  Whether it still worked. */
static inline bool
child_end(struct child *c)
{
	int status = -1;

	fclose(c->in);
	waitpid(c->pid, &status, 0);
	fclose(c->out);
	free(c->said);
	return status == 0;
}

/* The child as memdiag sees it, up to its arenas. */
struct view {
	struct target t;
	struct process p;
	struct err e;
};

static inline bool
view_take(struct view *v, pid_t pid)
{
	*v = (struct view){ .t = TARGET_NONE };
	return ok(target_open(&v->t, pid, &v->e) == 0 && process_read(&v->p, &v->t, &v->e) == 0,
		"the child can be looked at %s", v->e.msg);
}

/* Write to the child, as the program itself could.  Whether it could be written. */
static inline bool
view_write(const struct target *t, raddr to, const void *from, size_t size)
{
	struct iovec local = { (void *)(uintptr_t)from, size },
		     remote = { (void *)(uintptr_t)to.v, size };

	return process_vm_writev(t->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static inline void
view_release(struct view *v)
{
	process_release(&v->p);
	target_release(&v->t);
}

static inline int
view_sum_present(const struct os_page_run *run, void *arg)
{
	*(uint64_t *)arg += run->end.v - run->start.v;
	return 0;
}

/* Whether thread TID is blocked in a system call, or gone. */
static inline bool
view_is_blocked(const struct target *t, pid_t tid)
{
	struct os_syscall syscall = { 0 };
	struct err e;

	return os_thread_syscall(t, tid, &syscall, &e) < 0 ||
		(!syscall.is_running && syscall.nr >= 0);
}

/*
 * Wait until all threads of the child are blocked in a system call: on a loaded machine one that
 * has said "ready" may be preempted on its way there, and touch pages later.
 */
static inline void
view_settle(const struct target *t)
{
	const uint64_t end_ns = os_now_ns() + UINT64_C(300000000000);
	bool is_settled = false;
	size_t nr = 0;
	struct err e;

	while (!is_settled && os_now_ns() < end_ns) {
		pid_t *tids = NULL;

		is_settled = os_threads(t, SIZE_MAX, &tids, &nr, &e) == 0;
		for (size_t i = 0; is_settled && i < nr; i++)
			is_settled = view_is_blocked(t, tids[i]);
		free(tids);
		if (!is_settled)
			os_sleep_ns(100000);
	}
}

/*
 * Bytes of all its present pages, with the zero page: careless reading would leave these behind.
 * The child has settled, but for threads that compute and touch no page.
 */
static inline uint64_t
view_count_present(struct view *v)
{
	struct os_pages *pages = NULL;
	uint64_t sum = 0;

	if (os_pages_open(&pages, &v->t, OS_PAGES_PAGEMAP, &v->e) < 0)
		return 0;
	for (size_t i = 0; i < v->p.maps.nr; i++) {
		const struct region *r = &v->p.maps.region[i];

		/*
		 * Reserves of terabytes have no pages, the shadow memory of ASan takes minutes, and
		 * the gate of vsyscall is the kernel's.
		 */
		if (r->prot[0] == 'r' && r->end.v - r->start.v < UINT64_C(1) << 40 &&
			r->start.v < UINT64_C(1) << 63)
			os_pages_walk(
				pages, r->start, r->end, false, view_sum_present, &sum, &v->e);
	}
	os_pages_free(pages);
	return sum;
}

static inline uint64_t
view_present_bytes(struct view *v)
{
	view_settle(&v->t);
	return view_count_present(v);
}

/* The system call that pause() makes; newer architectures have none of that name. */
#ifdef SYS_pause
#define CHILD_PAUSE_NR SYS_pause
#else
#define CHILD_PAUSE_NR SYS_ppoll
#endif

/* Let thread TID get to its pause(). */
static inline void
view_wait_paused(const struct target *t, pid_t tid)
{
	struct os_syscall syscall = { .is_running = true };
	struct err e;

	while (os_thread_syscall(t, tid, &syscall, &e) == 0 && syscall.nr != CHILD_PAUSE_NR)
		os_sleep_ns(100000);
}

#endif
