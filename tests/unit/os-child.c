/*
 * A program that we start and wait for: how it ends, which signals reach it and how often, and that
 * a shell sees it stop.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/child.h"
#include "tap.h"

/* A runner is a child of the test that runs a program; what both say comes by one pipe. */
struct runner {
	pid_t pid;
	int from; /* what they say */
	int to;	  /* their terminal, if they have one */
};

static int said_to;

static void
say(const char *words)
{
	if (write(said_to, words, strlen(words)) < 0)
		abort();
}

/* Whether the next that is said is WORDS. */
static bool
hears(const struct runner *r, const char *words)
{
	char got[64] = "";
	size_t n = 0;

	while (n < strlen(words) && read(r->from, got + n, 1) == 1)
		n++;
	if (strcmp(got, words) != 0)
		printf("# it said '%s'\n", got);
	return strcmp(got, words) == 0;
}

/* Become the program that ARG names, which is this file too. */
static int
become(void *arg, struct err *e)
{
	const char *const *name = arg;
	char to[16];

	snprintf(to, sizeof to, "%d", said_to);
	execl("/proc/self/exe", "os-child", *name, to, NULL);
	return err_set(e, errno, "cannot run it");
}

static int
run(const char *name)
{
	struct os_end end;
	struct err e = { 0 };

	if (os_run_child(become, &name, &end, &e) < 0)
		_exit(99);
	return os_end_as(end.status);
}

/*
 * In a process group of its own, as a shell starts a job; IS_ON_TERMINAL: in the foreground of one.
 */
static struct runner
start(const char *name, bool is_on_terminal)
{
	struct runner r = { .to = -1 };
	int ends[2], master = -1;

	if (pipe(ends) < 0)
		abort();
	if (is_on_terminal)
		master = posix_openpt(O_RDWR | O_NOCTTY);
	fflush(stdout);
	r.pid = fork();
	if (r.pid == 0) {
		close(ends[0]);
		said_to = ends[1];
		if (is_on_terminal) {
			grantpt(master);
			unlockpt(master);
			setsid();
			open(ptsname(master), O_RDWR);
		} else {
			setpgid(0, 0);
		}
		_exit(run(name));
	}
	close(ends[1]);
	r.from = ends[0];
	r.to = master;
	return r;
}

static int
end_of(const struct runner *r)
{
	int status = 0;

	waitpid(r->pid, &status, 0);
	close(r->from);
	if (r->to >= 0)
		close(r->to);
	return status;
}

/* ---- programs ---- */

static volatile sig_atomic_t nr_seen[NSIG];

static void
note(int sig)
{
	nr_seen[sig]++;
	if (sig == SIGINT)
		say("int ");
	if (sig == SIGCONT)
		say("cont ");
}

/* Waits for SIGTERM, and tells how often there was a SIGINT and a SIGCONT. */
static void
count_signals(void)
{
	char text[64];
	sigset_t term, was;

	signal(SIGINT, note);
	signal(SIGTERM, note);
	signal(SIGCONT, note);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &was);
	say("ready ");
	while (!nr_seen[SIGTERM])
		sigsuspend(&was);
	snprintf(text, sizeof text, "%d %d.", (int)nr_seen[SIGINT], (int)nr_seen[SIGCONT]);
	say(text);
}

/* Tells which signals it finds blocked or ignored. */
static void
tell_signals(void)
{
	struct sigaction child, term;
	sigset_t blocked;
	char text[64];

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigaction(SIGCHLD, NULL, &child);
	sigaction(SIGTERM, NULL, &term);
	snprintf(text, sizeof text, "%d %d %d %d.", sigismember(&blocked, SIGUSR2),
		sigismember(&blocked, SIGTERM), child.sa_handler == SIG_IGN,
		term.sa_handler == SIG_DFL);
	say(text);
}

static int
be_program(const char *name)
{
	if (strcmp(name, "exits") == 0)
		return 7;
	if (strcmp(name, "aborts") == 0)
		abort();
	if (strcmp(name, "counts") == 0)
		count_signals();
	else
		tell_signals();
	return 0;
}

static int
fail(void *arg, struct err *e)
{
	(void)arg;
	return err_set_kind(e, ERR_NOT_FOUND, ENOENT, "no luck");
}

/* ---- tests ---- */

/* Where a core file may be written, and does not stay. */
static void
allow_core_file(char *dir)
{
	struct rlimit limit;

	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_CORE, &limit);
	if (!mkdtemp(dir) || chdir(dir) < 0)
		abort();
}

static void
test_ends(void)
{
	char dir[] = "/tmp/os-child.XXXXXX";
	struct runner r = start("exits", false);
	struct os_end end = { 0 };
	struct err e = { 0 };
	int status = end_of(&r);

	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "its status is ours");
	allow_core_file(dir);
	r = start("aborts", false);
	status = end_of(&r);
	unlink("core");
	if (chdir("/") == 0)
		rmdir(dir);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "so is the signal it ended by");
	ok(!WCOREDUMP(status), "but we leave no core file");
	ok(os_run_child(fail, NULL, &end, &e) < 0, "one that cannot be started is an error");
	ok(e.kind == ERR_NOT_FOUND && strcmp(e.msg, "no luck: No such file or directory") == 0,
		"in its own words: %s", e.msg);
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and nothing is left of it");
}

static void
test_found_signals(void)
{
	struct runner r;
	sigset_t some, was;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	sigprocmask(SIG_BLOCK, &some, &was);
	r = start("tells", false);
	ok(hears(&r, "1 0 0 1."), "it finds blocked what was blocked, and no more");
	end_of(&r);
	sigprocmask(SIG_SETMASK, &was, NULL);
	signal(SIGCHLD, SIG_IGN);
	r = start("tells", false);
	ok(hears(&r, "0 0 1 1."), "and SIGCHLD ignored if it was");
	signal(SIGCHLD, SIG_DFL);
	ok(end_of(&r) == 0, "which does not keep us from seeing the end");
}

static void
test_passing_on(void)
{
	struct runner r = start("counts", false);

	ok(hears(&r, "ready "), "a program waits for signals");
	kill(r.pid, SIGINT);
	ok(hears(&r, "int "), "one that is sent to us reaches it");
	kill(r.pid, SIGTERM);
	ok(hears(&r, "1 0."), "once");
	ok(end_of(&r) == 0, "and does nothing to us");
}

/* The interrupt key, which the terminal tells both of. */
static void
test_terminal(void)
{
	struct runner r = start("counts", true);

	ok(hears(&r, "ready "), "a program on a terminal");
	ok(write(r.to, "\003", 1) == 1 && hears(&r, "int "), "gets the interrupt key's signal");
	/* A signal that we passed on by mistake would come before this. */
	kill(r.pid, SIGTERM);
	ok(hears(&r, "1 0."), "once");
	ok(end_of(&r) == 0, "and we wait for its end");
}

static void
test_stopping(void)
{
	struct runner r = start("counts", false);
	int status;

	ok(hears(&r, "ready "), "a program that will be stopped");
	/* As the terminal does: all of the job. */
	kill(-r.pid, SIGTSTP);
	ok(waitpid(r.pid, &status, WUNTRACED) == r.pid && WIFSTOPPED(status),
		"a shell sees the job stop");
	kill(-r.pid, SIGCONT);
	ok(hears(&r, "cont "), "it goes on");
	kill(r.pid, SIGTSTP);
	ok(waitpid(r.pid, &status, WUNTRACED) == r.pid && WIFSTOPPED(status),
		"sent to us alone it is the same");
	kill(r.pid, SIGCONT);
	ok(hears(&r, "cont "), "and goes on when we do");
	kill(r.pid, SIGCONT);
	ok(hears(&r, "cont "), "one that comes while all runs is passed on");
	kill(r.pid, SIGTERM);
	ok(hears(&r, "0 3."), "once each time");
	ok(end_of(&r) == 0, "to its end");
}

int
main(int argc, char **argv)
{
	alarm(300);
	if (argc > 2) {
		said_to = atoi(argv[2]);
		return be_program(argv[1]);
	}
	test_ends();
	test_found_signals();
	test_passing_on();
	test_terminal();
	test_stopping();
	return tap_end();
}
