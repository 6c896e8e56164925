/*
 * symbols-dwarf: functions and lines of addresses, by libdw.
 */
#ifndef MEMDIAG_PROFILE_SYMBOLS_DWARF_H
#define MEMDIAG_PROFILE_SYMBOLS_DWARF_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"

/* Functions of a compilation unit, read when one of its addresses is looked up. */
struct dwarf_unit;

struct dwarf_units {
	struct dwarf_unit **v;
	size_t nr, room;
	/* The addresses of all units, from their own ranges; read when libdw finds no unit. */
	struct {
		struct dwarf_range *v;
		size_t nr, room;
	} ranges;
	bool has_ranges;
	bool is_complete, lacks_memory; /* of sections; examined if either is true */
	/* Debug information is in a file (.dwo) that other users could change, and was not read. */
	bool has_strange_split;
};

void dwarf_units_release(struct dwarf_units *u);

/*
 * Add to FRAME of P the functions that are at PC in MOD, inside out: those inlined into each other,
 * and the function that contains them.  SYMBOL is the name in the symbol table, for a function
 * without a better one, or NULL.  1: done; 0: MOD has no debug information for PC; -1 with E.
 */
int dwarf_name_frame(struct dwarf_units *u, Dwfl_Module *mod, uint64_t pc, const char *symbol,
	struct profile *p, uint32_t frame, struct err *e);

#endif
