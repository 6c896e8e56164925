/*
 * wait: let a process run while it is sampled.
 */
#ifndef MEMDIAG_CAPTURE_WAIT_H
#define MEMDIAG_CAPTURE_WAIT_H

#include <stdio.h>

#include "glibc/process.h"
#include "os/os.h"

enum capture_wait {
	CAPTURE_WAIT_OVER,
	CAPTURE_WAIT_ASKED, /* SIGINT, SIGTERM or SIGHUP has come */
	CAPTURE_WAIT_ENDED, /* the process has ended */
};

/* Hold back those signals from now on, so that none of them leaves hooks in the target. */
void capture_hold_signals(void);

/* Let each of them end memdiag from now on. */
void capture_release_signals(void);

/*
 * While RUNS(ARG) is true, a program that memdiag has started runs: the signals are for that
 * program, RUNS passes them on, and none ends a wait.  It is called at least every 100 ms.
 */
void capture_leave_signals(bool (*runs)(void *arg), void *arg);

/*
 * Wait for NS nanoseconds, or until one of these signals comes, or T, which may be NULL, ends.  If
 * T's thread ends, T is held by another of its threads: target_renew().
 */
enum capture_wait capture_wait(struct target *t, uint64_t ns);

/*
 * Write the LEN bytes at TEXT to F, and flush it.  Waits for a full pipe until one of these signals
 * comes, and not at all once one has come: then fewer than LEN are written.  Returns how many;
 * ferror() reports failures of F.
 */
size_t capture_write(FILE *f, const char *text, size_t len);

/* False if F is a pipe or a socket whose reader has closed it. */
bool capture_has_reader(FILE *f);

/*
 * Return whether P maps the file FD, of samples: if not, it has executed another program meanwhile.
 */
bool capture_maps_file(const struct process *p, int fd);

#endif
