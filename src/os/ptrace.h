/*
 * ptrace: stopping threads of a target, their registers, and detaching.
 */
#ifndef MEMDIAG_OS_PTRACE_H
#define MEMDIAG_OS_PTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct target;

/* Return whether A and B are threads of processes that share one address space (kcmp). */
bool os_shares_memory(pid_t a, pid_t b);

/*
 * Run FN(ARG) in a separate thread of ours, which may trace.  Meanwhile SIGINT, SIGTERM, SIGHUP,
 * SIGQUIT, SIGTSTP and SIGALRM to us are held back, and our priority is raised as far as allowed: a
 * stopped thread waits for us at every step.  When FN has returned the kernel detaches all threads
 * that are still traced, including running ones, which we cannot detach.  Not reentrant.
 *
 * If FN is stuck in a system call, such a signal, except SIGTSTP, takes its normal effect two
 * seconds later.  Then memdiag ends in the middle, as by SIGKILL.
 */
int os_trace(void (*fn)(void *arg), void *arg, struct err *e);

enum os_stop_kind {
	OS_STOP_TIMEOUT, /* not stopped: the deadline has passed */
	OS_STOP_EVENT,	 /* from os_interrupt(), or the first stop of a new thread */
	OS_STOP_GROUP,	 /* a SIGSTOP or similar signal stopped the whole process */
	OS_STOP_SIGNAL,	 /* SIG is about to be delivered */
	OS_STOP_SYSCALL, /* at its entry or exit */
	OS_STOP_CLONE,	 /* it made the thread NEW_TID, which is traced and stops by itself */
	OS_STOP_EXEC,	 /* the process now runs another program */
	OS_STOP_GONE,	 /* the thread has ended */
};

struct os_stop {
	enum os_stop_kind kind;
	int sig;
	/* SIGNAL: a fault of the thread, or its own abort(); not sent by a process */
	bool is_own;
	pid_t new_tid;
	/* SYSCALL: unknown before 5.3 */
	enum { OS_PHASE_UNKNOWN, OS_PHASE_ENTRY, OS_PHASE_EXIT } phase;
};

enum os_resume {
	OS_RESUME_FREE,	      /* PTRACE_CONT */
	OS_RESUME_TO_SYSCALL, /* PTRACE_SYSCALL: to the next entry or exit of a system call */
};

/*
 * Attach to one thread without stopping it.  exec is reported; EXITKILL is never set: if we die,
 * the target continues.  A thread that os_detach_later() has listed is kept.  ERR_GONE if it is
 * ending.  On EPERM E has the diagnosis: which uid, capability, namespace, LSM or tracer prevents
 * it, and what helps.
 */
int os_seize(const struct target *t, pid_t tid, struct err *e);

/* Set whether threads that a stopped thread makes are attached too, from birth (OS_STOP_CLONE). */
int os_trace_births(pid_t tid, bool want, struct err *e);

int os_interrupt(pid_t tid, struct err *e);
int os_resume(pid_t tid, enum os_resume how, int sig, struct err *e);

/* Wait for TID to stop, until DEADLINE_NS of os_now_ns().  0 with *RET, or -1 with E. */
int os_wait(pid_t tid, uint64_t deadline_ns, struct os_stop *ret, struct err *e);

/*
 * Detach an interrupted thread as soon as it stops, in os_wait() for any other thread and in
 * os_attend().  Until then it may hold a lock that others wait for.
 */
void os_detach_later(pid_t tid);

/* Sleep for NS, and detach such threads meanwhile.  Only in os_trace(). */
void os_attend(uint64_t ns);

/* Detach a stopped thread, delivering SIG if not 0.  ESRCH (it has ended) is not an error here. */
int os_detach(pid_t tid, int sig, struct err *e);

/*
 * Copy a register set of a stopped thread (NT_PRSTATUS, NT_X86_XSTATE ... of elf.h) to or from BUF.
 * *SIZE is the room and becomes the size.
 */
int os_get_regset(pid_t tid, unsigned int type, void *buf, size_t *size, struct err *e);
int os_set_regset(pid_t tid, unsigned int type, const void *buf, size_t size, struct err *e);

/* Get or set the 64-bit mask of blocked signals of a stopped thread. */
int os_get_sigmask(pid_t tid, uint64_t *ret, struct err *e);
int os_set_sigmask(pid_t tid, uint64_t mask, struct err *e);

enum os_rseq {
	OS_RSEQ_UNKNOWN, /* the kernel does not report it (before 5.13) */
	OS_RSEQ_OUTSIDE, /* also if the thread has no rseq area */
	OS_RSEQ_INSIDE,
};

/* Get whether the stopped thread's rseq area shows that it is inside a restartable sequence. */
int os_rseq_state(const struct target *t, pid_t tid, enum os_rseq *ret, struct err *e);

/* Get whether system calls of the stopped thread are dispatched to its own handler (6.4+). */
int os_has_syscall_dispatch(pid_t tid, bool *ret, struct err *e);

/*
 * Return whether thread TID has the usual scheduling (SCHED_OTHER): not real time, batch or idle.
 */
bool os_is_scheduled_plainly(pid_t tid);

/* Return whether os_trace() is at work: threads may be stopped. */
bool os_is_tracing(void);

/*
 * Raise the priority of thread TID above others of ordinary scheduling, permanently; does nothing
 * without the right to.
 */
void os_hurry(pid_t tid);

/* Give the tracing thread ordinary priority: for work in which no thread is stopped. */
void os_unhurry(void);

/* Kill process PID, which is traced and whose end was not collected: so the number is still its. */
void os_end_traced(pid_t pid);

/*
 * In os_trace(): return whether a signal that is still blocked (SIGINT ...) has asked memdiag to
 * end.
 */
bool os_is_asked_to_end(void);

#endif
