/*
 * sleep: a short sleep at the end of a worker's call, where memdiag stops it.
 */
#ifndef MEMDIAG_INJECT_SLEEP_H
#define MEMDIAG_INJECT_SLEEP_H

#include "inject/worker.h"

/* One that was not chosen has NR 0 and no FN. */
struct sleep {
	long nr;  /* the system call that sleeps */
	raddr fn; /* the function of libc that makes it, and its arguments */
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
	raddr at; /* the struct timespec on C's ground that has its length, if it is so given */
};

/*
 * Choose a sleep that the seccomp filters of C, which is stopped, allow; its length is to lie at
 * AT, SLEEP_BYTES.  False if none is known: the filters cannot be read, or allow none.
 */
#define SLEEP_BYTES 16
bool sleep_choose(struct sleep *ret, const struct worker *c, raddr at);

/* Put it on C's undo list. */
int sleep_lay(const struct sleep *s, struct worker *c, struct err *e);

/*
 * Whether C is in the sleep, and not in another call of that number, as a wait for a lock is one of
 * futex().  If C is not stopped, it may have left it by now.
 */
bool sleep_is_under_way(const struct sleep *s, const struct worker *c);

/*
 * A signal that is let in, by which setuid() in another thread waits for this one, would end the
 * sleep.  So C, which stands in the sleep with SIG about to be delivered, takes it and then sleeps
 * again.
 */
int sleep_again(const struct sleep *s, struct worker *c, int sig, struct err *e);

/*
 * No memdiag will stop C in its sleep: skip the sleep, or end it, if C, once stopped, is in a call
 * of ours.
 */
void sleep_forgo(const struct sleep *s, struct worker *c);

#endif
