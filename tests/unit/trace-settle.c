/*
 * What is left at the end of a trace, of this program, which knows which of its pages it has mapped
 * and touched: random ones, by seeds.  And the profile that is made of sums.
 *
 *	trace-settle [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "maps/leaves.h"
#include "trace/settle.h"
#include "trace/sums.h"
#include "trace/values.h"
#include "seeds.h"

#define NR_PAGES 200
#define NR_STACKS 4
#define TOUCHES NR_STACKS	 /* the stack of page faults */
#define ZONE (UINT64_C(1) << 45) /* where the kernel places nothing by itself */

enum page { UNMAPPED, RESERVED, EMPTY, RESIDENT };

static struct world {
	struct trace_program *p;
	enum page page[NR_PAGES];
	uint32_t owner[NR_PAGES]; /* in the ledger; NR_STACKS: nobody */
} w;

static uint64_t page_bytes;

static char *
at(size_t page)
{
	return (char *)(uintptr_t)(ZONE + page * page_bytes);
}

/* ---- making pages ---- */

static bool
map_pages(size_t start, size_t end, enum page kind)
{
	const int prot = kind == RESERVED ? PROT_NONE : PROT_READ | PROT_WRITE;
	const size_t bytes = (end - start) * page_bytes;

	if (kind == UNMAPPED)
		return start == end || munmap(at(start), bytes) == 0;
	if (start == end)
		return true;
	if (mmap(at(start), bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
		    -1, 0) == MAP_FAILED)
		return false;
	for (size_t i = start; kind == RESIDENT && i < end; i++)
		*(volatile char *)at(i) = 1;
	return true;
}

static size_t
some_end(size_t start)
{
	const size_t end = start + some(some(4) ? 10 : 50);

	return end < NR_PAGES ? end : NR_PAGES;
}

/* A part of the ledger need not be mapped any more, and not everything that is mapped is in it. */
static bool
make(void)
{
	for (size_t i = 0; i < NR_PAGES; i++) {
		w.page[i] = UNMAPPED;
		w.owner[i] = NR_STACKS;
	}
	for (size_t n = 0; n < 40; n++) {
		const size_t start = some(NR_PAGES), end = some_end(start);
		const enum page kind = (enum page)some(4);

		if (!map_pages(start, end, kind))
			return FAIL("cannot map pages");
		for (size_t i = start; i < end; i++)
			w.page[i] = kind;
	}
	for (size_t n = 0; n < 30; n++) {
		const size_t start = some(NR_PAGES), end = some_end(start);
		const uint32_t owner = (uint32_t)some(NR_STACKS);

		if (ledger_cut(&w.p->ledger, ZONE + start * page_bytes, ZONE + end * page_bytes,
			    NULL, NULL) < 0 ||
			ledger_add(&w.p->ledger, ZONE + start * page_bytes, ZONE + end * page_bytes,
				owner) < 0)
			return FAIL("no memory");
		for (size_t i = start; i < end; i++)
			w.owner[i] = owner;
	}
	return true;
}

/* ---- what is left ---- */

static bool
has_left(uint32_t stack, uint64_t bytes, uint64_t resident_bytes, uint64_t reserved_bytes)
{
	const struct trace_sums *s = &w.p->stacks.v[stack].sums;
	uint64_t class_bytes = 0, class_resident = 0, class_reserved = 0;

	for (size_t i = 0; i < w.p->classes.nr; i++) {
		const struct trace_class *c = &w.p->classes.v[i];

		if (c->stack != stack)
			continue;
		if (!c->bytes)
			return FAIL("stack %u has nothing of class %s", stack, c->name);
		class_bytes += c->bytes;
		class_resident += c->resident_bytes;
		if (c->name == leaf_kind_name(LEAF_RESERVE))
			class_reserved += c->bytes;
	}
	if (s->left_bytes != bytes)
		return FAIL("stack %u has %" PRIu64 " bytes left, not %" PRIu64, stack,
			s->left_bytes, bytes);
	/* A machine without memory to spare swaps. */
	if (s->resident_bytes + s->swapped_bytes != resident_bytes)
		return FAIL("stack %u has %" PRIu64 " bytes resident, %" PRIu64
			    " swapped, not %" PRIu64,
			stack, s->resident_bytes, s->swapped_bytes, resident_bytes);
	if (class_bytes != bytes || class_resident != s->resident_bytes)
		return FAIL("stack %u: classes do not add up", stack);
	return class_reserved == reserved_bytes ||
		FAIL("stack %u has %" PRIu64 " reserved bytes, not %" PRIu64, stack, class_reserved,
			reserved_bytes);
}

static bool
has_all_left(void)
{
	for (uint32_t stack = 0; stack < NR_STACKS; stack++) {
		uint64_t nr[4] = { 0 };

		for (size_t i = 0; i < NR_PAGES; i++)
			if (w.owner[i] == stack)
				nr[w.page[i]] += page_bytes;
		if (!has_left(stack, nr[RESERVED] + nr[EMPTY] + nr[RESIDENT], nr[RESIDENT],
			    nr[RESERVED]))
			return false;
	}
	return true;
}

/* ---- pages that were touched ---- */

static uint64_t fault_weight[NR_PAGES];

static bool
touch(void)
{
	struct err e;

	memset(fault_weight, 0, sizeof fault_weight);
	for (size_t n = 0; n < 60; n++) {
		const size_t page = some(NR_PAGES);
		const uint32_t weight = 1 + (uint32_t)some(5);

		if (trace_account_fault(w.p, ZONE + page * page_bytes + some(2) * some(page_bytes),
			    TOUCHES, weight, some(2), &e) < 0)
			return FAIL("no memory");
		fault_weight[page] += weight;
	}
	return true;
}

static bool
has_touched(void)
{
	uint64_t nr[4] = { 0 };

	for (size_t i = 0; i < NR_PAGES; i++)
		nr[w.page[i]] += fault_weight[i] * page_bytes;
	return has_left(
		TOUCHES, nr[RESERVED] + nr[EMPTY] + nr[RESIDENT], nr[RESIDENT], nr[RESERVED]);
}

static bool
settle(void)
{
	struct err e;

	w.p->stacks.v = calloc(NR_STACKS + 1, sizeof *w.p->stacks.v);
	w.p->stacks.nr = w.p->stacks.room = NR_STACKS + 1;
	trace_program_open(w.p);
	if (!w.p->is_open)
		return FAIL("this program cannot be read");
	if (!make() || !touch())
		return false;
	if (trace_settle(w.p, &e) < 0)
		return FAIL("settling: %s", e.msg);
	return w.p->is_settled && has_all_left() && has_touched();
}

static bool
try(void)
{
	bool is_good;

	w.p = trace_program_new(getpid());
	is_good = settle();
	munmap(at(0), NR_PAGES * page_bytes);
	w.p->nr_named = w.p->stacks.nr; /* the profile has no such stacks */
	trace_program_free(w.p);
	return is_good;
}

static void
test_ended(void)
{
	struct trace_program *p = trace_program_new(getpid());
	struct err e;

	ok(trace_settle(p, &e) < 0 && e.kind == ERR_GONE, "a program that has ended has nothing");
	ok(!p->is_settled, "what it has is not known");
	trace_program_free(p);
}

/* ---- huge pages ---- */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* 6.1+ */
#endif
#define HUGE (UINT64_C(2) << 20)

/*
 * Two huge pages: the first was touched once, as a whole, the second page by page.  Behind them is
 * a page of the usual size.
 */
static bool
make_huge(struct trace_program *p)
{
	struct err e;

	if (mmap(at(0), 2 * HUGE + page_bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	memset(at(0), 1, 2 * HUGE + page_bytes);
	return madvise(at(0), 2 * HUGE, MADV_COLLAPSE) == 0 &&
		trace_account_fault(p, ZONE + 5000, 0, 3, false, &e) == 0 &&
		trace_account_fault(p, ZONE + 2 * HUGE + 9, 2, 4, false, &e) == 0 &&
		trace_account_fault(p, ZONE + HUGE + 8, 1, 1, false, &e) == 0 &&
		trace_account_fault(p, ZONE + 2 * HUGE - 1, 1, 1, false, &e) == 0;
}

static void
test_huge(void)
{
	struct trace_program *p = trace_program_new(getpid());
	struct err e;

	p->stacks.v = calloc(3, sizeof *p->stacks.v);
	p->stacks.nr = p->stacks.room = p->nr_named = 3;
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	trace_program_open(p);
	if (!make_huge(p)) {
		skip("huge pages", "the kernel makes none on demand");
	} else if (ok(trace_settle(p, &e) == 0, "huge pages are settled")) {
		is_u64(p->stacks.v[0].sums.touched_bytes, 3 * HUGE,
			"a huge page is touched as a whole");
		is_u64(p->stacks.v[0].sums.left_bytes, 3 * HUGE, "it is left as a whole");
		is_u64(p->stacks.v[0].sums.huge_bytes, 3 * HUGE, "it is a huge one");
		is_u64(p->stacks.v[1].sums.touched_bytes, 2 * page_bytes,
			"pages were touched one by one");
		is_u64(p->stacks.v[1].sums.huge_bytes, 2 * page_bytes,
			"they are in a huge one now");
		is_u64(p->stacks.v[2].sums.touched_bytes, 4 * page_bytes,
			"another page is touched alone");
	}
	munmap(at(0), 2 * HUGE + page_bytes);
	trace_program_free(p);
}

/* ---- profiles ---- */

#define MAX_NR 20 /* stacks of a program; stack I has its innermost frame at LEAF + I */
#define LEAF 0x100000

static struct trace_program *
some_program(pid_t pid)
{
	struct trace_program *p = trace_program_new(pid);
	const size_t nr = some(MAX_NR);
	struct err e;

	p->stacks.v = calloc(nr + 1, sizeof *p->stacks.v);
	for (size_t i = 0; i < nr; i++) {
		uint32_t frame[2], stack;

		/* Each stack has an address of its own. */
		if (profile_frame(p->profile, LEAF + i, false, &frame[0], &e) < 0 ||
			profile_frame(p->profile, 0x5000 + some(3), false, &frame[1], &e) < 0 ||
			profile_stack(p->profile, frame, 2, &stack, &e) < 0)
			abort();
		p->stacks.nr = stack + 1;
		p->stacks.v[stack].sums = (struct trace_sums){
			.nr_maps = some(2) * some(100),
			.mapped_bytes = some(1 << 30),
			.freed_bytes = some(1 << 30),
			.nr_minor = some(2) * some(1000),
			.nr_major = some(2) * some(10),
			.touched_bytes = some(2) * some(1 << 30),
			.left_bytes = some(2) * some(1 << 30),
			.resident_bytes = some(1 << 30),
		};
	}
	return p;
}

static void
add_wanted(uint64_t *want, uint64_t *want_at, const struct trace *t, bool faults)
{
	for (size_t i = 0; i < t->programs.nr; i++)
		for (size_t k = 0; k < t->programs.v[i]->stacks.nr; k++) {
			const struct trace_sums *s = &t->programs.v[i]->stacks.v[k].sums;
			const uint64_t calls[] = { s->nr_maps, s->mapped_bytes, s->left_bytes,
				s->resident_bytes };
			const uint64_t pages[] = { s->nr_minor + s->nr_major, s->nr_major,
				s->touched_bytes, s->resident_bytes };
			const uint64_t *v = faults ? pages : calls;

			/* Those that have mapped nothing themselves are left out. */
			for (size_t n = 0; n < 4 && (v[0] || v[2]); n++)
				want[n] += v[n];
			want_at[k] += v[0];
		}
}

static bool
is_profile(const struct profile *p, const uint64_t *want, const uint64_t *want_at, bool faults)
{
	static const char *const names[2][4] = { { "mapped_alloc_objects", "mapped_alloc_space",
							 "mapped_space", "resident_space" },
		{ "faults", "major_faults", "touched_space", "resident_space" } };
	uint64_t got[4] = { 0 }, got_at[MAX_NR] = { 0 };

	if (p->types.nr != 4)
		return FAIL("%zu types", p->types.nr);
	for (size_t i = 0; i < p->samples.nr; i++) {
		const struct profile_stack *s = &p->stacks.v[p->samples.v[i].stack];
		const uint64_t address = p->frames.v[p->stack_frames.v[s->first]].address;

		for (size_t n = 0; n < 4; n++)
			got[n] += (uint64_t)profile_values(p, i)[n];
		got_at[address - LEAF] += (uint64_t)profile_values(p, i)[0];
	}
	if (memcmp(got_at, want_at, MAX_NR * sizeof *got_at) != 0)
		return FAIL("values of another stack");
	for (size_t n = 0; n < 4; n++) {
		if (strcmp(p->types.v[n].name, names[faults][n]) != 0)
			return FAIL("type %zu is %s", n, p->types.v[n].name);
		if (profile_is_bytes(&p->types.v[n]) != (strstr(names[faults][n], "space") != NULL))
			return FAIL("%s in %s", names[faults][n], p->types.v[n].unit);
		if (got[n] != want[n])
			return FAIL(
				"%s: %" PRIu64 ", not %" PRIu64, names[faults][n], got[n], want[n]);
	}
	return true;
}

static bool
try_profile(void)
{
	struct trace_program *programs[3];
	struct trace t = { .programs = { .v = programs, .nr = some(4) } };
	auto_profile struct profile *p = NULL;
	const bool faults = some(2);
	uint64_t want[4] = { 0 }, want_at[MAX_NR] = { 0 };
	bool is_good;
	struct err e;

	for (size_t i = 0; i < t.programs.nr; i++)
		programs[i] = some_program((pid_t)(100 + i));
	add_wanted(want, want_at, &t, faults);
	is_good = trace_profile(&p, &t, faults, &e) == 0 ? is_profile(p, want, want_at, faults)
							 : FAIL("no profile: %s", e.msg);
	if (is_good && p->pid != (t.programs.nr ? 100 : 0))
		is_good = FAIL("of PID %" PRId64, p->pid);
	for (size_t i = 0; i < t.programs.nr; i++)
		trace_program_free(programs[i]);
	return is_good;
}

int
main(int argc, char **argv)
{
	const struct seeds seeds = seeds_of(argc, argv, 20);
	const struct seeds more = { seeds.first, seeds.nr * 10 };

	page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	seeds_try(seeds, try, "what is left is what this program has");
	test_ended();
	test_huge();
	seeds_try(more, try_profile, "a profile has the sums of all programs");
	return tap_end();
}
