#include <config.h>

#include "capture/wait.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "os/clock.h"
#include "os/ptrace.h"
#include "os/target.h"

/* Interval between checks whether the process has ended. */
#define LOOK_NS UINT64_C(100000000)

/* Interval between checks whether memdiag is asked to end, while no process reads its output. */
#define ROOM_MS 50

static const int held[] = { SIGINT, SIGTERM, SIGHUP };

/* Store the signals to hold; ignored ones are left alone, as under nohup. */
static void
held_signals(sigset_t *ret)
{
	sigemptyset(ret);
	for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
		struct sigaction was;

		if (sigaction(held[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			sigaddset(ret, held[i]);
	}
}

void
capture_hold_signals(void)
{
	sigset_t set;

	held_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void
capture_release_signals(void)
{
	sigset_t set;

	held_signals(&set);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool (*program_runs)(void *arg);
static void *program_arg;

void
capture_leave_signals(bool (*runs)(void *arg), void *arg)
{
	program_runs = runs;
	program_arg = arg;
}

/* One of the signals has come, and was taken. */
static bool was_asked;

/* Wait for one of SET, which are not ours while a program runs.  True if one has come. */
static bool
is_asked(const sigset_t *set, const struct timespec *some)
{
	if (!program_runs || !program_runs(program_arg)) {
		const bool is_now = sigtimedwait(set, NULL, some) > 0;

		was_asked |= is_now;
		return is_now;
	}
	os_sleep_ns((uint64_t)some->tv_nsec);
	return false;
}

enum capture_wait
capture_wait(struct target *t, uint64_t ns)
{
	const uint64_t end_ns = os_now_ns() + ns;
	sigset_t set;

	held_signals(&set);
	for (;;) {
		const uint64_t now_ns = os_now_ns();
		const uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
		const struct timespec some = { .tv_nsec = (long)(left_ns < LOOK_NS ? left_ns
										   : LOOK_NS) };

		if (t && !target_renew(t))
			return CAPTURE_WAIT_ENDED;
		if (is_asked(&set, &some))
			return CAPTURE_WAIT_ASKED;
		if (!left_ns)
			return CAPTURE_WAIT_OVER;
	}
}

/*
 * Wait until PIPE_BUF bytes can be written at once, which poll() reports for a pipe, or memdiag is
 * asked to end, or was before: the signals are held back, and would not end a write() to a pipe
 * without a reader.
 */
static bool
wait_for_room(FILE *f)
{
	struct pollfd p = { .fd = fileno(f), .events = POLLOUT };

	while (poll(&p, 1, ROOM_MS) <= 0)
		if (was_asked || capture_wait(NULL, 0) == CAPTURE_WAIT_ASKED)
			return false;
	return true;
}

size_t
capture_write(FILE *f, const char *text, size_t len)
{
	size_t done = 0;

	while (done < len && !ferror(f)) {
		const size_t n = len - done < PIPE_BUF ? len - done : PIPE_BUF;

		if (!wait_for_room(f))
			return done;
		fwrite(text + done, 1, n, f);
		fflush(f);
		done += n;
	}
	return done;
}

bool
capture_has_reader(FILE *f)
{
	struct pollfd p = { .fd = fileno(f) };

	return poll(&p, 1, 0) <= 0 || !(p.revents & POLLERR);
}

bool
capture_maps_file(const struct process *p, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < p->maps.nr; i++)
		if (p->maps.region[i].inode == st.st_ino && p->maps.region[i].dev == st.st_dev)
			return true;
	return false;
}
