/*
 * talk: at a limit of 20 MB that is only reported (on-limit=report) the agent says a line on
 * stderr, whatever that is, and the program finds its signals as they were.
 */
#include "count.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#define OVER_LIMIT 30000000

static bool is_called;

static void
on_signal(int sig)
{
	(void)sig;
	is_called = true;
}

static bool
is_pending(int sig)
{
	sigset_t set;

	return sigpending(&set) == 0 && sigismember(&set, sig);
}

/* It has tried to say so; a compiler takes it that malloc changes nothing else. */
static bool
passes_limit(void)
{
	volatile uint32_t *is_reported = &memdiag_agent_segment->is_reported;
	uint32_t was = *is_reported;

	block = malloc(OVER_LIMIT);
	return block && !was && *is_reported;
}

static bool
has_default(int sig)
{
	return passes_limit() && !is_pending(sig);
}

static bool
has_handler(int sig)
{
	signal(sig, on_signal);
	return passes_limit() && !is_pending(sig) && !is_called;
}

static void
hold(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool
holds(int sig)
{
	hold(sig);
	return passes_limit() && !is_pending(sig);
}

static bool
holds_one(int sig)
{
	hold(sig);
	raise(sig);
	return passes_limit() && is_pending(sig);
}

/* Descriptor 2 is to be a pipe; returns what it is read by. */
static int
make_pipe(void)
{
	int fds[2];

	if (pipe(fds) != 0 || dup2(fds[1], 2) != 2)
		_exit(99);
	close(fds[1]);
	return fds[0];
}

static void
make_gone(void)
{
	close(make_pipe());
}

static void
make_full(void)
{
	char byte = 0;

	make_pipe();
	fcntl(2, F_SETFL, O_NONBLOCK);
	while (write(2, &byte, 1) == 1)
		;
	fcntl(2, F_SETFL, 0);
}

static void
make_file(void)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	int fd = memfd_create("stderr", 0);

	setrlimit(RLIMIT_FSIZE, &none);
	if (dup2(fd, 2) != 2)
		_exit(99);
}

static void
make_none(void)
{
	close(2);
}

/* In a child, which has a limit of its own; it is given five minutes. */
static bool
try(void (*make)(void), bool (*what)(int), int sig)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(sig, SIG_DFL);
		alarm(300);
		make();
		_exit(what(sig) ? 0 : 1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void
try_all(void (*make)(void), int sig, const char *name)
{
	ok(try(make, has_default, sig), "%s: the program lives", name);
	ok(try(make, has_handler, sig), "%s: it is called by no signal", name);
	ok(try(make, holds, sig), "%s: it is left none that it holds back", name);
	ok(try(make, holds_one, sig), "%s: it keeps the one that it had", name);
}

int
main(void)
{
	char line[256] = "";
	int fd;

	need_agent();
	try_all(make_gone, SIGPIPE, "nobody reads any more");
	try_all(make_file, SIGXFSZ, "no file may grow");
	ok(try(make_full, has_default, SIGPIPE), "a reader that does not read is not waited for");
	ok(try(make_none, has_default, SIGPIPE), "stderr is closed");
	fd = make_pipe();
	ok(passes_limit() && read(fd, line, sizeof line - 1) > 0 &&
			strstr(line, "does not fit the limit"),
		"else the line comes");
	return tap_end();
}
