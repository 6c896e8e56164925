/*
 * The numbers of objects that were at the same addresses: objects are made in memory, with a
 * build-id or without, and loaded and unloaded at random.  The test keeps what was at each address,
 * and compares each number with that.
 *
 *	unwind-seen [FIRST-SEED [SEEDS]]
 */
#include <config.h>

/* clang-format off: nothing else of the unwinder is linked */
#include "unwind/seen.c"
/* clang-format on */

#include <string.h>

#include "seeds.h"

#define PAGE 4096u
#define NR_PAGES 24
#define MAX_KNOWN 2000
#define NR_CONTENTS 12
#define NR_PHDRS 4

static _Alignas(PAGE) uint8_t memory[NR_PAGES][PAGE];

struct loaded {
	uint32_t page, nr_pages, content;
	bool is_there;
	ElfW(Phdr) phdr[NR_PHDRS];
	struct unwind_object object;
};
static struct loaded loaded[NR_PAGES];

/* What has been at an address. */
struct known {
	uint32_t page, nr_pages, content, number;
};
static struct known known[MAX_KNOWN];
static uint32_t nr_known;

static uint64_t generation;
static uint32_t nr_told, told_number;

uint64_t
unwind_generation(void)
{
	return generation;
}

static void
note_told(const struct unwind_seen *o)
{
	nr_told++;
	told_number = o->number;
}

/* ---- objects in memory ---- */

/* Contents with an even number have a build-id; others have names that differ. */
static void
write_object(struct loaded *l)
{
	uint8_t *at = memory[l->page];
	const uintptr_t bias = (uintptr_t)at;
	const ElfW(Nhdr) note = { .n_namesz = 4, .n_descsz = 8, .n_type = NT_GNU_BUILD_ID };
	const ElfW(Dyn) dynamic[] = { { .d_tag = DT_STRTAB, .d_un.d_ptr = 256 },
		{ .d_tag = DT_STRSZ, .d_un.d_val = 16 }, { .d_tag = DT_NULL } };

	memset(at, 0, (size_t)l->nr_pages * PAGE);
	memset(l->phdr, 0, sizeof l->phdr);
	l->phdr[0] = (ElfW(Phdr)){ .p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = (size_t)l->nr_pages * PAGE,
		.p_memsz = (size_t)l->nr_pages * PAGE };
	if (l->content % 2 == 0) {
		memcpy(at, &note, sizeof note);
		memcpy(at + sizeof note, "GNU", 4);
		at[sizeof note + 4] = (uint8_t)l->content;
		l->phdr[1] = (ElfW(Phdr)){ .p_type = PT_NOTE, .p_memsz = sizeof note + 12 };
	} else {
		memcpy(at, dynamic, sizeof dynamic);
		snprintf((char *)at + 256, 16, "names-%u", l->content);
		l->phdr[1] = (ElfW(Phdr)){ .p_type = PT_DYNAMIC, .p_memsz = sizeof dynamic };
	}
	l->object = (struct unwind_object){ .start = bias,
		.end = bias + (uintptr_t)l->nr_pages * PAGE,
		.span = { { at, at + (size_t)l->nr_pages * PAGE } },
		.nr_spans = 1,
		.bias = bias,
		.phdrs = l->phdr,
		.nr_phdrs = NR_PHDRS,
		.name = "/lib/object.so" };
}

static bool
overlap_pages(uint32_t a, uint32_t nr_a, uint32_t b, uint32_t nr_b)
{
	return a < b + nr_b && b < a + nr_a;
}

/* Load an object somewhere, where others are unloaded before. */
static struct loaded *
load_one(void)
{
	struct loaded *l = NULL;
	const uint32_t nr = 1 + (uint32_t)some(3), page = (uint32_t)some(NR_PAGES - nr + 1);

	for (size_t i = 0; i < NR_PAGES; i++) {
		if (loaded[i].is_there &&
			overlap_pages(loaded[i].page, loaded[i].nr_pages, page, nr))
			loaded[i].is_there = false;
		if (!loaded[i].is_there)
			l = &loaded[i];
	}
	*l = (struct loaded){ .page = page,
		.nr_pages = nr,
		.content = (uint32_t)some(NR_CONTENTS),
		.is_there = true };
	write_object(l);
	generation++;
	return l;
}

/* ---- what is known ---- */

static const struct known *
find_known(const struct loaded *l)
{
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].page == l->page && known[i].nr_pages == l->nr_pages &&
			known[i].content == l->content)
			return &known[i];
	return NULL;
}

/* The entries that overlap PAGE to PAGE + NR; with NUMBER only those that have it. */
static uint32_t
count_known(uint32_t page, uint32_t nr, int64_t number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nr_known; i++)
		n += overlap_pages(known[i].page, known[i].nr_pages, page, nr) &&
			(number < 0 || known[i].number == number);
	return n;
}

static uint32_t
number_at(uint32_t page, uint32_t offset)
{
	return unwind_number_of((uintptr_t)memory[page] + offset);
}

/* ---- a sequence ---- */

static bool
meets(struct loaded *l)
{
	const struct known *k = find_known(l);
	const uint32_t was_told = nr_told, nr_before = count_known(l->page, l->nr_pages, -1);
	const uint32_t page = l->page + (uint32_t)some(l->nr_pages);
	uint32_t number;

	unwind_note_seen(&l->object, generation);
	number = number_at(page, (uint32_t)some(PAGE));
	if (k)
		return (number == k->number && nr_told == was_told) ||
			FAIL("an object that was there has number %u, not %u", number, k->number);
	if (nr_known == MAX_ENTRIES)
		return (number == UNWIND_NO_NUMBER && told_number == UNWIND_NO_NUMBER) ||
			FAIL("an object that is one too many has number %u", number);
	if (nr_told != was_told + 1 || told_number != number)
		return FAIL("a new object was told %u times, with number %u of %u",
			nr_told - was_told, told_number, number);
	if (number && !nr_before)
		return FAIL("the first object there has number %u", number);
	if (count_known(l->page, l->nr_pages, number))
		return FAIL("another object has number %u", number);
	known[nr_known++] = (struct known){ l->page, l->nr_pages, l->content, number };
	return true;
}

/* Code that is in no object, where there may have been one. */
static bool
meets_none(void)
{
	const uint32_t page = (uint32_t)some(NR_PAGES);
	uint32_t number, nr_before = count_known(page, 1, -1);

	for (size_t i = 0; i < NR_PAGES; i++)
		if (loaded[i].is_there &&
			overlap_pages(loaded[i].page, loaded[i].nr_pages, page, 1))
			return true;
	unwind_note_unseen((uintptr_t)memory[page] + 5);
	number = number_at(page, 5);
	if (nr_before && number != UNWIND_NO_NUMBER)
		return FAIL("code of no object has number %u", number);
	for (uint32_t i = 0; i < nr_known; i++)
		if (known[i].page == page && known[i].number == UNWIND_NO_NUMBER)
			return true;
	if (nr_before && nr_known < MAX_ENTRIES)
		known[nr_known++] = (struct known){ page, 1, UINT32_MAX, UNWIND_NO_NUMBER };
	return true;
}

static void
begin(void)
{
	static const struct unwind_host host = {
		.can_unload = true, .seen = note_told, .page_bytes = PAGE
	};

	memset(loaded, 0, sizeof loaded);
	nr_known = 0;
	generation = 1;
	unwind_seen_start(&host);
	unwind_seen_forget();
}

static bool
run(void)
{
	const uint32_t nr_steps = some(8) ? 200 : 3000;

	begin();
	for (uint32_t i = 0; i < nr_steps; i++) {
		struct loaded *l = some(2) ? load_one() : &loaded[some(NR_PAGES)];

		if ((l->is_there && !meets(l)) || (some(4) == 0 && !meets_none()))
			return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	const struct seeds s = seeds_of(argc, argv, 300);

	seeds_try(s, run, "objects that are loaded and unloaded at random");
	return tap_end();
}
