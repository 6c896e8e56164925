/*
 * timeout: what is left of the timeout of a system call that a stop breaks off.
 */
#ifndef MEMDIAG_STOP_TIMEOUT_H
#define MEMDIAG_STOP_TIMEOUT_H

#include "arch/arch.h"
#include "os/proc.h"
#include "os/sched.h"

struct target;

/*
 * Whether system call NR may be made again from its beginning when an attach has broken it off with
 * EINTR (signal(7), "interruption of system calls and library functions by stop signals").
 */
bool timeout_is_repeatable(long nr);

/* The number of bytes that may be used for it below a stack's red zone. */
#define TIMEOUT_BYTES 32

enum timeout_form { TIMEOUT_MS, TIMEOUT_TIMESPEC, TIMEOUT_TIMEVAL };

/* The timeout of the system call that a thread waits in, over a stop. */
struct timeout {
	/* of timeout_look(): */
	struct os_syscall seen;
	struct os_asleep asleep; /* zeroes: not asked for */
	uint64_t whole_ns;
	bool is_endless_poll; /* begun as poll() without a timeout, and continued since */
	bool is_of_socket;    /* SO_RCVTIMEO or SO_SNDTIMEO, which is no argument */
	bool is_lost;	      /* when it ends cannot be found out */
	/* of the caller: when the thread was asked to stop (os_now_ns()) */
	uint64_t asked_ns;
	/* of timeout_settle(): */
	enum {
		TIMEOUT_NONE, /* the call has none, or needs no help */
		TIMEOUT_KNOWN,
		/* known; it starts anew, until the next stop after its end */
		TIMEOUT_OF_SOCKET,
		/* only the kernel knows; or it is unknown, and the timeout starts anew */
		TIMEOUT_UNKNOWN,
	} kind;
	uint64_t deadline_ns;
	int arg; /* which argument */
	enum timeout_form form;
	uint32_t caller_ms; /* the argument as the program made it */
	/* where the rest is written, if not into the argument itself */
	raddr at;
	/* memory of ours in the thread's control block; {0}: none */
	raddr spare;
};

/* Whether S has a timeout that counts from its beginning, or may have. */
bool timeout_is_finite(const struct os_syscall *s);

/* Right before thread TID is stopped: what it waits in, and since when. */
void timeout_look(struct timeout *w, const struct target *t, pid_t tid);

/*
 * Right after: change R, its registers, so that the call is made again with what is left of its
 * timeout, if it would fail with EINTR, or be continued by the kernel alone and end early after
 * rt_sigreturn.
 */
void timeout_settle(struct timeout *w, const struct target *t, pid_t tid, struct arch_regs *r);

/* The same with what is left now, right before R is set for the last time. */
void timeout_renew(const struct timeout *w, const struct target *t, struct arch_regs *r);

/*
 * Note in the target when the call is to end, for another memdiag: right before a thread is let go
 * that has been stopped more than once.
 */
void timeout_record(const struct timeout *w, const struct target *t, pid_t tid);

#endif
