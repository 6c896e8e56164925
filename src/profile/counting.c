/*
 * Counting begun and ended in a process that runs.
 */
#include <config.h>

#include "profile/profile.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "heap/heap.h"

/* ---- the target at one moment ---- */

struct sight {
	const struct target *target;
	struct maps maps;
	struct objects objects;
	struct arenas arenas;
	struct inject_target *it;
	struct counter counter;
};

static void
sight_release(struct sight *s)
{
	counter_release(&s->counter);
	inject_target_free(s->it);
	arenas_release(&s->arenas);
	objects_release(&s->objects);
	maps_release(&s->maps);
	*s = (struct sight){ .target = s->target };
}
#define auto_sight __attribute__((cleanup(sight_release)))

/* Anew: what is loaded may be more than before. */
static int
look(struct sight *s, struct err *e)
{
	const struct target *t = s->target;

	sight_release(s);
	return maps_read(&s->maps, t, e) < 0 || objects_find(&s->objects, &s->maps, t, NULL, e) < 0 ||
			inject_target_new(&s->it, t, &s->maps, &s->objects, e) < 0 ||
			arenas_find(&s->arenas, t, &s->maps, &s->objects, NULL, e) < 0 ||
			counter_read(&s->counter, t, &s->maps, &s->objects, e) < 0
		? -1
		: 0;
}

/* ---- the counters, which nobody writes while nothing is hooked ---- */

/* [FROM, TO) of the segment. */
static int
write_counters(const struct sight *s, size_t from, size_t to, struct err *e)
{
	const char *copy = (const char *)s->counter.segment;

	return os_write(s->target, raddr_add(s->counter.segment_at, from), copy + from, to - from, e);
}

#define AT(field) offsetof(struct wire_segment, field)

/* The first place is shared, and never has a grant. */
static void
begin_anew(struct wire_segment *segment, uint32_t nr_threads)
{
	struct wire_thread *t = wire_threads(segment);
	struct timespec now = { 0 };

	for (uint32_t i = 0; i < nr_threads; i++) {
		t[i].live_bytes = t[i].peak_bytes = t[i].first_bytes = 0;
		t[i].nr_allocated = t[i].nr_freed = 0;
		if (i)
			t[i].ceiling_bytes = t[i].granted_bytes = t[i].floor_bytes =
				t[i].slack_bytes = 0;
	}
	segment->taken_bytes = segment->taken_peak_bytes = 0;
	segment->mapped_bytes = segment->mapped_peak_bytes = 0;
	segment->nr_mappings = 0;
	segment->before_bytes = 0;
	segment->nr_before = 0;
	segment->nr_starts++;
	clock_gettime(CLOCK_REALTIME, &now);
	segment->started_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Nobody is led into a hook, but a thread may be in one since counting ended, and count there.  Such calls
 * are over at once, but for one that waits for memory.
 */
#define LEFT_TRIES 100
#define LEFT_PAUSE_NS 10000000

static int
wait_until_all_have_left(struct sight *s, struct err *e)
{
	for (int i = 0; i < LEFT_TRIES; i++) {
		bool is_inside = false;

		if (counter_read_again(&s->counter, s->target, e) < 0)
			return -1;
		for (uint32_t k = 0; k < s->counter.nr_threads; k++)
			is_inside |= wire_threads(s->counter.segment)[k].is_inside;
		if (!is_inside)
			return 0;
		os_sleep_ns(LEFT_PAUSE_NS);
	}
	return err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"a thread of %d (%s) is still in a call of malloc that began while it counted before",
		s->target->pid, s->target->comm);
}

static int
reset_counters(struct sight *s, struct err *e)
{
	if (wait_until_all_have_left(s, e) < 0)
		return -1;
	begin_anew(s->counter.segment, s->counter.nr_threads);
	/* A thread that was just before its hook may have come in since: what only it writes is left to it. */
	for (uint32_t i = 0; i < s->counter.nr_threads; i++) {
		const size_t at = WIRE_SEGMENT_BYTES(i);

		if (write_counters(s, at, at + offsetof(struct wire_thread, tid), e) < 0)
			return -1;
	}
	return write_counters(s, AT(started_ns), AT(code_bytes), e) < 0 ||
			write_counters(s, AT(taken_bytes), AT(nr_refused), e) < 0
		? -1
		: write_counters(s, AT(is_counting), sizeof(struct wire_segment), e);
}

static int
set_counting(const struct sight *s, bool is_counting, struct err *e)
{
	s->counter.segment->is_counting = is_counting;
	return write_counters(s, AT(is_counting), AT(nr_starts), e);
}

/* ---- what is to be hooked ---- */

struct hooks {
	struct wire_live live;	/* as the agent has it */
	struct inject_hook v[WIRE_MAX_HOOKS];
	size_t nr;
};

static int
read_live(const struct sight *s, struct hooks *h, struct err *e)
{
	const struct target *t = s->target;

	if (!s->counter.live_at.v ||
		os_read(t, s->counter.live_at, &h->live, sizeof h->live, e) < 0 ||
		h->live.magic != WIRE_LIVE_MAGIC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "the agent in %d (%s) is of another memdiag",
			t->pid, t->comm);
	for (size_t i = 0; i < WIRE_MAX_HOOKS; i++)
		h->live.hook[i].name[sizeof h->live.hook[i].name - 1] = '\0';
	return 0;
}

/* A function that has several names has the hook of the first. */
static raddr
hook_of(const struct hooks *h, raddr function, uint64_t hook)
{
	for (size_t i = 0; i < h->nr; i++)
		if (h->v[i].function.v == function.v)
			return h->v[i].hook;
	return (raddr){ hook };
}

/* Functions that this libc does not have are left out. */
static int
list_hooks(const struct sight *s, struct hooks *h, struct err *e)
{
	const struct object *libc = objects_malloc(&s->objects, s->target);

	if (read_live(s, h, e) < 0)
		return -1;
	for (size_t i = 0; i < WIRE_MAX_HOOKS && h->live.hook[i].name[0]; i++) {
		const struct wire_hook *w = &h->live.hook[i];
		struct image_symbol function;

		if (!w->hook || !libc || image_find(libc->image, w->name, &function) < 0)
			continue;
		h->v[h->nr] = (struct inject_hook){ w->name, function.addr, function.size_bytes,
			hook_of(h, function.addr, w->hook), { w->real } };
		h->nr++;
	}
	return 0;
}

/* Tell the agent which calls of free() are malloc's own. */
static int
tell_inner_calls(const struct sight *s, const struct hooks *h, struct err *e)
{
	raddr at = raddr_add(s->counter.live_at, offsetof(struct wire_live, inner_start)), start, end;

	for (size_t i = 0; i < h->nr; i++) {
		if (strcmp(h->v[i].name, "free") != 0)
			continue;
		inject_inner_calls(s->it, h->v[i].function, &start, &end);
		return os_write(s->target, at, (uint64_t[]){ start.v, end.v - start.v },
			2 * sizeof(uint64_t), e);
	}
	return 0;
}

/* ---- what was in use before ---- */

struct sum {
	int64_t bytes, nr;
};

/* How much the counters had when the heap was looked at. */
struct moment {
	struct sight *sight;
	struct sum counted;
	bool is_known;
	unsigned int nr_inside;	/* threads in a hook, whose block may be in one sum and not in the other */
	bool has_first;		/* one of these is in its first call since counting began */
	pid_t *unmarked;	/* owned; threads that may be in a call from before there were hooks */
	size_t nr_unmarked;
};

static void
moment_release(struct moment *m)
{
	free(m->unmarked);
}
#define auto_moment __attribute__((cleanup(moment_release)))

/* Whether thread TID has come to the agent since counting began. */
static bool
has_come(const struct counter *c, pid_t tid)
{
	for (uint32_t i = 1; i < c->nr_threads; i++) {
		const struct wire_thread *t = &wire_threads(c->segment)[i];

		if (t->tid == (uint32_t)tid && (t->is_inside || t->nr_allocated + t->nr_freed))
			return true;
	}
	return false;
}

/*
 * A thread that was in malloc when it was hooked is not marked there, and what it takes or gives back is
 * not counted.  One that is seen elsewhere once comes by the hooks ever after.
 */
static void
note_unmarked(struct moment *m)
{
	const struct sight *s = m->sight;
	size_t nr = 0;
	struct err e;

	if (!m->unmarked && os_threads(s->target, SIZE_MAX, &m->unmarked, &m->nr_unmarked, &e) < 0)
		m->is_known = false;
	for (size_t i = 0; i < m->nr_unmarked; i++)
		if (inject_is_in_malloc(s->it, m->unmarked[i]) && !has_come(&s->counter, m->unmarked[i]))
			m->unmarked[nr++] = m->unmarked[i];
	m->nr_unmarked = nr;
}

static void
note_counted(void *arg)
{
	struct moment *m = arg;
	struct counter *c = &m->sight->counter;
	struct err e;

	m->counted = (struct sum){ 0 };
	m->nr_inside = 0;
	m->has_first = false;
	m->is_known = counter_read_again(c, m->sight->target, &e) == 0;
	for (uint32_t i = 0; m->is_known && i < c->nr_threads; i++) {
		const struct wire_thread *t = &wire_threads(c->segment)[i];
		const bool has_counted = t->nr_allocated + t->nr_freed;

		m->counted.bytes += t->live_bytes;
		m->counted.nr += (int64_t)(t->nr_allocated - t->nr_freed);
		m->nr_inside += t->is_inside || (!i && has_counted);
		m->has_first |= t->is_inside && !has_counted;
	}
	m->counted.bytes -= m->is_known ? c->segment->mapped_bytes : 0;
	if (m->is_known)
		note_unmarked(m);
}

/* The words of a mapping that are not the block's: the header; since 2.43 as many are lost at its end. */
static int64_t
words_of_mapping(const struct heap_layout *l)
{
	return l->first >= 43 ? 3 : 2;
}

/*
 * Bytes and blocks that the program has, as malloc_usable_size() has them.  By lists it is not known how
 * many blocks there are: then their headers are among the bytes, and none are among the blocks.
 */
static struct sum
in_use(const struct heap *h)
{
	const struct heap_params *p = &h->layout.params;
	const int64_t word = h->layout.word_bytes, nr_mmaps = (int64_t)p->nr_mmaps;
	struct sum sum = { (int64_t)p->mmapped - words_of_mapping(&h->layout) * word * nr_mmaps,
		nr_mmaps };
	int64_t nr_caches = 0;

	for (size_t i = 0; i < h->arena.nr; i++) {
		const struct heap_arena *a = &h->arena.v[i];
		int64_t nr = a->is_by_lists ? 0 : (int64_t)(a->in_use.count - a->cached.count);

		sum.bytes += (int64_t)(a->in_use.bytes - a->cached.bytes) - word * nr;
		sum.nr += nr;
	}
	/* malloc's own: what each thread's cache is kept in.  One that never allocated has none. */
	for (size_t i = 0; i < h->thread.nr; i++)
		nr_caches += h->thread.v[i].has_cache;
	sum.bytes -= ((int64_t)h->layout.tcache.chunk_bytes - word) * nr_caches;
	sum.nr -= nr_caches;
	return sum;
}

/*
 * How far the heap H may be from what was counted at the moment M, as a rank: 0 is not at all.  Else
 * by as many blocks as threads were in the middle of something; or by what went on between two stops.
 */
static unsigned int
doubts(const struct heap *h, const struct moment *m)
{
	unsigned int nr = m->nr_inside;

	/*
	 * In its first call a thread makes its cache, of memory that may have been another's cache and
	 * looks like that for a moment (tcache_init(), malloc/malloc.c, 2.26 to 2.44).
	 */
	if (!m->is_known || h->nr_stops != 1 || !h->knows_caches || m->has_first || m->nr_unmarked)
		return UINT_MAX;
	/* 2.43 loses count when it moves a mapping, by a few words; then it is no more pages. */
	if (h->layout.params.mmapped % 4096)
		nr += (unsigned int)h->layout.params.nr_mmaps;
	for (size_t i = 0; i < h->arena.nr; i++) {
		if (h->arena.v[i].is_by_lists || h->arena.v[i].certainty == HEAP_APPROXIMATE)
			return UINT_MAX;
		nr += h->arena.v[i].certainty != HEAP_EXACT;
	}
	return nr;
}

/* So often, unless it takes too long. */
#define EXACT_TRIES 50

/* Chunks of a hundred bytes, and what else is to be done in a stop. */
#define WALKED_BYTES_PER_NS 2

/* Whether the heap is so large that to walk it would take many long stops. */
static bool
is_too_large(const struct sight *s, uint64_t max_stop_ns)
{
	auto_heap struct heap h = { 0 };
	uint64_t bytes = 0;
	struct err e;

	if (heap_glance(&h, s->target, &s->maps, &s->objects, &s->arenas, &e) < 0)
		return true;
	for (size_t i = 0; i < h.arena.nr; i++)
		bytes += h.arena.v[i].system_bytes;
	return bytes / WALKED_BYTES_PER_NS > max_stop_ns;
}

/* Unless HAS_ALL_CALLS the counters, too, will be wrong by any number. */
static int
find_before(struct sight *s, uint64_t max_stop_ns, bool has_all_calls, struct err *e)
{
	auto_moment struct moment moment = { .sight = s };
	const struct heap_options opt = { .max_stop_ns = max_stop_ns, .one_look = true,
		.bins_only = is_too_large(s, max_stop_ns), .beside = note_counted, .arg = &moment };
	const int tries = opt.bins_only ? 1 : EXACT_TRIES;
	struct wire_segment *segment;
	unsigned int least = UINT_MAX;
	struct sum before = { 0 };
	uint64_t stopped_ns = 0;

	for (int i = 0; i < tries && least && stopped_ns <= max_stop_ns; i++) {
		auto_heap struct heap h = { 0 };
		unsigned int nr_doubtful;

		if (heap_read(&h, s->target, &s->maps, &s->objects, &opt, e) < 0)
			return -1;
		stopped_ns += h.stopped_ns;
		nr_doubtful = doubts(&h, &moment);
		if (i && nr_doubtful >= least)
			continue;
		least = nr_doubtful;
		before = in_use(&h);
		before.bytes -= moment.counted.bytes;
		before.nr -= moment.counted.nr;
	}
	segment = s->counter.segment;
	segment->before_bytes = before.bytes;
	segment->nr_before = before.nr > 0 ? (uint64_t)before.nr : 0;
	segment->nr_doubtful = has_all_calls ? least : UINT32_MAX;
	return write_counters(s, AT(is_counting), sizeof *segment, e);
}

/* ---- a program without a dynamic linker ---- */

/* What the agent is to be told when it is there, found out before. */
struct introduction {
	const struct target *target;
	uint64_t live;		/* where its struct wire_live is, from its beginning on */
	raddr function[WIRE_MAX_HOOKS];
};

/* Only where there is no fork() there is no _Fork(). */
static int
find_function(const struct sight *s, const char *name, raddr *ret, struct err *e)
{
	const struct object *program = objects_malloc(&s->objects, s->target);
	struct image_symbol function;

	if (program && image_find(program->image, name, &function) == 0)
		*ret = function.addr;
	else if (strcmp(name, "_Fork") != 0)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%d (%s) is linked statically, and has no %s()",
			s->target->pid, s->target->comm, name);
	return 0;
}

static int
prepare(struct introduction *in, const struct sight *s, const char *agent, struct err *e)
{
	auto_image struct image *image = NULL;
	const struct wire_live *live = NULL;
	struct image_symbol symbol;

	*in = (struct introduction){ .target = s->target };
	if (image_open_file(&image, agent, e) < 0)
		return -1;
	if (image_find(image, WIRE_LIVE_SYMBOL, &symbol) == 0)
		live = (const struct wire_live *)(const void *)image_initial(
			image, symbol.addr, sizeof *live);
	if (!live || live->magic != WIRE_LIVE_MAGIC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s is of another memdiag", agent);
	in->live = symbol.addr.v;
	for (size_t i = 0; i < WIRE_MAX_HOOKS && live->hook[i].name[0]; i++)
		if (find_function(s, live->hook[i].name, &in->function[i], e) < 0)
			return -1;
	return 0;
}

/* Tell the agent, which begins at START, what it would have looked up. */
static int
introduce(raddr start, void *arg, struct err *e)
{
	const struct introduction *in = arg;
	const raddr at = raddr_add(start, in->live);
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct wire_live live;

	if (os_read(in->target, at, &live, sizeof live, e) < 0)
		return -1;
	for (size_t i = 0; i < WIRE_MAX_HOOKS; i++)
		if (in->function[i].v && os_write(in->target, (raddr){ live.hook[i].real },
						 &in->function[i], sizeof in->function[i], e) < 0)
			return -1;
	return os_write(in->target, raddr_add(at, offsetof(struct wire_live, page_bytes)), &page_bytes,
		sizeof page_bytes, e);
}

/*
 * Before 2.34 fork() is not made with _Fork(), and debugging may put something behind a block; variables
 * that programs could set to functions are known by then (malloc/hooks.c).
 */
static int
check_release(const struct sight *s, struct err *e)
{
	const struct target *t = s->target;
	const struct object *program = objects_malloc(&s->objects, t);
	struct image_symbol old;

	if (!program || image_find(program->image, "__malloc_hook", &old) < 0)
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) is linked statically with a glibc older than 2.34, in which memdiag does not count",
		t->pid, t->comm);
}

static int
bring(const struct sight *s, const struct inject_options *opt, const char *agent,
	struct inject_report *report, struct err *e)
{
	struct inject_library library;
	struct introduction in;

	if (!inject_is_static(s->it))
		return inject_load(s->it, &s->arenas, opt, agent, &library, report, e);
	if (check_release(s, e) < 0 || prepare(&in, s, agent, e) < 0)
		return -1;
	return inject_place(s->it, &s->arenas, opt, agent, introduce, &in, &library, report, e);
}

/* ---- starting and stopping ---- */

static int
load(struct sight *s, const struct inject_options *opt, const char *agent, struct counting *ret,
	struct err *e)
{
	const struct target *t = s->target;

	if (bring(s, opt, agent, &ret->borrowed, e) < 0 || look(s, e) < 0)
		return -1;
	if (!s->counter.segment)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the agent was loaded into %d (%s), but cannot count there", t->pid, t->comm);
	ret->is_new = true;
	return 0;
}

/* A child that nobody wanted to follow.  Its counters are its parent's, and not for it to write to. */
static int
refuse_silent(const struct target *t, struct err *e)
{
	err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) was forked from a process that the agent counts in, and has no counters of its own",
		t->pid, t->comm);
	return err_hint(e, "Begin with its parent stopped counting, or start the program with "
		"'memdiag run --follow-children'");
}

static int
begin(struct sight *s, const struct inject_options *opt, uint64_t max_stop_ns,
	struct counting *ret, struct err *e)
{
	struct inject_report borrowed;
	struct inject_hooked lifted;
	struct hooks h = { .nr = 0 };

	/* A filter may have come since the agent was loaded; what a memdiag that was killed has left. */
	if ((!ret->is_new && inject_refuse_filters(s->target, e) < 0) ||
		inject_hooks_lift(s->it, opt, &lifted, e) < 0 || reset_counters(s, e) < 0 ||
		list_hooks(s, &h, e) < 0 || tell_inner_calls(s, &h, e) < 0 ||
		inject_hooks_set(s->it, &s->arenas, opt, h.v, h.nr, &ret->hooked, &borrowed, e) < 0)
		return -1;
	if (borrowed.tid)
		ret->borrowed = borrowed;
	/* A library that is loaded later has slots of its own: it may free what it was not seen to get. */
	if (find_before(s, max_stop_ns, !ret->hooked.nr_slots, e) < 0 || set_counting(s, true, e) < 0) {
		struct err ignored;

		inject_hooks_lift(s->it, opt, &lifted, &ignored);
		return -1;
	}
	ret->before_bytes = s->counter.segment->before_bytes;
	ret->nr_doubtful = s->counter.segment->nr_doubtful;
	return 0;
}

int
counting_start(const struct target *t, const struct inject_options *opt, uint64_t max_stop_ns,
	const char *agent, struct counting *ret, struct err *e)
{
	auto_sight struct sight s = { .target = t };
	auto_fd int lock = -1;

	*ret = (struct counting){ 0 };
	if (os_lock(t, opt->wait_ns, &lock, e) < 0 || look(&s, e) < 0)
		return -1;
	if (!s.counter.agent.v && load(&s, opt, agent, ret, e) < 0)
		return -1;
	if (!s.counter.segment || s.counter.is_parents)
		return refuse_silent(t, e);
	ret->way = (enum wire_way)s.counter.segment->way;
	ret->was_so = counter_is_counting(&s.counter);
	return ret->was_so ? 0 : begin(&s, opt, max_stop_ns, ret, e);
}

int
counting_stop(const struct target *t, const struct inject_options *opt, struct counting *ret,
	struct err *e)
{
	auto_sight struct sight s = { .target = t };
	auto_fd int lock = -1;

	*ret = (struct counting){ 0 };
	if (os_lock(t, opt->wait_ns, &lock, e) < 0 || look(&s, e) < 0)
		return -1;
	if (s.counter.segment)
		ret->way = (enum wire_way)s.counter.segment->way;
	if (ret->way == WIRE_PRELOADED && counter_is_counting(&s.counter))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) was started under the agent, and counts until it ends", t->pid, t->comm);
	/* Also without counters of its own: a child has its parent's hooks. */
	if (inject_hooks_lift(s.it, opt, &ret->hooked, e) < 0)
		return -1;
	ret->was_so = !ret->hooked.nr_entries && !ret->hooked.nr_slots;
	return s.counter.segment && !s.counter.is_parents ? set_counting(&s, false, e) : 0;
}
