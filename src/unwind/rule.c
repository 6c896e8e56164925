#include <config.h>

#include "unwind/rule.h"

#include "unwind/expression.h"
#include "unwind/program.h"

#define WORD ((int64_t)sizeof(uint64_t))
#define DW_OP_deref 0x06
#define DW_OP_breg0 0x70

/* True if AT is the offset of a number of words below the CFA that fits in struct unwind_frame. */
static bool
is_words_below(int64_t at, int64_t max)
{
	return at < 0 && at % WORD == 0 && at >= -max * WORD;
}

/*
 * Get the CFA as SP plus a number, if EXPRESSION has such a value at PC.  The expressions of PLT
 * entries do (elf_x86_64_eh_frame_plt of binutils' bfd/elf64-x86-64.c: the CFA depends on the
 * position in the entry).  The expression is evaluated for several SP, and may read no memory and
 * no other register.
 */
static bool
is_sp_plus(struct bytes expression, uint64_t pc, int64_t *ret)
{
	static const uint64_t sample[] = { 0x10000, 0x7ffff00000000008, 0x123456789abcdef0 };
	struct unwind_context c = { .known = UINT64_C(1) << UNWIND_SP | UINT64_C(1) << UNWIND_RA };
	uint64_t value, at = 0;

	c.reg[UNWIND_RA] = pc;
	for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) {
		c.reg[UNWIND_SP] = sample[i];
		if (!unwind_evaluate(&c, expression, NULL, &value) || c.has_read ||
			(i && value - sample[i] != at))
			return false;
		at = value - sample[i];
	}
	*ret = (int64_t)at;
	return true;
}

/* True if B is FP plus a number; with IS_READ, the word at that address. */
static bool
is_fp_plus(struct bytes b, bool is_read, int64_t *ret)
{
	const bool is_fp = bytes_byte(&b) == DW_OP_breg0 + UNWIND_FP;

	*ret = bytes_signed_leb(&b);
	if (is_read && bytes_byte(&b) != DW_OP_deref)
		return false;
	return is_fp && !b.is_bad && b.at == b.end;
}

/*
 * A function that aligns its stack keeps its CFA in a register and saves that below the new frame
 * pointer (gcc: "breg6 -8; deref").  It saves the old frame pointer at the new one's address.
 */
static bool
is_realigned(const struct unwind_row *row, int64_t *ret_cfa_at)
{
	int64_t fp_at;

	return is_fp_plus(row->cfa_expression, true, ret_cfa_at) &&
		row->how[UNWIND_FP] == HOW_EXPRESSION &&
		is_fp_plus(unwind_row_expression(row, UNWIND_FP), false, &fp_at) && fp_at == 0;
}

static bool
is_fp_plain(const struct unwind_row *row, uint16_t *ret_words)
{
	*ret_words = 0;
	if (row->how[UNWIND_FP] == HOW_SAME)
		return true;
	if (row->how[UNWIND_FP] != HOW_OFFSET || !is_words_below(row->at[UNWIND_FP], UINT16_MAX))
		return false;
	*ret_words = (uint16_t)(-row->at[UNWIND_FP] / WORD);
	return true;
}

unwind_rule
unwind_rule_of(const struct unwind_row *row, uint64_t pc)
{
	const unwind_rule odd = unwind_rule_make(RULE_ODD, false, 0, 0, 0);
	const bool is_from_fp = !row->has_cfa_expression && row->cfa_reg == UNWIND_FP;
	int64_t cfa_at = row->cfa_at;
	uint16_t fp_at;
	uint8_t ra_at;

	if (row->how[row->ra] == HOW_UNDEFINED)
		return unwind_rule_make(RULE_OUTERMOST, false, 0, 0, 0);
	if (row->is_signal || row->ra != UNWIND_RA || row->how[UNWIND_SP] != HOW_SAME ||
		row->how[UNWIND_RA] != HOW_OFFSET ||
		!is_words_below(row->at[UNWIND_RA], UNWIND_MAX_RA_AT))
		return odd;
	ra_at = (uint8_t)(-row->at[UNWIND_RA] / WORD);
	if (row->has_cfa_expression && is_realigned(row, &cfa_at) && cfa_at == (int32_t)cfa_at)
		return unwind_rule_make(RULE_REALIGNED, true, (int32_t)cfa_at, 0, ra_at);
	if (row->has_cfa_expression ? !is_sp_plus(row->cfa_expression, pc, &cfa_at)
				    : !is_from_fp && row->cfa_reg != UNWIND_SP)
		return odd;
	if (cfa_at != (int32_t)cfa_at || !is_fp_plain(row, &fp_at))
		return odd;
	return unwind_rule_make(RULE_PLAIN, is_from_fp, (int32_t)cfa_at, fp_at, ra_at);
}
