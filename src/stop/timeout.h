/* timeout: the rest of the timeout of a system call interrupted by a stop. */
#ifndef MEMDIAG_STOP_TIMEOUT_H
#define MEMDIAG_STOP_TIMEOUT_H

#include "arch/arch.h"
#include "os/proc.h"
#include "os/sched.h"

struct target;

/*
 * True if system call NR may be made again from its beginning after an attach interrupted it with
 * EINTR (signal(7), "interruption of system calls and library functions by stop signals").
 */
bool timeout_is_repeatable(long nr);

/* The number of bytes that may be used for the rest, below a stack's red zone. */
#define TIMEOUT_BYTES 32

enum timeout_form { TIMEOUT_MS, TIMEOUT_TIMESPEC, TIMEOUT_TIMEVAL };

/* The timeout of the system call that a thread waits in, across a stop. */
struct timeout {
	/* from timeout_look(): */
	struct os_syscall seen;
	struct os_asleep asleep; /* zeroed: not queried */
	uint64_t whole_ns;
	bool is_endless_poll; /* started as poll() without a timeout, and continued since */
	bool is_of_socket;    /* SO_RCVTIMEO or SO_SNDTIMEO, which is not an argument */
	bool is_lost;	      /* its end cannot be determined */
	/* set by the caller: when the thread was asked to stop (os_now_ns()) */
	uint64_t asked_ns;
	/* from timeout_settle(): */
	enum {
		TIMEOUT_NONE, /* the call has no timeout, or needs no help */
		TIMEOUT_KNOWN,
		/* known; it starts again, until the next stop after its end */
		TIMEOUT_OF_SOCKET,
		/* known only to the kernel; or unknown, and the timeout starts again */
		TIMEOUT_UNKNOWN,
	} kind;
	uint64_t deadline_ns;
	int arg; /* index of the argument */
	enum timeout_form form;
	uint32_t caller_ms; /* the argument set by the program */
	/* address for the rest, if not in the argument itself */
	raddr at;
	/* memdiag's memory in the thread's control block; {0}: not available */
	raddr spare;
};

/* True if S has, or may have, a timeout relative to its start. */
bool timeout_is_finite(const struct os_syscall *s);

/* Read what thread TID waits in, and since when; call it directly before the thread is stopped. */
void timeout_look(struct timeout *w, const struct target *t, pid_t tid);

/*
 * Call it directly after the stop: change R, the thread's registers, so that the call is made again
 * with the rest of its timeout, if it would fail with EINTR, or if only the kernel could continue
 * it and it would end early after rt_sigreturn.
 */
void timeout_settle(struct timeout *w, const struct target *t, pid_t tid, struct arch_regs *r);

/* Update R with the rest as of now, directly before R is set for the last time. */
void timeout_renew(const struct timeout *w, const struct target *t, struct arch_regs *r);

/*
 * Record in the target when the call must end, for another memdiag: directly before letting go a
 * thread that was stopped more than once.
 */
void timeout_record(const struct timeout *w, const struct target *t, pid_t tid);

#endif
