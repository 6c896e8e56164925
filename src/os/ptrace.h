/*
 * ptrace: stopping threads of a target, their registers, and letting them go.
 */
#ifndef MEMDIAG_OS_PTRACE_H
#define MEMDIAG_OS_PTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct target;

/* Monotonic time in nanoseconds. */
uint64_t os_now_ns(void);
/* The same at the last tick of the kernel: CLOCK_MONOTONIC_COARSE, never more than the former. */
uint64_t os_coarse_ns(void);
void os_sleep_ns(uint64_t ns);

/* Whether A and B are threads of processes that share one address space (kcmp). */
bool os_shares_memory(pid_t a, pid_t b);

/*
 * Run FN(ARG) in a thread of ours of its own, which may trace.  Meanwhile SIGINT, SIGTERM, SIGHUP,
 * SIGQUIT, SIGTSTP and SIGALRM to us are held back, and our priority is raised as far as we may: a
 * stopped thread waits for us at every step.  When FN has returned the kernel lets go whatever it
 * still traces; also threads that run, which cannot be detached from.  Not reentrant.
 *
 * Where FN is stuck in a system call, such a signal, but SIGTSTP, does what it does otherwise two
 * seconds later.  Then memdiag ends in the middle, as by SIGKILL.
 */
int os_trace(void (*fn)(void *arg), void *arg, struct err *e);

enum os_stop_kind {
	OS_STOP_TIMEOUT, /* none: the deadline has passed */
	OS_STOP_EVENT,	 /* asked for by os_interrupt(), or the first stop of a new thread */
	OS_STOP_GROUP,	 /* a SIGSTOP or the like stopped the whole process */
	OS_STOP_SIGNAL,	 /* SIG is about to be delivered */
	OS_STOP_SYSCALL, /* at its entry or exit */
	OS_STOP_CLONE,	 /* made the thread NEW_TID, which is ours and stops by itself */
	OS_STOP_EXEC,	 /* the process runs another program now */
	OS_STOP_GONE,	 /* the thread has ended */
};

struct os_stop {
	enum os_stop_kind kind;
	int sig;
	/* SIGNAL: a fault of the thread's own, or its own abort(); no process sent it */
	bool is_own;
	pid_t new_tid;
	/* SYSCALL; unknown before 5.3 */
	enum { OS_PHASE_UNKNOWN, OS_PHASE_ENTRY, OS_PHASE_EXIT } phase;
};

enum os_resume {
	OS_RESUME_FREE,	      /* PTRACE_CONT */
	OS_RESUME_TO_SYSCALL, /* PTRACE_SYSCALL: to the next entry or exit of a system call */
};

/*
 * Attach to one thread without stopping it. exec is reported; never with EXITKILL: if we die, the
 * target runs on.  One that was to be let go by os_detach_later() is kept.  ERR_GONE if it is
 * ending.  On EPERM E says why, by diagnosis: which uid, capability, namespace, LSM or tracer is in
 * the way, and what helps.
 */
int os_seize(const struct target *t, pid_t tid, struct err *e);

/* Whether threads that a stopped thread makes are attached too, from birth (OS_STOP_CLONE). */
int os_trace_births(pid_t tid, bool want, struct err *e);

int os_interrupt(pid_t tid, struct err *e);
int os_resume(pid_t tid, enum os_resume how, int sig, struct err *e);

/* Wait for TID to stop until DEADLINE_NS of os_now_ns().  0 with *RET, or -1 with E. */
int os_wait(pid_t tid, uint64_t deadline_ns, struct os_stop *ret, struct err *e);

/*
 * Let a thread go that was interrupted and has not stopped: as soon as it does, which os_wait() for
 * any other and os_attend() see to.  Until then it may hold a lock that others wait for.
 */
void os_detach_later(pid_t tid);

/* Sleep for NS, letting such threads go meanwhile.  Only in os_trace(). */
void os_attend(uint64_t ns);

/* Let a stopped thread go, delivering SIG if not 0.  ESRCH (it has ended) is no error here. */
int os_detach(pid_t tid, int sig, struct err *e);

/*
 * A register set of a stopped thread (NT_PRSTATUS, NT_X86_XSTATE ... of elf.h) to or from BUF.
 * *SIZE is the room and becomes the size.
 */
int os_get_regset(pid_t tid, unsigned int type, void *buf, size_t *size, struct err *e);
int os_set_regset(pid_t tid, unsigned int type, const void *buf, size_t size, struct err *e);

/* The kernel's 64-bit blocked signal mask of a stopped thread. */
int os_get_sigmask(pid_t tid, uint64_t *ret, struct err *e);
int os_set_sigmask(pid_t tid, uint64_t mask, struct err *e);

enum os_rseq {
	OS_RSEQ_UNKNOWN, /* the kernel does not report it (before 5.13) */
	OS_RSEQ_OUTSIDE, /* or the thread has no area */
	OS_RSEQ_INSIDE,
};

/* Whether the stopped thread's rseq area shows that it is inside a restartable sequence. */
int os_rseq_state(const struct target *t, pid_t tid, enum os_rseq *ret, struct err *e);

/* Whether system calls of the stopped thread are dispatched to a handler of its own (6.4+). */
int os_has_syscall_dispatch(pid_t tid, bool *ret, struct err *e);

/*
 * Whether thread TID is scheduled as most are (SCHED_OTHER): neither real time nor batch nor idle.
 */
bool os_is_scheduled_plainly(pid_t tid);

/* Whether os_trace() is at work: threads may be stopped. */
bool os_is_tracing(void);

/*
 * Have thread TID come before others of ordinary scheduling, for good; nothing happens without the
 * right to.
 */
void os_hurry(pid_t tid);

/* In os_trace(): whether a signal has asked memdiag to end (SIGINT ...), which is still blocked. */
bool os_is_asked_to_end(void);

#endif
