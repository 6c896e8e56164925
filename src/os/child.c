#include <config.h>

#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

int
os_own_path(char *buf, size_t size, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", buf, size);

	if (n < 0 || (size_t)n >= size)
		return err_set(e, n < 0 ? errno : ENAMETOOLONG, "cannot tell where memdiag is");
	buf[n] = '\0';
	return 0;
}

const char *
os_fd_path(int fd, char *buf, size_t size)
{
	snprintf(buf, size, "/proc/%d/fd/%d", (int)getpid(), fd);
	return buf;
}

/* ---- starting ---- */

/* As we were found. */
struct signals {
	sigset_t blocked;
	struct sigaction child;
};

/*
 * Hold back all, to be waited for.  A parent of ours may have SIGCHLD ignored, and then nobody could
 * wait for a child.
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

/* The child tells why it could not become another program by a pipe, which closes if it does. */
static _Noreturn void
be_child(int (*fn)(void *arg, struct err *e), void *arg, int to, const struct signals *was)
{
	struct err e = { 0 };

	signals_restore(was);
	fn(arg, &e);
	/* Who is to read it has ended, or is told nothing but that there is less than an error. */
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
	bool is_stopped;
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
look_at(struct child *c)
{
	while (wait4(c->pid, &c->status, WNOHANG | WUNTRACED | WCONTINUED, &c->usage) == c->pid) {
		if (WIFEXITED(c->status) || WIFSIGNALED(c->status))
			return true;
		c->is_stopped = WIFSTOPPED(c->status);
		if (c->is_stopped && is_by_terminal(WSTOPSIG(c->status)))
			raise(SIGSTOP);
	}
	return false;
}

/* A process has sent it to us, and it was not the child. */
static bool
is_to_be_passed_on(const siginfo_t *s, const struct child *c)
{
	if (s->si_code > 0 || s->si_pid == c->pid)
		return false;
	/* A shell sends it to the whole job. */
	return s->si_signo != SIGCONT || c->is_stopped;
}

static void
wait_for_end(struct child *c)
{
	sigset_t all;
	siginfo_t s;

	sigfillset(&all);
	while (!look_at(c)) {
		if (sigwaitinfo(&all, &s) < 0 || s.si_signo == SIGCHLD)
			continue;
		/* What a signal has just done to the child must be known before it is sent again. */
		if (look_at(c))
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
	struct child c = { 0 };
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
	return 128 + sig;	/* as a shell says it */
}
