/*
 * Whose memory is whose, against the kernel: this program makes random calls, by seeds, and writes
 * who has mapped a page into that page.  Pages that move take that along; what the kernel maps anew
 * is empty.  So the pages themselves are what the ledger must say.
 *
 *	trace-sums [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "seeds.h"
#include "trace/sums.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#define NR_STACKS 5
#define NR_PAGES 96
#define HEAP_PAGES 32
#define MAX_AWAY 16
#define STEPS 200
#define TAG UINT64_C(0x7a67000000000000)
#define ZONE (UINT64_C(1) << 45) /* where the kernel places nothing by itself */

static struct world {
	struct trace_program p;
	struct trace_sums want[NR_STACKS];
	struct trace_range away[MAX_AWAY]; /* mappings outside of the zone */
	size_t nr_away;
	uint64_t min_bytes, heap; /* the break at the beginning */
	uint64_t tagged[NR_STACKS];
	bool is_wrong;
} w;

static uint64_t page_bytes;
static int memory = -1; /* /proc/self/mem */

static uint64_t
whole(uint64_t bytes)
{
	return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/* ---- what pages say ---- */

/* The stack that has mapped the page at ADDRESS; TRACE_NO_STACK: nobody has, or it is unmapped. */
static uint32_t
owner_at(uint64_t address)
{
	uint64_t tag = 0;

	if (pread(memory, &tag, sizeof tag, (off_t)address) != sizeof tag || (tag & TAG) != TAG)
		return TRACE_NO_STACK;
	return (uint32_t)(tag - TAG);
}

static void
tag(uint64_t start, uint64_t end, uint32_t stack)
{
	for (uint64_t at = start; at < end; at += page_bytes)
		*(volatile uint64_t *)(uintptr_t)at = stack == TRACE_NO_STACK ? 0 : TAG + stack;
}

static void
count_tags(uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end; at += page_bytes) {
		const uint32_t owner = owner_at(at);

		if (owner < NR_STACKS)
			w.tagged[owner] += page_bytes;
	}
}

static void
check_piece(const struct ledger_piece *piece, void *arg)
{
	uint64_t *bytes = arg;

	for (uint64_t at = piece->start; at < piece->end; at += page_bytes)
		if (owner_at(at) != piece->owner && !w.is_wrong)
			w.is_wrong = !FAIL("the ledger has a page at %#" PRIx64
					   " of %u, whose owner is %u",
				at, piece->owner, owner_at(at));
	bytes[piece->owner] += piece->end - piece->start;
}

static bool
is_same_sums(size_t stack)
{
	const struct trace_sums *got = &w.p.stacks.v[stack].sums, *want = &w.want[stack];

	return got->nr_maps == want->nr_maps && got->mapped_bytes == want->mapped_bytes &&
		got->nr_unmaps == want->nr_unmaps && got->unmapped_bytes == want->unmapped_bytes &&
		got->nr_discards == want->nr_discards &&
		got->discarded_bytes == want->discarded_bytes && got->nr_failed == want->nr_failed;
}

static bool
is_right(const char *step)
{
	uint64_t bytes[NR_STACKS] = { 0 };

	memset(w.tagged, 0, sizeof w.tagged);
	count_tags(ZONE, ZONE + NR_PAGES * page_bytes);
	count_tags(whole(w.heap), whole(w.heap) + HEAP_PAGES * page_bytes);
	for (size_t i = 0; i < w.nr_away; i++)
		count_tags(w.away[i].start, w.away[i].end);
	ledger_walk(&w.p.ledger, check_piece, bytes);
	if (w.is_wrong)
		return false;
	for (size_t i = 0; i < NR_STACKS; i++) {
		const struct trace_sums *s = &w.p.stacks.v[i].sums;

		if (bytes[i] != w.tagged[i])
			return FAIL("%s: %zu has %" PRIu64 " bytes in the ledger, %" PRIu64
				    " in its pages",
				step, i, bytes[i], w.tagged[i]);
		if (s->mapped_bytes - s->freed_bytes != bytes[i])
			return FAIL("%s: %zu has %" PRIu64 " bytes, but %" PRIu64 " by its sums",
				step, i, bytes[i], s->mapped_bytes - s->freed_bytes);
		if (!is_same_sums(i))
			return FAIL("%s: the sums of %zu", step, i);
	}
	return true;
}

/* ---- calls ---- */

/* What the tracepoints would report of a call that was made. */
static bool
report(struct trace_entry c, uint64_t result, uint32_t stack)
{
	struct trace_effect effect;
	struct err e;

	if (trace_account(&w.p, &c, result, stack, w.min_bytes, &effect, &e) < 0)
		return FAIL("%s: %s", trace_call_names[c.call], e.msg);
	if (trace_error(c.call, result) && stack != TRACE_NO_STACK)
		w.want[stack].nr_failed++;
	return true;
}

static uint64_t
result_of(long value)
{
	return value == -1 ? (uint64_t)-errno : (uint64_t)value;
}

static uint64_t
some_page(void)
{
	return ZONE + some(NR_PAGES) * page_bytes;
}

/* As many bytes as fit behind AT, and often fewer. */
static uint64_t
some_bytes(uint64_t at)
{
	const uint64_t most = (ZONE + NR_PAGES * page_bytes - at) / page_bytes;
	const uint64_t nr = 1 + some(some(3) ? (most < 6 ? most : 6) : most);

	return nr * page_bytes - (some(3) ? 0 : some(page_bytes));
}

static uint32_t
stack_for(uint64_t bytes, uint32_t stack)
{
	return bytes < w.min_bytes ? TRACE_NO_STACK : stack;
}

static void
want_map(uint32_t stack, uint64_t bytes)
{
	if (stack == TRACE_NO_STACK || !bytes)
		return;
	w.want[stack].nr_maps++;
	w.want[stack].mapped_bytes += bytes;
}

static void
want_unmap(uint32_t stack, uint64_t bytes)
{
	if (stack == TRACE_NO_STACK || !bytes)
		return;
	w.want[stack].nr_unmaps++;
	w.want[stack].unmapped_bytes += bytes;
}

static bool
unmap(uint64_t at, uint64_t bytes, uint32_t stack)
{
	const struct trace_entry c = { TRACE_MUNMAP, { at, bytes } };
	const uint64_t result = result_of(syscall(SYS_munmap, at, bytes));

	stack = stack_for(bytes, stack);
	if (!trace_error(TRACE_MUNMAP, result))
		want_unmap(stack, whole(bytes));
	return report(c, result, stack);
}

/* Remember a mapping that the kernel has placed; with no room for that, it is unmapped again. */
static bool
keep_away(uint64_t start, uint64_t bytes)
{
	if (start >= ZONE && start < ZONE + NR_PAGES * page_bytes)
		return true;
	if (w.nr_away == MAX_AWAY)
		return unmap(start, bytes, 0);
	w.away[w.nr_away++] = (struct trace_range){ start, start + whole(bytes) };
	return true;
}

static bool
do_mmap(uint32_t stack)
{
	const uint64_t at = some_page(), bytes = some_bytes(at);
	const uint64_t flags =
		MAP_PRIVATE | MAP_ANONYMOUS | (some(2) ? MAP_FIXED : 0) | MAP_NORESERVE;
	const struct trace_entry c = { TRACE_MMAP, { at, bytes, PROT_READ | PROT_WRITE, flags } };
	const uint64_t result =
		result_of(syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0));

	stack = stack_for(bytes, stack);
	if (trace_error(TRACE_MMAP, result))
		return FAIL("cannot map: error %d", trace_error(TRACE_MMAP, result));
	tag(result, result + whole(bytes), stack);
	want_map(stack, whole(bytes));
	/* The filters of the kernel keep only those small ones that may replace something. */
	if ((stack != TRACE_NO_STACK || flags & MAP_FIXED) && !report(c, result, stack))
		return false;
	return keep_away(result, bytes);
}

/* Now and then with an address that the kernel refuses. */
static bool
do_munmap(uint32_t stack)
{
	const uint64_t at = some_page();

	return some(10) ? unmap(at, some_bytes(at), stack) : unmap(at + 1, page_bytes, stack);
}

/* Both mappings stay: the old one gets its tags again, the new one has been mapped by STACK. */
static void
tag_both(const uint64_t *arg, uint64_t result, const uint32_t *owners, uint32_t stack)
{
	for (uint64_t i = 0; i < whole(arg[1]); i += page_bytes)
		tag(arg[0] + i, arg[0] + i + page_bytes, owners[i / page_bytes]);
	tag(result, result + whole(arg[2]), stack);
	want_map(stack, whole(arg[2]));
}

static void
tag_remapped(const uint64_t *arg, uint64_t result, const uint32_t *owners, uint32_t stack)
{
	const uint64_t old = whole(arg[1]), new = whole(arg[2]);

	if (arg[3] & MREMAP_DONTUNMAP) {
		tag_both(arg, result, owners, stack);
	} else if (new > old) {
		tag(result + old, result + new, stack);
		want_map(stack, new - old);
	} else {
		want_unmap(stack, old - new);
	}
}

/* A mremap() that fails may have unmapped something before (mm/mremap.c, mremap_to()). */
static bool
unmap_rest(const uint64_t *arg)
{
	if (!(arg[3] & MREMAP_FIXED))
		return true;
	if (whole(arg[1]) > whole(arg[2]) &&
		!unmap(arg[0] + whole(arg[2]), whole(arg[1]) - whole(arg[2]), 1))
		return false;
	return unmap(arg[4], arg[2], 1);
}

/*
 * Since Linux 6.17 mremap() moves mappings with gaps between them, and leaves what is at the new
 * place of a gap.  Gaps cannot be seen in arguments, so such calls are not made.
 */
static bool
has_gap(uint64_t start, uint64_t end)
{
	char byte;

	for (uint64_t at = start; at < end; at += page_bytes)
		if (pread(memory, &byte, 1, (off_t)at) != 1)
			return true;
	return false;
}

/* ARG is old address, old size, new size, flags, new address. */
static bool
remap(const uint64_t *arg, uint32_t stack, bool *ret_is_done)
{
	const struct trace_entry c = { TRACE_MREMAP, { arg[0], arg[1], arg[2], arg[3] } };
	uint32_t owners[NR_PAGES];
	uint64_t result;

	for (size_t i = 0; i < NR_PAGES; i++)
		owners[i] = owner_at(arg[0] + i * page_bytes);
	result = result_of(syscall(SYS_mremap, arg[0], arg[1], arg[2], arg[3], arg[4]));
	stack = stack_for(arg[1] > arg[2] ? arg[1] : arg[2], stack);
	*ret_is_done = !trace_error(TRACE_MREMAP, result);
	if (!*ret_is_done)
		return report(c, result, stack) && unmap_rest(arg);
	tag_remapped(arg, result, owners, stack);
	return report(c, result, stack) && keep_away(result, arg[2]);
}

static bool
do_mremap(uint32_t stack)
{
	const uint64_t at = some_page(), to = some_page(), kind = some(4);
	uint64_t arg[5] = { at, some_bytes(at), some_bytes(at), 0, 0 }; /* it may grow there */
	bool is_done;

	if (kind == 1)
		arg[3] = MREMAP_MAYMOVE;
	if (kind > 1) {
		arg[2] = some_bytes(to);
		arg[3] = MREMAP_MAYMOVE | MREMAP_FIXED;
		arg[4] = to;
	}
	if (kind && some(4) == 0) {
		arg[1] = arg[2];
		if (at + whole(arg[1]) <= ZONE + NR_PAGES * page_bytes)
			arg[3] |= MREMAP_DONTUNMAP;
	}
	if (whole(arg[1]) == whole(arg[2]) && has_gap(at, at + whole(arg[1])))
		return true;
	return remap(arg, stack, &is_done);
}

/* Bring a mapping from elsewhere to the zone, or unmap it. */
static bool
do_away(uint32_t stack)
{
	const size_t i = w.nr_away ? some(w.nr_away) : 0;
	const struct trace_range r = w.away[i];
	uint64_t arg[5] = { r.start, r.end - r.start, 0, MREMAP_MAYMOVE | MREMAP_FIXED,
		some_page() };
	bool is_done;

	if (!w.nr_away)
		return true;
	arg[2] = some_bytes(arg[4]);
	w.away[i] = w.away[--w.nr_away];
	if (some(2))
		return unmap(arg[0], arg[1], stack);
	return remap(arg, stack, &is_done) && (is_done || unmap(arg[0], arg[1], stack));
}

static bool
do_madvise(uint32_t stack)
{
	const uint64_t at = some_page(), bytes = w.min_bytes + some_bytes(at);
	const struct trace_entry c = { TRACE_MADVISE, { at, bytes, MADV_DONTNEED } };

	w.want[stack].nr_discards++;
	w.want[stack].discarded_bytes += bytes;
	return report(c, 0, stack); /* not made: it would remove the tags */
}

/* ---- the heap ---- */

static bool
move_break(uint64_t to, uint32_t stack)
{
	const uint64_t old = (uint64_t)syscall(SYS_brk, 0);
	const uint64_t result = (uint64_t)syscall(SYS_brk, to);
	const struct trace_entry c = { TRACE_BRK, { to } };
	uint32_t owner;

	if (to && result != to)
		return FAIL("cannot move the break");
	if (whole(result) > whole(old)) {
		owner = stack_for(whole(result) - whole(old), stack);
		tag(whole(old), whole(result), owner);
		want_map(owner, whole(result) - whole(old));
	} else {
		owner = stack_for(whole(old) - whole(result), stack);
		want_unmap(owner, whole(old) - whole(result));
	}
	/* No filter knows its size. */
	return report(c, result, stack);
}

static bool
do_brk(uint32_t stack)
{
	const uint64_t heap = whole(w.heap);

	return move_break(some(5) ? heap + some(HEAP_PAGES * page_bytes) : 0, stack);
}

/* Before anything else: malloc() must not want more of the heap later. */
static void
fill_malloc(void)
{
	void *block;

	mallopt(M_TOP_PAD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	block = malloc(1 << 16);
	*(volatile char *)block = 0;
	free(block);
}

/* ---- a run ---- */

static bool
step(void)
{
	const uint32_t stack = (uint32_t)some(NR_STACKS);

	switch (some(10)) {
	case 0:
	case 1:
	case 2:
		return do_mmap(stack);
	case 3:
	case 4:
		return do_munmap(stack);
	case 5:
	case 6:
		return do_mremap(stack);
	case 7:
		return do_away(stack);
	case 8:
		return do_brk(stack);
	default:
		return do_madvise(stack);
	}
}

static bool
end(void)
{
	bool is_good = unmap(ZONE, NR_PAGES * page_bytes, 0) && move_break(w.heap, 0);

	while (is_good && w.nr_away) {
		w.nr_away--;
		is_good = unmap(w.away[w.nr_away].start,
			w.away[w.nr_away].end - w.away[w.nr_away].start, 0);
	}
	return is_good && (!w.p.ledger.nr || FAIL("the ledger is not empty at the end"));
}

/* After a failure, nothing is accounted any more. */
static void
clean_up(void)
{
	syscall(SYS_munmap, ZONE, NR_PAGES * page_bytes);
	for (size_t i = 0; i < w.nr_away; i++)
		syscall(SYS_munmap, w.away[i].start, w.away[i].end - w.away[i].start);
	syscall(SYS_brk, w.heap);
}

static bool
try(void)
{
	bool is_good;

	memset(&w, 0, sizeof w);
	w.p.stacks.v = calloc(NR_STACKS, sizeof *w.p.stacks.v);
	w.p.stacks.nr = NR_STACKS;
	w.min_bytes = some(3) ? 0 : some(5 * page_bytes);
	w.heap = (uint64_t)syscall(SYS_brk, 0);
	is_good = move_break(0, 0); /* from now on it is known */
	for (size_t i = 0; i < STEPS && is_good; i++)
		is_good = step() && (i % 10 || is_right("a step"));
	is_good = is_good && is_right("the last step") && end();
	clean_up();
	ledger_release(&w.p.ledger);
	free(w.p.stacks.v);
	free(w.p.segments.v);
	return is_good;
}

/* ---- page faults ---- */

static void
test_faults(void)
{
	struct trace_stack stacks[2] = { { 0 } };
	struct trace_program p = { .stacks = { .v = stacks, .nr = 2, .room = 2 } };
	struct err e;

	for (uint64_t i = 0; i < 100; i++)
		if (trace_account_fault(&p, i * page_bytes, i % 4 == 0, 3, i % 10 == 0, &e) < 0)
			abort();
	is_u64(p.touches.nr, 100, "each fault is noted");
	is_u64(stacks[0].sums.nr_minor + stacks[1].sums.nr_minor, 90 * 3, "minor faults");
	is_u64(stacks[1].sums.nr_major, 5 * 3, "major faults of the second stack");
	is_u64(stacks[0].sums.touched_bytes, 75 * 3 * page_bytes, "bytes that were touched");
	is_u64(p.touches.v[99].address, 99 * page_bytes, "the address of the last one");
	free(p.touches.v);
}

/* ---- System V segments ---- */

/* ID was attached at AT by STACK, as it comes to us later: its bytes, or -1 if it is not known. */
static int64_t
attached(struct trace_program *p, int id, uint64_t at, uint32_t stack)
{
	const struct trace_entry c = { TRACE_SHMAT, { (uint64_t)id, 0, 0 } };
	struct trace_effect effect;
	struct err e;

	if (trace_account(p, &c, at, stack, 0, &effect, &e) < 0)
		abort();
	return effect.is_size_unknown ? -1 : (int64_t)effect.bytes;
}

/* Attach ID at ADDRESS (0: anywhere), as STACK. */
static uint64_t
attach(struct trace_program *p, int id, uint64_t address, uint32_t stack)
{
	const int flags = address ? SHM_REMAP : 0;
	const uint64_t at = (uint64_t)(uintptr_t)shmat(id, (void *)(uintptr_t)address, flags);

	attached(p, id, at, stack);
	return at;
}

/* How many bytes went, as the effect says; calls of less than MIN_BYTES are not wanted. */
static uint64_t
detach_min(struct trace_program *p, uint64_t at, uint32_t stack, uint64_t min_bytes)
{
	const struct trace_entry c = { TRACE_SHMDT, { at } };
	const uint64_t result = result_of(shmdt((void *)(uintptr_t)at));
	struct trace_effect effect;
	struct err e;

	if (trace_account(p, &c, result, stack, min_bytes, &effect, &e) < 0)
		abort();
	return effect.bytes;
}

static uint64_t
detach(struct trace_program *p, uint64_t at, uint32_t stack)
{
	return detach_min(p, at, stack, 0);
}

static uint64_t
left(const struct trace_program *p, size_t stack)
{
	return p->stacks.v[stack].sums.mapped_bytes - p->stacks.v[stack].sums.freed_bytes;
}

/*
 * A large segment, and a small one that takes its place: what is detached then is the small one,
 * and what lies behind stays.
 */
static void
test_replaced_segment(struct trace_program *p, int large, int small)
{
	const uint64_t at = attach(p, large, 0, 0);
	const struct trace_entry c = { TRACE_MUNMAP, { at, 8 * page_bytes } };
	struct trace_effect effect;
	struct err e;

	is_u64(left(p, 0), 8 * page_bytes, "a segment is of who attaches it");
	syscall(SYS_munmap, at, 8 * page_bytes);
	if (trace_account(p, &c, 0, 1, 0, &effect, &e) < 0)
		abort();
	is_u64(left(p, 0), 0, "munmap() takes a segment away");
	is_u64(attach(p, large, at, 0), at, "the segment is attached once more");
	is_u64(attach(p, -1, at, 1), UINT64_MAX, "there is no such segment");
	is_u64(left(p, 0), 8 * page_bytes, "a call that fails takes nothing away");
	is_u64(attach(p, small, at, 1), at, "a smaller segment replaces a part");
	is_u64(left(p, 0), 6 * page_bytes, "the rest of the large segment stays");
	is_u64(detach(p, at, 1), 2 * page_bytes, "the small segment is detached");
	is_u64(left(p, 1), 0, "the small segment is gone");
	is_u64(left(p, 0), 6 * page_bytes, "the rest of the large one stays, still");
	syscall(SYS_munmap, at, 8 * page_bytes);
}

/* What the process has done since the call is not taken for what the call did. */
static void
test_late_segment(struct trace_program *p, int large, int small)
{
	const int gone = shmget(IPC_PRIVATE, 4 * page_bytes, 0600);
	char *at = shmat(large, NULL, 0), *other;

	shmdt(at);
	ok(attached(p, large, (uint64_t)(uintptr_t)at, 0) == (int64_t)(8 * page_bytes),
		"a segment that was detached again has its size");
	detach(p, (uint64_t)(uintptr_t)at, 0);
	other = shmat(small, at, 0);
	ok(other == at &&
			attached(p, large, (uint64_t)(uintptr_t)at, 0) == (int64_t)(8 * page_bytes),
		"one in whose place another one is attached now has its own size");
	ok(attached(p, small, (uint64_t)(uintptr_t)at, 1) == (int64_t)(2 * page_bytes),
		"and so has the other");
	mprotect(at, page_bytes, PROT_READ);
	ok(attached(p, small, (uint64_t)(uintptr_t)at, 1) == (int64_t)(2 * page_bytes),
		"one that is protected in part has all of its size");
	detach(p, (uint64_t)(uintptr_t)at, 1);
	at = shmat(gone, NULL, 0);
	shmdt(at);
	shmctl(gone, IPC_RMID, NULL);
	ok(attached(p, gone, (uint64_t)(uintptr_t)at, 0) == -1,
		"the size of one that was removed is unknown");
}

/* A segment below the least size that is wanted goes, and its call is in no sum. */
static void
test_small_segment(struct trace_program *p, int small)
{
	const uint64_t at = attach(p, small, 0, 0);
	const uint64_t nr = p->stacks.v[1].sums.nr_unmaps, left_bytes = left(p, 0);

	is_u64(detach_min(p, at, 1, 2 * page_bytes + 1), 2 * page_bytes,
		"a segment below the least size is detached");
	is_u64(p->stacks.v[1].sums.nr_unmaps, nr,
		"shmdt() of less than the least size is in no sum");
	is_u64(left(p, 0), left_bytes - 2 * page_bytes,
		"a segment below the least size is not left after shmdt()");
	attach(p, small, at, 0);
	detach_min(p, at, 1, 2 * page_bytes);
	is_u64(p->stacks.v[1].sums.nr_unmaps, nr + 1, "shmdt() of the least size is counted");
}

/* A call that fails takes nothing away, whatever its arguments say. */
static void
test_failed_munmap(struct trace_program *p)
{
	const uint64_t at = ZONE;
	const struct trace_entry map = { TRACE_MMAP, { at, 4 * page_bytes, 3, 0 } };
	const struct trace_entry unmap = { TRACE_MUNMAP, { at, 4 * page_bytes } };
	const uint64_t nr_failed = p->stacks.v[1].sums.nr_failed;
	const uint64_t nr_unmaps = p->stacks.v[1].sums.nr_unmaps;
	const uint64_t left_bytes = left(p, 0);
	struct trace_effect effect;
	struct err e;

	if (trace_account(p, &map, at, 0, 0, &effect, &e) < 0 ||
		trace_account(p, &unmap, (uint64_t)-ENOMEM, 1, 0, &effect, &e) < 0)
		abort();
	is_u64(left(p, 0), left_bytes + 4 * page_bytes, "what munmap() failed to unmap is left");
	is_u64(p->stacks.v[1].sums.nr_unmaps, nr_unmaps, "a munmap() that failed unmaps nothing");
	is_u64(p->stacks.v[1].sums.nr_failed, nr_failed + 1, "a munmap() that failed is counted");
	if (trace_account(p, &unmap, 0, 1, 0, &effect, &e) < 0)
		abort();
	is_u64(left(p, 0), left_bytes, "a second munmap() takes it away");
}

static void
test_segments(void)
{
	const int large = shmget(IPC_PRIVATE, 8 * page_bytes, 0600);
	const int small = shmget(IPC_PRIVATE, 2 * page_bytes - 7, 0600);
	struct trace_program *p = trace_program_new(getpid());
	const uint64_t heap = (uint64_t)syscall(SYS_brk, 0), more = whole(heap) + page_bytes;
	const uint64_t kept = (uint64_t)(uintptr_t)shmat(large, NULL, 0);
	const uint64_t kept_small = (uint64_t)(uintptr_t)shmat(small, NULL, 0);
	struct err e;

	/* They go when nobody has them attached. */
	shmctl(large, IPC_RMID, NULL);
	shmctl(small, IPC_RMID, NULL);
	if (!p || kept == UINT64_MAX || kept_small == UINT64_MAX) {
		skip("segments", "no System V shared memory here");
		trace_program_free(p);
		return;
	}
	p->stacks.v = calloc(2, sizeof *p->stacks.v);
	p->stacks.nr = p->stacks.room = 2;
	syscall(SYS_brk, more); /* a sanitizer's malloc() has no heap */
	trace_program_open(p);
	if (ok(p->is_open, "this program can be read") &&
		ok(trace_account_begin(p, &e) == 0, "what it has from before is noted")) {
		is_u64(p->brk, more, "the end of its heap");
		test_replaced_segment(p, large, small);
		test_late_segment(p, large, small);
		is_u64(detach(p, kept, 1), 8 * page_bytes, "a segment from before is detached");
		is_u64(detach(p, kept, 1), 0, "only once");
		is_u64(p->stacks.v[1].sums.nr_failed, 2, "two calls have failed");
		test_small_segment(p, small);
		test_failed_munmap(p);
	}
	detach(p, kept_small, 1);
	trace_program_free(p);
	syscall(SYS_brk, heap);
}

int
main(int argc, char **argv)
{
	fill_malloc();
	page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (!ok(memory >= 0, "this program's memory"))
		return tap_end();
	seeds_try(seeds_of(argc, argv, 100), try, "the ledger has what the kernel has mapped");
	test_faults();
	test_segments();
	return tap_end();
}
