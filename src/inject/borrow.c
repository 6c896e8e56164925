/* Borrow a thread and give it back. */
#include <config.h>

#include "inject/borrow.h"

#include "base/debug.h"
#include "glibc/arena-threads.h"
#include "inject/inject-priv.h"
#include "inject/needs.h"
#include "inject/pick-priv.h"
#include "inject/safety-priv.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/part.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "stop/registers.h"

#include <stdio.h>
#include <string.h>

#define MAX_TRIES_A_ROUND 8

#define UNDO_WITHIN_NS 100000000

/* After this many refusals, a complete walk of a thread's stack suffices as proof. */
#define STRICT_TRIES 16

/* Try only waiting threads for PARKED_ONLY_NS, or for NONE_PARKED_NS if no round has found one. */
#define PARKED_ONLY_NS 500000000
#define NONE_PARKED_NS 50000000

/* ---- giving back ---- */

/*
 * Restore everything and detach, from a stop in which the kernel has yet to examine the system
 * call's result (get_signal(): an event, group or signal stop, but not a system call stop).  The
 * mask is restored first and the registers last: until then they lead through the frame to the
 * interrupted call.
 */
static int
borrow_put_back(struct worker *c, int sig, struct err *e)
{
	if (c->is_masked &&
		(registers_set_mask(c->tid, &c->saved, c->saved.sigmask, e) < 0 ||
			registers_set_ext(c->tid, &c->saved, e) < 0))
		return -1;
	if (c->is_masked)
		timeout_record(&c->timeout, c->callee->target, c->tid);
	timeout_renew(&c->timeout, c->callee->target, &c->saved.regs);
	if (registers_set(c->tid, &c->saved.regs, e) < 0)
		return -1;
	return os_detach(c->tid, sig, e);
}

/*
 * Move from a stop at a system call's entry to one that borrow_put_back() can use.  The interrupt
 * is already pending, so the program executes no instruction in between.
 */
static int
borrow_leave_syscall(struct worker *c, struct err *e)
{
	struct arch_regs before, after;

	if (worker_turn_back(c, e) < 0 || arch_get_regs(c->tid, &before, e) < 0 ||
		os_interrupt(c->tid, e) < 0 || os_resume(c->tid, OS_RESUME_FREE, 0, e) < 0 ||
		worker_await_starved(c, e) < 0 || arch_get_regs(c->tid, &after, e) < 0)
		return -1;
	if (arch_pc(&before).v == arch_pc(&after).v && arch_sp(&before).v == arch_sp(&after).v &&
		worker_claim(c, e) == 0)
		return 0;
	/* A signal that is never blocked came first; after its handler, the frame leads back. */
	debug("thread %d returns by itself", c->tid);
	borrow_abandon(c);
	return 0;
}

int
borrow_return(struct worker *c, struct err *e)
{
	const struct os_part slot = { "errno", c->errno_at, sizeof c->errno_was };
	struct err ours;

	if (c->is_loose || c->stop != OS_STOP_SYSCALL)
		return err_set(e, 0, "thread %d does not stand in a call of memdiag's", c->tid);
	if (slot.start.v &&
		os_part_write(c->callee->target, &slot, slot.start, &c->errno_was,
			sizeof c->errno_was, &ours) < 0)
		debug("errno: %s", ours.msg);
	if (borrow_leave_syscall(c, e) < 0 || (c->is_ours && borrow_put_back(c, 0, e) < 0))
		return -1;
	c->is_ours = false;
	c->held_ns = os_now_ns() - c->stopped_ns;
	return 0;
}

/*
 * Restart the call that C was in, ours or the program's, if the interrupt that stopped C would end
 * it with EINTR.  Use only the current registers: the thread may be in another call of the program
 * than the one in which it was borrowed.
 */
static void
borrow_restart_call(const struct worker *c)
{
	struct timeout unseen = { .seen.is_running = true };
	struct arch_regs regs, before;
	struct err e;

	if (arch_get_regs(c->tid, &regs, &e) < 0)
		return;
	before = regs;
	timeout_settle(&unseen, c->callee->target, c->tid, &regs);
	if (memcmp(before.word, regs.word, regs.size_bytes) != 0 &&
		registers_set(c->tid, &regs, &e) < 0)
		debug("thread %d: %s", c->tid, e.msg);
}

void
borrow_end(struct worker *c)
{
	struct err e;

	if (c->is_ours && c->stop == OS_STOP_SYSCALL && c->is_in_syscall &&
		(worker_unwind(c, 1, os_now_ns() + UNDO_WITHIN_NS, &e) < 0 ||
			borrow_return(c, &e) < 0))
		debug("thread %d: %s", c->tid, e.msg);
	borrow_abandon(c);
}

void
borrow_abandon(struct worker *c)
{
	struct err e;
	int sig = 0;

	if (!c->is_ours)
		return;
	c->is_ours = false;
	switch (c->stop) {
	case OS_STOP_TIMEOUT:
		/* It is running; it is detached at its next stop, or when os_trace() ends. */
		os_detach_later(c->tid);
		return;
	case OS_STOP_SIGNAL:
		if (!c->nr_undo || worker_turn_back(c, &e) < 0)
			sig = c->fault_sig;
		break;
	case OS_STOP_EVENT:
		borrow_restart_call(c);
		break;
	default:
		break;
	}
	os_detach(c->tid, sig, &e);
}

/* ---- taking ---- */

enum try { TRY_TAKEN, TRY_REFUSED, TRY_FAILED };

/* Stop the thread; a signal that arrives before our interrupt is delivered first. */
static enum try
borrow_stop(struct worker *c, struct reason *why, struct err *e)
{
	if (os_seize(c->callee->target, c->tid, e) < 0) {
		snprintf(why->text, sizeof why->text, "it has ended");
		return e->kind == ERR_GONE ? TRY_REFUSED : TRY_FAILED;
	}
	c->is_ours = true;
	c->stopped_ns = c->timeout.asked_ns = os_now_ns();
	if (worker_stop_starved(c, e) == 0 && c->stop != OS_STOP_GROUP)
		return TRY_TAKEN;
	snprintf(why->text, sizeof why->text, "%s",
		c->stop == OS_STOP_GROUP ? "the process is being stopped"
					 : "it does not stop, or has ended");
	if (c->stop == OS_STOP_TIMEOUT)
		os_detach_later(c->tid);
	else if (c->is_ours)
		os_detach(c->tid, 0, e);
	return TRY_REFUSED;
}

/*
 * Return whether a parked candidate is where it was seen; if not, all conclusions from that are
 * void.
 */
static bool
has_not_moved(const struct candidate *cand, struct arch_regs *r, struct reason *why)
{
	if (!cand->is_parked || arch_is_still_in(r, cand->syscall_nr, cand->sp, cand->pc))
		return true;
	snprintf(why->text, sizeof why->text, "it woke up");
	return false;
}

static void
remember_errno(struct worker *c)
{
	struct err e;

	c->errno_at = arch_errno_address(c->callee->target, c->callee->libc, &c->saved.regs);
	if (c->errno_at.v &&
		os_read(c->callee->target, c->errno_at, &c->errno_was, sizeof c->errno_was, &e) < 0)
		c->errno_at.v = 0;
}

/*
 * Return true with WHY if a signal is about to be delivered to the thread.  It belongs to the
 * thread, above all if it comes from a fault or trap that the thread has just met: our calls would
 * take it.
 */
static bool
awaits_signal(const struct worker *c, struct reason *why)
{
	struct os_status s;
	struct err e;

	if (os_status(c->callee->target, c->tid, &s, &e) == 0 &&
		!(s.signals_pending & ~c->saved.sigmask))
		return false;
	snprintf(why->text, sizeof why->text, "a signal is about to be delivered to it");
	return true;
}

/*
 * Return whether the call that the thread waits in can be made again with the rest of its timeout.
 * Called before the stop.
 */
static bool
can_wait_again(struct worker *c, struct reason *why)
{
	timeout_look(&c->timeout, c->callee->target, c->tid);
	if (!c->timeout.is_lost && !c->timeout.is_of_socket)
		return true;
	snprintf(why->text, sizeof why->text, "it waits with a timeout that memdiag cannot keep");
	return false;
}

static bool
may_call_allocator(const struct worker *c, struct reason *why)
{
	const struct inject_allocator *a = c->callee->allocator;

	if (!a ||
		a->may_be_called(a, c->callee->target, c->tid, arch_thread_pointer(&c->saved.regs)))
		return true;
	snprintf(why->text, sizeof why->text, "it has not used %s yet", a->name);
	return false;
}

/*
 * Return whether C, stopped and saved, is where CAND was and may make calls.  Its timeout is
 * settled in either case.  If WHY is a seccomp filter, FILTER names the call that it does not
 * allow.
 */
static bool
prove(struct worker *c, const struct candidate *cand, bool is_strict, struct reason *why,
	struct err *filter)
{
	struct inject_target *callee = c->callee;
	bool has_moved = !has_not_moved(cand, &c->saved.regs, why);

	timeout_settle(&c->timeout, callee->target, c->tid, &c->saved.regs);
	if (has_moved || awaits_signal(c, why))
		return false;
	if (needs_prove(callee, c->tid, callee->needs, NEEDS_HELPER, &c->no_helper, filter) < 0) {
		snprintf(why->text, sizeof why->text, "a seccomp filter is in the way");
		why->is_filter = true;
		return false;
	}
	if (c->timeout.kind == TIMEOUT_UNKNOWN) {
		snprintf(why->text, sizeof why->text, "what is left of its timeout is not known");
		return false;
	}
	return safety_prove(callee, c->tid, &c->saved.regs, cand->is_parked, is_strict, why) &&
		may_call_allocator(c, why);
}

static enum try
try_thread(struct worker *c, struct inject_target *callee, const struct candidate *cand,
	bool is_strict, struct reason *why, struct err *e)
{
	enum try result;
	struct err ours;

	*c = (struct worker){ .callee = callee, .tid = cand->tid };
	if (!can_wait_again(c, why))
		return TRY_REFUSED;
	if (!candidate_is_unchanged(cand, callee)) {
		snprintf(why->text, sizeof why->text, "it woke up");
		return TRY_REFUSED;
	}
	result = borrow_stop(c, why, e);
	if (result != TRY_TAKEN)
		return result;
	if (arch_save(c->tid, &c->saved, e) < 0) {
		os_detach(c->tid, 0, &ours);
		return TRY_FAILED;
	}
	if (prove(c, cand, is_strict, why, e)) {
		remember_errno(c);
		c->arena_slot = arenas_slot_of_thread(callee->arenas, callee->target, c->tid);
		if (worker_begin(c, &ours) == 0)
			return TRY_TAKEN;
		snprintf(why->text, sizeof why->text, "its stack has no room for a signal frame");
	}
	if (borrow_put_back(c, 0, &ours) < 0)
		debug("thread %d: %s", c->tid, ours.msg);
	return TRY_REFUSED;
}

struct borrow_search {
	struct candidates found;
	struct reason why; /* of the last thread that was refused after a stop */
	pid_t tid;	   /* that thread; 0 if no thread was refused */
	uint64_t started_ns, deadline_ns;
	size_t nr_rounds;
	bool is_filtered;     /* seccomp filters refused all threads tried in this round */
	struct err filter;    /* the last one's error */
	bool has_seen_parked; /* a thread was parked in any round */
	bool wants_helper;
	bool is_locked;			/* no thread can be made at the moment */
	uint64_t state, state_since_ns; /* hash of what all threads do, and since when */
};

/*
 * Return whether CAND should not be tried yet.  A running thread may be stopped in any system call,
 * because the kernel reports a thread as running that was woken in a call: so it is left alone as
 * long as a waiting thread may be found.  No thread waits for a moment when all are short of
 * processor time, or on the way back to the call that we took them from.
 */
static bool
is_too_early_for(const struct borrow_search *s, const struct candidate *cand)
{
	return !cand->is_parked &&
		os_now_ns() <
		s->started_ns + (s->has_seen_parked ? PARKED_ONLY_NS : NONE_PARKED_NS);
}

static enum try
try_round(struct worker *c, struct inject_target *callee, struct borrow_search *s, int *nr_rejected,
	struct err *e)
{
	s->is_filtered = false;
	s->is_locked = s->wants_helper && safety_is_making_threads(callee);
	if (s->is_locked)
		return TRY_REFUSED;
	for (size_t i = 0; i < s->found.nr && i < MAX_TRIES_A_ROUND; i++) {
		const struct candidate *cand = &s->found.v[i];
		enum try result;

		s->has_seen_parked |= cand->is_parked;
		if (is_too_early_for(s, cand))
			break; /* the candidates that follow are no better */
		s->why.is_filter = false;
		result = try_thread(c, callee, cand, *nr_rejected < STRICT_TRIES, &s->why, e);
		if (result != TRY_REFUSED)
			return result;
		s->is_filtered = s->why.is_filter && (s->is_filtered || !i);
		if (s->why.is_filter)
			s->filter = *e;
		s->tid = cand->tid;
		debug("thread %d refused: %s", s->tid, s->why.text);
		++*nr_rejected;
	}
	return TRY_REFUSED;
}

/* Return the reason for the refusal, for the user. */
static const char *
obstacle(const struct borrow_search *s)
{
	if (s->is_locked)
		return "it makes a thread, or is in setuid() or the like";
	return s->tid ? s->why.text : s->found.reason.text;
}

/* Return whether no thread has done anything for opt->settle_ns: another try is useless then. */
static bool
is_settled(struct borrow_search *s, const struct inject_options *opt)
{
	const uint64_t now_ns = os_now_ns();

	if (s->found.nr_running || s->found.state != s->state || !s->state_since_ns) {
		s->state = s->found.state;
		s->state_since_ns = now_ns;
	}
	return opt->settle_ns && now_ns - s->state_since_ns >= opt->settle_ns;
}

static int
no_safe_point(const struct inject_target *callee, const struct borrow_search *s, struct err *e)
{
	char name[32];

	if (!target_is_alive(callee->target))
		return err_set_kind(e, ERR_GONE, 0,
			"process %d (%s) has ended; nothing had been changed", callee->target->pid,
			callee->target->comm);
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"no thread of %d (%s) could be borrowed safely within %.1f s; nothing was changed",
		callee->target->pid, callee->target->comm,
		(double)(os_now_ns() - s->started_ns) / 1e9);
	if (s->is_locked)
		err_hint(e,
			"It makes a thread, or is in setuid() or the like, where another thread does not take part");
	else if (s->tid)
		err_hint(e, "Last, thread %d (%s) was refused: %s", s->tid,
			os_thread_name(callee->target, s->tid, name, sizeof name), s->why.text);
	else
		err_hint(e, "Of %zu threads %zu do something that must not be interrupted; %s",
			s->found.nr_threads, s->found.nr_refused, s->found.reason.text);
	return err_hint(e, "Try again, or longer with --wait=30s");
}

int
borrow_take(struct worker *c, struct inject_target *callee, const struct inject_options *opt,
	struct inject_report *report, struct err *e)
{
	struct borrow_search s = { .started_ns = os_now_ns(),
		.wants_helper = opt->mode != INJECT_MODE_THREAD };
	uint64_t pause_ns = 200000;
	enum try result;

	s.deadline_ns = s.started_ns + opt->wait_ns;
	for (;;) {
		candidates_release(&s.found);
		if (candidates_find(&s.found, callee, s.nr_rounds++, e) < 0)
			return -1;
		result = try_round(c, callee, &s, &report->nr_rejected, e);
		if (result != TRY_REFUSED || os_now_ns() >= s.deadline_ns || os_is_asked_to_end() ||
			!target_is_alive(callee->target) || s.is_filtered || is_settled(&s, opt))
			break;
		if (opt->waiting)
			opt->waiting(obstacle(&s), os_now_ns() - s.started_ns);
		os_attend(pause_ns);
		if (pause_ns < 10000000)
			pause_ns += pause_ns / 4;
	}
	if (result == TRY_REFUSED && s.is_filtered) {
		*e = s.filter;
		err_hint(e,
			"Nothing was changed. "
			"'memdiag heap', 'memdiag maps' and 'memdiag trim -n' make no call in it");
	} else if (result == TRY_REFUSED)
		no_safe_point(callee, &s, e);
	candidates_release(&s.found);
	return result == TRY_TAKEN ? 0 : -1;
}
