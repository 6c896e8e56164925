/* Functions hooked for the whole process, and restored. */
#include <config.h>

#include "base/cleanup.h"
#include "base/debug.h"
#include "base/text.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "glibc/arenas.h"
#include "glibc/process.h"
#include "inject/hook-slots.h"
#include "inject/hook-words.h"
#include "inject/job.h"
#include "inject/malloc.h"
#include "inject/needs.h"
#include "inject/target.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* since Linux 4.17 */
#endif

/* By then ld.so has stored the address that it found into a slot. */
#define FIXUP_NS 2000000

/* ---- the changes ---- */

/* The longest instruction, and the word that changes after it. */
#define MAX_SEEN_BYTES 24
#define LEAST_CODE_BYTES 16
#define INT3 0xcc

struct hook_setting {
	struct inject_target *callee;
	struct process process;
	struct patch_area area;
	bool is_new; /* the area is not mapped yet */
	struct word_changes changes;
};

static void
setting_free(struct hook_setting **s)
{
	if (!*s)
		return;
	process_release(&(*s)->process);
	free((*s)->changes.v);
	free(*s);
}
#define auto_setting __attribute__((cleanup(setting_free)))

/* Read the target's current mappings, which may be more than when CALLEE was made. */
static struct hook_setting *
setting_new(struct inject_target *callee, struct err *e)
{
	auto_setting struct hook_setting *s = calloc(1, sizeof *s);

	if (!s) {
		err_set_kind(e, ERR_FAILED, 0, "no memory");
		return NULL;
	}
	s->callee = callee;
	if (process_read_with(&s->process, callee->target,
		    &(struct process_sources){ .known = callee->process }, e) < 0 ||
		patch_area_find(&s->area, callee->target, &s->process.maps, e) < 0)
		return NULL;
	return take_ptr(&s);
}

/* Return whether W currently contains IS; false if its object is unmapped. */
static bool
word_is(const struct hook_setting *s, const struct patch_word *w, uint64_t is)
{
	uint64_t now;
	struct err e;

	return os_read(s->callee->target, w->at, &now, sizeof now, &e) == 0 && now == is;
}

static bool
is_hooked(const struct hook_setting *s, const struct patch_word *w)
{
	return word_is(s, w, w->hooked);
}

/* Drop slots that are no longer hooked, to make room. */
static void
drop_old_slots(struct hook_setting *s)
{
	struct patch_area_image *next = &s->area.next;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < next->nr_slots; i++)
		if (is_hooked(s, &next->slot[i]))
			next->slot[kept++] = next->slot[i];
	next->nr_slots = kept;
}

static const char *
owner_of(const struct hook_setting *s, raddr a, char *buf, size_t size)
{
	const struct region *r = regions_find(&s->process.maps, a);

	return text_printable(r && r->path ? r->path : "anonymous memory", buf, size);
}

static uint64_t
first_word(const unsigned char *code)
{
	uint64_t word;

	memcpy(&word, code, sizeof word);
	return word;
}

/* Report that byte AT of H's code differs from its file; SEEN is the code in memory. */
static int
refuse_foreign(const struct hook_setting *s, const struct hook *h, const unsigned char *seen,
	size_t at, struct err *e)
{
	const struct target *t = s->callee->target;
	const raddr to = prologue_jump_target(first_word(seen), h->function);
	char path[256], where[32] = "";

	if (to.v) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s() of %d (%s) already begins with a jump of another tool, to " PRIraddr
			" in %s",
			h->name, t->pid, t->comm, to.v, owner_of(s, to, path, sizeof path));
		return err_hint(e, "Stop the other profiler or debugger first");
	}
	if (at)
		snprintf(where, sizeof where, "+%zu", at);
	if (seen[at] == INT3) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot hook %s() of %d (%s): a breakpoint or a kernel probe (uprobe) is set at %s%s",
			h->name, t->pid, t->comm, h->name, where);
		return err_hint(e,
			"Remove it first: 'perf probe --list', 'bpftrace' and /sys/kernel/tracing/uprobe_events show who has set one");
	}
	err_set_kind(e, ERR_UNSUPPORTED, 0,
		"cannot hook %s() of %d (%s): its code at %s%s differs from its file", h->name,
		t->pid, t->comm, h->name, where);
	return err_hint(e, "Stop the other profiler or debugger first");
}

/* Return the entry with which H's function is currently hooked, or NULL. */
static const struct patch_entry *
entry_in_use(const struct hook_setting *s, const struct hook *h)
{
	for (uint64_t i = 0; i < s->area.now.nr_entries; i++) {
		const struct patch_entry *en = &s->area.now.entry[i];

		if (en->function.v == h->function.v && is_hooked(s, &en->word))
			return en;
	}
	return NULL;
}

static raddr
entry_address(const struct hook_setting *s, uint64_t i, size_t offset)
{
	return raddr_add(s->area.start,
		offsetof(struct patch_area_image, entry) + i * sizeof(struct patch_entry) + offset);
}

/* Return the address that EN's function jumps to: the hook if a near jump reaches it, else STUB. */
static raddr
first_hop(const struct patch_entry *en, raddr stub)
{
	uint64_t from = en->word.at.v, to = en->hook.v;

	return (from > to ? from - to : to - from) < prologue_reach_bytes ? en->hook : stub;
}

/* Make entry number I for H.  Returns 0, or -1 with *WHY. */
static int
make_entry(const struct hook_setting *s, const struct hook *h, const unsigned char *code,
	uint64_t i, struct patch_entry *ret, const char **why)
{
	const raddr stub = entry_address(s, i, offsetof(struct patch_entry, stub));
	struct patch_entry en = { .function = h->function, .hook = h->hook };
	struct prologue p;

	if (prologue_move(code, h->size_bytes, h->function, h->nr_args,
		    entry_address(s, i, offsetof(struct patch_entry, moved)), &p, why) < 0)
		return -1;
	prologue_stub(&p, en.stub, stub, entry_address(s, i, offsetof(struct patch_entry, hook)));
	memcpy(en.moved, p.moved, sizeof en.moved);
	en.word.at = p.at;
	memcpy(&en.word.original, code + (p.at.v - h->function.v), sizeof en.word.original);
	en.word.hooked = prologue_patch(&p, en.word.original,
		p.nr_undo && !p.is_undone_there ? stub : first_hop(&en, stub));
	*ret = en;
	return 0;
}

/*
 * Find or add the entry for H.  Returns 0 with *RET, 1 with *WHY if the function's beginning cannot
 * be changed, -1 with E.
 */
static int
plan_entry(struct hook_setting *s, const struct hook *h, const unsigned char *code, uint64_t *ret,
	const char **why, struct err *e)
{
	struct patch_area_image *next = &s->area.next;

	for (uint64_t i = 0; i <= next->nr_entries && i < PATCH_ENTRIES; i++) {
		struct patch_entry en;

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
		"%d (%s) was hooked by too many libraries; it must be restarted first",
		s->callee->target->pid, s->callee->target->comm);
}

/* Store REAL, the address by which H's original function is called from now on, for the hook. */
static int
write_real_of(const struct hook_setting *s, const struct hook *h, raddr real, struct err *e)
{
	const struct object *o = objects_at(&s->process.objects, h->hook);
	struct os_part library = { .what = "the library of a hook" };
	raddr now;

	if (o) {
		library.start = o->start;
		library.size_bytes = o->end.v - o->start.v;
	}

	if (os_read(s->callee->target, h->real, &now, sizeof now, e) < 0)
		return -1;
	return now.v == real.v
		? 0
		: os_part_write(s->callee->target, &library, h->real, &real, sizeof real, e);
}

/* Return the value of W's slot before it is set: another hook of ours, or the original. */
static uint64_t
slot_before(const struct hook_setting *s, const struct patch_word *w)
{
	const struct patch_area_image *now = &s->area.now;

	for (uint64_t i = 0; i < now->nr_slots; i++)
		if (now->slot[i].at.v == w->at.v && now->slot[i].hooked != w->hooked &&
			is_hooked(s, &now->slot[i]))
			return now->slot[i].hooked;
	return w->original;
}

static int
plan_slots(struct hook_setting *s, const struct hook *h, const char *why, struct err *e)
{
	struct patch_area_image *next = &s->area.next;
	const uint64_t before = next->nr_slots;
	bool has_some = false;

	if (hook_slots_find(&s->area, s->callee, &s->process.objects, h, e) < 0)
		return -1;
	for (uint64_t i = 0; i < next->nr_slots; i++) {
		const struct patch_word *w = &next->slot[i];
		struct word_change c = { .at = w->at, .to = w->hooked, .or_from = h->function.v };

		if (w->hooked != h->hook.v)
			continue;
		has_some = true;
		c.from = slot_before(s, w);
		s->changes.has_lazy |= c.from == w->original && w->original != h->function.v;
		if (hook_words_add(&s->changes, &c, e) < 0)
			return -1;
	}
	debug("%s: %s; %" PRIu64 " slots", h->name, why, next->nr_slots - before);
	if (!has_some)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s() of %d (%s) cannot be hooked: %s, and no object has a pointer to it",
			h->name, s->callee->target->pid, s->callee->target->comm, why);
	return write_real_of(s, h, h->function, e);
}

/*
 * Read a function's code from its file: a probe that is set in memory must not be moved along.  The
 * bytes after a short function may belong to the word that changes.
 */
static unsigned char *
read_code(const struct hook_setting *s, const struct hook *h, size_t *ret_size, struct err *e)
{
	const struct object *o = objects_at(&s->process.objects, h->function);
	const size_t size = h->size_bytes < LEAST_CODE_BYTES ? LEAST_CODE_BYTES : h->size_bytes;
	auto_free unsigned char *code = malloc(size);

	if (!o || !code || image_read(o->image, h->function, code, size) < 0) {
		err_set_kind(e, ERR_UNSUPPORTED, 0, "cannot read the code of %s() of %d (%s)",
			h->name, s->callee->target->pid, s->callee->target->comm);
		return NULL;
	}
	*ret_size = size;
	return take_ptr(&code);
}

/*
 * Check that the function is the same as in its file, up to where EN changes it.  Only the first
 * byte of an instruction that stays may be a probe's or a debugger's.
 */
static int
see_code(const struct hook_setting *s, const struct hook *h, const unsigned char *code, size_t size,
	const struct patch_entry *en, struct err *e)
{
	const size_t kept = (size_t)(en->word.at.v - h->function.v);
	const size_t changed = kept + sizeof en->word.original;
	unsigned char seen[MAX_SEEN_BYTES];

	size = size < sizeof seen ? size : sizeof seen;
	if (changed > size || os_read(s->callee->target, h->function, seen, size, e) < 0)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot read the code of %s() of %d (%s)", h->name, s->callee->target->pid,
			s->callee->target->comm);
	for (size_t i = 0; i < changed; i++)
		if (seen[i] != code[i] && (i || !kept || seen[i] != INT3))
			return refuse_foreign(s, h, seen, i, e);
	return 0;
}

/*
 * Return whether the code begins with a jump out of its object.  A jump within it is the
 * compiler's: in 2.43 memalign() is a jump to the code that it shares with malloc() (Debian's
 * 2.43-7).
 */
static bool
leads_out(const struct hook_setting *s, const struct hook *h, const unsigned char *code)
{
	const raddr to = prologue_jump_target(first_word(code), h->function);

	return to.v &&
		objects_at(&s->process.objects, to) != objects_at(&s->process.objects, h->function);
}

/*
 * Find or add the entry for H; OLD is the entry in use for its function, or NULL.  Returns as
 * plan_entry().
 */
static int
plan_code(struct hook_setting *s, const struct hook *h, const struct patch_entry *old,
	uint64_t *ret, const char **why, struct err *e)
{
	size_t size;
	auto_free unsigned char *code = read_code(s, h, &size, e);
	int status;

	if (!code)
		return -1;
	if (!old && (code[0] == INT3 || leads_out(s, h, code)))
		return refuse_foreign(s, h, code, 0, e); /* it was read from memory */
	status = plan_entry(s, h, code, ret, why, e);
	if (status != 0 || old)
		return status;
	return see_code(s, h, code, size, &s->area.next.entry[*ret], e);
}

/* Return whether A and B are in one library. */
static bool
hook_is_same_object(const struct hook_setting *s, raddr a, raddr b)
{
	return objects_at(&s->process.objects, a) &&
		objects_at(&s->process.objects, a) == objects_at(&s->process.objects, b);
}

static int
plan(struct hook_setting *s, const struct hook *h, struct err *e)
{
	const struct target *t = s->callee->target;
	const struct patch_entry *old = entry_in_use(s, h), *en = old;
	const char *why = "";
	char path[256];
	uint64_t i = 0;
	int status;

	if (old && old->hook.v != h->hook.v && !hook_is_same_object(s, old->hook, h->hook))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s() of %d (%s) is hooked already, by %s", h->name, t->pid, t->comm,
			owner_of(s, old->hook, path, sizeof path));
	if (!old || old->hook.v != h->hook.v) {
		status = plan_code(s, h, old, &i, &why, e);
		if (status != 0)
			return status < 0 ? -1 : plan_slots(s, h, why, e);
		en = &s->area.next.entry[i];
	}
	return hook_words_add(&s->changes,
		&(struct word_change){ .at = en->word.at,
			.from = old ? old->word.hooked : en->word.original,
			.to = en->word.hooked,
			.or_from = en->word.original,
			.is_code = true,
			.nr_bytes = prologue_patch_bytes(en->word.hooked) },
		e);
}

int
hook_check(const struct target *t, struct err *e)
{
	if (!prologue_obstacle)
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0, "cannot hook the functions of %d (%s): %s",
		t->pid, t->comm, prologue_obstacle);
}

/* ---- memory for hooks ---- */

static int
place_area(struct hook_setting *s, const struct hook *hook, size_t nr, struct err *e)
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
	s->area.start = patch_area_place(&s->process.maps, low, high);
	return s->area.start.v
		? 0
		: err_set_kind(e, ERR_UNSUPPORTED, 0, "%d (%s) has no room for hooks near %s()",
			  s->callee->target->pid, s->callee->target->comm, hook[0].name);
}

static int
map_area(const struct hook_setting *s, const struct job *job, struct worker *c, struct err *e)
{
	const uint64_t arg[] = { s->area.start.v, PATCH_BYTES, PROT_READ | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, (uint64_t)-1,
		0 };

	if (worker_syscall(c, c->callee->fn.mmap, arg, 6, job->deadline_ns,
		    "mapping the hooks' memory", e) < 0)
		return -1;
	/* An old kernel takes the address as a hint. */
	if (worker_promise(c, c->callee->fn.munmap,
		    (uint64_t[]){ (uint64_t)c->result, PATCH_BYTES }, 2, e) < 0)
		return -1;
	return (uint64_t)c->result == s->area.start.v
		? 0
		: err_set(e, EEXIST, "cannot map memory near the functions to hook");
}

/* Map and write the area.  Once written it stays: this thread must not undo that. */
static int
lay_area(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	struct hook_setting *s = job->arg;

	(void)ws;
	if ((s->is_new && map_area(s, job, c, e) < 0) ||
		patch_area_write(&s->area, s->callee->target, c->tid, e) < 0)
		return -1;
	if (s->is_new)
		worker_drop(c);
	return worker_turn_back(c, e);
}

/* ---- setting and lifting ---- */

static int
write_all_reals(const struct hook_setting *s, const struct hook *hook, size_t nr, struct err *e)
{
	for (size_t n = 0; n < nr; n++)
		for (uint64_t i = 0; i < s->area.next.nr_entries; i++) {
			const struct patch_entry *en = &s->area.next.entry[i];

			if (en->function.v == hook[n].function.v && en->hook.v == hook[n].hook.v &&
				write_real_of(s, &hook[n],
					entry_address(s, i, offsetof(struct patch_entry, moved)),
					e) < 0)
				return -1;
		}
	return 0;
}

/*
 * Change the words again: a thread that was in the middle of its first call through a slot has by
 * now stored there what it had found before (elf/dl-runtime.c, _dl_fixup).
 */
static int
apply_again(struct hook_setting *s, uint64_t wait_ns, struct err *e)
{
	struct hook_report ignored = { 0 };

	os_sleep_ns(FIXUP_NS);
	return hook_words_write(
		s->callee->target, &s->process.maps, &s->changes, false, wait_ns, &ignored, e);
}

/* Add a change that restores W.  Of several hooks set in turn, the first one added counts. */
static int
add_lifting(struct hook_setting *s, const struct patch_word *w, bool is_code, struct err *e)
{
	const struct word_change c = { .at = w->at,
		.from = w->hooked,
		.or_from = w->hooked,
		.to = w->original,
		.is_code = is_code,
		.nr_bytes = is_code ? prologue_patch_bytes(w->hooked) : 0 };

	return hook_words_add(&s->changes, &c, e);
}

static bool
is_among(const struct hook *hook, size_t nr, raddr function)
{
	for (size_t i = 0; i < nr; i++)
		if (hook[i].function.v == function.v)
			return true;
	return false;
}

static bool
is_planned(const struct hook_setting *s, raddr at)
{
	for (size_t i = 0; i < s->changes.nr; i++)
		if (s->changes.v[i].at.v == at.v)
			return true;
	return false;
}

/* Add changes that restore hooks of the same library that are not to be set. */
static int
lift_others(struct hook_setting *s, const struct hook *hook, size_t nr, struct err *e)
{
	const struct patch_area_image *now = &s->area.now;

	for (uint64_t i = 0; i < now->nr_entries; i++) {
		const struct patch_entry *en = &now->entry[i];

		if (is_hooked(s, &en->word) && !is_among(hook, nr, en->function) &&
			hook_is_same_object(s, en->hook, hook[0].hook) &&
			add_lifting(s, &en->word, true, e) < 0)
			return -1;
	}
	/* Restore slots of the library's hooks that are not led to another hook. */
	for (uint64_t i = 0; i < now->nr_slots; i++) {
		const struct patch_word *w = &now->slot[i];

		if (is_hooked(s, w) && !is_planned(s, w->at) &&
			hook_is_same_object(s, (raddr){ w->hooked }, hook[0].hook) &&
			add_lifting(s, w, false, e) < 0)
			return -1;
	}
	return 0;
}

static int
set_once(struct inject_target *callee, const struct arenas *a, const struct inject_options *opt,
	const struct hook *hook, size_t nr, struct hook_report *ret, struct inject_report *report,
	struct err *e)
{
	auto_setting struct hook_setting *s = setting_new(callee, e);
	struct job job = { .callee = callee,
		.opt = opt,
		.report = report,
		.needs = NEEDS_HOOKS,
		.run = lay_area,
		.arg = s };

	*ret = (struct hook_report){ 0 };
	*report = (struct inject_report){ 0 };
	if (!s || place_area(s, hook, nr, e) < 0)
		return -1;
	drop_old_slots(s);
	for (size_t i = 0; i < nr; i++)
		if (plan(s, &hook[i], e) < 0)
			return -1;
	if (lift_others(s, hook, nr, e) < 0)
		return -1;
	if (patch_area_has_changed(&s->area) && job_run(&job, a, e) < 0)
		return -1;
	if (write_all_reals(s, hook, nr, e) < 0)
		return -1;
	if (hook_words_write(
		    callee->target, &s->process.maps, &s->changes, false, opt->wait_ns, ret, e) < 0)
		return -1;
	return s->changes.has_lazy ? apply_again(s, opt->wait_ns, e) : 0;
}

/* A range that was free when the maps were read may be taken by now. */
#define PLACE_TRIES 4

int
hook_set(struct inject_target *callee, const struct arenas *a, const struct inject_options *opt,
	const struct hook *hook, size_t nr, struct hook_report *ret, struct inject_report *report,
	struct err *e)
{
	int failed, nr_tries = 0;

	do
		failed = set_once(callee, a, opt, hook, nr, ret, report, e);
	while (failed && e->code == EEXIST && ++nr_tries < PLACE_TRIES);
	return failed;
}

int
hook_lift(struct inject_target *callee, const struct inject_options *opt, struct hook_report *ret,
	struct err *e)
{
	auto_setting struct hook_setting *s = setting_new(callee, e);
	const struct patch_area_image *now;

	*ret = (struct hook_report){ 0 };
	if (!s)
		return -1;
	now = &s->area.now;
	for (uint64_t i = 0; i < now->nr_entries; i++)
		if (is_hooked(s, &now->entry[i].word) &&
			add_lifting(s, &now->entry[i].word, true, e) < 0)
			return -1;
	/* A word that is neither the original nor ours is left alone, and counted. */
	for (uint64_t i = 0; i < now->nr_entries; i++)
		if (!word_is(s, &now->entry[i].word, now->entry[i].word.original) &&
			add_lifting(s, &now->entry[i].word, true, e) < 0)
			return -1;
	for (uint64_t i = 0; i < now->nr_slots; i++)
		if (is_hooked(s, &now->slot[i]) && add_lifting(s, &now->slot[i], false, e) < 0)
			return -1;
	if (!s->changes.nr)
		return 0;
	return hook_words_write(
		callee->target, &s->process.maps, &s->changes, true, opt->wait_ns, ret, e);
}

/* ---- calls from inside libc ---- */

/* The code of one source file is contiguous: all of malloc.c takes 16 KiB. */
#define NEAR_BYTES UINT64_C(32768)

/* Reduce [*LOW, *HIGH) to the part in the same segment as AT. */
static void
clip_to_segment(const struct image *image, raddr at, raddr *low, raddr *high)
{
	for (size_t i = 0; i < image_nr_phdrs(image); i++) {
		const Elf64_Phdr *p = image_phdr(image, i);
		raddr start = { image_bias(image) + p->p_vaddr },
		      end = raddr_add(start, p->p_filesz);

		if (p->p_type != PT_LOAD || !raddr_in(at, start, end))
			continue;
		if (low->v < start.v)
			*low = start;
		if (high->v > end.v)
			*high = end;
	}
}

void
hook_inner_calls(
	const struct inject_target *callee, raddr function, raddr *ret_start, raddr *ret_end)
{
	const struct object *object = objects_at(&callee->process->objects, function);
	raddr low = { function.v - NEAR_BYTES }, high = raddr_add(function, NEAR_BYTES);
	const unsigned char *code;
	size_t size;

	*ret_start = *ret_end = (raddr){ 0 };
	if (!object)
		return;
	if (inject_is_static(callee)) { /* other code calls directly there, too */
		low = callee->malloc_start;
		high = callee->malloc_end;
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

void
hook_libc_code(const struct inject_target *callee, raddr *ret_start, raddr *ret_end)
{
	const bool is_static = inject_is_static(callee);

	*ret_start = is_static ? callee->malloc_start : callee->libc->start;
	*ret_end = is_static ? callee->malloc_end : callee->libc->end;
}
