/*
 * Random walks that are kept: they are found unless something that they have read has changed.  And
 * stacks of random calls of this process, as a trace copies them, some of them damaged: a walker
 * that keeps walks finds what a new walker finds.
 */
#include <config.h>

#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>
#include <ucontext.h>

#include "elf/objects.h"
#include "elf/regions.h"
#include "os/target.h"
#include "seeds.h"
#include "stack/memo.h"
#include "stack/stack.h"

#define COPY_BYTES 16384

static struct target target = TARGET_NONE;
static struct regions maps;
static struct stack kept, fresh;
static uint64_t regs[STACK_MAX_REGS];
static char copy[COPY_BYTES];

/* ---- kept walks ---- */

#define NR_READ 6   /* registers, and words, that a walk reads */
#define NR_BEYOND 2 /* words after the copy */

/* What a walk has read. */
static struct reads {
	size_t nr_regs, nr_words, nr_beyond;
	size_t reg[NR_READ], word[NR_READ]; /* indices */
	size_t beyond[NR_BEYOND];	    /* offsets from SP */
} reads;
/* On the stack of this process, which SP is in. */
static char *area;

static void
note_walk(struct memo *m, const struct stack_source *s)
{
	reads = (struct reads){ some(NR_READ), some(NR_READ), some(NR_BEYOND + 1) };
	for (size_t i = 0; i < reads.nr_regs; i++) {
		reads.reg[i] = some(STACK_MAX_REGS);
		memo_note_register(m, (int)reads.reg[i], regs[reads.reg[i]]);
	}
	for (size_t i = 0; i < reads.nr_words; i++) {
		uint64_t word;

		reads.word[i] = some(s->copy_bytes / 8);
		memcpy(&word, copy + 8 * reads.word[i], sizeof word);
		memo_note_word(m, s->sp.v + 8 * reads.word[i], word);
	}
	for (size_t i = 0; i < reads.nr_beyond; i++) {
		reads.beyond[i] = s->copy_bytes + 8 * some(64);
		memo_note_beyond(m, s->sp.v + reads.beyond[i]);
	}
}

static bool
is_one_of(const size_t *v, size_t nr, size_t n)
{
	for (size_t i = 0; i < nr; i++)
		if (v[i] == n)
			return true;
	return false;
}

/* Change something.  Whether the walk has not read it. */
static bool
change(struct stack_source *s)
{
	const size_t reg = some(2) && reads.nr_regs ? reads.reg[0] : some(STACK_MAX_REGS);
	const size_t word = some(2) && reads.nr_words ? reads.word[0] : some(s->copy_bytes / 8);
	const size_t was_bytes = s->copy_bytes;
	bool is_unread = true;

	switch (some(4)) {
	case 0:
		regs[reg]++;
		return !is_one_of(reads.reg, reads.nr_regs, reg);
	case 1:
		copy[8 * word + some(8)]++;
		return !is_one_of(reads.word, reads.nr_words, word);
	case 2: /* the copy is shorter or longer */
		s->copy_bytes = some(2 * was_bytes);
		for (size_t i = 0; i < reads.nr_words; i++)
			is_unread &= 8 * reads.word[i] + 8 <= s->copy_bytes;
		for (size_t i = 0; i < reads.nr_beyond; i++)
			is_unread &= reads.beyond[i] + 8 > s->copy_bytes;
		return is_unread;
	default:
		return true;
	}
}

static void
make_result(void)
{
	fresh.nr = some(20);
	fresh.is_complete = some(2);
	fresh.is_cut = some(2);
	fresh.is_beyond = some(2);
	for (size_t i = 0; i < fresh.nr; i++)
		fresh.frame[i] =
			(struct stack_frame){ { some(1000) }, { some(1000) }, some(2), some(2) };
}

static bool
are_equal(void)
{
	if (kept.nr != fresh.nr || kept.is_complete != fresh.is_complete ||
		kept.is_cut != fresh.is_cut || kept.is_beyond != fresh.is_beyond)
		return FAIL("%zu frames, not %zu", kept.nr, fresh.nr);
	for (size_t i = 0; i < kept.nr; i++) {
		const struct stack_frame *a = &kept.frame[i], *b = &fresh.frame[i];

		if (a->pc.v != b->pc.v || a->sp.v != b->sp.v || a->is_signal != b->is_signal ||
			a->is_guess != b->is_guess)
			return FAIL("frame %zu is at %#llx, not %#llx", i,
				(unsigned long long)a->pc.v, (unsigned long long)b->pc.v);
	}
	return true;
}

static bool
walk_is_kept(void)
{
	struct memo *m = memo_new();
	struct stack_source s = { .regs = regs,
		.sp = { (uintptr_t)area },
		.copy = copy,
		.copy_bytes = 8 * (1 + some(100)),
		.maps = &maps,
		.is_past = true };
	const uint64_t pc = some(1000);
	const bool is_spoiled = some(8) == 0;
	bool is_right, is_unread, is_found;

	for (size_t i = 0; i < STACK_MAX_REGS; i++)
		regs[i] = some(1000);
	for (size_t i = 0; i < 1024; i++)
		copy[i] = (char)some(256);
	is_right = !memo_find(m, &s, pc, &kept) || FAIL("a walk is found that was not made");
	note_walk(m, &s);
	if (is_spoiled)
		memo_spoil(m);
	make_result();
	memo_keep(m, &fresh);
	is_unread = change(&s);
	is_found = memo_find(m, &s, pc, &kept);
	memo_free(m);
	if (is_found != (is_unread && !is_spoiled))
		return FAIL("a walk is %s", is_found ? "found in spite of a change" : "not found");
	return is_right && (!is_found || are_equal());
}

/* ---- walks of this process ---- */

#define NR_STACKS 40 /* for each seed: 2 * 3 paths, so most are repeated */

#if defined __x86_64__

static struct objects objects;
static struct walker *keeper;
static size_t copy_bytes;
static bool is_same, is_damaged;
static size_t nr_complete;

static void
compare_walks(void)
{
	const struct stack_source s = { .regs = regs,
		.sp = { regs[offsetof(struct user_regs_struct, rsp) / 8] },
		.copy = copy,
		.copy_bytes = some(8) ? copy_bytes : some(copy_bytes),
		.maps = &maps,
		.is_past = true };
	struct walker *w;
	struct err e;

	if (walker_new(&w, &target, &objects, &e) < 0)
		exit(99);
	stack_walk_far(keeper, &s, &kept);
	stack_walk_far(w, &s, &fresh);
	nr_complete += fresh.is_complete;
	is_same = is_same && are_equal();
	walker_free(w);
}

/* Change a word of what the walk may read: on the stack, or a register. */
static void
damage(void)
{
	const size_t at = some(2) ? some(64) : some(copy_bytes / 8);
	uint64_t word;

	memcpy(&word, copy + at * 8, sizeof word);
	switch (some(3)) {
	case 0:
		word += 8 * (some(7) - 3);
		break;
	case 1:
		word ^= UINT64_C(1) << some(64);
		break;
	default:
		word = some(1 << 20);
	}
	if (some(4))
		memcpy(copy + at * 8, &word, sizeof word);
	else
		regs[some(17)] += 8 * (some(3) - 1);
}

/* Take what a trace gets: registers in the order of NT_PRSTATUS, and the stack. */
#define UNCHECKED __attribute__((noinline, no_sanitize("address", "undefined")))

static void UNCHECKED
copy_words(uint64_t from)
{
	const volatile char *bytes = (const volatile char *)from;
	const struct region *stack = regions_find(&maps, (raddr){ from });

	copy_bytes = stack->end.v - from < COPY_BYTES ? stack->end.v - from : COPY_BYTES;
	for (size_t i = 0; i < copy_bytes; i++)
		copy[i] = bytes[i];
}

static void UNCHECKED
take_stack(void)
{
	struct user_regs_struct u = { 0 };
	ucontext_t c;

	if (getcontext(&c) < 0)
		exit(99);
	u.rbx = (uint64_t)c.uc_mcontext.gregs[REG_RBX];
	u.rbp = (uint64_t)c.uc_mcontext.gregs[REG_RBP];
	u.r12 = (uint64_t)c.uc_mcontext.gregs[REG_R12];
	u.r13 = (uint64_t)c.uc_mcontext.gregs[REG_R13];
	u.r14 = (uint64_t)c.uc_mcontext.gregs[REG_R14];
	u.r15 = (uint64_t)c.uc_mcontext.gregs[REG_R15];
	u.rsp = (uint64_t)c.uc_mcontext.gregs[REG_RSP];
	u.rip = (uint64_t)c.uc_mcontext.gregs[REG_RIP];
	memcpy(regs, &u, sizeof u);
	copy_words(u.rsp);
	if (is_damaged)
		damage();
	compare_walks();
}

/* Two functions with frames of different kinds, and any path through them. */
static void one(unsigned int path);
static void (*volatile call_one)(unsigned int) = one;

static void UNCHECKED
two(unsigned int path)
{
	volatile char *frame = alloca(8 + (path & 1) * 200);

	frame[0] = 1;
	call_one(path >> 1);
	frame[0] = 2;
}

static void (*volatile call_two)(unsigned int) = two;

static void UNCHECKED
one(unsigned int path)
{
	volatile unsigned int keep = path;

	if (path <= 1)
		take_stack();
	else if (path & 1)
		call_two(path >> 1);
	else
		call_one(path >> 1);
	keep++;
}

static bool
walks_are_the_same(void)
{
	unsigned int path[3];

	is_same = true;
	for (int i = 0; i < 3; i++)
		path[i] = 1 + (unsigned int)some(200);
	for (int i = 0; i < NR_STACKS && is_same; i++) {
		is_damaged = some(2);
		(some(2) ? call_one : call_two)(path[some(3)]);
	}
	return is_same;
}

static void
test_walks(struct seeds seeds)
{
	struct err e = { 0 };

	if (objects_find(&objects, &maps, &target, NULL, NULL, &e) < 0 ||
		walker_new(&keeper, &target, &objects, &e) < 0)
		exit(99);
	seeds_try(seeds, walks_are_the_same, "a walk is the same with earlier walks and without");
	ok(nr_complete > 0, "%zu walks were complete", nr_complete);
	walker_free(keeper);
	objects_release(&objects);
}

#else

static void
test_walks(struct seeds seeds)
{
	(void)seeds;
	skip("walks of this process", "registers are taken on x86-64 only");
}

#endif

int
main(int argc, char **argv)
{
	char on_stack[4096];
	struct err e = { 0 };

	area = on_stack;
	if (target_open(&target, getpid(), &e) < 0 || regions_read(&maps, &target, &e) < 0)
		exit(99);
	seeds_try(seeds_of(argc, argv, 20000), walk_is_kept,
		"a walk is found unless something that it has read has changed");
	test_walks(seeds_of(argc, argv, 100));
	regions_release(&maps);
	target_release(&target);
	return tap_end();
}
