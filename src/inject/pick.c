#include <config.h>

#include "inject/pick.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "glibc/arena-threads.h"
#include "inject/pick-priv.h"
#include "inject/safety-priv.h"
#include "inject/target.h"
#include "os/call-names.h"
#include "os/machine.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "stop/timeout.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/*
 * The number of threads that are examined, and of good candidates after which the search ends: in a
 * large program that saves most of the time.
 */
#define MAX_ASKED 256
#define ENOUGH 8
/* Usually this many threads yield enough candidates: the others need not even be listed. */
#define NR_FIRST 24

/*
 * System calls that a thread may be parked in.  The class is how the kernel continues after an
 * attach (signal(7); kernel/futex, fs/select.c, fs/eventpoll.c, ipc/sem.c):
 *	RESTARTS	made again as if nothing had happened
 *	CONTINUES	made again with the rest of its timeout
 *	BREAKS_OFF	returns EINTR, and we make it again if no signal waits for the thread
 * Any other call may be under malloc, stdio or in the middle of something that matters.
 */
enum park_class { PARK_RESTARTS, PARK_CONTINUES, PARK_BREAKS_OFF, PARK_NOT };

static const struct {
	long nr;
	enum park_class class;
} park[] = {
	{ SYS_read, PARK_RESTARTS },
	{ SYS_recvfrom, PARK_RESTARTS },
	{ SYS_recvmsg, PARK_RESTARTS },
	{ SYS_accept, PARK_RESTARTS },
	{ SYS_accept4, PARK_RESTARTS },
	{ SYS_wait4, PARK_RESTARTS },
	{ SYS_ppoll, PARK_CONTINUES },
	{ SYS_pselect6, PARK_CONTINUES },
	{ SYS_nanosleep, PARK_CONTINUES },
	{ SYS_clock_nanosleep, PARK_CONTINUES },
	{ SYS_restart_syscall, PARK_CONTINUES }, /* one of these, stopped once before */
#ifdef SYS_poll					 /* calls that newer architectures lack */
	{ SYS_poll, PARK_CONTINUES },
	{ SYS_select, PARK_CONTINUES },
	{ SYS_pause, PARK_CONTINUES },
	{ SYS_epoll_wait, PARK_BREAKS_OFF },
#endif
	{ SYS_epoll_pwait, PARK_BREAKS_OFF },
	{ SYS_semop, PARK_BREAKS_OFF },
	{ SYS_semtimedop, PARK_BREAKS_OFF },
	{ SYS_rt_sigtimedwait, PARK_BREAKS_OFF },
};

/*
 * Return whether WORD is a lock of libc or of an arena: a thread that waits for one is in the
 * middle of a call.  In a static program libc's words cannot be distinguished from the program's
 * own, but the functions that are called there take no lock.
 */
static bool
is_libc_lock(const struct inject_target *callee, raddr word)
{
	return (!inject_is_static(callee) && safety_is_in_libc(callee, word)) ||
		safety_is_arena(callee, word);
}

/*
 * Return whether the call sets another signal mask while it waits.  Before 5.1 the kernel reported
 * that mask as the thread's own (fcfc2aa0185f, "ptrace: take into account saved_sigmask").
 */
static bool
has_temporary_mask(const struct os_syscall *s)
{
	switch (s->nr) {
	case SYS_ppoll:
		return s->arg[3];
	case SYS_epoll_pwait:
		return s->arg[4];
	case SYS_pselect6:
		return s->arg[5];
	default:
		return false;
	}
}

static enum park_class
park_class_of(const struct inject_target *callee, const struct os_syscall *s)
{
	int operation = (int)s->arg[1] & FUTEX_CMD_MASK;

	/* Its caller would see EINTR. */
	if (!arch_can_rewind && timeout_is_repeatable(s->nr))
		return PARK_NOT;
	if (s->nr == SYS_futex) {
		if ((operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) ||
			is_libc_lock(callee, (raddr){ s->arg[0] }))
			return PARK_NOT;
		return s->arg[3] ? PARK_CONTINUES : PARK_RESTARTS;
	}
	if (has_temporary_mask(s) && os_linux_version() < OS_LINUX(5, 1))
		return PARK_NOT;
	/*
	 * If interrupted, these would return the data received so far (net/ipv4/tcp.c,
	 * tcp_recvmsg_locked).
	 */
	if ((s->nr == SYS_recvfrom && s->arg[3] & MSG_WAITALL) ||
		(s->nr == SYS_recvmsg && s->arg[2] & MSG_WAITALL))
		return PARK_NOT;
	for (size_t i = 0; i < sizeof park / sizeof *park; i++)
		if (park[i].nr == s->nr)
			return park[i].class;
	return PARK_NOT;
}

/*
 * Rank, the lowest first: a parked thread with usual scheduling and an arena; one without an arena;
 * one with unusual scheduling; a running thread.  A helper inherits the scheduling: it should not
 * hold arenas at idle priority, nor trim in real time.  A thread without an arena cannot make a
 * helper, since that allocates and would make an arena: if the call needs a helper, such a thread
 * is the last resort.  Among equals: a wait without a timeout before one with a timeout, then by
 * the class of its system call, then the first thread last, whose stack may have to grow.
 */
#define RANK_TIER (4 * PARK_NOT)
static int
rank_of(const struct inject_target *callee, const struct candidate *c, enum park_class class,
	bool has_timeout)
{
	int rank = c->tid == callee->target->pid;

	if (!arenas_of_thread(callee->arenas, callee->target, c->tid).v)
		rank += RANK_TIER * (callee->needs_arena ? 4 : 1);
	if (!c->is_parked)
		return rank + RANK_TIER * 3;
	if (!os_is_scheduled_plainly(c->tid))
		rank += RANK_TIER * 2;
	return rank + ((int)class + (has_timeout ? PARK_NOT : 0)) * 2;
}

/* Return whether the thread stops promptly: one that waits for a disk does not. */
static bool
is_stoppable(const struct inject_target *callee, pid_t tid)
{
	struct os_status s;
	struct err e;

	return os_status(callee->target, tid, &s, &e) == 0 && s.tgid == callee->target->pid &&
		(s.state == 'S' || s.state == 'R');
}

bool
candidate_is_unchanged(const struct candidate *c, const struct inject_target *callee)
{
	struct os_syscall s;
	struct err e;

	if (!is_stoppable(callee, c->tid) || os_thread_syscall(callee->target, c->tid, &s, &e) < 0)
		return false;
	if (c->is_parked)
		return !s.is_running && s.nr == c->syscall_nr && s.sp.v == c->sp.v &&
			s.pc.v == c->pc.v;
	return s.is_running || park_class_of(callee, &s) != PARK_NOT;
}

/* Add what TID does to the state by which two rounds are compared. */
static void
note_state(struct candidates *cs, pid_t tid, const struct os_syscall *s)
{
	const uint64_t word[] = { (uint64_t)tid, (uint64_t)s->nr, s->sp.v, s->pc.v };

	cs->nr_running += s->is_running;
	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		cs->state = (cs->state ^ word[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
}

/* Add TID if it is worth a try; otherwise record the reason. */
static int
pick_consider(struct candidates *cs, const struct inject_target *callee, pid_t tid, struct err *e)
{
	enum park_class class = PARK_NOT;
	struct candidate *c;
	struct os_syscall s;
	char name[32], call[48];

	if (os_thread_syscall(callee->target, tid, &s, e) < 0)
		return e->kind == ERR_GONE ? 0 : -1;
	note_state(cs, tid, &s);
	if ((s.is_running || !s.sp.v) && os_is_kernel_worker(callee->target, tid))
		return 0;
	if (!s.is_running)
		class = park_class_of(callee, &s);
	if (!s.is_running && (class == PARK_NOT || !safety_is_own_stack(callee, tid, s.sp))) {
		snprintf(cs->reason.text, sizeof cs->reason.text, "thread %d (%s) waits in %s%s",
			tid, os_thread_name(callee->target, tid, name, sizeof name),
			os_call_name(s.nr, call, sizeof call),
			class == PARK_NOT ? ", which is not known to be safe"
					  : " on a stack that is not its own");
		cs->nr_refused++;
		return 0;
	}
	c = array_add(cs);
	if (!c)
		return err_set_kind(e, ERR_FAILED, 0, "no memory to list threads");
	*c = (struct candidate){
		.tid = tid, .is_parked = !s.is_running, .syscall_nr = s.nr, .sp = s.sp, .pc = s.pc
	};
	c->rank = rank_of(callee, c, class, !s.is_running && timeout_is_finite(&s));
	return 0;
}

static int
by_rank(const void *a, const void *b)
{
	return ((const struct candidate *)a)->rank - ((const struct candidate *)b)->rank;
}

/*
 * Consider threads of the first MAX, from number *DONE on, until enough are found.  Returns 1 if
 * more of them may exist, 0 if not, -1 with E.
 */
static int
consider_first(struct candidates *cs, const struct inject_target *callee, size_t max, size_t round,
	size_t *done, struct err *e)
{
	auto_free pid_t *tids = NULL;

	if (os_threads(callee->target, max, &tids, &cs->nr_threads, e) < 0)
		return -1;
	for (; *done < cs->nr_threads && *done < MAX_ASKED; ++*done) {
		pid_t tid = tids[(round * MAX_ASKED + *done) % cs->nr_threads];

		if (pick_consider(cs, callee, tid, e) < 0)
			return -1;
		cs->nr_best += cs->nr && cs->v[cs->nr - 1].tid == tid && !cs->v[cs->nr - 1].rank;
		if (cs->nr_best == ENOUGH)
			return 0;
	}
	return cs->nr_threads == max;
}

int
candidates_find(
	struct candidates *cs, const struct inject_target *callee, size_t round, struct err *e)
{
	size_t done = 0;
	int more = 1;

	*cs = (struct candidates){ 0 };
	if (!round)
		more = consider_first(cs, callee, NR_FIRST, round, &done, e);
	if (more > 0)
		more = consider_first(cs, callee, SIZE_MAX, round, &done, e);
	if (more < 0) {
		candidates_release(cs);
		return -1;
	}
	if (cs->nr)
		qsort(cs->v, cs->nr, sizeof *cs->v, by_rank);
	return 0;
}

void
candidates_release(struct candidates *cs)
{
	free(cs->v);
	*cs = (struct candidates){ 0 };
}

int
inject_outlook(struct inject_target *callee, const struct arenas *a, struct inject_outlook *ret,
	struct err *e)
{
	auto_candidates struct candidates cs = { 0 };

	callee->arenas = a;
	if (candidates_find(&cs, callee, 0, e) < 0)
		return -1;
	*ret = (struct inject_outlook){ .nr_refused = cs.nr_refused };
	for (size_t i = 0; i < cs.nr; i++)
		(*(cs.v[i].is_parked ? &ret->nr_parked : &ret->nr_running))++;
	snprintf(ret->refused, sizeof ret->refused, "%s", cs.reason.text);
	return 0;
}
