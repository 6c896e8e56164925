/*
 * program: the instructions of a frame's program, up to the row of an address.
 */
#ifndef MEMDIAG_UNWIND_PROGRAM_H
#define MEMDIAG_UNWIND_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/bytes.h"
#include "unwind/unwind-priv.h"

#pragma GCC visibility push(hidden)

/* The expression of register R, whose rule is an expression. */
struct bytes unwind_row_expression(const struct unwind_row *row, unsigned int r);

struct unwind_program {
	struct bytes initial, own; /* instructions of the CIE, and of the FDE */
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding;
	uint64_t start; /* the address at which OWN begins */
};

/* Run P up to address PC; ROW's ra, is_signal and end are already set.  False if P is invalid. */
bool unwind_run(const struct unwind_program *p, uint64_t pc, struct unwind_row *row);

#pragma GCC visibility pop

#endif
