/*
 * The layout of malloc's structures, determined by their shape.  Each sign excludes some releases;
 * the remaining ones are the era.  Version strings are not used: branches of releases (2.22, 2.26
 * to 2.29) and distributions changed structures within a version.
 */
#include <config.h>

#include "glibc/layout.h"

#include "base/cleanup.h"
#include "glibc/layout-priv.h"
#include "glibc/look.h"
#include "glibc/params-priv.h"
#include "glibc/params.h"
#include "glibc/process.h"
#include "glibc/tcache-layout.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_BYTES 4096
#define NR_BINS 127
#define BINMAP_BYTES 16
#define NR_SAMPLES 64
/* next_free, attached_threads, system_mem, max_system_mem; the first two may be missing. */
#define TAIL_WORDS 4

/*
 * struct malloc_state.  Among layouts with the same bins offset, the newest comes first.  2.10 to
 * 2.14 have next_free only if a distribution enabled PER_THREAD; 2.22's branch and all later
 * releases have attached_threads; since 2.26's branch have_fastchunks precedes the fast bins.
 */
static const struct shape {
	unsigned int word_bytes, bins, fastbins, nr_fastbins, align_bytes;
	bool has_next_free, has_attached;
	unsigned int first, last;
} shapes[] = {
	{ 8, 0x18, 0, 0, 16, true, true, 43, MALLOC_ANY_LATER },
	{ 8, 0x70, 0x10, 10, 16, true, true, 26, 42 },
	{ 8, 0x68, 0x8, 10, 16, true, true, 22, 26 },
	{ 8, 0x68, 0x8, 10, 16, true, false, 10, 22 },
	{ 8, 0x68, 0x8, 10, 16, false, false, 10, 14 },
	{ 4, 0x10, 0, 0, 16, true, true, 43, MALLOC_ANY_LATER },
	{ 4, 0x40, 0xc, 11, 16, true, true, 26, 42 },
	{ 4, 0x3c, 0x8, 11, 16, true, true, 26, 26 },
	{ 4, 0x38, 0x8, 10, 8, true, true, 22, 25 },
	{ 4, 0x38, 0x8, 10, 8, true, false, 10, 22 },
	{ 4, 0x38, 0x8, 10, 8, false, false, 10, 14 },
};

/* ---- struct malloc_state ---- */

/*
 * Return whether TAIL, the words after next in an arena, can have SHAPE.  A heap consists of whole
 * pages; the main arena does not if the program itself has moved brk.
 */
static bool
is_tail(const struct look *k, const struct shape *shape, const struct arena *arena,
	const char *tail)
{
	uint64_t system, max, next_free = 0, attached = 0;
	unsigned int word = shape->word_bytes;

	if (shape->has_next_free) {
		next_free = word_at(k, tail);
		tail += word;
	}
	if (shape->has_attached) {
		attached = word_at(k, tail);
		tail += word;
	}
	system = word_at(k, tail);
	max = word_at(k, tail + word);
	if ((next_free && !look_is_arena(k, next_free)) ||
		(attached && attached % PAGE_BYTES == 0) || attached > INT32_MAX || max < system)
		return false;
	if (arena->is_main) /* 0 if all threads have other arenas */
		return system == 0 || system >= PAGE_BYTES;
	return system && system % PAGE_BYTES == 0 && max % PAGE_BYTES == 0;
}

/* Count the arenas with a tail of SHAPE, among the NR whose TAILS were read. */
static size_t
count_tails(const struct look *k, const struct shape *shape, const char *tails, size_t nr)
{
	size_t nr_good = 0;

	for (size_t i = 0; i < nr; i++)
		nr_good +=
			is_tail(k, shape, &k->a->v[i], tails + i * TAIL_WORDS * shape->word_bytes);
	return nr_good;
}

static char *
read_tails(const struct look *k, size_t nr, struct err *e)
{
	unsigned int word = k->l->word_bytes;
	uint64_t offset = k->a->bins_offset + NR_BINS * 2 * word + BINMAP_BYTES + word;
	auto_free char *tails = calloc(nr, TAIL_WORDS * word);
	raddr from[NR_SAMPLES];

	if (!tails) {
		err_set(e, ENOMEM, "cannot determine malloc's layout");
		return NULL;
	}
	for (size_t i = 0; i < nr; i++)
		from[i] = raddr_add(k->a->v[i].addr, offset);
	if (os_read_each(k->t, from, nr, TAIL_WORDS * word, tails, e) < 0)
		return NULL;
	return take_ptr(&tails);
}

static void
use_shape(struct look *k, const struct shape *s)
{
	struct malloc_layout *l = k->l;
	unsigned int word = s->word_bytes, at;

	l->align_bytes = s->align_bytes;
	l->fastbins = s->fastbins;
	l->nr_fastbins = s->nr_fastbins;
	l->top = s->bins - 2 * word;
	l->bins = s->bins;
	l->binmap = s->bins + NR_BINS * 2 * word;
	l->next = at = l->binmap + BINMAP_BYTES;
	if (s->has_next_free)
		at += word;
	if (s->has_attached)
		l->attached = at += word;
	l->system_mem = at + word;
	l->max_system = at + 2 * word;
	l->state_bytes = at + 3 * word;
	l->first = s->first;
	l->last = s->last;
	look_note(k, "bins at 0x%x", s->bins);
}

/* Find the shape that most of the arenas have; a few may be changing just now. */
static int
find_state(struct look *k, struct err *e)
{
	size_t nr = k->a->nr < NR_SAMPLES ? k->a->nr : NR_SAMPLES, most = nr / 2;
	auto_free char *tails = read_tails(k, nr, e);
	const struct shape *best = NULL;

	if (!tails)
		return -1;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct shape *s = &shapes[i];
		size_t nr_good;

		if (s->word_bytes != k->l->word_bytes || s->bins != k->a->bins_offset)
			continue;
		nr_good = count_tails(k, s, tails, nr);
		if (nr_good > most) {
			most = nr_good;
			best = s;
		}
	}
	if (!best)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"malloc's arenas in process %d are laid out as in no glibc that is known",
			k->t->pid);
	use_shape(k, best);
	return 0;
}

/* Find the size of struct heap_info, which has a further member since 2.35: the page size. */
static void
find_heap_info(struct look *k)
{
	unsigned int word = k->l->word_bytes;

	for (size_t i = 1; i < k->a->nr && !k->l->heap_info_bytes; i++)
		k->l->heap_info_bytes =
			(unsigned int)(k->a->v[i].addr.v - k->a->v[i].heap[0].start.v);
	if (!k->l->heap_info_bytes)
		return;
	look_note(k, "heap_info of 0x%x", k->l->heap_info_bytes);
	if (word == 4) /* i386 already padded it to six words */
		return;
	if (k->l->heap_info_bytes == 6 * word)
		look_narrow(k, 35, MALLOC_ANY_LATER);
	else
		look_narrow(k, 0, 34);
}

static void
name_era(struct malloc_layout *l)
{
	if (l->last == MALLOC_ANY_LATER)
		snprintf(l->era, sizeof l->era, "2.%u or later", l->first);
	else if (l->first == l->last)
		snprintf(l->era, sizeof l->era, "2.%u", l->first);
	else
		snprintf(l->era, sizeof l->era, "2.%u to 2.%u", l->first, l->last);
}

int
malloc_layout_find_basic(struct malloc_layout *ret, const struct process *p, struct err *e)
{
	struct malloc_layout l = { .word_bytes = p->arenas.word_bytes };
	struct look k = { p->target, &p->maps, &p->objects, &p->arenas, NULL, &l, 0 };

	if (find_state(&k, e) < 0)
		return -1;
	find_heap_info(&k);
	look_for_params(&k);
	name_era(&l);
	*ret = l;
	return 0;
}

void
malloc_layout_add_tcache(struct malloc_layout *l, const struct target *t, const struct regions *m,
	const struct arenas *a, uint64_t deadline_ns)
{
	auto_pages struct os_pages *pages = NULL;
	struct look k = { t, m, NULL, a, NULL, l, deadline_ns };
	struct err ignored;

	if (os_pages_open(&pages, t, OS_PAGES_AUTO, &ignored) == 0)
		k.pages = pages;
	look_for_tcache(&k);
	name_era(l);
}

int
malloc_layout_find(struct malloc_layout *ret, const struct process *p, struct err *e)
{
	if (malloc_layout_find_basic(ret, p, e) < 0)
		return -1;
	malloc_layout_add_tcache(ret, p->target, &p->maps, &p->arenas, 0);
	return 0;
}

/* Return whether both numbers of an account show mapped blocks, or neither does. */
static bool
is_account_consistent(const struct malloc_layout *l)
{
	return l->params.nr_mmaps ? l->params.mmapped : malloc_is_all_mmapped(l, &l->params, 0, 0);
}

/*
 * n_mmaps and mmapped_mem change one after the other (sysmalloc_mmap(), malloc/malloc.c).  Hardly
 * any program sets M_MMAP_MAX, so its default is another sign of mp_.
 */
bool
malloc_count_mmapped(const struct process *p, uint64_t *ret)
{
	struct malloc_layout l;
	struct err ignored;

	if (malloc_layout_find_basic(&l, p, &ignored) < 0 || !l.mp_members ||
		l.params.nr_mmaps_max != DEFAULT_MMAPS || !is_account_consistent(&l))
		return false;
	*ret = l.params.nr_mmaps;
	return true;
}
