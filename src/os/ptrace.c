#include <config.h>

#include "base/array.h"
#include "base/debug.h"
#include "os/clock.h"
#include "os/core-proc-priv.h"
#include "os/diagnose.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace-priv.h"
#include "os/status.h"
#include "os/steps.h"
#include "os/stops-priv.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/ptrace.h"

/* linux/ptrace.h cannot be included together with sys/ptrace.h; some libcs lack these. */
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f /* 5.13 */
#endif
#define MD_PTRACE_GET_SYSCALL_INFO 0x420e		  /* 5.3 */
#define MD_PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211 /* 6.4 */
#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

struct rseq_configuration {
	uint64_t rseq_abi_pointer;
	uint32_t rseq_abi_size, signature, flags, pad;
};

/* The beginning of struct ptrace_syscall_info (linux/ptrace.h): op is 1 at entry, 2 at exit. */
struct syscall_info {
	uint8_t op, pad[3];
	uint32_t arch;
	uint64_t rest[10];
};

struct dispatch_configuration {
	uint64_t mode, selector, offset, len;
};

/* Threads that were interrupted and have not stopped yet: os_detach_later(). */
#define MAX_LATER 64
static pid_t later[MAX_LATER];
static size_t nr_later;

/* Threads that were attached since os_trace() began; some may be gone, or be here twice. */
static struct {
	pid_t *v;
	size_t nr, room;
} seized;

/* ---- ourselves ---- */

static const int held[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGALRM };

/*
 * Return whether SIG is ignored, as SIGHUP is under nohup: such a signal still becomes pending
 * while it is blocked.
 */
static bool
is_ignored(int sig)
{
	struct sigaction action;

	return sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool
os_is_asked_to_end(void)
{
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		if (held[i] != SIGTSTP && sigismember(&pending, held[i]) && !is_ignored(held[i]))
			return true;
	return false;
}

static atomic_bool is_tracing;

bool
os_is_tracing(void)
{
	return is_tracing;
}

/* Look for a change of the tracees that ID and TYPE name, as waitid(), and leave it uncollected. */
static bool
has_changed(idtype_t type, id_t id, siginfo_t *ret)
{
	*ret = (siginfo_t){ 0 };
	return waitid(type, id, ret,
		       WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) == 0 &&
		ret->si_pid;
}

/* Collect TID if INFO says that it has ended. */
static bool
take_end(const siginfo_t *info)
{
	return info->si_code != CLD_TRAPPED &&
		waitpid(info->si_pid, NULL, WNOHANG | __WALL | __WNOTHREAD) > 0;
}

/*
 * Collect tracees that have ended, so that the kernel forgets them.  A wait for the end of any
 * tracee returns, and collects, their stops as well (kernel/exit.c, wait_consider_task); so each is
 * asked for once one has stopped.  Also a signal handler, which runs only inside seize().
 */
static void
take_ends(int sig)
{
	int saved_errno = errno;
	siginfo_t info;

	(void)sig;
	while (has_changed(P_ALL, 0, &info) && take_end(&info))
		;
	for (size_t i = 0; info.si_pid && i < seized.nr; i++) {
		siginfo_t of_one;

		if (has_changed(P_PID, (id_t)seized.v[i], &of_one))
			take_end(&of_one);
	}
	errno = saved_errno;
}

struct ptrace_tracing {
	void (*fn)(void *arg);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t has_ended;
	bool is_over;
};

static void *
trace(void *arg)
{
	struct ptrace_tracing *t = arg;

	setpriority(PRIO_PROCESS, 0, -20); /* of this thread; unchanged without CAP_SYS_NICE */
	prctl(PR_SET_TIMERSLACK, 1);	   /* pauses are shorter than the default of 50 us */
	t->fn(t->arg);
	pthread_mutex_lock(&t->lock);
	t->is_over = true;
	pthread_cond_signal(&t->has_ended);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/*
 * Memdiag may end at any moment: the kernel detaches the threads, and the target undoes the changes
 * in itself.  So memdiag stops waiting if the tracing thread, stuck in a system call, makes no step
 * for this long after memdiag was asked to end.  Polls are counted instead of time, because time
 * passes also while memdiag itself is stopped.
 */
#define LOOK_NS 100000000
#define STUCK_LOOKS 20

/* Let the signals that are held back end the process, as they do when no thread is traced. */
static void
stop_holding(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		if (held[i] != SIGTSTP)
			sigaddset(&set, held[i]);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Wait for LOOK_NS or the end of T, whose lock is held. */
static void
wait_a_look(struct ptrace_tracing *t)
{
	const uint64_t until_ns = os_now_ns() + LOOK_NS;
	const struct timespec until = { (time_t)(until_ns / 1000000000),
		(long)(until_ns % 1000000000) };

	pthread_cond_timedwait(&t->has_ended, &t->lock, &until);
}

/* Wait until the tracing thread has ended; if it is stuck, only until memdiag is asked to end. */
static void
await_end(struct ptrace_tracing *t)
{
	unsigned long before = os_nr_steps();
	int nr_looks = 0;

	pthread_mutex_lock(&t->lock);
	while (!t->is_over) {
		unsigned long now;

		wait_a_look(t);
		now = os_nr_steps();
		nr_looks = now == before && os_is_asked_to_end() ? nr_looks + 1 : 0;
		before = now;
		if (nr_looks >= STUCK_LOOKS)
			stop_holding();
	}
	pthread_mutex_unlock(&t->lock);
}

static void
tracing_init(struct ptrace_tracing *t)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->has_ended, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&t->lock, NULL);
}

static void
tracing_destroy(struct ptrace_tracing *t)
{
	pthread_cond_destroy(&t->has_ended);
	pthread_mutex_destroy(&t->lock);
}

int
os_trace(void (*fn)(void *arg), void *arg, struct err *e)
{
	struct ptrace_tracing t = { .fn = fn, .arg = arg };
	sigset_t set, before;
	pthread_t thread;
	int failed;

	/* The kernel does not send it if it is ignored, as nohup and some shells leave it. */
	signal(SIGCHLD, take_ends);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		sigaddset(&set, held[i]);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	tracing_init(&t);
	debug_hold();
	is_tracing = true;
	failed = pthread_create(&thread, NULL, trace, &t);
	if (!failed) {
		await_end(&t);
		pthread_join(thread, NULL);
	}
	tracing_destroy(&t);
	is_tracing = false;
	debug_let_go();
	nr_later = seized.nr = 0;
	os_stops_forget();
	signal(SIGCHLD, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed ? err_set(e, failed, "cannot start a thread") : 0;
}

/* ---- requests ---- */

/* Make a ptrace request about TID that returns only success or failure; DID is for the message. */
static int
ptrace_request(enum __ptrace_request what, pid_t tid, uintptr_t addr, uintptr_t data,
	const char *did, struct err *e)
{
	os_step();
	if (ptrace(what, tid, (void *)addr, (void *)data) >= 0)
		return 0;
	return err_set(e, errno, "cannot %s thread %d", did, tid);
}

#define TRACE_OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)

int
os_trace_births(pid_t tid, bool want, struct err *e)
{
	return ptrace_request(PTRACE_SETOPTIONS, tid, 0,
		TRACE_OPTIONS | (want ? PTRACE_O_TRACECLONE : 0), "set the options of", e);
}

/*
 * While a thread execs, seizing another one waits until the exec is done (cred_guard_mutex); and
 * the exec waits until all other threads are gone, including those that we trace until we have
 * collected their end.  So a signal handler collects them, in the middle of the request.
 */
static int
seize(pid_t tid, struct err *e)
{
	pid_t *place = array_add(&seized);
	sigset_t set;
	int failed;

	if (!place)
		return err_set_kind(e, ERR_FAILED, 0, "no memory to list threads");
	*place = tid;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	failed = ptrace_request(PTRACE_SEIZE, tid, 0, TRACE_OPTIONS, "attach to", e);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return failed;
}

int
os_seize(const struct target *t, pid_t tid, struct err *e)
{
	struct os_status s;
	struct err ignored;

	if (t->core)
		return core_refuse(t, "attach to it", e);
	if (seize(tid, e) == 0)
		return 0;
	if (e->code != EPERM)
		return -1;
	/* A thread that is ending is refused like one that we may not trace. */
	if (os_status(t, tid, &s, &ignored) < 0 || s.state == 'Z' || s.state == 'X')
		return err_set(e, ESRCH, "cannot attach to thread %d", tid);
	if (s.tracer == gettid()) {
		/* Remove TID from those to detach later. */
		for (size_t i = 0; i < nr_later; i++)
			if (later[i] == tid)
				later[i--] = later[--nr_later];
		return 0;
	}
	/* The other tracer may have detached meanwhile. */
	if (!s.tracer && seize(tid, e) == 0)
		return 0;
	return os_diagnose_eperm(t, "attach to it", e);
}

int
os_interrupt(pid_t tid, struct err *e)
{
	return ptrace_request(PTRACE_INTERRUPT, tid, 0, 0, "interrupt", e);
}

int
os_resume(pid_t tid, enum os_resume how, int sig, struct err *e)
{
	os_stops_end(tid);
	return ptrace_request(how == OS_RESUME_FREE ? PTRACE_CONT : PTRACE_SYSCALL, tid, 0,
		(uintptr_t)sig, "resume", e);
}

int
os_detach(pid_t tid, int sig, struct err *e)
{
	struct err ours;

	os_stops_end(tid);
	if (ptrace_request(PTRACE_DETACH, tid, 0, (uintptr_t)sig, "detach from", &ours) == 0 ||
		ours.code == ESRCH)
		return 0;
	*e = ours;
	return -1;
}

int
os_get_regset(pid_t tid, unsigned int type, void *buf, size_t *size, struct err *e)
{
	struct iovec iov = { buf, *size };

	if (ptrace_request(
		    PTRACE_GETREGSET, tid, type, (uintptr_t)&iov, "read the registers of", e) < 0)
		return -1;
	*size = iov.iov_len;
	return 0;
}

int
os_set_regset(pid_t tid, unsigned int type, const void *buf, size_t size, struct err *e)
{
	struct iovec iov = { (void *)(uintptr_t)buf, size };

	return ptrace_request(
		PTRACE_SETREGSET, tid, type, (uintptr_t)&iov, "set the registers of", e);
}

/* A tracer may always do this, unlike a write to /proc/PID/mem (proc_mem.force_override=, 6.12). */
int
os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e)
{
	for (size_t at = 0; at < size; at += sizeof(long)) {
		size_t n = size - at < sizeof(long) ? size - at : sizeof(long);
		uintptr_t addr = to.v + at;
		long word = 0;

		errno = 0;
		if (n < sizeof word)
			word = ptrace(PTRACE_PEEKTEXT, tid, (void *)addr, NULL);
		if (errno)
			return err_set(e, errno, "cannot read code of thread %d", tid);
		memcpy(&word, (const char *)from + at, n);
		if (ptrace_request(
			    PTRACE_POKETEXT, tid, addr, (uintptr_t)word, "write code of", e) < 0)
			return -1;
	}
	return 0;
}

int
os_get_sigmask(pid_t tid, uint64_t *ret, struct err *e)
{
	uint64_t mask;

	if (ptrace_request(PTRACE_GETSIGMASK, tid, sizeof mask, (uintptr_t)&mask,
		    "read the signal mask of", e) < 0)
		return -1;
	*ret = mask;
	return 0;
}

int
os_set_sigmask(pid_t tid, uint64_t mask, struct err *e)
{
	return ptrace_request(
		PTRACE_SETSIGMASK, tid, sizeof mask, (uintptr_t)&mask, "set the signal mask of", e);
}

int
os_rseq_state(const struct target *t, pid_t tid, enum os_rseq *ret, struct err *e)
{
	struct rseq_configuration c;
	uint64_t section = 0;

	*ret = OS_RSEQ_UNKNOWN;
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof c, &c) < 0)
		return errno == EIO || errno == EINVAL
			? 0
			: err_set(e, errno, "cannot read the rseq state of thread %d", tid);
	if (c.rseq_abi_pointer &&
		os_read(t, (raddr){ c.rseq_abi_pointer + offsetof(struct rseq, rseq_cs) }, &section,
			sizeof section, e) < 0)
		return -1;
	*ret = section ? OS_RSEQ_INSIDE : OS_RSEQ_OUTSIDE;
	return 0;
}

int
os_has_syscall_dispatch(pid_t tid, bool *ret, struct err *e)
{
	struct dispatch_configuration c;

	*ret = false;
	if (ptrace(MD_PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof c, &c) < 0)
		return errno == EIO || errno == EINVAL
			? 0
			: err_set(e, errno, "cannot read the syscall dispatch of thread %d", tid);
	*ret = c.mode != 0;
	return 0;
}

bool
os_is_scheduled_plainly(pid_t tid)
{
	return (sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
}

void
os_hurry(pid_t tid)
{
	setpriority(PRIO_PROCESS, (id_t)tid, -20);
}

void
os_unhurry(void)
{
	setpriority(PRIO_PROCESS, 0, 0);
}

void
os_end_traced(pid_t pid)
{
	kill(pid, SIGKILL);
}

bool
os_shares_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

/* ---- waiting ---- */

#define MAX_SLEEP_NS 10000000

static void
classify(pid_t tid, int status, struct os_stop *ret)
{
	int event = status >> 16;
	unsigned long message = 0;

	*ret = (struct os_stop){ .sig = WIFSTOPPED(status) ? WSTOPSIG(status) : 0 };
	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		ret->kind = OS_STOP_GONE;
		ret->sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	} else if (event == PTRACE_EVENT_STOP) {
		/* SIGTRAP for an interrupt and a new thread, the stopping signal otherwise. */
		ret->kind = ret->sig == SIGTRAP ? OS_STOP_EVENT : OS_STOP_GROUP;
	} else if (event == PTRACE_EVENT_CLONE) {
		ret->kind = OS_STOP_CLONE;
		if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message) == 0)
			ret->new_tid = (pid_t)message;
	} else if (event == PTRACE_EVENT_EXEC) {
		ret->kind = OS_STOP_EXEC;
	} else if (ret->sig == (SIGTRAP | 0x80)) {
		struct syscall_info info = { 0 };

		ret->kind = OS_STOP_SYSCALL;
		if (ptrace(MD_PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info) > 0)
			ret->phase = info.op == 1 ? OS_PHASE_ENTRY : OS_PHASE_EXIT;
	} else {
		siginfo_t info = { 0 };

		ret->kind = OS_STOP_SIGNAL;
		ptrace(PTRACE_GETSIGINFO, tid, NULL, &info);
		/* The kernel's own codes are positive; abort() sends by tgkill() to itself. */
		ret->is_own = info.si_code > 0 || (ret->sig == SIGABRT && info.si_code == SI_TKILL);
	}
}

/*
 * Sleep until a child or tracee changed, or DEADLINE_NS; but only briefly: when an exec in another
 * thread takes a tracee away, the kernel sends no SIGCHLD.
 */
static void
sleep_for_sigchld(uint64_t deadline_ns)
{
	uint64_t now = os_now_ns();
	uint64_t left = deadline_ns <= now	   ? 0
		: deadline_ns - now < MAX_SLEEP_NS ? deadline_ns - now
						   : MAX_SLEEP_NS;
	struct timespec t = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &t);
}

void
os_detach_later(pid_t tid)
{
	/* If the table is full the end of os_trace() does it. */
	if (nr_later < MAX_LATER)
		later[nr_later++] = tid;
}

/*
 * As waitpid() without waiting, for TID alone.  A stop before the delivery of a signal is looked at
 * and not collected: the thread gets the signal also if memdiag is killed before it resumes the
 * thread.  Once such a stop is collected, only the tracer has the signal (kernel/exit.c,
 * wait_task_stopped; kernel/signal.c, ptrace_signal).
 */
static pid_t
ptrace_ask(pid_t tid, int *ret_status)
{
	siginfo_t info = { 0 };

	os_step();
	if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
		return -1;
	if (!info.si_pid)
		return 0;
	/* No event and no system call (TRACE_OPTIONS): a signal. */
	if (info.si_code != CLD_TRAPPED || info.si_status >= 0x80)
		return waitpid(tid, ret_status, WNOHANG | __WALL);
	*ret_status = info.si_status << 8 | 0x7f;
	return tid;
}

static void
detach_stopped(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr_later; i++) {
		struct os_stop stop;
		int status;
		pid_t got = ptrace_ask(later[i], &status);

		if (got == 0) {
			later[kept++] = later[i];
			continue;
		}
		if (got != later[i] || !WIFSTOPPED(status))
			continue; /* the thread has ended */
		classify(later[i], status, &stop);
		os_stops_end(later[i]);
		debug("thread %d has stopped at last and is let go", later[i]);
		ptrace(PTRACE_DETACH, later[i], NULL,
			(void *)(uintptr_t)(stop.kind == OS_STOP_SIGNAL ? stop.sig : 0));
	}
	nr_later = kept;
}

void
os_attend(uint64_t ns)
{
	uint64_t until = os_now_ns() + ns;

	do {
		os_step();
		sleep_for_sigchld(until);
		detach_stopped();
	} while (os_now_ns() < until);
}

int
os_wait(pid_t tid, uint64_t deadline_ns, struct os_stop *ret, struct err *e)
{
	static const char *const name[] = { "timeout", "event", "group-stop", "signal", "syscall",
		"clone", "exec", "gone" };

	for (;;) {
		int status;
		pid_t got = ptrace_ask(tid, &status);

		if (got == tid) {
			classify(tid, status, ret);
			if (ret->kind == OS_STOP_GONE)
				os_stops_end(tid);
			else
				os_stops_begin(tid);
			debug("thread %d: %s %d", tid, name[ret->kind], ret->sig);
			return 0;
		}
		if (got < 0 && errno == ECHILD) { /* an exec or a reaper has taken it away */
			*ret = (struct os_stop){ .kind = OS_STOP_GONE };
			return 0;
		}
		if (got < 0 && errno != EINTR)
			return err_set(e, errno, "cannot wait for thread %d", tid);
		detach_stopped();
		if (os_now_ns() >= deadline_ns) {
			*ret = (struct os_stop){ .kind = OS_STOP_TIMEOUT };
			return 0;
		}
		sleep_for_sigchld(deadline_ns);
	}
}
