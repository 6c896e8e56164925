/*
 * rule: a row, as the short rule that walks use.
 */
#ifndef MEMDIAG_UNWIND_RULE_H
#define MEMDIAG_UNWIND_RULE_H

#include <stdint.h>

#include "unwind/unwind-priv.h"

#pragma GCC visibility push(hidden)

/* The rule that is equivalent to ROW at PC; RULE_ODD if no rule is. */
unwind_rule unwind_rule_of(const struct unwind_row *row, uint64_t pc);

#pragma GCC visibility pop

#endif
