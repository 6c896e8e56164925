/*
 * Take a thread, give it back.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"

#define MAX_TRIES_A_ROUND 8

/* So often a thread must be safe beyond any doubt; then a complete walk of its stack is enough. */
#define STRICT_TRIES 16

/* So long only waiting threads are tried; and if none has been seen to wait, in any round. */
#define PARKED_ONLY_NS 500000000
#define NONE_PARKED_NS 50000000

/* ---- giving back ---- */

/*
 * Put back exactly, the kernel goes on with an interrupted system call as if nothing had been.  Only
 * the few calls that any stop breaks off with EINTR need help.
 */
bool
borrow_mend(struct arch_regs *r)
{
	if (arch_restart(r) != ARCH_FAILED_EINTR || !pick_is_repeatable(arch_syscall_nr(r)))
		return false;
	arch_rewind(r);
	return true;
}

/*
 * Put everything back and detach, from a stop in which the kernel still looks at what the system
 * call returned (get_signal(): an event, group or signal stop; not a system call's own).
 * The mask goes first and the registers last: until then they lead through the frame home.
 */
static int
put_back(struct carrier *c, int sig, struct err *e)
{
	if (c->is_masked && (os_set_sigmask(c->tid, c->saved.sigmask, e) < 0 ||
				    arch_set_ext(c->tid, &c->saved, e) < 0))
		return -1;
	if (arch_set_regs(c->tid, &c->saved.regs, e) < 0)
		return -1;
	return os_detach(c->tid, sig, e);
}

/*
 * From a stop at a system call's entry to one that put_back() can do with.  With the interrupt already
 * waiting not one instruction of the program runs in between.
 */
static int
leave_syscall(struct carrier *c, struct err *e)
{
	struct arch_regs before, after;

	if (carrier_turn_back(c, e) < 0 || arch_get_regs(c->tid, &before, e) < 0 ||
		os_interrupt(c->tid, e) < 0 || os_resume(c->tid, OS_RESUME_FREE, 0, e) < 0 ||
		carrier_await(c, e) < 0 || arch_get_regs(c->tid, &after, e) < 0)
		return -1;
	if (arch_pc(&before).v == arch_pc(&after).v && arch_sp(&before).v == arch_sp(&after).v)
		return 0;
	/* A signal that is never held back came first; after its handler the frame leads home. */
	debug("thread %d goes home by itself", c->tid);
	borrow_abandon(c);
	return 0;
}

int
borrow_return(struct carrier *c, struct err *e)
{
	struct err ours;
	raddr slot = c->errno_at;

	if (slot.v && os_write(c->it->target, slot, &c->errno_was, sizeof c->errno_was, &ours) < 0)
		debug("errno: %s", ours.msg);
	if (c->stop == OS_STOP_SYSCALL && leave_syscall(c, e) < 0)
		return -1;
	if (c->is_ours && put_back(c, 0, e) < 0)
		return -1;
	c->is_ours = false;
	c->held_ns = os_now_ns() - c->stopped_ns;
	return 0;
}

void
borrow_abandon(struct carrier *c)
{
	struct err e;

	if (!c->is_ours)
		return;
	c->is_ours = false;
	/* A thread that runs cannot be detached from. */
	if (c->stop == OS_STOP_TIMEOUT && carrier_stop(c, &e) < 0) {
		os_detach_later(c->tid);
		return;
	}
	if (c->stop == OS_STOP_SIGNAL && c->nr_undo)
		carrier_turn_back(c, &e);
	os_detach(c->tid, 0, &e);
}

/* ---- taking ---- */

enum try { TRY_TAKEN, TRY_REFUSED, TRY_FAILED };

/* Stop the thread; anything but our own interrupt is let through first. */
static enum try
stop(struct carrier *c, struct reason *why, struct err *e)
{
	if (os_seize(c->it->target, c->tid, e) < 0) {
		snprintf(why->text, sizeof why->text, "it has ended");
		return e->kind == ERR_GONE ? TRY_REFUSED : TRY_FAILED;
	}
	c->is_ours = true;
	c->stopped_ns = os_now_ns();
	if (carrier_stop(c, e) == 0 && c->stop != OS_STOP_GROUP)
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

/* A parked candidate must be where it was seen: else all that was concluded from there is void. */
static bool
has_not_moved(const struct candidate *cand, struct arch_regs *r, struct reason *why)
{
	if (!cand->is_parked || arch_is_still_in(r, cand->syscall_nr, cand->sp, cand->pc))
		return true;
	snprintf(why->text, sizeof why->text, "it woke up");
	return false;
}

static void
remember_errno(struct carrier *c)
{
	struct err e;

	c->errno_at = arch_errno_address(c->it->target, c->it->libc, &c->saved.regs);
	if (c->errno_at.v && os_read(c->it->target, c->errno_at, &c->errno_was,
				     sizeof c->errno_was, &e) < 0)
		c->errno_at.v = 0;
}

static enum try
try_thread(struct carrier *c, struct inject_target *it, const struct candidate *cand,
	bool is_strict, struct reason *why, struct err *e)
{
	enum try result;
	struct err ours;

	*c = (struct carrier){ .it = it, .tid = cand->tid };
	if (!candidate_is_unchanged(cand, it)) {
		snprintf(why->text, sizeof why->text, "it woke up");
		return TRY_REFUSED;
	}
	result = stop(c, why, e);
	if (result != TRY_TAKEN)
		return result;
	if (arch_save(c->tid, &c->saved, e) < 0) {
		os_detach(c->tid, 0, &ours);
		return TRY_FAILED;
	}
	borrow_mend(&c->saved.regs);
	if (has_not_moved(cand, &c->saved.regs, why) &&
		safety_prove(it, c->tid, &c->saved.regs, cand->is_parked, is_strict, why)) {
		remember_errno(c);
		c->arena_slot = arenas_slot_of_thread(it->arenas, it->target, c->tid);
		if (carrier_begin(c, &ours) == 0)
			return TRY_TAKEN;
		snprintf(why->text, sizeof why->text, "its stack has no room for a signal frame");
	}
	if (put_back(c, 0, &ours) < 0)
		debug("thread %d: %s", c->tid, ours.msg);
	return TRY_REFUSED;
}

struct search {
	struct candidates found;
	struct reason why;	/* of the last thread that was refused after a stop */
	pid_t tid;		/* that thread, 0 if there was none */
	uint64_t started_ns, deadline_ns;
	size_t nr_rounds;
	bool has_seen_parked;	/* in any round */
	bool wants_helper;
	bool is_locked;		/* no thread can be made at the moment */
};

/*
 * A thread that runs may be stopped in any system call, as the kernel says of one that was woken in a
 * call that it runs: so it is left alone as long as there is hope for one that waits.  None waits for
 * a moment when all are short of processor, or on the way back to the call we took them from.
 */
static bool
is_too_early_for(const struct search *s, const struct candidate *cand)
{
	return !cand->is_parked && os_now_ns() < s->started_ns +
			(s->has_seen_parked ? PARKED_ONLY_NS : NONE_PARKED_NS);
}

static enum try
try_round(struct carrier *c, struct inject_target *it, struct search *s, int *nr_rejected,
	struct err *e)
{
	s->is_locked = s->wants_helper && safety_is_making_threads(it);
	if (s->is_locked)
		return TRY_REFUSED;
	for (size_t i = 0; i < s->found.nr && i < MAX_TRIES_A_ROUND; i++) {
		const struct candidate *cand = &s->found.v[i];
		enum try result;

		s->has_seen_parked |= cand->is_parked;
		if (is_too_early_for(s, cand))
			break;	/* and so are all behind it */
		result = try_thread(c, it, cand, *nr_rejected < STRICT_TRIES, &s->why, e);
		if (result != TRY_REFUSED)
			return result;
		s->tid = cand->tid;
		debug("thread %d refused: %s", s->tid, s->why.text);
		++*nr_rejected;
	}
	return TRY_REFUSED;
}

static int
no_safe_point(const struct inject_target *it, const struct search *s, uint64_t wait_ns,
	struct err *e)
{
	char name[32];

	if (!target_is_alive(it->target))
		return err_set_kind(e, ERR_GONE, 0,
			"process %d (%s) has ended; nothing had been changed", it->target->pid,
			it->target->comm);
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"no thread of %d (%s) could be borrowed safely within %.1f s; nothing was changed",
		it->target->pid, it->target->comm, (double)wait_ns / 1e9);
	if (s->is_locked)
		err_hint(e, "It makes a thread, or is in setuid() or the like, where another thread "
			"does not take part");
	else if (s->tid)
		err_hint(e, "Last, thread %d (%s) was refused: %s", s->tid,
			os_thread_name(it->target, s->tid, name, sizeof name), s->why.text);
	else
		err_hint(e, "Of %zu threads %zu do something that must not be interrupted; %s",
			s->found.nr_threads, s->found.nr_refused, s->found.reason.text);
	return err_hint(e, "Try again, or longer with --wait=30s");
}

int
borrow_take(struct carrier *c, struct inject_target *it, const struct inject_options *opt,
	struct inject_report *report, struct err *e)
{
	struct search s = { .started_ns = os_now_ns(),
		.wants_helper = opt->mode != INJECT_MODE_THREAD };
	uint64_t pause_ns = 200000;
	enum try result;

	s.deadline_ns = s.started_ns + opt->wait_ns;
	for (;;) {
		candidates_release(&s.found);
		if (candidates_find(&s.found, it, s.nr_rounds++, e) < 0)
			return -1;
		result = try_round(c, it, &s, &report->nr_rejected, e);
		if (result != TRY_REFUSED || os_now_ns() >= s.deadline_ns || os_is_asked_to_end() ||
			!target_is_alive(it->target))
			break;
		os_attend(pause_ns);
		if (pause_ns < 10000000)
			pause_ns += pause_ns / 4;
	}
	if (result == TRY_REFUSED)
		no_safe_point(it, &s, opt->wait_ns, e);
	candidates_release(&s.found);
	return result == TRY_TAKEN ? 0 : -1;
}
