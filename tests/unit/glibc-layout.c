/*
 * The layout of malloc's structures in a child, against what the child's own malloc says and does;
 * and in images made by hand of releases that cannot run here.
 */
#include <config.h>

#include <unistd.h>

#include "base/cleanup.h"
#include "elf/objects.h"
#include "glibc/arena-threads.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "glibc/params.h"
#include "heap/malloc-info.h"
#include "os/memory.h"
#include "os/status.h"
#include "child.h"
#include "fake-malloc.h"
#include "settings.h"
#include "tap.h"

/* ---- against the child's own malloc ---- */

static void
use_here(void *arg)
{
	(void)arg;
	settings_use();
	child_ready();
}

static void
execute(void *arg)
{
	char **command = arg;

	execvp(command[0], command);
}

static uint64_t
peek(struct view *v, raddr at)
{
	uint64_t word = 0;

	if (os_read(&v->t, at, &word, sizeof word, &v->e) < 0)
		ok(false, "%s", v->e.msg);
	return word;
}

static void
same_state(struct view *v, const struct arenas *a, const struct malloc_layout *l,
	const struct malloc_info *mi)
{
	bool same_system = true, same_max = true, same_attached = true, is_top_at_end = true;

	if (!ok(mi->heap.nr == a->nr && a->nr == SETTINGS_THREADS + 1,
		    "malloc_info has as many arenas as there are"))
		return;
	for (size_t i = 0; i < a->nr; i++) {
		raddr at = a->v[i].addr;
		uint64_t top = peek(v, raddr_add(at, l->top));
		uint64_t size = peek(v, (raddr){ top + 8 }) & ~UINT64_C(7);

		same_system &= peek(v, raddr_add(at, l->system_mem)) == mi->heap.v[i].system_bytes;
		same_max &= peek(v, raddr_add(at, l->max_system)) == mi->heap.v[i].max_system_bytes;
		same_attached &= (int)peek(v, raddr_add(at, l->attached)) == 1;
		if (i)
			is_top_at_end &=
				top + size == a->v[i].heap[0].start.v + a->v[i].heap[0].size_bytes;
	}
	ok(same_system, "system_mem is malloc_info's");
	ok(same_max, "max_system_mem, too");
	ok(same_attached, "a thread is attached to each");
	ok(is_top_at_end, "top ends where its heap does");
	is_u64(a->v[1].addr.v - a->v[1].heap[0].start.v, l->heap_info_bytes,
		"heap_info is as long as it is");
	ok(l->bins == a->bins_offset && l->next == l->binmap + 16, "the bins are where they are");
	if (l->fastbins)
		is_u64(l->top - l->fastbins, 8 * l->nr_fastbins, "fast bins are before top");
	is_u64(l->word_bytes * 2, l->align_bytes, "alignment");
}

static void
same_params(const struct malloc_params *p, const struct malloc_info *mi)
{
	is_u64(p->trim_threshold, SETTINGS_TRIM_THRESHOLD, "M_TRIM_THRESHOLD");
	is_u64(p->top_pad, SETTINGS_TOP_PAD, "M_TOP_PAD");
	is_u64(p->mmap_threshold, SETTINGS_MMAP_THRESHOLD, "M_MMAP_THRESHOLD");
	is_u64(p->nr_mmaps_max, SETTINGS_MMAP_MAX, "M_MMAP_MAX");
	is_u64(p->arena_test, SETTINGS_ARENA_TEST, "M_ARENA_TEST");
	is_u64(p->arena_max, SETTINGS_THREADS + 1, "M_ARENA_MAX");
	ok(p->no_dyn_threshold, "thresholds do not grow any more");
	is_u64(p->nr_mmaps, mi->mmap_count, "mapped blocks are malloc_info's");
	is_u64(p->mmapped, mi->mmap_bytes, "and their bytes");
	is_u64(p->max_nr_mmaps, mi->mmap_count + 1, "at most there was one more");
	ok(p->max_mmapped > p->mmapped, "and their bytes were more");
}

/* Each thread's cache by its pointer: in a chunk as long as the layout says. */
static void
same_caches(struct view *v, const struct arenas *a, const struct malloc_layout *l)
{
	auto_free pid_t *tids = NULL;
	size_t nr = 0, nr_right = 0;

	if (!l->tcache.nr_bins)
		return;
	os_threads(&v->t, SIZE_MAX, &tids, &nr, &v->e);
	for (size_t i = 0; i < nr; i++) {
		raddr slot = arenas_slot_of_thread(a, &v->t, tids[i]);
		raddr cache = { peek(v, raddr_add(slot, (uint64_t)l->tcache.from_slot_bytes)) };

		nr_right +=
			(peek(v, (raddr){ cache.v - 8 }) & ~UINT64_C(7)) == l->tcache.chunk_bytes;
	}
	is_u64(nr_right, SETTINGS_THREADS + 1, "each thread has its cache");
}

/* C is a child that has used malloc as settings.h does. */
static void
test_running(struct child *c)
{
	auto_malloc_info struct malloc_info mi = { 0 };
	const char *xml = strstr(c->said, "<malloc");
	struct malloc_layout l = { 0 };
	uint64_t present;
	struct view v;

	if (!view_take(&v, c->pid) ||
		!ok(process_find_arenas(&v.p, NULL, &v.e) == 0, "arenas are found") ||
		!ok(xml && malloc_info_parse(&mi, xml, strlen(xml), &v.e) == 0,
			"malloc_info can be read"))
		return;
	present = view_present_bytes(&v);
	if (!ok(malloc_layout_find(&l, &v.p, &v.e) == 0, "the layout is found %s", v.e.msg))
		return;
	printf("# %s: %s\n", l.era, l.found_by);
	is_u64(view_present_bytes(&v), present, "looking made no page present");
	same_state(&v, &v.p.arenas, &l, &mi);
	ok(l.mp.v, "mp_ is found");
	same_params(&l.params, &mi);
	same_caches(&v, &v.p.arenas, &l);
	ok(l.has_safe_linking == !strstr(c->said, "plain 1"), "links are as they are");
	view_release(&v);
	ok(child_end(c), "the child lives on");
}

/* ---- releases that do not run here ---- */

static void
same_params_as_fake(const struct fake *f, const struct malloc_params *p, uint64_t brk)
{
	is_u64(p->trim_threshold, 0x300000, "trim_threshold");
	is_u64(p->top_pad, 131072, "top_pad");
	is_u64(p->mmap_threshold, 0x180000, "mmap_threshold");
	is_u64(p->arena_test, f->word_bytes == 8 ? 8 : 2, "arena_test");
	is_u64(p->arena_max, 12, "arena_max");
	is_u64(p->hp_page, f->mp.hp_page ? 0x200000 : 0, "hp_pagesize");
	is_u64(p->thp_page, f->mp.thp_page ? 0x400000 : 0, "thp_pagesize");
	ok(p->nr_mmaps == 3 && p->nr_mmaps_max == 65536 && p->max_nr_mmaps == 9 &&
			p->no_dyn_threshold,
		"mapped blocks and their limits");
	ok(p->mmapped == 0x7000 && p->max_mmapped == 0x9000, "and bytes");
	is_u64(p->sbrk_base.v, brk, "sbrk_base");
	is_u64(p->tcache_count, !f->mp.tcache ? 0 : f->tcache.counts_down ? 16 : 7, "tcache_count");
	is_u64(p->tcache_max,
		!f->mp.tcache			? 0
			: f->tcache.counts_down ? 0x411
						: 0x408,
		"tcache_max_bytes");
}

static void
same_layout_as_fake(
	const struct fake *f, const struct malloc_layout *l, const struct fake_child *fc)
{
	unsigned int w = f->word_bytes;

	is_str(l->era, f->era, "its era");
	is_u64(l->system_mem, f->system_mem, "system_mem");
	is_u64(l->state_bytes, f->state_bytes, "the end of the arena");
	is_u64(l->heap_info_bytes, f->is_alone ? 0 : f->heap_info_bytes, "heap_info");
	is_u64(l->top, f->bins_offset - 2 * w, "top");
	is_u64(l->attached, f->nr_between > 1 ? l->next + 2 * w : 0, "attached_threads");
	is_u64(l->mp.v, f->mp.sbrk_base ? fc->libc.start.v + FAKE_DATA_AT + FAKE_MP_AT : 0, "mp_");
	if (f->mp.sbrk_base)
		same_params_as_fake(f, &l->params, fc->brk);
	ok(l->tcache.nr_bins == f->tcache.nr_bins &&
			l->tcache.count_bytes == f->tcache.count_bytes &&
			l->tcache.counts_down == f->tcache.counts_down &&
			l->tcache.chunk_bytes == f->tcache.chunk_bytes,
		"the caches' form");
	ok(l->has_safe_linking == f->is_mangled, "links");
}

/* A second place that looks like mp_: without a file, neither is believed. */
static void
test_two_params(struct fake_child *fc, const struct process *p, bool has_file)
{
	raddr mp = raddr_add(fc->libc.start, FAKE_DATA_AT + FAKE_MP_AT);
	struct malloc_layout l = { 0 };
	struct view *v = &fc->v;
	char copy[0x90], before[sizeof copy];
	raddr second = raddr_add(mp, sizeof copy);

	os_read(&v->t, mp, copy, sizeof copy, &v->e);
	os_read(&v->t, second, before, sizeof before, &v->e);
	view_write(&v->t, second, copy, sizeof copy);
	ok(malloc_layout_find(&l, p, &v->e) == 0 && l.mp.v == (has_file ? mp.v : 0),
		"of two like mp_ only a file tells which it is");
	view_write(&v->t, second, before, sizeof before);
}

/* The count of mapped blocks is taken from mp_ only if its two numbers agree. */
static void
test_count(const struct fake *f, struct fake_child *fc, const struct process *p)
{
	struct view *v = &fc->v;
	const size_t word = p->arenas.word_bytes;
	raddr mp = raddr_add(fc->libc.start, FAKE_DATA_AT + FAKE_MP_AT);
	raddr nr_at = raddr_add(mp, f->mp.nr_mmaps), bytes_at = raddr_add(mp, f->mp.mmapped);
	const uint64_t three = 3, bytes = 0x7000, none = 0;
	uint64_t nr = 99;

	ok(malloc_count_mmapped(p, &nr) && nr == 3, "three blocks are mapped");
	view_write(&v->t, nr_at, &none, 4);
	if (strncmp(f->era, "2.43", 4) == 0)
		ok(malloc_count_mmapped(p, &nr) && nr == 0, "none with an excess is an answer");
	else
		ok(!malloc_count_mmapped(p, &nr), "none with bytes is no answer");
	view_write(&v->t, bytes_at, &none, word);
	ok(malloc_count_mmapped(p, &nr) && nr == 0, "none is an answer");
	view_write(&v->t, nr_at, &three, 4);
	ok(!malloc_count_mmapped(p, &nr), "three without bytes is no answer");
	view_write(&v->t, bytes_at, &bytes, word);
}

/* Whether the chunk of the cache is one with WORD at AT in it. */
static bool
is_cache_with(struct fake_child *fc, const struct process *p, unsigned int at, uint64_t word)
{
	struct malloc_layout l = { 0 };
	struct view *v = &fc->v;
	raddr from = { fc->brk + at };
	uint64_t before = peek(v, from);

	view_write(&v->t, from, &word, sizeof word);
	ok(malloc_layout_find(&l, p, &v->e) == 0, "there is a layout");
	view_write(&v->t, from, &before, sizeof before);
	return strstr(l.found_by, "tcache");
}

static void
test_no_cache(struct fake_child *fc, const struct process *p)
{
	uint64_t brk = fc->brk;

	ok(is_cache_with(fc, p, 8, 0x2a1), "a cache, and a rest too small for a chunk");
	ok(!is_cache_with(fc, p, 8, 0x2b1), "none: of another size");
	ok(!is_cache_with(fc, p, 0x10, 0x0001000100010001), "none: counts without blocks");
	ok(!is_cache_with(fc, p, 0x90, brk + 8), "none: a block that is not aligned");
	ok(!is_cache_with(fc, p, 0x90, 0x10), "none: a block that is nowhere");
}

#define AGAIN_MAX 2
static int nr_again;

static void
test_fake(const struct fake *f, bool has_file)
{
	auto_arenas struct arenas a = { 0 };
	struct malloc_layout l = { 0 };
	struct fake_child fc;
	struct objects libc = { .v = &fc.libc, .nr = 1 };
	struct view *v = &fc.v;
	struct process fake;

	if (!fake_start(&fc, f, has_file) ||
		!ok(arenas_find(&a, &v->t, &v->p.maps, &libc, NULL, &v->e) == 0, "has arenas"))
		return;
	fake = (struct process){ .target = &v->t, .maps = v->p.maps, .objects = libc, .arenas = a };
	if (!f->era) {
		ok(malloc_layout_find(&l, &fake, &v->e) < 0 && v->e.kind == ERR_UNSUPPORTED,
			"but no layout: %s", v->e.msg);
	} else if (ok(malloc_layout_find(&l, &fake, &v->e) == 0, "the layout is found %s",
			   v->e.msg)) {
		printf("# %s: %s\n", l.era, l.found_by);
		/*
		 * Without a file an address can make another place fit as well: one in a thousand.
		 */
		if (f->mp.sbrk_base && !has_file && !l.mp.v && nr_again++ < AGAIN_MAX) {
			fake_end(&fc);
			test_fake(f, has_file);
			return;
		}
		same_layout_as_fake(f, &l, &fc);
		if (f->mp.sbrk_base) {
			ok(!strstr(l.found_by, "initialiser") == !has_file,
				"by the file if there is one");
			test_two_params(&fc, &fake, has_file);
			if (has_file)
				test_count(f, &fc, &fake);
		}
		if (strcmp(f->name, "2.31") == 0)
			test_no_cache(&fc, &fake);
		if (strcmp(f->name, "2.42") == 0)
			ok(!is_cache_with(&fc, &fake, 0x300, 0x10),
				"none: its very last word is no block");
	}
	fake_end(&fc);
}

/* Three blocks of 0x7000 bytes, of an account that says MMAPPED. */
static bool
is_all_of(unsigned int release, unsigned int word_bytes, uint64_t mmapped)
{
	const struct malloc_layout l = {
		.first = release, .last = release, .word_bytes = word_bytes
	};
	const struct malloc_params p = { .nr_mmaps = 3, .mmapped = mmapped };

	return malloc_is_all_mmapped(&l, &p, 3, 0x7000) &&
		!malloc_is_all_mmapped(&l, &p, 2, 0x7000);
}

static void
test_excess(void)
{
	ok(is_all_of(42, 8, 0x7000) && is_all_of(43, 8, 0x7000), "as many bytes are all");
	ok(!is_all_of(42, 8, 0x7010) && is_all_of(43, 8, 0x7010),
		"since 2.43 the account may have more");
	ok(!is_all_of(43, 8, 0x7008) && is_all_of(43, 4, 0x7008), "by twice a word");
	ok(!is_all_of(43, 8, 0x6ff0), "but not less");
}

/* heap-layout [COMMAND...]: COMMAND is tests/tracees/settings, perhaps of another glibc. */
int
main(int argc, char **argv)
{
	struct child c;

	if (argc > 1) {
		c = child_start(execute, argv + 1);
		test_running(&c);
		return tap_end();
	}
	test_excess();
	for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++) {
		test_fake(&fakes[i], false);
		test_fake(&fakes[i], true);
	}
	if (!skip_if_sanitized("the layout of libc's malloc")) {
		c = child_start(use_here, NULL);
		test_running(&c);
	}
	return tap_end();
}
