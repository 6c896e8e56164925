/* Words of the target that change while all of its threads are stopped: all of them, or none. */
#include <config.h>

#include "inject/hook-words.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"
#include "os/ptrace.h"

#include <stdlib.h>

/* All threads are stopped for microseconds; this is for one that is slow to stop. */
#define MAX_STOP_NS 200000000

/* Bytes of a stack that are searched for a signal handler's return into the bytes that change. */
#define SCAN_BYTES 65536

/* Pause before all threads are stopped again: the first, and the longest. */
#define FIRST_PAUSE_NS 200000
#define LAST_PAUSE_NS 20000000

/* Return whether CS has C's word: a function may have several names, and be hooked by each. */
static bool
has_change(const struct word_changes *cs, const struct word_change *c)
{
	for (size_t i = 0; i < cs->nr; i++)
		if (cs->v[i].at.v == c->at.v)
			return true;
	return false;
}

int
hook_words_add(struct word_changes *cs, const struct word_change *c, struct err *e)
{
	struct word_change *new;

	if (c->is_code && has_change(cs, c))
		return 0;
	new = array_add(cs);
	if (!new)
		return err_set_kind(e, ERR_FAILED, 0, "no memory");
	*new = *c;
	if (!c->is_code)
		return 0;
	if (!cs->high.v || c->at.v < cs->low.v)
		cs->low = c->at;
	if (c->at.v + c->nr_bytes > cs->high.v)
		cs->high = raddr_add(c->at, c->nr_bytes);
	return 0;
}

/* Return whether a thread that continues at PC would find half an instruction there. */
static bool
hook_words_is_inside(const struct word_changes *cs, raddr pc)
{
	if (!raddr_in(pc, cs->low, cs->high))
		return false;
	for (size_t i = 0; i < cs->nr; i++)
		if (cs->v[i].is_code && pc.v > cs->v[i].at.v &&
			pc.v < cs->v[i].at.v + cs->v[i].nr_bytes)
			return true;
	return false;
}

/*
 * Return whether no word of the stack points into the bytes that change.  A thread continues at its
 * PC; one in a signal handler later also at the interrupted place, which is in the signal frame.
 * No other code keeps an address inside a function's first instructions.  Missing pages contain no
 * frame: reading those of a stack that maps a file would wait while all threads are stopped.
 */
static bool
stack_is_clear(const struct target *t, const struct regions *m, const struct word_changes *cs,
	raddr sp, uint64_t *copy)
{
	const struct region *r = regions_find(m, sp);
	uint64_t bytes = r && r->end.v - sp.v < SCAN_BYTES ? r->end.v - sp.v : SCAN_BYTES;
	struct err e;
	ssize_t n = os_read_present_some(t, sp, copy, bytes, &e);

	for (size_t i = 0; n > 0 && i < bytes / sizeof *copy; i++)
		if (hook_words_is_inside(cs, (raddr){ copy[i] }))
			return false;
	return true;
}

struct applying {
	const struct target *target;
	const struct regions *maps;
	struct word_changes *changes;
	bool is_lifting;
	uint64_t wait_ns;
	struct hook_report *report;
	int status;
	struct err *e;
	uint64_t copy[SCAN_BYTES / sizeof(uint64_t)];
};

/*
 * Return 1 if all threads are at allowed places, 0 if one is not, -1 with E. *RET_TID is a stopped
 * thread.
 */
static int
check_places(struct applying *a, const struct stopped *f, pid_t *ret_tid, struct err *e)
{
	*ret_tid = 0;
	for (size_t i = 0; i < f->thread.nr; i++) {
		struct arch_regs regs;

		if (f->thread.v[i].state != STOPPED_STANDS)
			continue;
		*ret_tid = f->thread.v[i].tid;
		if (!a->changes->high.v)
			continue;
		if (arch_get_regs(*ret_tid, &regs, e) < 0)
			return -1;
		if (hook_words_is_inside(a->changes, arch_pc(&regs)) ||
			!stack_is_clear(a->target, a->maps, a->changes, arch_sp(&regs), a->copy)) {
			debug("thread %d is in the middle of what changes", *ret_tid);
			return 0;
		}
	}
	return 1;
}

/* Read each word.  Words that another tool has changed are left alone when hooks are lifted. */
static int
read_words(struct applying *a, struct err *e)
{
	for (size_t i = 0; i < a->changes->nr; i++) {
		struct word_change *c = &a->changes->v[i];
		struct err ours;

		c->is_left = true;
		if (os_read(a->target, c->at, &c->was, sizeof c->was, &ours) < 0) {
			if (!a->is_lifting)
				return err_set(e, 0, "%s", ours.msg);
			continue; /* the object is unmapped */
		}
		if (c->was == c->to)
			a->report->nr_already++;
		else if (c->was == c->from || c->was == c->or_from)
			c->is_left = false;
		else if (a->is_lifting)
			a->report->nr_foreign++;
		else
			return err_set(e, 0,
				"what is at " PRIraddr " in %d (%s) has changed just now; "
				"nothing was hooked",
				c->at.v, a->target->pid, a->target->comm);
	}
	return 0;
}

static int
write_word(const struct applying *a, pid_t tid, const struct word_change *c, uint64_t value,
	struct err *e)
{
	const struct os_part part = { c->is_code ? "the beginning of a function" : "a slot", c->at,
		sizeof value };

	return os_part_poke(a->target, &part, tid, c->at, &value, sizeof value, e);
}

/* Write all words, or none of them. */
static int
write_words(struct applying *a, pid_t tid, struct err *e)
{
	struct err ours;
	size_t nr = 0;
	int failed = 0;

	for (; nr < a->changes->nr && !failed; nr++) {
		const struct word_change *c = &a->changes->v[nr];

		if (!c->is_left)
			failed = write_word(a, tid, c, c->to, e);
	}
	while (failed && nr--) {
		const struct word_change *c = &a->changes->v[nr];

		if (!c->is_left)
			write_word(a, tid, c, c->was, &ours);
	}
	return failed;
}

/* Try once.  Returns 1 when done, 0 if it must be tried again, -1 with E. */
static int
apply_once(struct applying *a, struct err *e)
{
	struct stopped f;
	pid_t tid;
	int status;

	a->report->nr_tries++;
	if (stop_begin(&f, a->target, 0, MAX_STOP_NS, e) < 0)
		return e->kind == ERR_NO_SAFE_POINT ? 0 : -1;
	status = check_places(a, &f, &tid, e);
	if (status > 0 && (read_words(a, e) < 0 || write_words(a, tid, e) < 0))
		status = -1;
	stop_end(&f, &a->report->stop);
	if (status > 0) {
		for (size_t i = 0; i < a->changes->nr; i++)
			if (!a->changes->v[i].is_left)
				(*(a->changes->v[i].is_code ? &a->report->nr_entries
							    : &a->report->nr_slots))++;
	}
	return status;
}

static void
hook_words_apply(void *arg)
{
	struct applying *a = arg;
	uint64_t end_ns = os_now_ns() + a->wait_ns, pause_ns = FIRST_PAUSE_NS;
	int done;

	while ((done = apply_once(a, a->e)) == 0 && os_now_ns() < end_ns && !os_is_asked_to_end()) {
		os_attend(pause_ns);
		if (pause_ns < LAST_PAUSE_NS)
			pause_ns += pause_ns / 2;
	}
	a->status = done > 0 ? 0 : -1;
	if (done == 0 && a->e->kind != ERR_NO_SAFE_POINT)
		err_set_kind(a->e, ERR_NO_SAFE_POINT, 0,
			"each time that all threads of %d (%s) stood, one was in the middle of what is to change; "
			"nothing was changed",
			a->target->pid, a->target->comm);
}

int
hook_words_write(const struct target *t, const struct regions *m, struct word_changes *cs,
	bool is_lifting, uint64_t wait_ns, struct hook_report *report, struct err *e)
{
	auto_free struct applying *a = calloc(1, sizeof *a);

	if (!a)
		return err_set_kind(e, ERR_FAILED, 0, "no memory");
	a->target = t;
	a->maps = m;
	a->changes = cs;
	a->is_lifting = is_lifting;
	a->wait_ns = wait_ns;
	a->report = report;
	a->e = e;
	return os_trace(hook_words_apply, a, e) < 0 ? -1 : a->status;
}
