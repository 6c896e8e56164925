#include <config.h>

#include "unwind/program.h"

enum {
	DW_CFA_advance_loc = 0x40, /* these three have an operand in their low bits */
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,
	DW_CFA_MIPS_advance_loc8 = 0x1d,
	/*
	 * Toggles whether the return address is signed. unwind_strip() removes a signature wherever
	 * one may be present.
	 */
	DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
	DW_CFA_AARCH64_negate_ra_state = 0x2d,
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,
};

/* Compilers remember one state at a time. */
#define MAX_REMEMBERED 4

struct program_run {
	const struct unwind_program *p;
	struct bytes b;
	struct unwind_row *row;
	const struct unwind_row *initial; /* row after the CIE's instructions; NULL before */
	struct unwind_row *remembered;
	unsigned int nr_remembered;
	uint64_t at, pc;
	bool is_bad;
};

struct bytes
unwind_row_expression(const struct unwind_row *row, unsigned int r)
{
	struct bytes b = { (const uint8_t *)(uintptr_t)row->at[r], row->end, false };
	const uint64_t size = bytes_unsigned_leb(&b);

	return bytes_part(&b, size);
}

/* Set the rule of REG.  Registers that are not general ones (vectors, masks) are ignored. */
static void
program_set(struct program_run *r, uint64_t reg, enum unwind_how how, int64_t at)
{
	if (reg >= UNWIND_NR_REGS)
		return;
	r->row->how[reg] = (uint8_t)how;
	r->row->at[reg] = at;
}

static void
set_scaled(struct program_run *r, uint64_t reg, enum unwind_how how, int64_t factored)
{
	program_set(r, reg, how, (int64_t)((uint64_t)factored * (uint64_t)r->p->data_align));
}

static void
set_expression(struct program_run *r, uint64_t reg, enum unwind_how how)
{
	const uint8_t *at = r->b.at;

	bytes_skip(&r->b, bytes_unsigned_leb(&r->b));
	program_set(r, reg, how, (int64_t)(uintptr_t)at);
}

static void
restore(struct program_run *r, uint64_t reg)
{
	if (!r->initial)
		r->is_bad = true;
	else if (reg < UNWIND_NR_REGS)
		program_set(r, reg, r->initial->how[reg], r->initial->at[reg]);
}

static void
set_cfa(struct program_run *r, uint64_t reg, int64_t at)
{
	r->row->has_cfa_expression = false;
	r->row->cfa_reg = reg < UNWIND_NR_REGS ? (uint16_t)reg : UNWIND_NR_REGS;
	r->row->cfa_at = at;
}

static void
set_cfa_at(struct program_run *r, int64_t at)
{
	r->is_bad |= r->row->has_cfa_expression;
	r->row->cfa_at = at;
}

static void
set_cfa_register(struct program_run *r, uint64_t reg)
{
	r->is_bad |= r->row->has_cfa_expression;
	set_cfa(r, reg, r->row->cfa_at);
}

static void
set_cfa_expression(struct program_run *r)
{
	const uint64_t size = bytes_unsigned_leb(&r->b);

	r->row->cfa_expression = bytes_part(&r->b, size);
	r->row->has_cfa_expression = true;
}

static void
remember(struct program_run *r)
{
	if (r->nr_remembered == MAX_REMEMBERED)
		r->is_bad = true;
	else
		r->remembered[r->nr_remembered++] = *r->row;
}

static void
recall(struct program_run *r)
{
	if (r->nr_remembered)
		*r->row = r->remembered[--r->nr_remembered];
	else
		r->is_bad = true;
}

static int64_t
program_scaled(const struct program_run *r, int64_t factored)
{
	return (int64_t)((uint64_t)factored * (uint64_t)r->p->data_align);
}

/* Run an instruction whose operand is a register. */
static void
run_register_op(struct program_run *r, uint8_t op)
{
	struct bytes *b = &r->b;
	const uint64_t reg = bytes_unsigned_leb(b);

	switch (op) {
	case DW_CFA_offset_extended:
		set_scaled(r, reg, HOW_OFFSET, (int64_t)bytes_unsigned_leb(b));
		break;
	case DW_CFA_offset_extended_sf:
		set_scaled(r, reg, HOW_OFFSET, bytes_signed_leb(b));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_scaled(r, reg, HOW_OFFSET, -(int64_t)bytes_unsigned_leb(b));
		break;
	case DW_CFA_val_offset:
		set_scaled(r, reg, HOW_VALUE, (int64_t)bytes_unsigned_leb(b));
		break;
	case DW_CFA_val_offset_sf:
		set_scaled(r, reg, HOW_VALUE, bytes_signed_leb(b));
		break;
	case DW_CFA_restore_extended:
		restore(r, reg);
		break;
	case DW_CFA_undefined:
		program_set(r, reg, HOW_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		program_set(r, reg, HOW_SAME, 0);
		break;
	case DW_CFA_register:
		program_set(r, reg, HOW_REGISTER, (int64_t)bytes_unsigned_leb(b));
		break;
	case DW_CFA_expression:
		set_expression(r, reg, HOW_EXPRESSION);
		break;
	case DW_CFA_val_expression:
		set_expression(r, reg, HOW_VALUE_EXPRESSION);
		break;
	case DW_CFA_def_cfa:
		set_cfa(r, reg, (int64_t)bytes_unsigned_leb(b));
		break;
	case DW_CFA_def_cfa_sf:
		set_cfa(r, reg, program_scaled(r, bytes_signed_leb(b)));
		break;
	case DW_CFA_def_cfa_register:
		set_cfa_register(r, reg);
		break;
	default:
		r->is_bad = true;
	}
}

static void
program_advance(struct program_run *r, uint64_t factored)
{
	r->at += factored * r->p->code_align;
}

static void
run_op(struct program_run *r, uint8_t op)
{
	struct bytes *b = &r->b;

	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		r->at = bytes_pointer(b, r->p->pointer_encoding, 0);
		break;
	case DW_CFA_advance_loc1:
		program_advance(r, bytes_number(b, 1));
		break;
	case DW_CFA_advance_loc2:
		program_advance(r, bytes_number(b, 2));
		break;
	case DW_CFA_advance_loc4:
		program_advance(r, bytes_number(b, 4));
		break;
	case DW_CFA_MIPS_advance_loc8:
		program_advance(r, bytes_number(b, 8));
		break;
	case DW_CFA_remember_state:
		remember(r);
		break;
	case DW_CFA_restore_state:
		recall(r);
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa_at(r, (int64_t)bytes_unsigned_leb(b));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_at(r, program_scaled(r, bytes_signed_leb(b)));
		break;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(r);
		break;
	case DW_CFA_GNU_args_size:
		bytes_unsigned_leb(b);
		break;
	case DW_CFA_AARCH64_negate_ra_state:
	case DW_CFA_AARCH64_negate_ra_state_with_pc:
		break;
	default:
		run_register_op(r, op);
	}
}

/* Run the instructions of B until the address exceeds PC, or to the end. */
static bool
unwind_program_run(struct program_run *r, struct bytes b)
{
	r->b = b;
	while (r->b.at < r->b.end && r->at <= r->pc && !r->is_bad) {
		const uint8_t op = bytes_byte(&r->b), low = op & 0x3f;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			program_advance(r, low);
			break;
		case DW_CFA_offset:
			set_scaled(r, low, HOW_OFFSET, (int64_t)bytes_unsigned_leb(&r->b));
			break;
		case DW_CFA_restore:
			restore(r, low);
			break;
		default:
			run_op(r, op);
		}
	}
	return !r->is_bad && !r->b.is_bad;
}

bool
unwind_run(const struct unwind_program *p, uint64_t pc, struct unwind_row *row)
{
	struct unwind_row initial, remembered[MAX_REMEMBERED];
	struct program_run r = {
		.p = p, .row = row, .remembered = remembered, .at = p->start, .pc = pc
	};

	row->has_cfa_expression = false;
	row->cfa_reg = UNWIND_NR_REGS;
	row->cfa_at = 0;
	for (int i = 0; i < UNWIND_NR_REGS; i++) {
		row->how[i] = HOW_SAME;
		row->at[i] = 0;
	}
	if (!unwind_program_run(&r, p->initial))
		return false;
	initial = *row;
	r.initial = &initial;
	return unwind_program_run(&r, p->own);
}
