#include <config.h>

#include "stack/rules.h"

#include <string.h>

/* DWARF_NUM_PRESERVED_REGS of libunwind 1.2 to 1.8 (include/tdep-ARCH/dwarf-config.h). */
#if defined __aarch64__
#define NR_COLUMNS 97
#else
#define NR_COLUMNS 17
#endif

struct rules_program {
	const uint8_t *at, *end;
	bool is_sound;
	bool has_cfa; /* the CFA is defined */
};

/* ---- operands ---- */

static void
skip(struct rules_program *p, uint64_t bytes)
{
	if (bytes > (uint64_t)(p->end - p->at))
		p->is_sound = false;
	else
		p->at += bytes;
}

/* Read a signed or unsigned number: ten bytes have the 64 bits that libunwind keeps. */
static uint64_t
read_leb128(struct rules_program *p)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 70 && p->at < p->end; shift += 7) {
		const uint8_t byte = *p->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	p->is_sound = false;
	return 0;
}

static void check_expression(struct rules_program *p);

/*
 * Read operands.  OPERANDS has a character for each: c for a column, b for a block with an
 * expression, l for LEB128, 1 to 8 for a number of bytes.  NULL: the instruction is unknown or not
 * allowed.
 */
static void
read_operands(struct rules_program *p, const char *operands)
{
	if (!operands)
		p->is_sound = false;
	for (; operands && *operands && p->is_sound; operands++)
		switch (*operands) {
		case 'c':
			if (read_leb128(p) >= NR_COLUMNS)
				p->is_sound = false;
			break;
		case 'b':
			check_expression(p);
			break;
		case 'l':
			read_leb128(p);
			break;
		default:
			skip(p, (uint64_t)(*operands - '0'));
		}
}

/* ---- expressions (DWARF 5, 2.5) ---- */

/*
 * Return the operands of OP.  Jumps are not allowed, so that an expression ends; nor is DW_OP_div,
 * because dividing the smallest number by -1 traps.
 */
static const char *
operands_of_operation(uint8_t op)
{
	static const char *const operands[] = {
		[0x03] = "8",	       /* addr */
		[0x06] = "",	       /* deref */
		[0x08 ... 0x09] = "1", /* const1u, const1s */
		[0x0a ... 0x0b] = "2", /* const2u, const2s */
		[0x0c ... 0x0d] = "4", /* const4u, const4s */
		[0x0e ... 0x0f] = "8", /* const8u, const8s */
		[0x10 ... 0x11] = "l", /* constu, consts */
		[0x12 ... 0x14] = "",  /* dup, drop, over */
		[0x15] = "1",	       /* pick */
		[0x16 ... 0x17] = "",  /* swap, rot */
		[0x19 ... 0x1a] = "",  /* abs, and */
		[0x1c ... 0x22] = "",  /* minus to plus */
		[0x23] = "l",	       /* plus_uconst */
		[0x24 ... 0x27] = "",  /* shl to xor */
		[0x29 ... 0x2e] = "",  /* eq to ne */
		[0x30 ... 0x6f] = "",  /* lit, reg */
		[0x70 ... 0x8f] = "l", /* breg */
		[0x90] = "l",	       /* regx */
		[0x92] = "ll",	       /* bregx */
		[0x94] = "1",	       /* deref_size */
		[0x96] = "",	       /* nop */
	};

	return op < sizeof operands / sizeof *operands ? operands[op] : NULL;
}

static void
check_expression(struct rules_program *p)
{
	const uint64_t bytes = read_leb128(p);
	struct rules_program inner = *p;

	skip(p, bytes);
	if (!p->is_sound)
		return;
	inner.end = p->at;
	while (inner.is_sound && inner.at < inner.end)
		read_operands(&inner, operands_of_operation(*inner.at++));
	p->is_sound = inner.is_sound;
}

/* ---- instructions (DWARF 5, 6.4.2; LSB, "DWARF Extensions") ---- */

enum { ADVANCE = 0x40, OFFSET = 0x80, RESTORE = 0xc0 };
enum { REMEMBER_STATE = 0x0a };

/*
 * Return the operands of OP.  DW_CFA_set_loc, and the instructions whose operands libunwind does
 * not skip, are not allowed.
 */
static const char *
operands_of_instruction(uint8_t op)
{
	static const char *const operands[] = {
		[0x00] = "",		/* nop */
		[0x02] = "1",		/* advance_loc1 */
		[0x03] = "2",		/* advance_loc2 */
		[0x04] = "4",		/* advance_loc4 */
		[0x05] = "cl",		/* offset_extended */
		[0x06 ... 0x08] = "c",	/* restore_extended, undefined, same_value */
		[0x09] = "cc",		/* register */
		[0x0a ... 0x0b] = "",	/* remember_state, restore_state */
		[0x0c] = "cl",		/* def_cfa */
		[0x0d] = "c",		/* def_cfa_register */
		[0x0e] = "l",		/* def_cfa_offset */
		[0x0f] = "b",		/* def_cfa_expression */
		[0x10] = "cb",		/* expression */
		[0x11 ... 0x12] = "cl", /* offset_extended_sf, def_cfa_sf */
		[0x13] = "l",		/* def_cfa_offset_sf */
		[0x16] = "cb",		/* val_expression */
		[0x2d] = "",		/* AARCH64_negate_ra_state */
		[0x2e] = "l",		/* GNU_args_size */
		[0x2f] = "cl",		/* GNU_negative_offset_extended */
	};

	switch (op & RESTORE) {
	case ADVANCE:
		return "";
	case OFFSET:
		return (op & ~RESTORE) < NR_COLUMNS ? "l" : NULL;
	case RESTORE:
		return (op & ~RESTORE) < NR_COLUMNS ? "" : NULL;
	}
	return op < sizeof operands / sizeof *operands ? operands[op] : NULL;
}

static bool
is_advance(uint8_t op)
{
	return (op & RESTORE) == ADVANCE || (op >= 0x02 && op <= 0x04);
}

/* Return whether OP is def_cfa, def_cfa_register, def_cfa_expression or def_cfa_sf. */
static bool
defines_cfa(uint8_t op)
{
	return op == 0x0c || op == 0x0d || op == 0x0f || op == 0x12;
}

/*
 * Check a sequence of instructions.  HAS_CFA: the CFA was defined before.  IS_CIE: the instructions
 * do not apply to an address yet.
 */
static bool
is_program_sound(const uint8_t *at, size_t bytes, bool is_cie, bool *has_cfa)
{
	struct rules_program p = { at, at + bytes, bytes <= STACK_RULES_MAX_BYTES, *has_cfa };

	while (p.is_sound && p.at < p.end) {
		const uint8_t op = *p.at++;

		if (!p.has_cfa && (op == REMEMBER_STATE || (!is_cie && is_advance(op))))
			return false;
		read_operands(&p, operands_of_instruction(op));
		p.has_cfa |= defines_cfa(op);
	}
	*has_cfa = p.has_cfa;
	return p.is_sound;
}

bool
stack_rules_are_sound(const struct stack_rules *r)
{
	bool has_cfa = false;

	return r->return_column < NR_COLUMNS &&
		is_program_sound(r->cie, r->cie_bytes, true, &has_cfa) &&
		is_program_sound(r->fde, r->fde_bytes, false, &has_cfa) && has_cfa;
}
