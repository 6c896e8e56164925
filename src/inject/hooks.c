/*
 * Functions hooked for the whole process, and given back.
 */
#include <config.h>

#include "inject/hooks.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "base/text.h"
#include "elf/image.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000	/* 4.17 */
#endif

/* All threads stand for microseconds; this is for one that is slow to stop. */
#define MAX_STOP_NS 200000000

/* So much of a stack is looked at for a signal handler's way back into what changes. */
#define SCAN_BYTES 65536

/* How long to wait before all are stopped again. */
#define FIRST_PAUSE_NS 200000
#define LAST_PAUSE_NS 20000000

/* ld.so has put what it found into a slot by then. */
#define FIXUP_NS 2000000

/* What of a function is compared with its file. */
#define COMPARED_BYTES 16

/* ---- words that change, while all threads stand ---- */

struct change {
	raddr at;
	uint64_t from, to;
	uint64_t or_from;	/* as good: what ld.so makes of FROM */
	bool is_code;
	bool is_left;		/* has been TO already, or is somebody else's */
	uint64_t was;
};

struct changes {
	struct change *v;
	size_t nr, room;
	raddr low, high;	/* around those of code */
	bool has_lazy;		/* a slot that ld.so has not filled yet */
};

/* A function may have several names, and be hooked by each. */
static bool
has_change(const struct changes *cs, const struct change *c)
{
	for (size_t i = 0; i < cs->nr; i++)
		if (cs->v[i].at.v == c->at.v)
			return true;
	return false;
}

static int
add_change(struct changes *cs, const struct change *c, struct err *e)
{
	struct change *new;

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
	if (c->at.v + prologue_jump_bytes > cs->high.v)
		cs->high = raddr_add(c->at, prologue_jump_bytes);
	return 0;
}

/* Whether a thread that goes on at PC would find half an instruction there. */
static bool
is_inside(const struct changes *cs, raddr pc)
{
	if (!raddr_in(pc, cs->low, cs->high))
		return false;
	for (size_t i = 0; i < cs->nr; i++)
		if (cs->v[i].is_code && pc.v > cs->v[i].at.v &&
			pc.v < cs->v[i].at.v + prologue_jump_bytes)
			return true;
	return false;
}

/*
 * A thread goes on at its PC; one in a signal handler later also where that came in between, which is
 * in the signal frame.  Nobody else keeps an address inside a function's first instructions.
 */
static bool
stack_is_clear(const struct target *t, const struct maps *m, const struct changes *cs, raddr sp,
	uint64_t *copy)
{
	const struct region *r = maps_find(m, sp);
	uint64_t bytes = r && r->end.v - sp.v < SCAN_BYTES ? r->end.v - sp.v : SCAN_BYTES;
	struct err e;
	ssize_t n = os_read_some(t, sp, copy, bytes, &e);

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof *copy; i++)
		if (is_inside(cs, (raddr){ copy[i] }))
			return false;
	return true;
}

struct applying {
	const struct target *target;
	const struct maps *maps;
	struct changes *changes;
	bool is_lifting;
	uint64_t wait_ns;
	struct inject_hooked *report;
	int status;
	struct err *e;
	uint64_t copy[SCAN_BYTES / sizeof(uint64_t)];
};

/* 1 if all threads are where they may be, 0 if one is not, -1 with E.  *RET_TID is one that stands. */
static int
look_at_threads(struct applying *a, const struct freeze *f, pid_t *ret_tid, struct err *e)
{
	*ret_tid = 0;
	for (size_t i = 0; i < f->thread.nr; i++) {
		struct arch_regs regs;

		if (f->thread.v[i].state != FROZEN_STANDS)
			continue;
		*ret_tid = f->thread.v[i].tid;
		if (!a->changes->high.v || a->is_lifting)
			continue;
		if (arch_get_regs(*ret_tid, &regs, e) < 0)
			return -1;
		if (is_inside(a->changes, arch_pc(&regs)) ||
			!stack_is_clear(a->target, a->maps, a->changes, arch_sp(&regs), a->copy)) {
			debug("thread %d is in the middle of what changes", *ret_tid);
			return 0;
		}
	}
	return 1;
}

/* See what each word is.  What is somebody else's is left when hooks are lifted. */
static int
look_at_words(struct applying *a, struct err *e)
{
	for (size_t i = 0; i < a->changes->nr; i++) {
		struct change *c = &a->changes->v[i];
		struct err ours;

		c->is_left = true;
		if (os_read(a->target, c->at, &c->was, sizeof c->was, &ours) < 0) {
			if (!a->is_lifting)
				return err_set(e, 0, "%s", ours.msg);
			continue;	/* the object is no more */
		}
		if (c->was == c->to)
			a->report->nr_already++;
		else if (c->was == c->from || c->was == c->or_from)
			c->is_left = false;
		else if (a->is_lifting)
			a->report->nr_foreign++;
		else
			return err_set(e, 0, "what is at " PRIraddr " in %d (%s) has changed just now; "
				"nothing was hooked", c->at.v, a->target->pid, a->target->comm);
	}
	return 0;
}

/* All, or none of them. */
static int
write_words(struct applying *a, pid_t tid, struct err *e)
{
	struct err ours;
	size_t nr = 0;
	int failed = 0;

	for (; nr < a->changes->nr && !failed; nr++) {
		const struct change *c = &a->changes->v[nr];

		if (!c->is_left)
			failed = os_poke(tid, c->at, &c->to, sizeof c->to, e);
	}
	while (failed && nr--) {
		const struct change *c = &a->changes->v[nr];

		if (!c->is_left)
			os_poke(tid, c->at, &c->was, sizeof c->was, &ours);
	}
	return failed;
}

static void
count_words(const struct applying *a)
{
	for (size_t i = 0; i < a->changes->nr; i++)
		if (!a->changes->v[i].is_left)
			(*(a->changes->v[i].is_code ? &a->report->nr_entries
						    : &a->report->nr_slots))++;
}

/* 1 when it is done, 0 if it must be tried again, -1 with E. */
static int
apply_once(struct applying *a, struct err *e)
{
	struct freeze f;
	pid_t tid;
	int status;

	a->report->nr_tries++;
	if (freeze_begin(&f, a->target, 0, MAX_STOP_NS, e) < 0)
		return e->kind == ERR_NO_SAFE_POINT ? 0 : -1;
	status = look_at_threads(a, &f, &tid, e);
	if (status > 0 && (look_at_words(a, e) < 0 || write_words(a, tid, e) < 0))
		status = -1;
	freeze_end(&f, &a->report->freeze);
	if (status > 0)
		count_words(a);
	return status;
}

static void
apply(void *arg)
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
			"each time that all threads of %d (%s) stood, one was in the middle of what is "
			"to change; nothing was changed", a->target->pid, a->target->comm);
}

static int
apply_changes(const struct target *t, const struct maps *m, struct changes *cs, bool is_lifting,
	uint64_t wait_ns, struct inject_hooked *report, struct err *e)
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
	return os_trace(apply, a, e) < 0 ? -1 : a->status;
}

/* ---- what is to change ---- */

struct setting {
	struct inject_target *it;
	struct maps maps;
	struct objects objects;
	struct hook_area area;
	bool is_new;		/* the area */
	struct changes changes;
};

static void
setting_free(struct setting **s)
{
	if (!*s)
		return;
	objects_release(&(*s)->objects);
	maps_release(&(*s)->maps);
	free((*s)->changes.v);
	free(*s);
}
#define auto_setting __attribute__((cleanup(setting_free)))

/* What the target has mapped now, which may be more than when IT was made. */
static struct setting *
setting_new(struct inject_target *it, struct err *e)
{
	auto_setting struct setting *s = calloc(1, sizeof *s);

	if (!s) {
		err_set_kind(e, ERR_FAILED, 0, "no memory");
		return NULL;
	}
	s->it = it;
	if (maps_read(&s->maps, it->target, e) < 0 ||
		objects_find(&s->objects, &s->maps, it->target, it->objects, e) < 0 ||
		hook_area_find(&s->area, it->target, &s->maps, e) < 0)
		return NULL;
	return take_ptr(&s);
}

/* Whether W is IS at the moment; not if its object is no more. */
static bool
word_is(const struct setting *s, const struct hook_word *w, uint64_t is)
{
	uint64_t now;
	struct err e;

	return os_read(s->it->target, w->at, &now, sizeof now, &e) == 0 && now == is;
}

static bool
is_hooked(const struct setting *s, const struct hook_word *w)
{
	return word_is(s, w, w->hooked);
}

/* Slots that are hooked no more make room. */
static void
drop_old_slots(struct setting *s)
{
	struct hook_area_image *next = &s->area.next;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < next->nr_slots; i++)
		if (is_hooked(s, &next->slot[i]))
			next->slot[kept++] = next->slot[i];
	next->nr_slots = kept;
}

static const char *
owner_of(const struct setting *s, raddr a, char *buf, size_t size)
{
	const struct region *r = maps_find(&s->maps, a);

	return text_printable(r && r->path ? r->path : "memory of no file", buf, size);
}

/* Its first bytes are not those of its file. */
static int
refuse_foreign(const struct setting *s, const struct inject_hook *h, uint64_t word, struct err *e)
{
	const struct target *t = s->it->target;
	raddr to = prologue_jump_target(word, h->function);
	char path[256];

	if (to.v)
		err_set_kind(e, ERR_UNSUPPORTED, 0, "%s() of %d (%s) begins with another's jump already, "
			"to " PRIraddr " in %s", h->name, t->pid, t->comm, to.v,
			owner_of(s, to, path, sizeof path));
	else
		err_set_kind(e, ERR_UNSUPPORTED, 0, "%s() of %d (%s) does not begin as in its file: %s",
			h->name, t->pid, t->comm,
			(word & 0xff) == 0xcc ? "a debugger has a breakpoint there"
					      : "somebody else has changed it");
	return err_hint(e, "Stop the other profiler or debugger first");
}

/* The entry that H's function is hooked with at the moment, or NULL. */
static const struct hook_entry *
entry_in_use(const struct setting *s, const struct inject_hook *h)
{
	for (uint64_t i = 0; i < s->area.now.nr_entries; i++) {
		const struct hook_entry *en = &s->area.now.entry[i];

		if (en->function.v == h->function.v && is_hooked(s, &en->word))
			return en;
	}
	return NULL;
}

static raddr
entry_address(const struct setting *s, uint64_t i, size_t offset)
{
	return raddr_add(s->area.start,
		offsetof(struct hook_area_image, entry) + i * sizeof(struct hook_entry) + offset);
}

/* Where entry number I's function is to jump: to the hook, if a near jump leads so far. */
static raddr
first_hop(const struct setting *s, const struct hook_entry *en, uint64_t i)
{
	uint64_t from = en->word.at.v, to = en->hook.v;

	return (from > to ? from - to : to - from) < prologue_reach_bytes
		? en->hook
		: entry_address(s, i, offsetof(struct hook_entry, stub));
}

/* What entry number I would be for H.  0, or -1 with *WHY. */
static int
make_entry(const struct setting *s, const struct inject_hook *h, const unsigned char *code, uint64_t i,
	struct hook_entry *ret, const char **why)
{
	struct hook_entry en = { .function = h->function, .hook = h->hook };
	struct prologue p;

	if (prologue_move(code, h->size_bytes, h->function,
		    entry_address(s, i, offsetof(struct hook_entry, moved)), &p, why) < 0)
		return -1;
	memcpy(en.moved, p.moved, sizeof en.moved);
	prologue_far_jump(en.stub, h->hook);
	en.word.at = p.at;
	memcpy(&en.word.original, code + (p.at.v - h->function.v), sizeof en.word.original);
	en.word.hooked = prologue_patch(en.word.original, p.at, first_hop(s, &en, i));
	*ret = en;
	return 0;
}

/*
 * Find or add the entry for H.  0 with *RET, 1 if the function's beginning cannot be changed (*WHY),
 * -1 with E.
 */
static int
plan_entry(struct setting *s, const struct inject_hook *h, const unsigned char *code,
	uint64_t *ret, const char **why, struct err *e)
{
	struct hook_area_image *next = &s->area.next;

	for (uint64_t i = 0; i <= next->nr_entries && i < AREA_ENTRIES; i++) {
		struct hook_entry en;

		if (make_entry(s, h, code, i, &en, why) < 0)
			return 1;
		if (i < next->nr_entries && memcmp(&en, &next->entry[i], sizeof en) != 0)
			continue;
		next->entry[i] = en;
		if (i == next->nr_entries)
			next->nr_entries++;
		*ret = i;
		return 0;
	}
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) was hooked by too many libraries; it must be started anew first",
		s->it->target->pid, s->it->target->comm);
}

/* H's function is called by FROM now on; tell the hook. */
static int
tell_real(const struct setting *s, const struct inject_hook *h, raddr real, struct err *e)
{
	raddr now;

	if (os_read(s->it->target, h->real, &now, sizeof now, e) < 0)
		return -1;
	return now.v == real.v ? 0 : os_write(s->it->target, h->real, &real, sizeof real, e);
}

static int
plan_slots(struct setting *s, const struct inject_hook *h, const char *why, struct err *e)
{
	struct hook_area_image *next = &s->area.next;
	const uint64_t before = next->nr_slots;
	bool has_some = false;

	if (hook_slots_find(&s->area, s->it, &s->objects, h, e) < 0)
		return -1;
	for (uint64_t i = 0; i < next->nr_slots; i++) {
		const struct hook_word *w = &next->slot[i];
		const struct change c = { .at = w->at, .from = w->original, .to = w->hooked,
			.or_from = h->function.v };

		if (w->hooked != h->hook.v)
			continue;
		has_some = true;
		s->changes.has_lazy |= w->original != h->function.v;
		if (add_change(&s->changes, &c, e) < 0)
			return -1;
	}
	debug("%s: %s; %" PRIu64 " slots", h->name, why, next->nr_slots - before);
	if (!has_some)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s() of %d (%s) cannot be hooked: %s, and no "
			"object has a pointer to it", h->name, s->it->target->pid, s->it->target->comm,
			why);
	return tell_real(s, h, h->function, e);
}

static int
plan(struct setting *s, const struct inject_hook *h, struct err *e)
{
	const struct target *t = s->it->target;
	const struct object *o = objects_at(&s->objects, h->function);
	/* What follows a short function may belong to the word that changes. */
	const size_t size = h->size_bytes < COMPARED_BYTES ? COMPARED_BYTES : h->size_bytes;
	const unsigned char *code = o ? image_bytes(o->image, h->function, size) : NULL;
	const struct hook_entry *used = entry_in_use(s, h);
	unsigned char seen[COMPARED_BYTES];
	const char *why = "";
	char path[256];
	uint64_t i = 0, word = 0;
	int status;

	if (used && used->hook.v != h->hook.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s() of %d (%s) is hooked already, by %s",
			h->name, t->pid, t->comm, owner_of(s, used->hook, path, sizeof path));
	if (!code || os_read(t, h->function, seen, sizeof seen, e) < 0)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "the code of %s() in %d (%s) cannot be read",
			h->name, t->pid, t->comm);
	memcpy(&word, seen, sizeof word);
	if (!used && (memcmp(seen, code, sizeof seen) != 0 ||
			     (image_is_from_memory(o->image) && prologue_jump_target(word, h->function).v)))
		return refuse_foreign(s, h, word, e);
	if (used)
		i = (uint64_t)(used - s->area.now.entry);
	else if ((status = plan_entry(s, h, code, &i, &why, e)) != 0)
		return status < 0 ? -1 : plan_slots(s, h, why, e);
	return add_change(&s->changes, &(struct change){ .at = s->area.next.entry[i].word.at,
		.from = s->area.next.entry[i].word.original, .to = s->area.next.entry[i].word.hooked,
		.or_from = s->area.next.entry[i].word.original, .is_code = true }, e);
}

/* ---- memory for it ---- */

static int
place_area(struct setting *s, const struct inject_hook *hook, size_t nr, struct err *e)
{
	raddr low = hook[0].function, high = low;

	if (s->area.start.v)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		if (hook[i].function.v < low.v)
			low = hook[i].function;
		if (hook[i].function.v > high.v)
			high = hook[i].function;
	}
	s->is_new = true;
	s->area.start = hook_area_place(&s->maps, low, high);
	return s->area.start.v ? 0
			       : err_set_kind(e, ERR_UNSUPPORTED, 0,
				       "%d (%s) has no room for hooks near %s()", s->it->target->pid,
				       s->it->target->comm, hook[0].name);
}

static int
map_area(const struct setting *s, const struct job *job, struct carrier *c, struct err *e)
{
	const uint64_t arg[] = { s->area.start.v, AREA_BYTES, PROT_READ | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0 };

	if (carrier_syscall(c, c->it->fn.mmap, arg, 6, job->deadline_ns, "mapping the hooks' memory",
		    e) < 0)
		return -1;
	/* An old kernel takes the address for a wish. */
	if (carrier_promise(c, c->it->fn.munmap, (uint64_t[]){ (uint64_t)c->result, AREA_BYTES }, 2,
		    e) < 0)
		return -1;
	return (uint64_t)c->result == s->area.start.v
		? 0
		: err_set(e, EEXIST, "cannot map memory near the functions to hook");
}

/* It stays: once it has been written it is not for this thread to undo. */
static int
lay_area(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	struct setting *s = job->arg;

	(void)ws;
	if ((s->is_new && map_area(s, job, c, e) < 0) || hook_area_write(&s->area, c, e) < 0)
		return -1;
	if (s->is_new)
		c->nr_undo--;
	return carrier_turn_back(c, e);
}

/* ---- setting and lifting ---- */

static int
tell_all(const struct setting *s, const struct inject_hook *hook, size_t nr, struct err *e)
{
	for (size_t n = 0; n < nr; n++)
		for (uint64_t i = 0; i < s->area.next.nr_entries; i++) {
			const struct hook_entry *en = &s->area.next.entry[i];

			if (en->function.v == hook[n].function.v && en->hook.v == hook[n].hook.v &&
				tell_real(s, &hook[n],
					entry_address(s, i, offsetof(struct hook_entry, moved)), e) < 0)
				return -1;
		}
	return 0;
}

/*
 * A thread that was in the middle of its first call through a slot has by now put there what it had
 * found before (elf/dl-runtime.c, _dl_fixup).
 */
static int
apply_again(struct setting *s, uint64_t wait_ns, struct err *e)
{
	struct inject_hooked ignored = { 0 };

	os_sleep_ns(FIXUP_NS);
	return apply_changes(s->it->target, &s->maps, &s->changes, false, wait_ns, &ignored, e);
}

static int
set_once(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	const struct inject_hook *hook, size_t nr, struct inject_hooked *ret,
	struct inject_report *report, struct err *e)
{
	auto_setting struct setting *s = setting_new(it, e);
	struct job job = { .it = it, .opt = opt, .report = report, .run = lay_area, .arg = s };

	*ret = (struct inject_hooked){ 0 };
	*report = (struct inject_report){ 0 };
	if (!s || place_area(s, hook, nr, e) < 0)
		return -1;
	drop_old_slots(s);
	for (size_t i = 0; i < nr; i++)
		if (plan(s, &hook[i], e) < 0)
			return -1;
	if (hook_area_has_changed(&s->area) && job_run(&job, a, e) < 0)
		return -1;
	if (tell_all(s, hook, nr, e) < 0)
		return -1;
	if (apply_changes(it->target, &s->maps, &s->changes, false, opt->wait_ns, ret, e) < 0)
		return -1;
	return s->changes.has_lazy ? apply_again(s, opt->wait_ns, e) : 0;
}

/* What was free when the maps were read may be taken by now. */
#define PLACE_TRIES 4

int
inject_hooks_set(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	const struct inject_hook *hook, size_t nr, struct inject_hooked *ret,
	struct inject_report *report, struct err *e)
{
	int failed, nr_tries = 0;

	do
		failed = set_once(it, a, opt, hook, nr, ret, report, e);
	while (failed && e->code == EEXIST && ++nr_tries < PLACE_TRIES);
	return failed;
}

/* Of a function that was hooked for several, one after the other, the first that is added counts. */
static int
add_lifting(struct setting *s, const struct hook_word *w, bool is_code, struct err *e)
{
	const struct change c = { .at = w->at, .from = w->hooked, .or_from = w->hooked,
		.to = w->original, .is_code = is_code };

	return add_change(&s->changes, &c, e);
}

int
inject_hooks_lift(struct inject_target *it, const struct inject_options *opt,
	struct inject_hooked *ret, struct err *e)
{
	auto_setting struct setting *s = setting_new(it, e);
	const struct hook_area_image *now;

	*ret = (struct inject_hooked){ 0 };
	if (!s)
		return -1;
	now = &s->area.now;
	for (uint64_t i = 0; i < now->nr_entries; i++)
		if (is_hooked(s, &now->entry[i].word) &&
			add_lifting(s, &now->entry[i].word, true, e) < 0)
			return -1;
	/* What is neither as it was nor as we have made it is left, and counted. */
	for (uint64_t i = 0; i < now->nr_entries; i++)
		if (!word_is(s, &now->entry[i].word, now->entry[i].word.original) &&
			add_lifting(s, &now->entry[i].word, true, e) < 0)
			return -1;
	for (uint64_t i = 0; i < now->nr_slots; i++)
		if (is_hooked(s, &now->slot[i]) && add_lifting(s, &now->slot[i], false, e) < 0)
			return -1;
	if (!s->changes.nr)
		return 0;
	return apply_changes(it->target, &s->maps, &s->changes, true, opt->wait_ns, ret, e);
}

/* ---- calls that are no caller's ---- */

/* What is compiled from one source file lies together: all of malloc.c takes 16 KiB. */
#define NEAR_BYTES UINT64_C(32768)

/* Of [*LOW, *HIGH) leave what is in the same segment as AT. */
static void
clip_to_segment(const struct image *image, raddr at, raddr *low, raddr *high)
{
	for (size_t i = 0; i < image_nr_phdrs(image); i++) {
		const Elf64_Phdr *p = image_phdr(image, i);
		raddr start = { image_bias(image) + p->p_vaddr }, end = raddr_add(start, p->p_filesz);

		if (p->p_type != PT_LOAD || !raddr_in(at, start, end))
			continue;
		if (low->v < start.v)
			*low = start;
		if (high->v > end.v)
			*high = end;
	}
}

void
inject_inner_calls(const struct inject_target *it, raddr function, raddr *ret_start, raddr *ret_end)
{
	const struct object *object = objects_at(it->objects, function);
	raddr low = { function.v - NEAR_BYTES }, high = raddr_add(function, NEAR_BYTES);
	const unsigned char *code;
	size_t size;

	*ret_start = *ret_end = (raddr){ 0 };
	if (!object)
		return;
	if (inject_is_static(it)) {	/* where others call directly, too */
		low = it->malloc_start;
		high = it->malloc_end;
	}
	clip_to_segment(object->image, function, &low, &high);
	size = high.v - low.v;
	code = image_bytes(object->image, low, size);
	for (size_t at = 0; code && at < size; at++) {
		if (!prologue_is_return(code, at, low, function))
			continue;
		if (!ret_start->v)
			*ret_start = raddr_add(low, at);
		*ret_end = raddr_add(low, at + 1);
	}
}
