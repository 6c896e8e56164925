/* Unwind rules as compilers write them, and such that libunwind must not get. */
#include <config.h>

#include <dwarf.h>

#include "stack/rules.h"
#include "tap.h"

/* What gcc begins each function with: the CFA is r7 + 8, r16 is at CFA - 8. */
#define CIE "\x0c\x07\x08\x90\x01"
#define NONE ""

static bool
are_sound(const char *cie, size_t cie_bytes, const char *fde, size_t fde_bytes, uint64_t column)
{
	/* Copies of that size exactly, so that a sanitizer finds reads behind them. */
	uint8_t *c = malloc(cie_bytes + 1), *f = malloc(fde_bytes + 1);
	bool sound;

	memcpy(c + 1, cie, cie_bytes);
	memcpy(f + 1, fde, fde_bytes);
	sound = stack_rules_are_sound(
		&(struct stack_rules){ c + 1, f + 1, cie_bytes, fde_bytes, column });
	free(c);
	free(f);
	return sound;
}

#define SOUND(cie, fde, what)                                                                      \
	ok(are_sound(cie, sizeof cie - 1, fde, sizeof fde - 1, 16), "%s", what)
#define REFUSED(cie, fde, what)                                                                    \
	ok(!are_sound(cie, sizeof cie - 1, fde, sizeof fde - 1, 16), "not %s", what)

static void
sound_ones(void)
{
	SOUND(CIE, NONE, "a function without a frame");
	SOUND(CIE, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x80\x0a\xc6\x0c\x07\x08\x42\x0b\0\0",
		"a function with a frame pointer, two ends, and padding");
	SOUND(CIE, "\x0e\x10\x46\x0e\x18\x4a\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22",
		"a procedure linkage table");
	SOUND(NONE, "\x0f\x04\x77\xa0\x01\x06\x10\x08\x02\x77\x28\x10\x10\x03\x77\xa8\x01",
		"a trampoline of signals, which has its CFA in the FDE");
	SOUND("\x0c\x07\x08", "\x16\x07\x02\x77\x10\x2e\x10\x07\x10", "an undefined caller");
	ok(are_sound(CIE, sizeof CIE - 1, "\x42", 1, 0), "another column");
}

static void
refused_ones(void)
{
	ok(!are_sound(CIE, sizeof CIE - 1, NONE, 0, 200), "not a column that does not exist");
	ok(!are_sound(CIE, sizeof CIE - 1, NONE, 0, UINT64_MAX), "not the last column");
	REFUSED(NONE, NONE, "without a CFA");
	REFUSED(NONE, "\x41\x0c\x07\x08", "without a CFA at first");
	REFUSED(NONE, "\x02\x01\x0c\x07\x08", "without a CFA at first, by advance_loc1");
	REFUSED(NONE, "\x0a\x0c\x07\x08\x41\x0b", "with a state remembered without a CFA");
	REFUSED("\x0a\x0c\x07\x08\x0b", NONE, "with a CFA that is undone in the CIE");
	REFUSED(CIE, "\x09\x10\xff\x07", "in a register that does not exist");
	REFUSED(CIE, "\x09\xff\x07\x10", "of a register that does not exist");
	REFUSED(CIE, "\x09\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"with a number too long");
	REFUSED(CIE, "\x0e\x80", "with half a number");
	REFUSED(CIE, "\x04\x01\x02", "with half an advance");
	REFUSED(CIE, "\x01\0\0\0\0\0\0\0\0", "with set_loc");
	REFUSED(CIE, "\x14\x06\x02", "with val_offset, which libunwind skips without operands");
	REFUSED(CIE, "\x17", "with an unknown instruction");
	REFUSED(CIE, "\x3f", "with the last instruction");
	REFUSED(CIE, "\x0f\x03\x2f\xfd\xff", "with an expression that goes back");
	REFUSED(CIE, "\x0f\x04\x31\x28\xfc\xff", "with one that goes back if it wants to");
	REFUSED(CIE, "\x10\x06\x03\x2f\xfd\xff", "with such a one of a register");
	REFUSED(CIE, "\x16\x06\x03\x2f\xfd\xff", "with such a one of a value");
	REFUSED(CIE, "\x0f\x03\x30\x31\x1b", "with a division");
	REFUSED(CIE, "\x0f\x02\x08", "with an expression that ends behind its FDE");
	REFUSED(CIE, "\x0f\x01\x08\x00", "with an operation that ends behind its expression");
	REFUSED(CIE, "\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "with the longest expression");
	REFUSED(CIE, "\x0f\x01\x91", "with the base of a frame, which nobody knows");
}

/* The first column that libunwind does not have. */
#if defined __aarch64__
#define NO_COLUMN "\x61"
#define COLUMN "\x60"
#else
#define NO_COLUMN "\x11"
#define COLUMN "\x10"
#endif
#define NINE_BYTES "\x80\x80\x80\x80\x80\x80\x80\x80\x80"

static void
limits(void)
{
	SOUND(CIE, "\x07" COLUMN, "an undefined register, which is the last one");
	REFUSED(CIE, "\x07" NO_COLUMN, "an undefined register behind the last one");
	SOUND(CIE, "\x0e" NINE_BYTES "\x01", "an offset of ten bytes");
	REFUSED(CIE, "\x0e" NINE_BYTES "\x80\x01", "an offset of eleven bytes");
}

static void
long_ones(void)
{
	const size_t bytes = STACK_RULES_MAX_BYTES + 1;
	char *nops = calloc(1, bytes);

	ok(are_sound(CIE, sizeof CIE - 1, nops, bytes - 1, 16), "the longest");
	ok(!are_sound(CIE, sizeof CIE - 1, nops, bytes, 16), "not a longer one");
	free(nops);
}

/* The last column that fits into an instruction, and that libunwind has. */
#if defined __aarch64__
#define LAST_COLUMN 63
#else
#define LAST_COLUMN 16
#endif

/* The operands of operations or instructions, in bytes if each number is 1 (DWARF 5, 7.7, 7.24). */
struct code {
	int first, last, operand_bytes;
};

static const struct code operations[] = {
	{ DW_OP_addr, DW_OP_addr, 8 },
	{ DW_OP_deref, DW_OP_deref, 0 },
	{ DW_OP_const1u, DW_OP_const1s, 1 },
	{ DW_OP_const2u, DW_OP_const2s, 2 },
	{ DW_OP_const4u, DW_OP_const4s, 4 },
	{ DW_OP_const8u, DW_OP_const8s, 8 },
	{ DW_OP_constu, DW_OP_consts, 1 },
	{ DW_OP_dup, DW_OP_over, 0 },
	{ DW_OP_pick, DW_OP_pick, 1 },
	{ DW_OP_swap, DW_OP_rot, 0 },
	{ DW_OP_abs, DW_OP_and, 0 },
	{ DW_OP_minus, DW_OP_plus, 0 },
	{ DW_OP_plus_uconst, DW_OP_plus_uconst, 1 },
	{ DW_OP_shl, DW_OP_xor, 0 },
	{ DW_OP_eq, DW_OP_ne, 0 },
	{ DW_OP_lit0, DW_OP_lit31, 0 },
	{ DW_OP_reg0, DW_OP_reg31, 0 },
	{ DW_OP_breg0, DW_OP_breg31, 1 },
	{ DW_OP_regx, DW_OP_regx, 1 },
	{ DW_OP_bregx, DW_OP_bregx, 2 },
	{ DW_OP_deref_size, DW_OP_deref_size, 1 },
	{ DW_OP_nop, DW_OP_nop, 0 },
	{ -1, -1, 0 },
};

/* Those with an expression are in sound_ones(). */
static const struct code instructions[] = {
	{ DW_CFA_nop, DW_CFA_nop, 0 },
	{ DW_CFA_advance_loc1, DW_CFA_advance_loc1, 1 },
	{ DW_CFA_advance_loc2, DW_CFA_advance_loc2, 2 },
	{ DW_CFA_advance_loc4, DW_CFA_advance_loc4, 4 },
	{ DW_CFA_offset_extended, DW_CFA_offset_extended, 2 },
	{ DW_CFA_restore_extended, DW_CFA_same_value, 1 },
	{ DW_CFA_register, DW_CFA_register, 2 },
	{ DW_CFA_remember_state, DW_CFA_restore_state, 0 },
	{ DW_CFA_def_cfa, DW_CFA_def_cfa, 2 },
	{ DW_CFA_def_cfa_register, DW_CFA_def_cfa_offset, 1 },
	{ DW_CFA_offset_extended_sf, DW_CFA_def_cfa_sf, 2 },
	{ DW_CFA_def_cfa_offset_sf, DW_CFA_def_cfa_offset_sf, 1 },
	{ DW_CFA_GNU_window_save, DW_CFA_GNU_window_save, 0 }, /* AARCH64_negate_ra_state */
	{ DW_CFA_GNU_args_size, DW_CFA_GNU_args_size, 1 },
	{ DW_CFA_GNU_negative_offset_extended, DW_CFA_GNU_negative_offset_extended, 2 },
	{ DW_CFA_advance_loc, DW_CFA_advance_loc | 0x3f, 0 },
	{ DW_CFA_offset, DW_CFA_offset | LAST_COLUMN, 1 },
	{ DW_CFA_restore, DW_CFA_restore | LAST_COLUMN, 0 },
	{ -1, -1, 0 },
};

#define MAX_OPERAND_BYTES 9

/* The bytes of operands of CODE in LIST; -1: it is not there. */
static int
bytes_of(const struct code *list, int code)
{
	for (; list->first >= 0; list++)
		if (code >= list->first && code <= list->last)
			return list->operand_bytes;
	return -1;
}

/*
 * Each code with up to MAX_OPERAND_BYTES of 1 behind it is sound with its operands only, as neither
 * an operation nor an allowed instruction is 1.
 */
static void
every_code(const struct code *list, bool is_operation, const char *what)
{
	int nr_wrong = 0;

	for (int code = 0; code < 256; code++) {
		const int wanted = bytes_of(list, code);

		if (!is_operation &&
			(code == DW_CFA_def_cfa_expression || code == DW_CFA_expression ||
				code == DW_CFA_val_expression))
			continue;
		for (int bytes = 0; bytes <= MAX_OPERAND_BYTES; bytes++) {
			char fde[3 + MAX_OPERAND_BYTES] = { DW_CFA_def_cfa_expression,
				(char)(1 + bytes) };
			const int at = is_operation ? 2 : 0;

			memset(fde + at, 1, sizeof fde - (size_t)at);
			fde[at] = (char)code;
			if (are_sound(CIE, sizeof CIE - 1, fde, (size_t)(at + 1 + bytes), 16) ==
				(bytes == wanted))
				continue;
			printf("# 0x%02x with %d bytes\n", code, bytes);
			nr_wrong++;
		}
	}
	ok(nr_wrong == 0, "%s: every one with its operands only", what);
}

int
main(void)
{
	every_code(operations, true, "operations");
	every_code(instructions, false, "instructions");
	sound_ones();
	refused_ones();
	limits();
	long_ones();
	return tap_end();
}
