#include <config.h>

#include "os/self.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/debug.h"
#include "os/clock.h"

int
os_own_path(char *buf, size_t size, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", buf, size);

	if (n < 0 || (size_t)n >= size)
		return err_set(
			e, n < 0 ? errno : ENAMETOOLONG, "cannot find where memdiag is installed");
	buf[n] = '\0';
	return 0;
}

const char *
os_fd_path(int fd, char *buf, size_t size)
{
	snprintf(buf, size, "/proc/%d/fd/%d", (int)getpid(), fd);
	return buf;
}

void
os_die_first(void)
{
	static const char most[] = "1000"; /* OOM_SCORE_ADJ_MAX, uapi/linux/oom.h */
	auto_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, most, sizeof most - 1) < 0)
		debug("the OOM killer does not prefer us: %s", strerror(errno));
}

/* ---- starting ---- */

/* The signal state at the start of memdiag. */
struct signals {
	sigset_t blocked;
	struct sigaction child;
};

/*
 * Block all signals, to be waited for.  memdiag's parent may have set SIGCHLD to be ignored, and
 * then no child could be waited for.
 */
static void
signals_hold(struct signals *was)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &was->blocked);
	sigaction(SIGCHLD, &plain, &was->child);
}

static void
signals_restore(const struct signals *was)
{
	sigaction(SIGCHLD, &was->child, NULL);
	sigprocmask(SIG_SETMASK, &was->blocked, NULL);
}

/*
 * If the child cannot execute the program, it sends the reason through a pipe, which closes if it
 * can.
 */
static _Noreturn void
be_child(int (*fn)(void *arg, struct err *e), void *arg, int to, const struct signals *was)
{
	struct err e = { 0 };

	signals_restore(was);
	fn(arg, &e);
	/* The reader has ended, or gets less than a whole error. */
	_exit(write(to, &e, sizeof e) == (ssize_t)sizeof e ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int
start(int (*fn)(void *arg, struct err *e), void *arg, const struct signals *was, pid_t *ret,
	struct err *e)
{
	struct err why;
	int ends[2];
	pid_t pid;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, errno, "cannot make a pipe");
	pid = fork();
	if (pid == 0)
		be_child(fn, arg, ends[1], was);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_set(e, errno, "cannot make a process");
	}
	n = read(ends[0], &why, sizeof why);
	close(ends[0]);
	if (n == (ssize_t)sizeof why) {
		waitpid(pid, NULL, 0);
		*e = why;
		return -1;
	}
	*ret = pid;
	return 0;
}

/* ---- waiting ---- */

struct child {
	pid_t pid;
	void (*tick)(void *arg); /* NULL: none */
	void *tick_arg;
	uint64_t every_ns;
	bool is_stopped;
	bool was_left; /* we have stopped with it, and no SIGCONT has come since */
	int status;
	struct rusage usage;
};

/* A key of the terminal, or its driver for a program in the background. */
static bool
is_by_terminal(int stop_signal)
{
	return stop_signal == SIGTSTP || stop_signal == SIGTTIN || stop_signal == SIGTTOU;
}

/*
 * See what has become of it; true when it has ended.  A shell that has started us waits for us to
 * stop when a key is pressed for that, and whether the child does so is the child's to decide.
 */
static bool
collect_status(struct child *c)
{
	while (wait4(c->pid, &c->status, WNOHANG | WUNTRACED | WCONTINUED, &c->usage) == c->pid) {
		if (WIFEXITED(c->status) || WIFSIGNALED(c->status))
			return true;
		c->is_stopped = WIFSTOPPED(c->status);
		if (c->is_stopped && is_by_terminal(WSTOPSIG(c->status)))
			c->was_left = raise(SIGSTOP) == 0;
	}
	return false;
}

/*
 * A process has sent it to us, and it was not the child.  A shell sends the SIGCONT that makes us
 * go on to the whole job; then the child has it, unless it still is stopped.
 */
static bool
is_to_be_passed_on(const siginfo_t *s, struct child *c)
{
	const bool is_of_job = s->si_signo == SIGCONT && c->was_left && !c->is_stopped;

	if (s->si_signo == SIGCONT)
		c->was_left = false;
	return s->si_code <= 0 && s->si_pid != c->pid && !is_of_job;
}

/* The next signal; false: there was none until the tick was due, and that was done. */
static bool
next_signal(const struct child *c, siginfo_t *ret)
{
	const struct timespec every = { .tv_sec = (time_t)(c->every_ns / 1000000000),
		.tv_nsec = (long)(c->every_ns % 1000000000) };
	sigset_t all;

	sigfillset(&all);
	if (!c->tick)
		return sigwaitinfo(&all, ret) >= 0;
	if (sigtimedwait(&all, ret, &every) >= 0)
		return true;
	if (errno == EAGAIN)
		c->tick(c->tick_arg);
	return false;
}

static void
wait_for_end(struct child *c)
{
	siginfo_t s;

	while (!collect_status(c)) {
		if (!next_signal(c, &s) || s.si_signo == SIGCHLD)
			continue;
		/*
		 * The effect of a signal on the child must be known before the signal is sent
		 * again.
		 */
		if (collect_status(c))
			return;
		if (is_to_be_passed_on(&s, c))
			kill(c->pid, s.si_signo);
	}
}

static uint64_t
to_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

int
os_run_child(int (*fn)(void *arg, struct err *e), void *arg, struct os_end *ret, struct err *e)
{
	return os_run_child_ticking(fn, arg, NULL, NULL, 0, ret, e);
}

int
os_run_child_ticking(int (*fn)(void *arg, struct err *e), void *arg, void (*tick)(void *arg),
	void *tick_arg, uint64_t every_ns, struct os_end *ret, struct err *e)
{
	struct child c = { .tick = tick, .tick_arg = tick_arg, .every_ns = every_ns };
	struct signals was;
	uint64_t begin_ns = os_now_ns();
	int failed;

	signals_hold(&was);
	failed = start(fn, arg, &was, &c.pid, e);
	if (!failed)
		wait_for_end(&c);
	signals_restore(&was);
	if (failed)
		return -1;
	ret->pid = c.pid;
	ret->status = c.status;
	ret->elapsed_ns = os_now_ns() - begin_ns;
	ret->user_ns = to_ns(&c.usage.ru_utime);
	ret->system_ns = to_ns(&c.usage.ru_stime);
	ret->max_rss_bytes = (uint64_t)c.usage.ru_maxrss * 1024;
	return 0;
}

/* ---- ending ---- */

int
os_end_as(int wait_status)
{
	const struct rlimit none = { 0 };
	int sig = WTERMSIG(wait_status);
	sigset_t only;

	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	/* The core file that counts is the child's. */
	if (setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0) {
		signal(sig, SIG_DFL);
		sigemptyset(&only);
		sigaddset(&only, sig);
		sigprocmask(SIG_UNBLOCK, &only, NULL);
		raise(sig);
	}
	return 128 + sig; /* as a shell says it */
}
