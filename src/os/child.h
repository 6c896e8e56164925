/*
 * child: a program that memdiag starts, and memdiag's own process.
 */
#ifndef MEMDIAG_OS_CHILD_H
#define MEMDIAG_OS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * As os_run_child(), in steps.  os_child_prepare() makes the child, which waits: it is a copy of
 * memdiag, with all that memdiag has changed in itself so far except signals.  From then on until
 * os_child_free() all signals are held back.  os_child_start() lets it execute the program: 0, or
 * -1 with the error of FN.  os_child_tend() passes on the signals that have come since the last
 * call; true: the child has ended.  os_child_wait() does so until the end.  os_child_free() ends a
 * child that waits, and leaves one that was started.
 */
struct os_child;

/* Store the path of memdiag's executable in BUF. */
int os_own_path(char *buf, size_t size, struct err *e);

/*
 * Make the OOM killer take memdiag before any other process, also if we are in the target's cgroup.
 * Call this after the user's program is started, which would inherit it.
 */
void os_die_first(void);

/* Likewise for process PID.  Returns 0, or -1 with E. */
int os_end_first(pid_t pid, struct err *e);

/* Undo os_die_first(), in a child that becomes a program of the user's. */
void os_die_as_before(void);

/*
 * Make a write to a pipe without a reader, or beyond RLIMIT_FSIZE, fail instead of raising a
 * signal: a thread may be borrowed just then.  Call this after a program is started, too.
 */
void os_ignore_failed_writes(void);

/*
 * Let SIGINT end memdiag if it is ignored: a shell without job control ignores it in background
 * programs, so that Ctrl-C does not end them; but "kill -INT" should.
 */
void os_take_sigint(void);

/* Print the name by which other processes can open our descriptor FD into BUF; return BUF. */
const char *os_fd_path(int fd, char *buf, size_t size);

struct os_end {
	pid_t pid;
	int status; /* as of wait(2) */
	uint64_t elapsed_ns, user_ns, system_ns;
	uint64_t max_rss_bytes;
};

/*
 * Have FN(ARG) execute another program in a child, and wait for its end.  FN has the signal state
 * with which memdiag started, and returns only if it failed; then its error is returned.  Meanwhile
 * a signal that is sent to memdiag is passed on to the child.  Signals of the terminal go to both
 * anyway, and memdiag ignores them; but when one stops the child memdiag stops as well, so that a
 * shell notices.  A signal to the whole process group reaches the child twice.
 */
int os_run_child(int (*fn)(void *arg, struct err *e), void *arg, struct os_end *ret, struct err *e);

/* As os_run_child(), but call TICK(TICK_ARG) every EVERY_NS meanwhile. */
int os_run_child_ticking(int (*fn)(void *arg, struct err *e), void *arg, void (*tick)(void *arg),
	void *tick_arg, uint64_t every_ns, struct os_end *ret, struct err *e);
int os_child_prepare(
	struct os_child **ret, int (*fn)(void *arg, struct err *e), void *arg, struct err *e);
int os_child_start(struct os_child *c, struct err *e);
bool os_child_tend(struct os_child *c);
void os_child_wait(struct os_child *c, struct os_end *ret);
pid_t os_child_pid(const struct os_child *c);
void os_child_free(struct os_child *c);
static inline void
os_child_cleanup(struct os_child **c)
{
	os_child_free(*c);
}
#define auto_child __attribute__((cleanup(os_child_cleanup)))

/*
 * Return the exit status with which memdiag ends as the child did; if a signal ended the child, end
 * memdiag by that signal.
 */
int os_end_as(int wait_status);

#endif
