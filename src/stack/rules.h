/*
 * rules: checks whether the unwind rules of a function may be given to libunwind, which trusts
 * them: a register that does not exist is an index beyond its arrays, a CFA that is never defined
 * fails an assert(), a backward jump in an expression loops for ever (src/dwarf/Gparser.c and
 * Gexpr.c of 1.1 to 1.8).  Compilers write no such rules.
 */
#ifndef MEMDIAG_STACK_RULES_H
#define MEMDIAG_STACK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The instructions of a function's CIE, and of its FDE. */
struct stack_rules {
	const uint8_t *cie, *fde;
	size_t cie_bytes, fde_bytes;
	uint64_t return_column; /* the register that stands for the return address */
};

/* Maximum length: several times that of the instructions of the longest known functions. */
#define STACK_RULES_MAX_BYTES ((size_t)128 << 10)

/* Return whether all instructions and expressions are known and complete. */
bool stack_rules_are_sound(const struct stack_rules *r);

#endif
