/*
 * The calls that are traced: which of them filters let through, by an evaluator of filters, and
 * what they do to memory, by an array of pages and the manual pages of the calls.
 *
 *	trace-calls [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <sys/mman.h>

#include "seeds.h"
#include "trace/calls.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* ---- filters ---- */

/* The fields of the kernel's tracepoints (syscalls/sys_enter_NAME/format), as arguments. */
static const char *const fields[TRACE_NR_CALLS][TRACE_MAX_ARGS] = {
	[TRACE_MMAP] = { "addr", "len", "prot", "flags", "fd", "off" },
	[TRACE_MUNMAP] = { "addr", "len" },
	[TRACE_MREMAP] = { "addr", "old_len", "new_len", "flags" },
	[TRACE_BRK] = { "brk" },
	[TRACE_MADVISE] = { "start", "len_in", "behavior" },
	[TRACE_SHMAT] = { "shmid", "shmaddr", "shmflg" },
	[TRACE_SHMDT] = { "shmaddr" },
};

/* A filter while it is evaluated, as kernel/trace/trace_events_filter.c does. */
struct filter {
	const char *at;
	const struct trace_entry *entry;
	bool is_wrong;
};

static bool has_word(struct filter *f, const char *word);
static bool any(struct filter *f);

static bool
has_word(struct filter *f, const char *word)
{
	while (*f->at == ' ')
		f->at++;
	if (strncmp(f->at, word, strlen(word)) != 0)
		return false;
	f->at += strlen(word);
	return true;
}

static uint64_t
field(struct filter *f)
{
	const char *const *names = fields[f->entry->call];
	size_t len = 0;

	while (*f->at == ' ')
		f->at++;
	while (isalnum((unsigned char)f->at[len]) || f->at[len] == '_')
		len++;
	for (size_t i = 0; i < TRACE_MAX_ARGS && names[i]; i++)
		if (strlen(names[i]) == len && strncmp(names[i], f->at, len) == 0) {
			f->at += len;
			return f->entry->arg[i];
		}
	f->is_wrong = true;
	return 0;
}

static uint64_t
number(struct filter *f)
{
	char *end;
	uint64_t n;

	while (*f->at == ' ')
		f->at++;
	errno = 0;
	n = strtoull(f->at, &end, 0);
	f->is_wrong |= end == f->at || *f->at == '-' || errno;
	f->at = end;
	return n;
}

/* FIELD OPERATOR NUMBER, or an expression in parentheses */
static bool
one(struct filter *f)
{
	uint64_t value;
	bool is_true;

	if (has_word(f, "(")) {
		is_true = any(f);
		f->is_wrong |= !has_word(f, ")");
		return is_true;
	}
	value = field(f);
	if (has_word(f, "<="))
		return value <= number(f);
	if (has_word(f, ">="))
		return value >= number(f);
	if (has_word(f, "=="))
		return value == number(f);
	if (has_word(f, "<"))
		return value < number(f);
	if (has_word(f, ">"))
		return value > number(f);
	f->is_wrong |= !has_word(f, "&");
	return value & number(f);
}

static bool
all(struct filter *f)
{
	bool is_true = one(f);

	while (!f->is_wrong && has_word(f, "&&"))
		is_true &= one(f);
	return is_true;
}

static bool
any(struct filter *f)
{
	bool is_true = all(f);

	while (!f->is_wrong && has_word(f, "||"))
		is_true |= all(f);
	return is_true;
}

/* Whether the filter TEXT lets ENTRY through; NULL does.  *RET_WRONG: it is no filter. */
static bool
passes(const char *text, const struct trace_entry *entry, bool *ret_wrong)
{
	struct filter f = { .at = text, .entry = entry };
	bool is_true;

	*ret_wrong = false;
	if (!text)
		return true;
	is_true = any(&f);
	*ret_wrong = f.is_wrong || *f.at;
	return is_true;
}

/* A size at or near a border that filters may have, at MIN_BYTES. */
static uint64_t
some_size(uint64_t min_bytes)
{
	switch (some(6)) {
	case 0:
		return 0;
	case 1:
		return min_bytes;
	case 2:
		return min_bytes + 1;
	case 3:
		return min_bytes - 1;
	case 4:
		return some(1 << 30) << some(34);
	default:
		return some(1 << 20);
	}
}

static uint64_t
some_argument(enum trace_call call, size_t i, uint64_t min_bytes)
{
	const char *name = fields[call][i];

	if (!name)
		return 0;
	if (strstr(name, "len"))
		return some_size(min_bytes);
	if (strcmp(name, "behavior") == 0)
		return some(4) ? some(26) : some(2) ? MADV_DONTNEED : MADV_FREE;
	return some(2) ? some(64) : some(1 << 30) << some(34);
}

/* What the two filters are for, in words of the calls. */
static void
wanted(const struct trace_entry *c, uint64_t min_bytes, bool *ret_large, bool *ret_small)
{
	const uint64_t *arg = c->arg;
	const uint64_t greater = c->call == TRACE_MREMAP && arg[2] > arg[1] ? arg[2] : arg[1];
	const bool has_size = c->call == TRACE_MMAP || c->call == TRACE_MUNMAP ||
		c->call == TRACE_MREMAP || c->call == TRACE_MADVISE;
	const bool is_large = !has_size || greater >= min_bytes;

	*ret_large = is_large;
	if (c->call == TRACE_MADVISE)
		*ret_large &= arg[2] == MADV_DONTNEED || arg[2] == MADV_FREE;
	*ret_small = !is_large && c->call != TRACE_MADVISE;
	if (c->call == TRACE_MMAP)
		*ret_small &= (arg[3] & MAP_FIXED) != 0;
}

static bool
try_filter(void)
{
	const enum trace_call call = (enum trace_call)some(TRACE_NR_CALLS);
	const uint64_t min_bytes = some(8) == 0 ? UINT64_MAX
		: some(4) == 0			? 0
						: 1 + (some(1 << 20) << some(20));
	struct trace_entry c = { .call = call };
	char large_text[128], small_text[128];
	const char *large = trace_filter(call, min_bytes, false, large_text, sizeof large_text);
	bool is_wrong, want_large, want_small, is_small = false;

	for (size_t i = 0; i < TRACE_MAX_ARGS; i++)
		c.arg[i] = some_argument(call, i, min_bytes);
	wanted(&c, min_bytes, &want_large, &want_small);
	if (passes(large, &c, &is_wrong) != want_large || is_wrong)
		return FAIL("%s of %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64
			    ": the filter '%s'",
			trace_call_names[call], c.arg[0], c.arg[1], c.arg[2], c.arg[3], large);
	if (trace_has_small(call, min_bytes)) {
		const char *small =
			trace_filter(call, min_bytes, true, small_text, sizeof small_text);

		is_small = small && passes(small, &c, &is_wrong);
		if (is_wrong)
			return FAIL("%s: '%s' is no filter", trace_call_names[call], small);
	}
	if (is_small != want_small)
		return FAIL("%s of %#" PRIx64 " is a small one: %d", trace_call_names[call],
			c.arg[1], is_small);
	return !(is_small && want_large) || FAIL("a call would be reported twice");
}

static void
test_filters(void)
{
	char buf[128];
	size_t nr = 0;

	for (enum trace_call c = 0; c < TRACE_NR_CALLS; c++) {
		const bool has_filter = trace_filter(c, 0, false, buf, sizeof buf) != NULL;

		nr += trace_nr_args(c);
		ok(has_filter == (c == TRACE_MADVISE), "a filter for %s of any size: %d",
			trace_call_names[c], has_filter);
		ok(!trace_has_small(c, 0), "no %s is small without a size", trace_call_names[c]);
		is_str(trace_first_field(c), fields[c][0], "the first field");
		ok(trace_nr_args(c) <= TRACE_MAX_ARGS, "arguments of %s", trace_call_names[c]);
		for (size_t i = 0; i < trace_nr_args(c); i++)
			ok(fields[c][i] != NULL, "%s has argument %zu", trace_call_names[c], i);
	}
	is_u64(nr, 20, "arguments of all calls");
	ok(!trace_call_names[TRACE_NR_CALLS], "the names have an end");
}

/* ---- effects ---- */

#define NR_PAGES 64
#define NOBODY 0
#define NEW 999 /* who makes the call */

static struct world {
	uint64_t base, page_bytes;
	unsigned int page[NR_PAGES], want[NR_PAGES];
	uint64_t brk;
} w;

static void
fill(unsigned int *page, size_t start, size_t nr, unsigned int owner)
{
	for (size_t i = start; i < start + nr; i++)
		page[i] = owner;
}

/* So many bytes as fill NR pages, the last of them perhaps not wholly. */
static uint64_t
some_bytes(size_t nr)
{
	return nr ? nr * w.page_bytes - some(w.page_bytes) : 0;
}

static uint64_t
address(size_t page)
{
	return w.base + page * w.page_bytes;
}

/* The kernel's side of each call: make *C and its result, and do it to the wanted pages. */
static uint64_t
do_mmap(struct trace_entry *c, size_t at, size_t nr)
{
	c->arg[0] = some(2) ? address(at) : 0;
	c->arg[1] = some_bytes(nr);
	c->arg[2] = some(2) ? PROT_NONE : PROT_READ | PROT_WRITE;
	c->arg[3] = MAP_PRIVATE | (c->arg[0] ? MAP_FIXED : 0);
	fill(w.want, at, nr, NEW);
	return address(at);
}

static uint64_t
do_munmap(struct trace_entry *c, size_t at, size_t nr)
{
	c->arg[0] = address(at);
	c->arg[1] = some_bytes(nr);
	fill(w.want, at, nr, NOBODY);
	return 0;
}

static uint64_t
remap_in_place(struct trace_entry *c, size_t at, size_t nr)
{
	const size_t new_nr = 1 + some(NR_PAGES - at);

	c->arg[1] = some_bytes(nr);
	c->arg[2] = some_bytes(new_nr);
	c->arg[3] = some(2) * MREMAP_MAYMOVE;
	if (new_nr < nr)
		fill(w.want, at + new_nr, nr - new_nr, NOBODY);
	else
		fill(w.want, at + nr, new_nr - nr, NEW);
	return address(at);
}

/* From the pages at AT to others, in the other half. */
static uint64_t
remap_elsewhere(struct trace_entry *c, size_t at, size_t nr)
{
	const size_t to = at < NR_PAGES / 2 ? NR_PAGES / 2 + some(8) : some(8);
	const bool stays = nr && nr <= NR_PAGES / 2 - 8 && some(4) == 0;
	const size_t new_nr = stays ? nr : 1 + some(NR_PAGES / 2 - 8);

	c->arg[1] = some_bytes(nr);
	c->arg[2] = stays ? c->arg[1] : some_bytes(new_nr);
	c->arg[3] = MREMAP_MAYMOVE | some(2) * MREMAP_FIXED | (stays ? MREMAP_DONTUNMAP : 0);
	for (size_t i = 0; i < new_nr; i++)
		w.want[to + i] = i < nr && !stays ? w.page[at + i] : NEW;
	if (!stays)
		fill(w.want, at, nr, NOBODY);
	return address(to);
}

static uint64_t
do_mremap(struct trace_entry *c, size_t at, size_t nr)
{
	c->arg[0] = address(at);
	if (some(3) == 0 && nr)
		return remap_in_place(c, at, nr);
	if (at < NR_PAGES / 2 && at + nr > NR_PAGES / 2)
		nr = NR_PAGES / 2 - at;
	return remap_elsewhere(c, at, nr);
}

/* The heap is from page 0 on. */
static uint64_t
do_brk(struct trace_entry *c)
{
	const uint64_t old = w.brk,
		       new = some(4) ? address(0) + some(NR_PAGES * w.page_bytes) : old;

	c->arg[0] = new == old ? 0 : new;
	for (size_t i = 0; i < NR_PAGES; i++) {
		if (address(i) >= old && address(i) < new)
			w.want[i] = NEW;
		/* A page stays while a byte of it is in the heap. */
		if (address(i) >= new &&address(i) < old)
			w.want[i] = NOBODY;
	}
	return new;
}

static uint64_t
do_other(struct trace_entry *c, size_t at, size_t nr)
{
	c->arg[0] = address(at);
	c->arg[1] = some_bytes(nr);
	if (c->call == TRACE_MADVISE)
		c->arg[2] = some(2) ? MADV_DONTNEED : MADV_FREE;
	return c->call == TRACE_SHMAT ? address(some(NR_PAGES)) : 0;
}

static uint64_t
do_call(struct trace_entry *c)
{
	const size_t at = some(NR_PAGES), nr = some(NR_PAGES - at + 1);

	switch (c->call) {
	case TRACE_MMAP:
		return do_mmap(c, at, nr);
	case TRACE_MUNMAP:
		return do_munmap(c, at, nr);
	case TRACE_MREMAP:
		return do_mremap(c, at, nr);
	case TRACE_BRK:
		return do_brk(c);
	default:
		return do_other(c, at, nr);
	}
}

static bool
is_in(const struct trace_range *r, size_t page)
{
	return address(page) >= r->start && address(page) < r->end;
}

static size_t
pages_of(const struct trace_range *r)
{
	return (size_t)((r->end - r->start) / w.page_bytes);
}

/* What the effect says, done to the pages: it takes away, then moves, then maps. */
static bool
apply(const struct trace_effect *e)
{
	unsigned int before[NR_PAGES];
	const struct trace_range to = { e->to, e->to + (e->from.end - e->from.start) };
	size_t nr[2] = { 0 };

	for (size_t i = 0; i < NR_PAGES; i++) {
		nr[0] += is_in(&e->unmapped, i);
		nr[1] += is_in(&e->mapped, i);
		if (is_in(&e->unmapped, i))
			w.page[i] = NOBODY;
	}
	memcpy(before, w.page, sizeof before);
	for (size_t i = 0; i < NR_PAGES; i++)
		if (is_in(&e->from, i))
			w.page[i] = NOBODY;
	for (size_t i = 0; i < NR_PAGES; i++)
		if (is_in(&to, i))
			w.page[i] = before[(address(i) - e->to + e->from.start - w.base) /
				w.page_bytes];
	for (size_t i = 0; i < NR_PAGES; i++)
		if (is_in(&e->mapped, i))
			w.page[i] = NEW;
	return nr[0] == pages_of(&e->unmapped) && nr[1] == pages_of(&e->mapped);
}

/* The size that is shown, which is the one that the program has named. */
static uint64_t
shown_bytes(const struct trace_entry *c, uint64_t result)
{
	const uint64_t mask = w.page_bytes - 1;
	const uint64_t old = (w.brk + mask) & ~mask, new = (result + mask) & ~mask;

	if (c->call == TRACE_BRK)
		return new > old ? new - old : old - new;
	if (c->call == TRACE_MREMAP)
		return c->arg[2];
	return c->call == TRACE_SHMAT || c->call == TRACE_SHMDT ? 0 : c->arg[1];
}

static bool
is_right(const struct trace_entry *c, uint64_t result, const struct trace_effect *e)
{
	const bool gives = c->call == TRACE_MMAP || c->call == TRACE_MREMAP ||
		c->call == TRACE_SHMAT || c->call == TRACE_BRK;
	const char *name = trace_call_names[c->call];

	if (!apply(e))
		return FAIL("%s: a range leads out of what the call names", name);
	for (size_t i = 0; i < NR_PAGES; i++)
		if (w.page[i] != w.want[i])
			return FAIL("%s(%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64
				    ") = %#" PRIx64 ": page %zu is %u, not %u",
				name, c->arg[0], c->arg[1], c->arg[2], c->arg[3], result, i,
				w.page[i], w.want[i]);
	if (e->address != (gives ? result : c->arg[0]))
		return FAIL("%s: shown at %#" PRIx64, name, e->address);
	if (e->bytes != shown_bytes(c, result))
		return FAIL("%s: shown with %#" PRIx64 " bytes", name, e->bytes);
	return true;
}

/* A call that fails does nothing, and is shown where the program wanted it. */
static bool
try_failure(const struct trace_entry *c, uint64_t result)
{
	const uint64_t number = 1 + some(4095);
	const struct trace_effect e = trace_effect_of(c, -number, w.brk, w.page_bytes);
	const uint64_t address = c->arg[c->call == TRACE_SHMAT];

	if (trace_error(c->call, result))
		return FAIL("%s: %#" PRIx64 " is an error", trace_call_names[c->call], result);
	if (c->call == TRACE_BRK)
		return true;
	if (trace_error(c->call, -number) != (int)number)
		return FAIL("%s: no error", trace_call_names[c->call]);
	if (e.mapped.end != e.mapped.start || e.unmapped.end != e.unmapped.start ||
		e.from.end != e.from.start)
		return FAIL("%s: it fails with an effect", trace_call_names[c->call]);
	return (e.address == address && e.bytes == shown_bytes(c, result)) ||
		FAIL("%s: it fails, shown at %#" PRIx64 " with %#" PRIx64 " bytes",
			trace_call_names[c->call], e.address, e.bytes);
}

static bool
try_effect(void)
{
	struct trace_entry c = { .call = (enum trace_call)some(TRACE_NR_CALLS) };
	struct trace_effect e;
	uint64_t result;

	w.page_bytes = UINT64_C(4096) << 2 * some(3);
	w.base = some(2) ? (UINT64_C(1) << 47) - (NR_PAGES + 1) * w.page_bytes
			 : (1 + some(1 << 20)) * w.page_bytes;
	w.brk = w.base + some(NR_PAGES * w.page_bytes);
	for (size_t i = 0; i < NR_PAGES; i++)
		w.page[i] = w.want[i] = 1 + (unsigned int)some(500);
	result = do_call(&c);
	if (!try_failure(&c, result))
		return false;
	e = trace_effect_of(&c, result, w.brk, w.page_bytes);
	return is_right(&c, result, &e);
}

static bool
try(void)
{
	for (size_t i = 0; i < 300; i++)
		if (!try_filter() || !try_effect())
			return false;
	return true;
}

/* ---- numbers that no sound process has ---- */

static bool
is_empty(const struct trace_effect *e)
{
	return e->mapped.start == e->mapped.end && e->unmapped.start == e->unmapped.end &&
		e->from.start == e->from.end;
}

static bool
is_sound(const struct trace_effect *e)
{
	return e->mapped.start <= e->mapped.end && e->unmapped.start <= e->unmapped.end &&
		e->from.start <= e->from.end && e->to + (e->from.end - e->from.start) >= e->to;
}

static void
test_errors(void)
{
	is_u64((uint64_t)trace_error(TRACE_MMAP, (uint64_t)-1), 1, "-1 is an error");
	is_u64((uint64_t)trace_error(TRACE_MMAP, (uint64_t)-4095), 4095, "-4095 is an error");
	is_u64((uint64_t)trace_error(TRACE_MMAP, (uint64_t)-4096), 0, "-4096 is an address");
	is_u64((uint64_t)trace_error(TRACE_MMAP, UINT64_C(0x7ffffffff000)), 0, "the last page");
	is_u64((uint64_t)trace_error(TRACE_MUNMAP, 0), 0, "0 is no error");
	is_u64((uint64_t)trace_error(TRACE_BRK, (uint64_t)-12), 0, "brk() never fails");
}

static void
test_break(void)
{
	const struct trace_entry c = { .call = TRACE_BRK, .arg = { 0x5000 } };
	struct trace_effect e = trace_effect_of(&c, 0x5000, 0, 4096);

	ok(is_empty(&e) && e.address == 0x5000 && !e.bytes, "the first break has no effect");
	e = trace_effect_of(&c, 0x5000, 0x5000, 4096);
	ok(is_empty(&e) && !e.bytes, "a break that stays has none");
	e = trace_effect_of(&c, 0x3fff, 0x3001, 4096);
	ok(is_empty(&e) && !e.bytes, "a break in the same page has none");
	e = trace_effect_of(&c, 0x4001, 0x4000, 4096);
	ok(e.mapped.start == 0x4000 && e.mapped.end == 0x5000, "a byte more is a page more");
	e = trace_effect_of(&c, 0x4000, 0x4001, 4096);
	ok(e.unmapped.start == 0x4000 && e.unmapped.end == 0x5000, "a byte less is a page less");
}

/* Sizes and addresses whose sum is beyond the last address map nothing. */
static void
test_overflow(void)
{
	static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - 4094, UINT64_MAX - 4095,
		UINT64_MAX - 0x10000, UINT64_C(1) << 63 };
	size_t nr_wrong = 0;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (uint64_t call = TRACE_MMAP; call <= TRACE_MREMAP; call++) {
			struct trace_entry c = { .call = (enum trace_call)call,
				.arg = { 0xfffffffffff00000, sizes[i], sizes[i], 0 } };
			struct trace_effect e = trace_effect_of(&c, 0xffffffffffff0000, 0, 4096);

			nr_wrong += !is_empty(&e);
		}
	is_u64(nr_wrong, 0, "a range beyond the last address is empty");
}

static void
test_nonsense(void)
{
	size_t nr_wrong = 0;

	state = 1;
	for (size_t i = 0; i < 20000; i++) {
		struct trace_entry c = { .call = (enum trace_call)some(TRACE_NR_CALLS) };
		struct trace_effect e;

		for (size_t k = 0; k < TRACE_MAX_ARGS; k++)
			c.arg[k] = (some(UINT64_C(1) << 31) << 33 | some(UINT64_C(1) << 31)) >>
				some(64);
		e = trace_effect_of(&c, some(3) ? -some(1 << 20) : c.arg[0], some(1 << 30), 4096);
		nr_wrong += !is_sound(&e);
	}
	is_u64(nr_wrong, 0, "ranges of senseless arguments are ranges");
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 800), try,
		"filters let through what is asked for, and calls do what they do");
	test_filters();
	test_errors();
	test_break();
	test_overflow();
	test_nonsense();
	return tap_end();
}
