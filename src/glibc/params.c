/*
 * malloc's settings, struct malloc_par mp_ (malloc/malloc.c).  Its name is stripped, but its
 * initialiser is unique; if the file is gone, its present contents still have to be consistent.
 */
#include <config.h>

#include "glibc/params.h"

#include "elf/image.h"
#include "elf/objects.h"
#include "glibc/layout-priv.h"
#include "glibc/look.h"
#include "glibc/params-priv.h"
#include "os/memory.h"

#include <stdlib.h>

#define PAGE_BYTES 4096
#define DEFAULT_BYTES 131072 /* DEFAULT_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD */
#define FORM_MAX_BYTES 256
/* libc has 20 KiB; only a damaged program header gives more. */
#define DATA_MAX_BYTES (UINT64_C(1) << 20)

/*
 * The members in their order.  A capital is a word, a small letter an int:
 *
 *	T trim_threshold  P top_pad  M mmap_threshold  A arena_test  X arena_max
 *	H thp_pagesize  G hp_pagesize  e thp_mode  f hp_flags
 *	n n_mmaps  l n_mmaps_max  m max_n_mmaps  d no_dyn_threshold  p pagesize
 *	Y mmapped_mem  Z max_mmapped_mem  O max_total_mem  B sbrk_base
 *	K tcache_bins  S tcache_max_bytes  C tcache_count, and further members
 *
 * Built without tunables, 2.35 to 2.37 have the preceding form.  The two members of 2.43 before
 * hp_pagesize changed places on its branch.
 */
static const struct form {
	unsigned int first, last;
	const char *members;
} forms[] = {
	{ 43, MALLOC_ANY_LATER, "TPMAXeHGfnlmdYZBKSC" },
	{ 43, 43, "TPMAXHeGfnlmdYZBKSC" },
	{ 35, 42, "TPMAXHGfnlmdYZBKSC" },
	{ 26, 37, "TPMAXnlmdYZBKSC" },
	{ 24, 25, "TPMAXnlmdYZB" },
	{ 15, 23, "TPMAXnlmdYZOB" },
	{ 10, 14, "TPMAXnlmdpYZOB" },
};

/* Values by the letters of their members; 0 for members that a form lacks. */
struct params_values {
	uint64_t of[128];
};

/* Read the members of FORM from AT.  Returns their size in bytes. */
static size_t
read_form(const struct malloc_layout *l, const char *members, const char *at,
	struct params_values *ret)
{
	size_t word = l->word_bytes, end = 0;

	*ret = (struct params_values){ 0 };
	for (const char *member = members; *member; member++) {
		bool is_int = *member >= 'a';
		size_t size = is_int ? sizeof(uint32_t) : word;
		uint32_t n;

		end = round_up(end, size);
		memcpy(&n, at + end, sizeof n);
		ret->of[(unsigned char)*member] = is_int ? n : word_from(at + end, word);
		end += size;
	}
	return round_up(end, word);
}

static bool
is_page_size(uint64_t n)
{
	return n == 0 || (n >= PAGE_BYTES && (n & (n - 1)) == 0);
}

/* Return whether V equals the initialiser. */
static bool
is_default(const struct params_values *v)
{
	return v->of['T'] == DEFAULT_BYTES && v->of['P'] == DEFAULT_BYTES &&
		v->of['M'] == DEFAULT_BYTES && v->of['A'] - 1 < 64 && !v->of['X'] && !v->of['n'] &&
		v->of['l'] == DEFAULT_MMAPS && !v->of['m'] && !v->of['d'] && !v->of['Y'] &&
		!v->of['Z'] && !v->of['B'];
}

/*
 * Return whether V can have developed from the initialiser.  Mapped memory consists of whole pages,
 * but see malloc_is_all_mmapped().
 */
static bool
is_sane(const struct look *k, const struct form *form, const struct params_values *v)
{
	const size_t word = k->l->word_bytes;

	if (!v->of['M'] || v->of['d'] > 1 || v->of['A'] > 4096 || v->of['X'] > (1 << 20) ||
		v->of['Y'] % (2 * word) || v->of['Z'] % (2 * word))
		return false;
	if (!is_page_size(v->of['H']) || !is_page_size(v->of['G']) || v->of['e'] > 16)
		return false;
	if (strchr(form->members, 'p') && (!is_page_size(v->of['p']) || !v->of['p']))
		return false;
	if (strchr(form->members, 'K') &&
		(v->of['K'] > 1024 || v->of['C'] > UINT16_MAX || !v->of['S']))
		return false;
	return !v->of['B'] || look_is_anonymous(k, (raddr){ v->of['B'] });
}

/*
 * Return whether V has the start of brk's memory, where a mapping begins.  A mapping also begins
 * before an arena, which libc's data point to as well.
 */
static bool
knows_brk(const struct look *k, const struct params_values *v)
{
	const struct region *r = regions_find(k->m, (raddr){ v->of['B'] });

	return r && v->of['B'] - r->start.v < PAGE_BYTES && !look_is_arena(k, v->of['B']);
}

/* ---- finding it ---- */

/* A writable segment of the object: its present contents, and those in the file. */
struct data {
	raddr start;
	char *now;		  /* owned; followed by zeroes, enough for a form */
	const unsigned char *was; /* NULL without a file */
	size_t size_bytes;
};

static void
data_release(struct data *d)
{
	free(d->now);
}
#define auto_data __attribute__((cleanup(data_release)))

static int
read_data(const struct look *k, const struct image *image, const Elf64_Phdr *p, struct data *d)
{
	struct err e;
	ssize_t n;

	*d = (struct data){ .start = { image_bias(image) + p->p_vaddr } };
	if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) || p->p_filesz > DATA_MAX_BYTES)
		return -1;
	d->now = calloc(1, p->p_filesz + FORM_MAX_BYTES);
	/* Leave pages that the target has not touched alone: they read as zeroes. */
	n = d->now ? os_read_present_some(k->t, d->start, d->now, p->p_filesz, &e) : -1;
	if (n < 0)
		return -1;
	d->size_bytes = p->p_filesz;
	d->was = image_initial(image, d->start, d->size_bytes);
	return 0;
}

/* The best place so far. */
struct best {
	enum { FITS_NOT, FITS_BRK, FITS_DEFAULT, FITS_BOTH } fit;
	raddr at;
	bool is_doubtful;	  /* another place fits equally well */
	unsigned int first, last; /* releases whose forms fit there */
	const char *members;	  /* of one of these forms, which have the same values */
	struct params_values values;
};

/*
 * Return whether SIZE bytes at AT overlap main_arena, whose top may be near the start of brk, too.
 */
static bool
is_in_main_arena(const struct look *k, raddr at, size_t size)
{
	raddr main_arena = k->a->v[0].addr;

	return at.v < main_arena.v + k->l->state_bytes && at.v + size > main_arena.v;
}

/* Try FORM for the data at OFFSET in D. */
static void
try_form(const struct look *k, const struct form *form, const struct data *d, size_t offset,
	struct best *best)
{
	raddr at = raddr_add(d->start, offset);
	struct params_values was, now;
	size_t size = read_form(k->l, form->members, d->now + offset, &now);
	unsigned int fit = FITS_NOT;

	if (offset + size > d->size_bytes || !is_sane(k, form, &now) ||
		is_in_main_arena(k, at, size))
		return;
	if (d->was) {
		read_form(k->l, form->members, (const char *)d->was + offset, &was);
		fit |= is_default(&was) ? FITS_DEFAULT : FITS_NOT;
	}
	fit |= knows_brk(k, &now) ? FITS_BRK : FITS_NOT;
	if (fit > best->fit) {
		*best = (struct best){ fit, at, false, form->first, form->last, form->members,
			now };
	} else if (fit && fit == best->fit && at.v == best->at.v) {
		best->first = form->first < best->first ? form->first : best->first;
		best->last = form->last > best->last ? form->last : best->last;
	} else if (fit && fit == best->fit) {
		best->is_doubtful = true;
	}
}

/*
 * Return whether the file has the first three members' default values at OFFSET: they are the same
 * in all forms, and exclude nearly every place.
 */
static bool
begins_by_default(const struct look *k, const struct data *d, size_t offset)
{
	size_t word = k->l->word_bytes;

	for (size_t i = 0; i < 3; i++)
		if (!d->was || offset + 3 * word > d->size_bytes ||
			word_at(k, (const char *)d->was + offset + i * word) != DEFAULT_BYTES)
			return false;
	return true;
}

/* Search all places; BY_DEFAULT only those whose initial values in the file match. */
static void
params_search_data(const struct look *k, const struct data *d, bool by_default, struct best *best)
{
	for (size_t at = 0; at < d->size_bytes; at += k->l->word_bytes) {
		if (by_default && !begins_by_default(k, d, at))
			continue;
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
			if (forms[i].last >= k->l->first && forms[i].first <= k->l->last)
				try_form(k, &forms[i], d, at, best);
	}
}

static void
params_search(const struct look *k, const struct object *libc, bool by_default, struct best *best)
{
	for (size_t i = 0; i < image_nr_phdrs(libc->image); i++) {
		auto_data struct data d = { 0 };

		if (read_data(k, libc->image, image_phdr(libc->image, i), &d) == 0)
			params_search_data(k, &d, by_default, best);
	}
}

static struct malloc_params
params_of(const struct params_values *v)
{
	return (struct malloc_params){
		.trim_threshold = v->of['T'],
		.top_pad = v->of['P'],
		.mmap_threshold = v->of['M'],
		.arena_test = v->of['A'],
		.arena_max = v->of['X'],
		.thp_page = v->of['H'],
		.hp_page = v->of['G'],
		.nr_mmaps = v->of['n'],
		.nr_mmaps_max = v->of['l'],
		.max_nr_mmaps = v->of['m'],
		.no_dyn_threshold = v->of['d'],
		.mmapped = v->of['Y'],
		.max_mmapped = v->of['Z'],
		.sbrk_base = { v->of['B'] },
		.tcache_count = v->of['C'],
		.tcache_max = v->of['S'],
	};
}

int
malloc_params_read(struct malloc_params *ret, const struct target *t, const struct malloc_layout *l,
	struct err *e)
{
	char now[FORM_MAX_BYTES] = { 0 };
	struct params_values values;

	/* The memory after mp_ may end before the buffer does. */
	if (os_read_some(t, l->mp, now, sizeof now, e) < 0)
		return -1;
	read_form(l, l->mp_members, now, &values);
	*ret = params_of(&values);
	return 0;
}

/*
 * Since 2.43 a chunk is two words shorter than its mapping, but mremap_chunk() (malloc/malloc.c,
 * 2.43 and 2.44) still subtracts the chunk's size for the old mapping.  So each realloc() that
 * resizes a mapping adds two words to mmapped_mem, and they stay in it when the block is freed.
 */
bool
malloc_is_all_mmapped(
	const struct malloc_layout *l, const struct malloc_params *p, uint64_t nr, uint64_t bytes)
{
	uint64_t excess = p->mmapped - bytes;

	if (nr != p->nr_mmaps || p->mmapped < bytes)
		return false;
	return !excess || (l->first >= 43 && excess % (2 * l->word_bytes) == 0);
}

void
malloc_params_read_again(struct malloc_layout *l, const struct target *t)
{
	struct err e;

	if (l->mp_members)
		malloc_params_read(&l->params, t, l, &e);
}

void
look_for_params(struct look *k)
{
	const struct object *libc = objects_at(k->o, k->a->v[0].addr);
	struct best best = { 0 };

	if (!libc)
		return;
	params_search(k, libc, true, &best);
	if (!best.fit)
		params_search(k, libc, false, &best);
	if (best.fit && !best.is_doubtful) {
		look_narrow(k, best.first, best.last);
		k->l->mp = best.at;
		k->l->mp_members = best.members;
		k->l->params = params_of(&best.values);
		look_note(k, "mp_ by %s",
			best.fit == FITS_BRK ? "what it holds" : "its initialiser in the file");
	}
}
