/*
 * Call frame instructions and expressions: each by itself, damaged ones, and random programs, of
 * which the one that makes them says what they come to.
 */
#include <config.h>

#include <string.h>

#include "unwind/cache.h"
#include "unwind/expression.h"
#include "unwind/program.h"
#include "unwind/rule.h"
#include "unwind/unwind-priv.h"
#include "draw.h"
#include "tap.h"

#define START 0x1000

/* ---- one program ---- */

static struct unwind_row row;

static bool
run_programs(const uint8_t *initial, size_t initial_bytes, const uint8_t *own, size_t own_bytes,
	uint64_t pc)
{
	const struct unwind_program p = {
		.initial = { initial, initial + initial_bytes, false },
		.own = { own, own + own_bytes, false },
		.code_align = 1,
		.data_align = -8,
		.start = START,
	};

	row.ra = UNWIND_RA;
	row.is_signal = false;
	row.end = own + own_bytes;
	return unwind_run(&p, pc, &row);
}

/* def_cfa rsp, 8; offset rip, -8: what all CIEs of x86-64 have. */
static const uint8_t usual[] = { 0x0c, 7, 8, 0x80 + 16, 1 };

#define RUN(pc, ...)                                                                               \
	({                                                                                         \
		static const uint8_t own_[] = { __VA_ARGS__ };                                     \
		run_programs(usual, sizeof usual, own_, sizeof own_, pc);                          \
	})
#define IS_CFA(r, a) (!row.has_cfa_expression && row.cfa_reg == (r) && row.cfa_at == (a))
#define IS(r, h, a) (row.how[r] == (h) && row.at[r] == (a))

static void
test_instructions(void)
{
	ok(RUN(START, 0) && IS_CFA(7, 8) && IS(16, HOW_OFFSET, -8) && IS(6, HOW_SAME, 0), "nop");
	ok(RUN(START + 1, 0x41, 0x0e, 16) && IS_CFA(7, 16), "advance_loc, def_cfa_offset");
	ok(RUN(START, 0x41, 0x0e, 16) && IS_CFA(7, 8), "a row begins at its address");
	ok(RUN(START + 255, 0x02, 255, 0x0e, 16) && IS_CFA(7, 16), "advance_loc1");
	ok(RUN(START + 254, 0x02, 255, 0x0e, 16) && IS_CFA(7, 8), "and not before");
	ok(RUN(START + 0x1234, 0x03, 0x34, 0x12, 0x0e, 16) && IS_CFA(7, 16), "advance_loc2");
	ok(RUN(START + 0x12345, 0x04, 0x45, 0x23, 1, 0, 0x0e, 16) && IS_CFA(7, 16), "advance_loc4");
	ok(RUN(START + 0x12345, 0x1d, 0x45, 0x23, 1, 0, 0, 0, 0, 0, 0x0e, 16) && IS_CFA(7, 16),
		"MIPS_advance_loc8");
	ok(RUN(0x2000, 0x01, 0, 0x20, 0, 0, 0, 0, 0, 0, 0x0e, 16) && IS_CFA(7, 16), "set_loc");
	ok(RUN(START, 0x0c, 6, 16) && IS_CFA(6, 16), "def_cfa");
	ok(RUN(START, 0x12, 6, 0x7e) && IS_CFA(6, 16), "def_cfa_sf");
	ok(RUN(START, 0x0d, 6) && IS_CFA(6, 8), "def_cfa_register");
	ok(RUN(START, 0x13, 0x7d) && IS_CFA(7, 24), "def_cfa_offset_sf");
	ok(RUN(START, 0x0f, 2, 0x76, 0) && row.has_cfa_expression &&
			row.cfa_expression.end - row.cfa_expression.at == 2,
		"def_cfa_expression");
	ok(RUN(START, 0x86, 2) && IS(6, HOW_OFFSET, -16), "offset");
	ok(RUN(START, 0x05, 6, 3) && IS(6, HOW_OFFSET, -24), "offset_extended");
	ok(RUN(START, 0x11, 6, 0x7f) && IS(6, HOW_OFFSET, 8), "offset_extended_sf");
	ok(RUN(START, 0x2f, 6, 2) && IS(6, HOW_OFFSET, 16), "GNU_negative_offset_extended");
	ok(RUN(START, 0x14, 6, 2) && IS(6, HOW_VALUE, -16), "val_offset");
	ok(RUN(START, 0x15, 6, 0x7e) && IS(6, HOW_VALUE, 16), "val_offset_sf");
	ok(RUN(START, 0x09, 6, 3) && IS(6, HOW_REGISTER, 3), "register");
	ok(RUN(START, 0x10, 6, 2, 0x76, 0) && row.how[6] == HOW_EXPRESSION &&
			*unwind_row_expression(&row, 6).at == 0x76,
		"expression");
	ok(RUN(START, 0x16, 6, 1, 0x30) && row.how[6] == HOW_VALUE_EXPRESSION &&
			*unwind_row_expression(&row, 6).at == 0x30,
		"val_expression");
	ok(RUN(START, 0x86, 2, 0x07, 6) && IS(6, HOW_UNDEFINED, 0), "undefined");
	ok(RUN(START, 0x86, 2, 0x08, 6) && IS(6, HOW_SAME, 0), "same_value");
	ok(RUN(START, 0x86, 2, 0xc6) && IS(6, HOW_SAME, 0), "restore");
	ok(RUN(START, 0x90, 9, 0x06, 16) && IS(16, HOW_OFFSET, -8), "restore_extended");
	ok(RUN(START, 0x0a, 0x0e, 64, 0x86, 2, 0x0b) && IS_CFA(7, 8) && IS(6, HOW_SAME, 0),
		"remember_state and restore_state");
	ok(RUN(START, 0x2e, 0x80, 1, 0x0e, 16) && IS_CFA(7, 16), "GNU_args_size");
	ok(RUN(START, 0x2d, 0x0e, 16) && IS_CFA(7, 16), "AARCH64_negate_ra_state");
	ok(RUN(START, 0x05, 77, 3, 0x0e, 16) && IS_CFA(7, 16), "a vector register is passed over");
}

static void
test_damage(void)
{
	ok(!RUN(START, 0x0b), "restore_state without a state");
	ok(!RUN(START, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a), "too many states");
	ok(!RUN(START, 0x3f), "an unknown instruction");
	ok(!RUN(START, 0x0e), "an operand that is missing");
	ok(!RUN(START, 0x0e, 0x80, 0x80), "a number without an end");
	ok(!RUN(START, 0x0f, 100, 0), "an expression without an end");
	ok(!RUN(START, 0x0f, 1, 0x30, 0x0e, 8), "an offset of an expression");
	ok(!run_programs((const uint8_t[]){ 0xc6 }, 1, usual, 0, START), "restore in a CIE");
}

/* ---- expressions ---- */

static bool
value_of(const uint8_t *expression, size_t bytes, uint64_t *ret)
{
	static uint64_t stack[8] = { 1, 2, 3, 0x1122334455667788 };
	struct unwind_context c = { .known = 1u << UNWIND_SP | 1u << UNWIND_FP,
		.bounds = { (uintptr_t)stack, (uintptr_t)(stack + 8) } };

	c.reg[UNWIND_SP] = (uintptr_t)stack;
	c.reg[UNWIND_FP] = 100;
	return unwind_evaluate(&c, (struct bytes){ expression, expression + bytes, false },
		&(uint64_t){ 1000 }, ret);
}

static void
test_expressions(void)
{
	static const struct {
		const char *name;
		uint8_t bytes[12], nr;
		bool is_bad;
		uint64_t want;
	} cases[] = {
		{ "nothing: what was there", { 0 }, 0, false, 1000 },
		{ "lit, plus", { 0x35, 0x22 }, 2, false, 1005 },
		{ "breg", { 0x76, 0x7c }, 2, false, 96 },
		{ "bregx", { 0x92, 6, 0x7c }, 3, false, 96 },
		{ "breg, deref", { 0x77, 8, 0x06 }, 3, false, 2 },
		{ "deref_size", { 0x77, 24, 0x94, 2 }, 4, false, 0x7788 },
		{ "const1u", { 0x08, 0xff }, 2, false, 255 },
		{ "const1s", { 0x09, 0xff }, 2, false, UINT64_MAX },
		{ "const2u", { 0x0a, 0xff, 0xff }, 3, false, 65535 },
		{ "const2s", { 0x0b, 0xff, 0xff }, 3, false, UINT64_MAX },
		{ "const4u", { 0x0c, 0xff, 0xff, 0xff, 0xff }, 5, false, UINT32_MAX },
		{ "const4s", { 0x0d, 0xff, 0xff, 0xff, 0xff }, 5, false, UINT64_MAX },
		{ "const8u", { 0x0e, 1, 0, 0, 0, 0, 0, 0, 1 }, 9, false, 0x100000000000001 },
		{ "constu", { 0x10, 0x80, 1 }, 3, false, 128 },
		{ "consts", { 0x11, 0x7f }, 2, false, UINT64_MAX },
		{ "dup, mul", { 0x12, 0x1e }, 2, false, 1000000 },
		{ "lit, drop", { 0x30, 0x13 }, 2, false, 1000 },
		{ "over", { 0x30, 0x14 }, 2, false, 1000 },
		{ "pick", { 0x30, 0x31, 0x15, 2 }, 4, false, 1000 },
		{ "swap", { 0x30, 0x16 }, 2, false, 1000 },
		{ "rot", { 0x31, 0x32, 0x17 }, 3, false, 1 },
		{ "neg, abs", { 0x1f, 0x19 }, 2, false, 1000 },
		{ "not", { 0x20 }, 1, false, ~UINT64_C(1000) },
		{ "and", { 0x38, 0x1a }, 2, false, 8 },
		{ "or", { 0x31, 0x21 }, 2, false, 1001 },
		{ "xor", { 0x38, 0x27 }, 2, false, 992 },
		{ "div", { 0x37, 0x1b }, 2, false, 142 },
		{ "mod", { 0x37, 0x1d }, 2, false, 6 },
		{ "minus", { 0x31, 0x1c }, 2, false, 999 },
		{ "plus_uconst", { 0x23, 0x80, 1 }, 3, false, 1128 },
		{ "shl", { 0x32, 0x24 }, 2, false, 4000 },
		{ "shr", { 0x32, 0x25 }, 2, false, 250 },
		{ "shra of less than 0", { 0x1f, 0x32, 0x26 }, 3, false, (uint64_t)-250 },
		{ "eq", { 0x12, 0x29 }, 2, false, 1 },
		{ "ne", { 0x12, 0x2e }, 2, false, 0 },
		{ "ge", { 0x12, 0x2a }, 2, false, 1 },
		{ "gt", { 0x12, 0x2b }, 2, false, 0 },
		{ "le", { 0x12, 0x2c }, 2, false, 1 },
		{ "lt", { 0x12, 0x2d }, 2, false, 0 },
		{ "skip", { 0x2f, 1, 0, 0x31 }, 4, false, 1000 },
		{ "bra", { 0x31, 0x28, 1, 0, 0x31 }, 5, false, 1000 },
		{ "bra that is not taken", { 0x30, 0x28, 1, 0, 0x31 }, 5, false, 1 },
		{ "nop", { 0x96 }, 1, false, 1000 },
		{ "a loop", { 0x2f, 0xfd, 0xff }, 3, true, 0 },
		{ "a jump out of it", { 0x2f, 100, 0 }, 3, true, 0 },
		{ "what is unknown", { 0x70, 0 }, 2, true, 0 },
		{ "nothing on the stack", { 0x13, 0x22 }, 2, true, 0 },
		{ "a word outside of the stack", { 0x77, 0x78, 0x06 }, 3, true, 0 },
		{ "a division by 0", { 0x30, 0x1b }, 2, true, 0 },
		{ "an unknown operation", { 0xff }, 1, true, 0 },
		{ "an operand that is missing", { 0x08 }, 1, true, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t value = 0;
		const bool is_good = value_of(cases[i].bytes, cases[i].nr, &value);

		ok(is_good == !cases[i].is_bad && value == cases[i].want, "%s", cases[i].name);
	}
}

/* ---- rules ---- */

static bool
is_rule(unwind_rule rule, enum unwind_kind kind, bool is_from_fp, int32_t cfa_at, uint16_t fp_at)
{
	return rule == unwind_rule_make(kind, is_from_fp, cfa_at, fp_at, 1);
}

static void
test_rules(void)
{
	RUN(START, 0x0e, 48, 0x86, 2);
	ok(is_rule(unwind_rule_of(&row, START), RULE_PLAIN, false, 48, 2), "rsp and a saved rbp");
	RUN(START, 0x0c, 6, 16, 0x86, 2);
	ok(is_rule(unwind_rule_of(&row, START), RULE_PLAIN, true, 16, 2), "rbp");
	RUN(START, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	ok(is_rule(unwind_rule_of(&row, 0x100a), RULE_PLAIN, false, 8, 0),
		"a PLT entry's beginning");
	ok(is_rule(unwind_rule_of(&row, 0x100b), RULE_PLAIN, false, 16, 0), "and its end");
	RUN(START, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
	ok(is_rule(unwind_rule_of(&row, START), RULE_REALIGNED, true, -8, 0), "a realigned stack");
	RUN(START, 0x07, 16);
	ok(unwind_rule_kind(unwind_rule_of(&row, START)) == RULE_OUTERMOST, "an undefined rip");
	RUN(START, 0x0d, 3);
	ok(unwind_rule_kind(unwind_rule_of(&row, START)) == RULE_ODD, "rbx");
	RUN(START, 0x09, 6, 3);
	ok(unwind_rule_kind(unwind_rule_of(&row, START)) == RULE_ODD, "rbp in a register");
	RUN(START, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x10);
	ok(unwind_rule_kind(unwind_rule_of(&row, START)) == RULE_ODD, "a number that is too large");
}

/* ---- random programs ---- */

#define MAX_BYTES 4096
#define NR_MODELLED 17

struct model {
	unsigned int cfa_reg;
	int64_t cfa_at;
	struct {
		enum unwind_how how;
		int64_t at;
	} reg[NR_MODELLED];
};

struct maker {
	uint8_t byte[MAX_BYTES];
	size_t nr;
	struct model now, initial, remembered[4], want;
	unsigned int nr_remembered;
	uint64_t at, pc;
};

static void
put(struct maker *m, uint64_t byte)
{
	m->byte[m->nr++] = (uint8_t)byte;
}

/* Sometimes longer than it needs to be. */
static void
put_unsigned(struct maker *m, uint64_t v)
{
	while (v > 127) {
		put(m, (v & 127) | 128);
		v >>= 7;
	}
	if (draw(8) == 0) {
		put(m, v | 128);
		v = 0;
	}
	put(m, v);
}

static void
put_signed(struct maker *m, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		put(m, ((uint64_t)v & 127) | 128);
	put(m, (uint64_t)v & 127);
}

static void
put_register(struct maker *m)
{
	const unsigned int r = (unsigned int)draw(NR_MODELLED), other = (unsigned int)draw(16);
	const int64_t n = (int64_t)draw(5000);

	switch (draw(9)) {
	case 0:
		put(m, 0x80 + r);
		put_unsigned(m, (uint64_t)n);
		m->now.reg[r].how = HOW_OFFSET;
		m->now.reg[r].at = -8 * n;
		break;
	case 1:
		put(m, 0x11);
		put_unsigned(m, r);
		put_signed(m, n - 2500);
		m->now.reg[r].how = HOW_OFFSET;
		m->now.reg[r].at = -8 * (n - 2500);
		break;
	case 2:
		put(m, 0x14);
		put_unsigned(m, r);
		put_unsigned(m, (uint64_t)n);
		m->now.reg[r].how = HOW_VALUE;
		m->now.reg[r].at = -8 * n;
		break;
	case 3:
		put(m, 0x09);
		put_unsigned(m, r);
		put_unsigned(m, other);
		m->now.reg[r].how = HOW_REGISTER;
		m->now.reg[r].at = other;
		break;
	case 4:
		put(m, 0x07);
		put_unsigned(m, r);
		m->now.reg[r].how = HOW_UNDEFINED;
		m->now.reg[r].at = 0;
		break;
	case 5:
		put(m, 0x08);
		put_unsigned(m, r);
		m->now.reg[r].how = HOW_SAME;
		m->now.reg[r].at = 0;
		break;
	case 6:
		put(m, 0xc0 + r);
		m->now.reg[r] = m->initial.reg[r];
		break;
	case 7:
		put(m, 0x06);
		put_unsigned(m, r);
		m->now.reg[r] = m->initial.reg[r];
		break;
	default:
		put(m, 0x05);
		put_unsigned(m, 17 + draw(100)); /* a vector register */
		put_unsigned(m, (uint64_t)n);
	}
}

static void
put_cfa(struct maker *m)
{
	const unsigned int r = (unsigned int)draw(16);
	const int64_t n = (int64_t)draw(100000);

	switch (draw(5)) {
	case 0:
		put(m, 0x0c);
		put_unsigned(m, r);
		put_unsigned(m, (uint64_t)n);
		m->now.cfa_reg = r;
		m->now.cfa_at = n;
		break;
	case 1:
		put(m, 0x0d);
		put_unsigned(m, r);
		m->now.cfa_reg = r;
		break;
	case 2:
		put(m, 0x0e);
		put_unsigned(m, (uint64_t)n);
		m->now.cfa_at = n;
		break;
	case 3:
		put(m, 0x13);
		put_signed(m, n - 50000);
		m->now.cfa_at = -8 * (n - 50000);
		break;
	default:
		put(m, 0x12);
		put_unsigned(m, r);
		put_signed(m, n - 50000);
		m->now.cfa_reg = r;
		m->now.cfa_at = -8 * (n - 50000);
	}
}

static void
put_advance(struct maker *m)
{
	const uint64_t by = draw(3) ? draw(64) : draw(60000);

	if (m->at <= m->pc)
		m->want = m->now;
	if (by < 64 && draw(2)) {
		put(m, 0x40 + by);
	} else if (by < 256) {
		put(m, 0x02);
		put(m, by);
	} else {
		put(m, 0x03);
		put(m, by);
		put(m, by >> 8);
	}
	m->at += by;
}

static void
put_any(struct maker *m)
{
	switch (draw(8)) {
	case 0:
	case 1:
		put_advance(m);
		break;
	case 2:
	case 3:
		put_cfa(m);
		break;
	case 4:
		if (m->nr_remembered < 4) {
			put(m, 0x0a);
			m->remembered[m->nr_remembered++] = m->now;
		}
		break;
	case 5:
		if (m->nr_remembered) {
			put(m, 0x0b);
			m->now = m->remembered[--m->nr_remembered];
		}
		break;
	default:
		put_register(m);
	}
}

static bool
is_wanted(const struct model *want)
{
	if (row.has_cfa_expression || row.cfa_reg != want->cfa_reg || row.cfa_at != want->cfa_at)
		return false;
	for (unsigned int i = 0; i < NR_MODELLED; i++)
		if (row.how[i] != want->reg[i].how || row.at[i] != want->reg[i].at)
			return false;
	return true;
}

static bool
one_random(void)
{
	struct maker m = { .at = START, .pc = START + draw(20000) };

	m.now.cfa_reg = 7;
	m.now.cfa_at = 8;
	m.now.reg[16].how = HOW_OFFSET;
	m.now.reg[16].at = -8;
	m.initial = m.now;
	for (uint64_t n = draw(100); n > 0; n--)
		put_any(&m);
	if (m.at <= m.pc)
		m.want = m.now;
	return run_programs(usual, sizeof usual, m.byte, m.nr, m.pc) && is_wanted(&m.want);
}

static void
test_random(void)
{
	const int nr = tap_share(200000);
	int nr_right = 0;

	for (int i = 1; i <= nr; i++) {
		seed = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
		nr_right += one_random();
	}
	ok(nr_right == nr, "%d of %d random programs come to what they should", nr_right, nr);
}

/* ---- rules of one word ---- */

/* A number below BELOW, often next to a power of two. */
static uint64_t
draw_edge(uint64_t below)
{
	const uint64_t n = draw(4) ? (UINT64_C(1) << draw(48)) + draw(3) - 1 : draw(below);

	return n % below;
}

/* One word holds all plain rules with offsets that are small and of whole words, for one key. */
static bool
one_word(uint64_t *ret_nr_fit)
{
	const enum unwind_kind kind = draw(8) ? RULE_PLAIN : (enum unwind_kind)draw(7);
	const int32_t cfa_at = (int32_t)(draw_edge(1 << 19) - 8 * draw(2));
	const uint16_t fp_at = draw(2) ? (uint16_t)draw_edge(1 << 16) : 0;
	const uint8_t ra_at = (uint8_t)(1 + draw_edge(255));
	const unwind_rule rule = unwind_rule_make(kind, draw(2), cfa_at, fp_at, ra_at);
	const uint64_t key = draw_edge(UINT64_C(1) << UNWIND_ADDRESS_BITS);
	const uint64_t last = (UINT64_C(1) << UNWIND_ADDRESS_BITS) - (1 << UNWIND_QUICK_BITS);
	const uint64_t word = unwind_quick_word(key, rule);
	const uint64_t bit = UINT64_C(1) << draw(UNWIND_QUICK_BITS);
	/* Another address, and one whose word is at the same place. */
	const uint64_t other = key ^ bit ^ (draw(2) ? bit << UNWIND_QUICK_BITS : 0);
	const bool fits = kind == RULE_PLAIN && cfa_at >= 0 && cfa_at % 8 == 0 &&
		cfa_at < 8 << 14 && fp_at < 256 && key < last;

	*ret_nr_fit += fits;
	if (!fits)
		return !word;
	/* Either the word is elsewhere, or it is not that of the other address. */
	return word && unwind_quick_rule(word, key) == rule &&
		(unwind_quick_of(other) != unwind_quick_of(key) || !unwind_quick_rule(word, other));
}

static void
test_words(void)
{
	static uint64_t words[1 << UNWIND_QUICK_BITS];
	const int nr = tap_share(1000000);
	uint64_t nr_fit = 0;
	int nr_right = 0;

	unwind_quick = words; /* only its addresses are compared */
	for (int i = 1; i <= nr; i++) {
		seed = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
		nr_right += one_word(&nr_fit);
	}
	unwind_quick = NULL;
	ok(nr_right == nr, "%d of %d rules are in a word if they fit", nr_right, nr);
	ok(nr_fit > (uint64_t)nr / 20, "%llu fit", (unsigned long long)nr_fit);
}

int
main(void)
{
	test_instructions();
	test_damage();
	test_expressions();
	test_rules();
	test_random();
	test_words();
	return tap_end();
}
