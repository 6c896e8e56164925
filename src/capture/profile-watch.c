#include <config.h>

#include "capture/profile-watch.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/stack.h"
#include "ui/output.h"
#include "ui/units.h"

/* ---- files ---- */

static const struct {
	enum profile_kind kind;
	const char *why;
} triggers[WIRE_NR_TRIGGERS] = {
	[WIRE_TRIGGER_INTERVAL] = { PROFILE_INTERVAL, "allocated so far" },
	[WIRE_TRIGGER_HIGH_WATER] = { PROFILE_HIGH_WATER, "in use, more than ever" },
	[WIRE_TRIGGER_ABOVE] = { PROFILE_ABOVE, "in use, more than --above" },
};

static int
profile_watch_write_file(struct profile_watch *w, enum wire_trigger what,
	const struct sites_copy *c, const struct process *p, struct err *e)
{
	struct profile_file file = w->file;
	char path[PATH_MAX];
	uint64_t bytes = c->head.allocated_bytes;

	if (what == WIRE_TRIGGER_HIGH_WATER)
		bytes = c->head.peak_bytes > 0 ? (uint64_t)c->head.peak_bytes : 0;
	if (what == WIRE_TRIGGER_ABOVE)
		bytes = c->head.live_bytes > 0 ? (uint64_t)c->head.live_bytes : 0;
	file.number += __atomic_fetch_add(&w->head->nr_dumps, 1, __ATOMIC_RELAXED);
	file.kind = triggers[what].kind;
	file.nr_of_kind = w->nr_of_kind[what]++;
	if (profile_file_write(&file, c, p, w->ui, path, sizeof path, e) < 0)
		return -1;
	ui_note(w->ui, "memory profile written: %s (~%s %s)", path, UI_SIZE(w->ui, bytes),
		triggers[what].why);
	return 0;
}

/* ---- large calls ---- */

/* Return whether to print the stack that ends at NODE: it was not printed before. */
static bool
profile_watch_is_new(struct profile_watch *w, uint32_t node)
{
	for (uint32_t i = 0; i < w->nr_stacks; i++)
		if (w->stack[i] == node)
			return false;
	if (w->nr_stacks == PROFILE_WATCH_STACKS)
		return false;
	w->stack[w->nr_stacks++] = node;
	return true;
}

static void
print_large(struct profile_watch *w, const struct wire_large *l, const struct sites_copy *c,
	const struct process *p)
{
	auto_free char *text = NULL;
	char name[64];
	struct err e;

	if (w->is_silent || !profile_watch_is_new(w, l->node)) {
		w->nr_not_printed++;
		return;
	}
	if (profile_stack_text(&text, c, l->node, p, "    ", &e) < 0)
		text = NULL;
	fprintf(stderr, "memdiag: %s (%" PRIu32 "), thread %" PRIu32 ": a call for %s\n%s",
		text_printable(c->head.name, name, sizeof name), c->head.pid, l->tid,
		UI_SIZE(w->ui, l->bytes), text ? text : "");
}

/* Print new large calls.  Those that come faster than they are printed are only counted. */
static void
print_larges(struct profile_watch *w, const struct sites_copy *c, const struct process *p)
{
	const struct wire_triggers *t = &c->head.triggers;

	if (t->nr_large - w->nr_large > WIRE_NR_LARGE) {
		w->nr_not_printed += t->nr_large - w->nr_large - WIRE_NR_LARGE;
		w->nr_large = t->nr_large - WIRE_NR_LARGE;
	}
	for (; w->nr_large != t->nr_large; w->nr_large++) {
		const uint32_t number = w->nr_large + 1;
		const struct wire_large *l = &t->large[number % WIRE_NR_LARGE];

		if (!l->number) /* it is being written */
			return;
		if (l->number == number)
			print_large(w, l, c, p);
		else
			w->nr_not_printed++;
	}
}

/* ---- both ---- */

int
profile_watch_look(struct profile_watch *w, const struct process *p, struct err *e)
{
	struct wire_triggers *t = &w->head->triggers;
	const uint32_t asked = __atomic_exchange_n(&t->asked, 0, __ATOMIC_ACQUIRE);
	const uint32_t nr_large = __atomic_load_n(&t->nr_large, __ATOMIC_ACQUIRE);
	auto_sites struct sites_copy c = { .nr_nodes = 0 };
	int failed = 0;

	if (!asked && nr_large == w->nr_large)
		return 0;
	if (sites_read_part(&c, w->fd, w->offset_bytes, e) < 0)
		return -1;
	if (nr_large != w->nr_large)
		print_larges(w, &c, p);
	for (unsigned int what = 0; what < WIRE_NR_TRIGGERS; what++)
		if (asked & UINT32_C(1) << what)
			failed |= profile_watch_write_file(w, (enum wire_trigger)what, &c, p, e);
	return failed;
}
