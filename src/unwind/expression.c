#include <config.h>

#include "unwind/expression.h"

#include "unwind/unwind-priv.h"

#define STACK_DEPTH 16
/*
 * Limit on executed operations: no real expression is longer, and a jump backwards may make a loop.
 */
#define MAX_OPERATIONS 256

enum {
	DW_OP_addr = 0x03,
	DW_OP_deref = 0x06,
	DW_OP_const1u = 0x08,
	DW_OP_const1s = 0x09,
	DW_OP_const2u = 0x0a,
	DW_OP_const2s = 0x0b,
	DW_OP_const4u = 0x0c,
	DW_OP_const4s = 0x0d,
	DW_OP_const8u = 0x0e,
	DW_OP_const8s = 0x0f,
	DW_OP_constu = 0x10,
	DW_OP_consts = 0x11,
	DW_OP_dup = 0x12,
	DW_OP_drop = 0x13,
	DW_OP_over = 0x14,
	DW_OP_pick = 0x15,
	DW_OP_swap = 0x16,
	DW_OP_rot = 0x17,
	DW_OP_abs = 0x19,
	DW_OP_and = 0x1a,
	DW_OP_div = 0x1b,
	DW_OP_minus = 0x1c,
	DW_OP_mod = 0x1d,
	DW_OP_mul = 0x1e,
	DW_OP_neg = 0x1f,
	DW_OP_not = 0x20,
	DW_OP_or = 0x21,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_shl = 0x24,
	DW_OP_shr = 0x25,
	DW_OP_shra = 0x26,
	DW_OP_xor = 0x27,
	DW_OP_bra = 0x28,
	DW_OP_eq = 0x29,
	DW_OP_ge = 0x2a,
	DW_OP_gt = 0x2b,
	DW_OP_le = 0x2c,
	DW_OP_lt = 0x2d,
	DW_OP_ne = 0x2e,
	DW_OP_skip = 0x2f,
	DW_OP_lit0 = 0x30,
	DW_OP_lit31 = 0x4f,
	DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f,
	DW_OP_bregx = 0x92,
	DW_OP_deref_size = 0x94,
	DW_OP_nop = 0x96,
};

struct expression_machine {
	struct unwind_context *c;
	const uint8_t *start;
	struct bytes b;
	uint64_t v[STACK_DEPTH];
	unsigned int nr;
	bool is_bad;
};

UNWIND_UNCHECKED bool
unwind_read(const struct unwind_context *c, uint64_t at, uint64_t *ret)
{
	if (at < c->bounds.start || at > c->bounds.end || c->bounds.end - at < sizeof *ret ||
		!unwind_may_read(c->checker, at))
		return false;
	__builtin_memcpy(ret, (const void *)(uintptr_t)at, sizeof *ret);
	return true;
}

static void
push(struct expression_machine *m, uint64_t v)
{
	if (m->nr < STACK_DEPTH)
		m->v[m->nr++] = v;
	else
		m->is_bad = true;
}

static uint64_t
pop(struct expression_machine *m)
{
	if (m->nr)
		return m->v[--m->nr];
	m->is_bad = true;
	return 0;
}

/* Element DEPTH of the stack, counted from the top. */
static uint64_t
pick(struct expression_machine *m, unsigned int depth)
{
	if (depth < m->nr)
		return m->v[m->nr - 1 - depth];
	m->is_bad = true;
	return 0;
}

static void
push_register(struct expression_machine *m, uint64_t r, int64_t offset)
{
	if (r >= UNWIND_NR_REGS || !(m->c->known >> r & 1)) {
		m->is_bad = true;
		return;
	}
	m->c->used |= UINT64_C(1) << r;
	push(m, m->c->reg[r] + (uint64_t)offset);
}

static void
dereference(struct expression_machine *m, size_t size)
{
	uint64_t v = 0;

	if (!size || size > sizeof v || !unwind_read(m->c, pop(m), &v))
		m->is_bad = true;
	m->c->has_read = true;
	if (size < sizeof v)
		v &= (UINT64_C(1) << 8 * size) - 1;
	push(m, v);
}

static void
jump(struct expression_machine *m, int64_t by)
{
	const int64_t to = m->b.at - m->start + by;

	if (to < 0 || to > m->b.end - m->start)
		m->is_bad = true;
	else
		m->b.at = m->start + to;
}

static uint64_t
expression_divide(struct expression_machine *m, int64_t a, int64_t b)
{
	if (b == 0 || (b == -1 && a == INT64_MIN)) {
		m->is_bad = true;
		return 0;
	}
	return (uint64_t)(a / b);
}

/* Compute A OP B, with both operands from the stack. */
static bool
binary(struct expression_machine *m, uint8_t op)
{
	uint64_t a, b, v = 0;

	if (op < DW_OP_and || op > DW_OP_ne || op == DW_OP_neg || op == DW_OP_not ||
		op == DW_OP_plus_uconst || op == DW_OP_bra)
		return false;
	b = pop(m);
	a = pop(m);
	switch (op) {
	case DW_OP_and:
		v = a & b;
		break;
	case DW_OP_div:
		v = expression_divide(m, (int64_t)a, (int64_t)b);
		break;
	case DW_OP_minus:
		v = a - b;
		break;
	case DW_OP_mod:
		if (b)
			v = a % b;
		else
			m->is_bad = true;
		break;
	case DW_OP_mul:
		v = a * b;
		break;
	case DW_OP_or:
		v = a | b;
		break;
	case DW_OP_plus:
		v = a + b;
		break;
	case DW_OP_shl:
		v = b < 64 ? a << b : 0;
		break;
	case DW_OP_shr:
		v = b < 64 ? a >> b : 0;
		break;
	case DW_OP_shra:
		v = (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
		break;
	case DW_OP_xor:
		v = a ^ b;
		break;
	case DW_OP_eq:
		v = a == b;
		break;
	case DW_OP_ge:
		v = (int64_t)a >= (int64_t)b;
		break;
	case DW_OP_gt:
		v = (int64_t)a > (int64_t)b;
		break;
	case DW_OP_le:
		v = (int64_t)a <= (int64_t)b;
		break;
	case DW_OP_lt:
		v = (int64_t)a < (int64_t)b;
		break;
	case DW_OP_ne:
		v = a != b;
		break;
	}
	push(m, v);
	return true;
}

/* Push a constant that follows its opcode or is part of it. */
static bool
constant(struct expression_machine *m, uint8_t op)
{
	struct bytes *b = &m->b;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(m, op - DW_OP_lit0);
		return true;
	}
	switch (op) {
	case DW_OP_addr:
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(m, bytes_number(b, 8));
		break;
	case DW_OP_const1u:
		push(m, bytes_number(b, 1));
		break;
	case DW_OP_const1s:
		push(m, (uint64_t)bytes_signed(b, 1));
		break;
	case DW_OP_const2u:
		push(m, bytes_number(b, 2));
		break;
	case DW_OP_const2s:
		push(m, (uint64_t)bytes_signed(b, 2));
		break;
	case DW_OP_const4u:
		push(m, bytes_number(b, 4));
		break;
	case DW_OP_const4s:
		push(m, (uint64_t)bytes_signed(b, 4));
		break;
	case DW_OP_constu:
		push(m, bytes_unsigned_leb(b));
		break;
	case DW_OP_consts:
		push(m, (uint64_t)bytes_signed_leb(b));
		break;
	default:
		return false;
	}
	return true;
}

static void
rotate(struct expression_machine *m)
{
	const uint64_t a = pop(m), b = pop(m), c = pop(m);

	push(m, a);
	push(m, c);
	push(m, b);
}

static void
expression_swap(struct expression_machine *m)
{
	const uint64_t a = pop(m), b = pop(m);

	push(m, a);
	push(m, b);
}

static void
other(struct expression_machine *m, uint8_t op)
{
	uint64_t v;
	int64_t by;

	switch (op) {
	case DW_OP_nop:
		break;
	case DW_OP_dup:
		push(m, pick(m, 0));
		break;
	case DW_OP_drop:
		pop(m);
		break;
	case DW_OP_over:
		push(m, pick(m, 1));
		break;
	case DW_OP_pick:
		push(m, pick(m, bytes_byte(&m->b)));
		break;
	case DW_OP_swap:
		expression_swap(m);
		break;
	case DW_OP_rot:
		rotate(m);
		break;
	case DW_OP_deref:
		dereference(m, 8);
		break;
	case DW_OP_deref_size:
		dereference(m, bytes_byte(&m->b));
		break;
	case DW_OP_abs:
		v = pop(m);
		push(m, (int64_t)v < 0 ? -v : v);
		break;
	case DW_OP_neg:
		push(m, -pop(m));
		break;
	case DW_OP_not:
		push(m, ~pop(m));
		break;
	case DW_OP_plus_uconst:
		push(m, pop(m) + bytes_unsigned_leb(&m->b));
		break;
	case DW_OP_skip:
		jump(m, bytes_signed(&m->b, 2));
		break;
	case DW_OP_bra:
		by = bytes_signed(&m->b, 2);
		if (pop(m))
			jump(m, by);
		break;
	case DW_OP_bregx:
		v = bytes_unsigned_leb(&m->b);
		push_register(m, v, bytes_signed_leb(&m->b));
		break;
	default:
		if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
			push_register(m, op - DW_OP_breg0, bytes_signed_leb(&m->b));
		else
			m->is_bad = true;
	}
}

bool
unwind_evaluate(
	struct unwind_context *c, struct bytes expression, const uint64_t *initial, uint64_t *ret)
{
	struct expression_machine m;

	m.c = c;
	m.start = expression.at;
	m.b = expression;
	m.nr = 0;
	m.is_bad = false;
	if (initial)
		push(&m, *initial);
	for (int n = 0; m.b.at < m.b.end; n++) {
		uint8_t op = bytes_byte(&m.b);

		if (!constant(&m, op) && !binary(&m, op))
			other(&m, op);
		if (m.is_bad || n == MAX_OPERATIONS)
			return false;
	}
	if (m.b.is_bad || !m.nr)
		return false;
	*ret = m.v[m.nr - 1];
	return true;
}
