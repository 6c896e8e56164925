#include <config.h>

#include "inject/inject-priv.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/cleanup.h"

/*
 * No more threads than this are asked what they do, and no more once so many are found that could
 * not be better: in a large program that saves most of the time.
 */
#define MAX_ASKED 256
#define ENOUGH 8
/* Mostly there are enough among so many: the others need not even be listed. */
#define NR_FIRST 24

/*
 * System calls a thread may be parked in.  How the kernel goes on after an attach decides the class
 * (signal(7); kernel/futex, fs/select.c, fs/eventpoll.c, ipc/sem.c):
 *	RESTARTS	made again as if nothing had happened
 *	CONTINUES	made again with what is left of its timeout
 *	BREAKS_OFF	returns EINTR, and is made again by us if no signal waits for the thread
 * Anything else may be under malloc, stdio or in the middle of something that matters.
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
	{ SYS_restart_syscall, PARK_CONTINUES },	/* one of these, stopped once before */
#ifdef SYS_poll	/* what newer architectures leave out */
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
 * More calls that fail with EINTR only if nothing was taken, given or begun.  The first are those on
 * sockets that have a timeout (SO_RCVTIMEO, SO_SNDTIMEO); not connect(), which goes on by itself.
 */
static const long also_repeatable[] = {
	SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_accept, SYS_accept4,
	SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_io_getevents,
#ifdef SYS_io_uring_enter	/* newer than some libcs */
	SYS_io_uring_enter,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
};

bool
pick_is_repeatable(long nr)
{
	for (size_t i = 0; i < sizeof also_repeatable / sizeof *also_repeatable; i++)
		if (also_repeatable[i] == nr)
			return true;
	for (size_t i = 0; i < sizeof park / sizeof *park; i++)
		if (park[i].nr == nr)
			return park[i].class == PARK_BREAKS_OFF;
	return false;
}

/*
 * Where libc or an arena keeps a lock: who waits for it is in the middle of something.  In a static
 * program libc's words cannot be told from the program's own.  But what is called there takes no lock.
 */
static bool
is_libc_lock(const struct inject_target *it, raddr word)
{
	return (!inject_is_static(it) && safety_is_in_libc(it, word)) || safety_is_arena(it, word);
}

/*
 * Calls that put another signal mask in place while they wait.  Before 5.1 the kernel told that mask
 * for the thread's own (fcfc2aa0185f, "ptrace: take into account saved_sigmask").
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
park_class_of(const struct inject_target *it, const struct os_syscall *s)
{
	int operation = (int)s->arg[1] & FUTEX_CMD_MASK;

	/* Its caller would see the EINTR. */
	if (!arch_can_rewind && pick_is_repeatable(s->nr))
		return PARK_NOT;
	if (s->nr == SYS_futex) {
		if ((operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) ||
			is_libc_lock(it, (raddr){ s->arg[0] }))
			return PARK_NOT;
		return s->arg[3] ? PARK_CONTINUES : PARK_RESTARTS;
	}
	if (has_temporary_mask(s))
		return PARK_NOT;
	/* Broken off, these would return what they have so far (net/ipv4/tcp.c, tcp_recvmsg_locked). */
	if ((s->nr == SYS_recvfrom && s->arg[3] & MSG_WAITALL) ||
		(s->nr == SYS_recvmsg && s->arg[2] & MSG_WAITALL))
		return PARK_NOT;
	for (size_t i = 0; i < sizeof park / sizeof *park; i++)
		if (park[i].nr == s->nr)
			return park[i].class;
	return PARK_NOT;
}

/*
 * Rank: how it is scheduled (a helper inherits that: it should not hold arenas at idle priority, nor
 * trim in real time), how its system call takes it, then whether it has an arena (making a helper
 * allocates a little; a thread without an arena would make one), then not the first thread, whose
 * stack may have to grow.
 */
static int
rank_of(const struct inject_target *it, const struct candidate *c, enum park_class class)
{
	int rank = (c->is_parked ? (int)class : PARK_NOT) * 4;

	if (c->is_parked && !os_is_scheduled_plainly(c->tid))
		rank += 4 * PARK_NOT;
	if (c->is_parked && !arenas_of_thread(it->arenas, it->target, c->tid).v)
		rank += 2;
	return rank + (c->tid == it->target->pid);
}

/* A thread that waits for a disk is in no hurry to stop. */
static bool
is_stoppable(const struct inject_target *it, pid_t tid)
{
	struct os_status s;
	struct err e;

	return os_status(it->target, tid, &s, &e) == 0 && s.tgid == it->target->pid &&
		(s.state == 'S' || s.state == 'R');
}

bool
candidate_is_unchanged(const struct candidate *c, const struct inject_target *it)
{
	struct os_syscall s;
	struct err e;

	if (!is_stoppable(it, c->tid) || os_thread_syscall(it->target, c->tid, &s, &e) < 0)
		return false;
	if (c->is_parked)
		return !s.is_running && s.nr == c->syscall_nr && s.sp.v == c->sp.v &&
			s.pc.v == c->pc.v;
	return s.is_running || park_class_of(it, &s) != PARK_NOT;
}

/* Add TID if it is worth a try; say why not otherwise. */
static int
consider(struct candidates *cs, const struct inject_target *it, pid_t tid, struct err *e)
{
	enum park_class class = PARK_NOT;
	struct candidate *c;
	struct os_syscall s;
	char name[32];

	if (os_thread_syscall(it->target, tid, &s, e) < 0)
		return e->kind == ERR_GONE ? 0 : -1;
	if (!s.is_running)
		class = park_class_of(it, &s);
	if (!s.is_running && (class == PARK_NOT || !safety_is_own_stack(it, tid, s.sp))) {
		snprintf(cs->reason.text, sizeof cs->reason.text,
			"thread %d (%s) waits in system call %ld%s", tid,
			os_thread_name(it->target, tid, name, sizeof name), s.nr,
			class == PARK_NOT ? ", which is not known to be safe"
					  : " on a stack that is not its own");
		cs->nr_refused++;
		return 0;
	}
	c = array_add(cs);
	if (!c)
		return err_set_kind(e, ERR_FAILED, 0, "no memory to list threads");
	*c = (struct candidate){ .tid = tid, .is_parked = !s.is_running, .syscall_nr = s.nr,
		.sp = s.sp, .pc = s.pc };
	c->rank = rank_of(it, c, class);
	return 0;
}

static int
by_rank(const void *a, const void *b)
{
	return ((const struct candidate *)a)->rank - ((const struct candidate *)b)->rank;
}

/*
 * Consider threads of the first MAX until enough are found, those from *DONE on.  1 if there may be
 * more of them, 0 if not, -1 with E.
 */
static int
consider_first(struct candidates *cs, const struct inject_target *it, size_t max, size_t round,
	size_t *done, struct err *e)
{
	auto_free pid_t *tids = NULL;

	if (os_threads(it->target, max, &tids, &cs->nr_threads, e) < 0)
		return -1;
	for (; *done < cs->nr_threads && *done < MAX_ASKED; ++*done) {
		pid_t tid = tids[(round * MAX_ASKED + *done) % cs->nr_threads];

		if (consider(cs, it, tid, e) < 0)
			return -1;
		cs->nr_best += cs->nr && cs->v[cs->nr - 1].tid == tid && !cs->v[cs->nr - 1].rank;
		if (cs->nr_best == ENOUGH)
			return 0;
	}
	return cs->nr_threads == max;
}

int
candidates_find(
	struct candidates *cs, const struct inject_target *it, size_t round, struct err *e)
{
	size_t done = 0;
	int more = 1;

	*cs = (struct candidates){ 0 };
	if (!round)
		more = consider_first(cs, it, NR_FIRST, round, &done, e);
	if (more > 0)
		more = consider_first(cs, it, SIZE_MAX, round, &done, e);
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
inject_outlook(struct inject_target *it, const struct arenas *a, struct inject_outlook *ret,
	struct err *e)
{
	auto_candidates struct candidates cs = { 0 };

	it->arenas = a;
	if (candidates_find(&cs, it, 0, e) < 0)
		return -1;
	*ret = (struct inject_outlook){ .nr_refused = cs.nr_refused };
	for (size_t i = 0; i < cs.nr; i++)
		(*(cs.v[i].is_parked ? &ret->nr_parked : &ret->nr_running))++;
	snprintf(ret->refused, sizeof ret->refused, "%s", cs.reason.text);
	return 0;
}
