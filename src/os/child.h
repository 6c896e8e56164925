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

struct os_child;

/* The file that we run from, into BUF. */
int os_own_path(char *buf, size_t size, struct err *e);

/*
 * Have the OOM killer take us before any other process, also where we are in the target's cgroup.
 * Not before a program of the user's is started, which would inherit it.
 */
void os_die_first(void);

/*
 * A write to a pipe that nobody reads, or beyond RLIMIT_FSIZE, fails and is no signal: a thread may
 * be borrowed just then.  Not before a program is started either.
 */
void os_ignore_failed_writes(void);

/*
 * Let SIGINT end memdiag where it is ignored: a shell without job control ignores it for what it
 * runs in the background, where Ctrl-C is not meant for it; "kill -INT" is.
 */
void os_take_sigint(void);

/* The name by which others can open descriptor FD of ours, into BUF; returns BUF. */
const char *os_fd_path(int fd, char *buf, size_t size);

struct os_end {
	pid_t pid;
	int status; /* of wait(2) */
	uint64_t elapsed_ns, user_ns, system_ns;
	uint64_t max_rss_bytes;
};

/*
 * Have FN(ARG) execute another program in a child, and wait for its end.  FN finds signals as
 * memdiag was given them, and returns only if it failed; then its error is returned.  Meanwhile a
 * signal that is sent to memdiag is passed on to the child.  Those of the terminal go to both
 * anyway, and memdiag ignores them; but when one stops the child memdiag stops as well, so that a
 * shell sees it.  One sent to the whole process group arrives at the child twice.
 */
int os_run_child(int (*fn)(void *arg, struct err *e), void *arg, struct os_end *ret, struct err *e);

/* The same, and call TICK(TICK_ARG) every EVERY_NS meanwhile. */
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
 * The exit status with which memdiag ends as the child did; if that was by a signal this ends
 * memdiag by it.
 */
int os_end_as(int wait_status);

#endif
