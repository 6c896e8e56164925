#include <config.h>

#include "os/child.h"

#include "base/cleanup.h"
#include "base/debug.h"
#include "os/clock.h"
#include "os/ptrace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
os_ignore_failed_writes(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void
os_take_sigint(void)
{
	struct sigaction was;

	if (sigaction(SIGINT, NULL, &was) == 0 && was.sa_handler == SIG_IGN)
		signal(SIGINT, SIG_DFL);
}

int
os_end_first(pid_t pid, struct err *e)
{
	static const char most[] = "1000"; /* OOM_SCORE_ADJ_MAX, uapi/linux/oom.h */
	auto_fd int fd = -1;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, most, sizeof most - 1) < 0)
		return err_set(e, errno, "cannot write %s", path);
	return 0;
}

/* oom_score_adj before os_die_first(); "": it was not called. */
static char oom_score_before[16];

static void
note_oom_score(void)
{
	auto_fd int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, oom_score_before, sizeof oom_score_before - 1);

	oom_score_before[n > 0 ? n : 0] = '\0';
}

void
os_die_as_before(void)
{
	const size_t len = strlen(oom_score_before);
	auto_fd int fd = len ? open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, oom_score_before, len) < 0)
		debug("the OOM killer prefers the child: %s", strerror(errno));
}

void
os_die_first(void)
{
	struct err e;

	if (!*oom_score_before)
		note_oom_score();
	if (os_end_first(getpid(), &e) < 0)
		debug("the OOM killer does not prefer us: %s", e.msg);
}

/* ---- starting ---- */

/* The signal state at the start of memdiag. */
struct signals {
	sigset_t blocked;
	struct sigaction child;
};

struct os_child {
	pid_t pid;
	int go_fd;  /* a byte written here lets the child start; -1: it has started */
	int why_fd; /* a child that cannot execute the program sends its error here */
	struct signals was;
	uint64_t begin_ns;
	bool has_ended;
	bool is_stopped;
	bool was_left; /* we stopped when the child did, and have not had SIGCONT since */
	int status;
	struct rusage usage;
};

/*
 * Block all signals, to wait for them.  memdiag's parent may have set SIGCHLD to be ignored, which
 * would make it impossible to wait for a child.
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
 * Wait until memdiag sends a byte, then execute the program; end if memdiag ends first.  A child
 * that cannot execute the program sends the reason through a pipe; otherwise exec closes the pipe.
 */
static _Noreturn void
be_child(int (*fn)(void *arg, struct err *e), void *arg, int go, int to, const struct signals *was)
{
	struct err e = { 0 };
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(EXIT_SUCCESS);
	signals_restore(was);
	fn(arg, &e);
	/* A short write means that the reader has ended, or does not get a whole error. */
	_exit(write(to, &e, sizeof e) == (ssize_t)sizeof e ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void
close_end(int *fd)
{
	cleanup_fd(fd);
	*fd = -1;
}

static int
fork_child(struct os_child *c, int (*fn)(void *arg, struct err *e), void *arg, struct err *e)
{
	int go[2], why[2];

	/* A socket: a write to a pipe would raise a signal if the child is gone. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
		return err_set(e, errno, "cannot make a socket");
	if (pipe2(why, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return err_set(e, errno, "cannot make a pipe");
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]); /* so that the child ends if memdiag does */
		be_child(fn, arg, go[0], why[1], &c->was);
	}
	close(go[0]);
	close(why[1]);
	c->go_fd = go[1];
	c->why_fd = why[0];
	return c->pid < 0 ? err_set(e, errno, "cannot make a process") : 0;
}

int
os_child_prepare(
	struct os_child **ret, int (*fn)(void *arg, struct err *e), void *arg, struct err *e)
{
	struct os_child *c = calloc(1, sizeof *c);

	if (!c)
		return err_set(e, ENOMEM, "cannot make a process");
	*c = (struct os_child){ .pid = -1, .go_fd = -1, .why_fd = -1 };
	signals_hold(&c->was);
	if (fork_child(c, fn, arg, e) < 0) {
		os_child_free(c);
		return -1;
	}
	*ret = c;
	return 0;
}

int
os_child_start(struct os_child *c, struct err *e)
{
	struct err why;
	ssize_t n;

	c->begin_ns = os_now_ns();
	if (send(c->go_fd, "", 1, MSG_NOSIGNAL) < 0)
		debug("the child is gone: %s", strerror(errno));
	close_end(&c->go_fd);
	n = read(c->why_fd, &why, sizeof why);
	close_end(&c->why_fd);
	if (n != (ssize_t)sizeof why)
		return 0;
	waitpid(c->pid, NULL, 0);
	c->pid = -1;
	*e = why;
	return -1;
}

void
os_child_free(struct os_child *c)
{
	if (!c)
		return;
	cleanup_fd(&c->why_fd);
	if (c->go_fd >= 0) {
		close_end(&c->go_fd);
		if (c->pid > 0)
			waitpid(c->pid, NULL, 0);
	}
	signals_restore(&c->was);
	free(c);
}

pid_t
os_child_pid(const struct os_child *c)
{
	return c->pid;
}

/* ---- waiting ---- */

/*
 * Return whether STOP_SIGNAL comes from a key of the terminal, or from its driver for a program in
 * the background.
 */
static bool
is_by_terminal(int stop_signal)
{
	return stop_signal == SIGTSTP || stop_signal == SIGTTIN || stop_signal == SIGTTOU;
}

/*
 * Collect the child's state changes; return true when it has ended.  If a key of the terminal asks
 * for a stop, the child decides whether it stops; if it does, memdiag stops too, because a shell
 * that started memdiag waits for that.
 */
static bool
collect_status(struct os_child *c)
{
	while (!c->has_ended &&
		wait4(c->pid, &c->status, WNOHANG | WUNTRACED | WCONTINUED, &c->usage) == c->pid) {
		c->has_ended = WIFEXITED(c->status) || WIFSIGNALED(c->status);
		if (c->has_ended)
			break;
		c->is_stopped = WIFSTOPPED(c->status);
		if (c->is_stopped && is_by_terminal(WSTOPSIG(c->status)))
			c->was_left = raise(SIGSTOP) == 0;
	}
	return c->has_ended;
}

/*
 * Return whether another process than the child sent S to us, and the child needs it.  A shell
 * sends the SIGCONT that continues us to the whole job, so the child has it already, unless it is
 * still stopped.
 */
static bool
is_to_be_passed_on(const siginfo_t *s, struct os_child *c)
{
	const bool is_of_job = s->si_signo == SIGCONT && c->was_left && !c->is_stopped;

	if (s->si_signo == SIGCONT)
		c->was_left = false;
	return s->si_code <= 0 && s->si_pid != c->pid && !is_of_job;
}

/* Handle the signal S, which was sent to us. */
static void
pass_on(struct os_child *c, const siginfo_t *s)
{
	/* Learn the effect of a signal on the child before sending the signal again. */
	if (s->si_signo != SIGCHLD && !collect_status(c) && is_to_be_passed_on(s, c))
		kill(c->pid, s->si_signo);
}

bool
os_child_tend(struct os_child *c)
{
	const struct timespec none = { 0 };
	siginfo_t s;
	sigset_t all;

	sigfillset(&all);
	while (!collect_status(c) && sigtimedwait(&all, &s, &none) >= 0)
		pass_on(c, &s);
	return c->has_ended;
}

/*
 * Wait for the end of the child.  Call TICK(TICK_ARG) every EVERY_NS meanwhile, unless it is NULL.
 */
static void
wait_for_end(struct os_child *c, void (*tick)(void *arg), void *tick_arg, uint64_t every_ns)
{
	const struct timespec every = { .tv_sec = (time_t)(every_ns / 1000000000),
		.tv_nsec = (long)(every_ns % 1000000000) };
	siginfo_t s;
	sigset_t all;

	sigfillset(&all);
	while (!collect_status(c)) {
		if ((tick ? sigtimedwait(&all, &s, &every) : sigwaitinfo(&all, &s)) >= 0)
			pass_on(c, &s);
		else if (tick && errno == EAGAIN)
			tick(tick_arg);
	}
}

static uint64_t
to_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

void
os_child_wait(struct os_child *c, struct os_end *ret)
{
	wait_for_end(c, NULL, NULL, 0);
	ret->pid = c->pid;
	ret->status = c->status;
	ret->elapsed_ns = os_now_ns() - c->begin_ns;
	ret->user_ns = to_ns(&c->usage.ru_utime);
	ret->system_ns = to_ns(&c->usage.ru_stime);
	ret->max_rss_bytes = (uint64_t)c->usage.ru_maxrss * 1024;
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
	auto_child struct os_child *c = NULL;

	if (os_child_prepare(&c, fn, arg, e) < 0 || os_child_start(c, e) < 0)
		return -1;
	wait_for_end(c, tick, tick_arg, every_ns);
	os_child_wait(c, ret);
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
	/* The child's core file is the useful one. */
	if (setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0) {
		signal(sig, SIG_DFL);
		sigemptyset(&only);
		sigaddset(&only, sig);
		sigprocmask(SIG_UNBLOCK, &only, NULL);
		raise(sig);
	}
	return 128 + sig; /* the status that a shell returns */
}
