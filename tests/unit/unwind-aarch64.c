/*
 * The unwinder of arm64, tried on any machine: its tables are recorded, its stack and its signal
 * frame are made here.
 *
 * tests/data/unwind/aarch64 has .eh_frame_hdr and .eh_frame of a library with four functions (gcc
 * 12, -O2 -mbranch-protection=standard), of which each calls the one above:
 *
 *	0x3c0 leaf	no frame
 *	0x3d0 middle	32 bytes
 *	0x410 outer	640 bytes
 *	0x470 dynamic	its CFA is 32 above x29
 *	0x4bc		the tables
 */
#include <config.h>

#define UNWIND_AARCH64 1
/* clang-format off: in this order, nothing of it is linked */
#include "unwind/expression.c"
#include "unwind/program.c"
#undef MAX_REMEMBERED
#include "unwind/tables.c"
#include "unwind/rule.c"
#undef WORD
#include "unwind/seen.c"
#include "unwind/cache.c"
#include "unwind/step.c"
#undef WORD
#include "unwind/walk.c"
/* clang-format on */

#include <stdio.h>

#include "tap.h"

#define TABLES 0x4bc
#define LEAF 0x3c4
#define IN_MIDDLE 0x3ec
#define IN_OUTER 0x450
#define IN_DYNAMIC 0x4a0
#define TRAMPOLINE 0x380

static union {
	uint8_t byte[0x800];
	uint64_t aligned;
} image;
static uint64_t stack[1024];

/* ---- what objects.c has elsewhere ---- */

uint64_t
unwind_generation(void)
{
	return 1;
}

enum unwind_found
unwind_find_object(uintptr_t pc, struct unwind_object *ret)
{
	const uintptr_t start = (uintptr_t)&image;

	if (pc - start >= sizeof image)
		return FOUND_NONE;
	*ret = (struct unwind_object){ .start = start,
		.end = start + sizeof image,
		.header = image.byte + TABLES,
		.span = { { image.byte, image.byte + sizeof image } },
		.nr_spans = 1 };
	return FOUND;
}

void
unwind_objects_start(const struct unwind_host *h)
{
	(void)h;
}

static void *
map(size_t bytes)
{
	return calloc(1, bytes);
}

/* ---- rows ---- */

static uintptr_t
code(uintptr_t at)
{
	return (uintptr_t)&image + at;
}

static void
test_rows(void)
{
	/* As readelf --debug-dump=frames-interp has them. */
	static const struct {
		uintptr_t pc;
		unsigned int cfa_reg;
		int64_t cfa_at, fp_at, ra_at; /* 0: as it was */
	} want[] = {
		{ 0x3c0, 31, 0, 0, 0 },
		{ 0x3c8, 31, 0, 0, 0 },
		{ 0x3d4, 31, 0, 0, 0 },
		{ 0x3d8, 31, 32, -32, -24 },
		{ 0x3ec, 31, 32, -32, -24 },
		{ 0x40c, 31, 0, 0, 0 },
		{ 0x418, 31, 640, 0, 0 },
		{ 0x424, 31, 640, -640, -632 },
		{ 0x450, 31, 640, -640, -632 },
		{ 0x468, 31, 0, 0, 0 },
		{ 0x47c, 31, 32, -32, -24 },
		{ 0x488, 29, 32, -32, -24 },
		{ 0x4a0, 29, 32, -32, -24 },
		{ 0x4b8, 31, 0, 0, 0 },
	};
	struct unwind_object o;
	struct unwind_row row;

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const int64_t fp_at = want[i].fp_at, ra_at = want[i].ra_at;

		unwind_find_object(code(want[i].pc), &o);
		ok(unwind_find_row(&o, code(want[i].pc), &row) && row.ra == 30 &&
				row.cfa_reg == want[i].cfa_reg && row.cfa_at == want[i].cfa_at &&
				row.how[29] == (fp_at ? HOW_OFFSET : HOW_SAME) &&
				row.at[29] == fp_at &&
				row.how[30] == (ra_at ? HOW_OFFSET : HOW_SAME) &&
				row.at[30] == ra_at,
			"the row at %#lx", (long)want[i].pc);
	}
	unwind_find_object(code(0x3cc), &o);
	ok(!unwind_find_row(&o, code(0x3cc), &row), "no row between two functions");
	ok(unwind_strip(UINT64_C(0x0055aaaabbbbcccc) | UINT64_C(0x7f) << 56) == 0xaaaabbbbcccc,
		"a signature is taken off");
}

/* ---- a walk ---- */

/* As the processor signs a return address. */
#define SIGNED UINT64_C(0x003d000000000000)

/* The frames of middle, outer and dynamic from SP on. Returns the FP in leaf. */
static uintptr_t
make_frames(uint64_t *sp)
{
	uint64_t *outer = sp + 4, *dynamic = outer + 80, *fp = dynamic + 20;

	sp[0] = (uintptr_t)outer;
	sp[1] = code(IN_OUTER) | SIGNED;
	outer[0] = (uintptr_t)fp;
	outer[1] = code(IN_DYNAMIC) | SIGNED;
	fp[0] = 0;
	fp[1] = 0;
	return (uintptr_t)sp;
}

static bool
is_walk(const struct unwind_stack *s, const uintptr_t *want, uint32_t nr)
{
	bool is_same = s->nr == nr && s->end == UNWIND_COMPLETE;

	for (uint32_t i = 0; is_same && i < nr; i++)
		is_same = s->frame[nr - 1 - i].pc == code(want[i]);
	for (uint32_t i = 0; !is_same && i < s->nr; i++)
		printf("# %#lx\n", (long)(s->frame[s->nr - 1 - i].pc - code(0)));
	return is_same;
}

static void
test_walk(void)
{
	static const uintptr_t want[] = { LEAF, IN_MIDDLE, IN_OUTER, IN_DYNAMIC };
	const struct unwind_thread t = { .own = { (uintptr_t)stack, (uintptr_t)(stack + 1024) } };
	struct unwind_stack *s = calloc(1, unwind_stack_bytes(64));
	struct unwind_regs regs = { .pc = code(LEAF), .sp = (uintptr_t)(stack + 100) };

	unwind_stack_init(s, 64);
	regs.fp = make_frames(stack + 100);
	regs.kept[UNWIND_NR_KEPT - 1] = code(IN_MIDDLE) | SIGNED;
	unwind_from_inside(&regs);
	unwind_walk(s, &regs, &t);
	ok(is_walk(s, want, 4) && s->nr_same == 0, "a function without a frame, and three with");
	unwind_walk(s, &regs, &t);
	ok(is_walk(s, want, 4) && s->nr_same == 4, "once more: all are taken over");
	stack[100 + 4 + 1] = code(IN_DYNAMIC - 8);
	unwind_walk(s, &regs, &t);
	ok(s->nr == 4 && s->frame[0].pc == code(IN_DYNAMIC - 8) && s->nr_same == 0,
		"another return address is seen");
	free(s);
}

static void
test_signal(void)
{
	static const uintptr_t want[] = { LEAF, TRAMPOLINE, LEAF, IN_MIDDLE, IN_OUTER, IN_DYNAMIC };
	static const uint8_t trampoline[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
	const struct unwind_thread t = { .own = { (uintptr_t)stack, (uintptr_t)(stack + 1024) } };
	struct unwind_stack *s = calloc(1, unwind_stack_bytes(64));
	struct unwind_regs regs = { .pc = code(LEAF), .sp = (uintptr_t)(stack + 20) };
	uint64_t *saved = stack + 20 + (128 + 176 + 8) / 8;

	memcpy(image.byte + TRAMPOLINE, trampoline, sizeof trampoline);
	unwind_stack_init(s, 64);
	regs.fp = (uintptr_t)stack + 80;
	regs.kept[UNWIND_NR_KEPT - 1] = code(TRAMPOLINE);
	unwind_from_inside(&regs);
	saved[29] = make_frames(stack + 200);
	saved[30] = code(IN_MIDDLE) | SIGNED;
	saved[31] = (uintptr_t)(stack + 200);
	saved[32] = code(LEAF);
	unwind_walk(s, &regs, &t);
	ok(is_walk(s, want, 6), "past a signal that came into a function without a frame");
	ok((s->frame[3].how & UNWIND_EXACT) && !(s->frame[2].how & UNWIND_EXACT),
		"where it came is exact");
	free(s);
}

int
main(void)
{
	const struct unwind_host host = { .map = map };
	FILE *f = fopen(TEST_DATA "/unwind/aarch64", "r");

	ok(f && fread(image.byte + TABLES, 1, sizeof image.byte - TABLES, f) > 200, "tables");
	if (f)
		fclose(f);
	ok(unwind_start(&host), "it starts");
	test_rows();
	test_walk();
	test_signal();
	return tap_end();
}
