/*
 * wait: let a process run while it is sampled.
 */
#ifndef MEMDIAG_CAPTURE_WAIT_H
#define MEMDIAG_CAPTURE_WAIT_H

#include <stdio.h>

#include "glibc/process.h"
#include "os/os.h"

enum profile_wait {
	PROFILE_WAIT_OVER,
	PROFILE_WAIT_ASKED, /* SIGINT, SIGTERM or SIGHUP: it is enough */
	PROFILE_WAIT_ENDED, /* the process has ended */
};

/* Hold back those signals from now on, so that none of them leaves hooks behind. */
void profile_hold_signals(void);

/* From now on each of them ends memdiag. */
void profile_release_signals(void);

/*
 * As long as RUNS(ARG) is true, a program that memdiag has started runs: the signals are meant for
 * it, RUNS passes them on, and none ends a wait.  It is called every 100 ms at least.
 */
void profile_leave_signals(bool (*runs)(void *arg), void *arg);

/*
 * Wait for NS nanoseconds, or until one of these signals comes, or T ends, which may be NULL.  T is
 * held by another thread if its own ends: target_renew().
 */
enum profile_wait profile_wait(struct target *t, uint64_t ns);

/*
 * Write the LEN bytes at TEXT to F, and flush it.  A pipe that is full is waited for until one of
 * these signals comes: then fewer than LEN are written.  Returns how many; failures are F's, for
 * ferror().
 */
size_t profile_write(FILE *f, const char *text, size_t len);

/* False: F is a pipe or a socket whose reader has closed it. */
bool profile_has_reader(FILE *f);

/* Whether P maps the file FD, of samples: if not, it has become another program meanwhile. */
bool profile_maps_file(const struct process *p, int fd);

#endif
