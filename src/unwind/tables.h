/*
 * tables: the frame of an address in .eh_frame.
 */
#ifndef MEMDIAG_UNWIND_TABLES_H
#define MEMDIAG_UNWIND_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind-priv.h"

#pragma GCC visibility push(hidden)

/* Get the row of O for PC.  False if O has no row for it. */
bool unwind_find_row(const struct unwind_object *o, uint64_t pc, struct unwind_row *ret);

/*
 * Move *AT from an entry of .eh_frame to the next one. *RET_PC is the start of the entry's code; 0
 * if it is not a frame description entry or is unreadable.  False if *AT is not an entry.
 */
bool unwind_next_frame(const struct unwind_object *o, uint64_t *at, uint64_t *ret_pc);

/* True if the code at PC is a signal trampoline without a row. */
bool unwind_is_trampoline(const struct unwind_object *o, uint64_t pc);

#pragma GCC visibility pop

#endif
