/*
 * sleep: a short sleep at the end of a worker's call, where memdiag stops it.
 */
#ifndef MEMDIAG_INJECT_SLEEP_H
#define MEMDIAG_INJECT_SLEEP_H

#include "inject/worker.h"

/* NR is 0 and FN is {0} if no sleep was chosen. */
struct sleep {
	long nr;  /* the system call that sleeps */
	raddr fn; /* the function of libc that makes it, and its arguments */
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
	raddr at; /* the struct timespec on C's ground with its length, if the call takes one */
};

/*
 * Choose a sleep that the seccomp filters of C, which is stopped, allow; its length is to lie at
 * AT, SLEEP_BYTES.  Returns false if no sleep is known to be allowed, or the filters cannot be
 * read.
 */
#define SLEEP_BYTES 16
bool sleep_choose(struct sleep *ret, const struct worker *c, raddr at);

/* Put the sleep on C's undo list. */
int sleep_lay(const struct sleep *s, struct worker *c, struct err *e);

/*
 * Return whether C is in the sleep, and not in another call of that number, such as a futex() that
 * waits for a lock.  If C is not stopped, it may have left it by now.
 */
bool sleep_is_under_way(const struct sleep *s, const struct worker *c);

/*
 * Let C, which is stopped in the sleep with SIG about to be delivered, take SIG and then sleep
 * again.  The signal by which setuid() in another thread waits for this one is let in, and would
 * end the sleep.
 */
int sleep_again(const struct sleep *s, struct worker *c, int sig, struct err *e);

/*
 * Skip or end the sleep, in which no memdiag will stop C; only if C, once stopped, is in one of our
 * calls.
 */
void sleep_forgo(const struct sleep *s, struct worker *c);

#endif
