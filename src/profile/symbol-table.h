/* symbol-table: the names of functions by address. */
#ifndef MEMDIAG_PROFILE_SYMBOL_TABLE_H
#define MEMDIAG_PROFILE_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
	uint64_t start, size_bytes;
	const char *name; /* owned by the maker of the table */
	bool is_global;
};

/* Zeroed: empty.  array_add() adds symbols in any order; free(t->v) releases it. */
struct symbol_table {
	struct symbol *v;
	size_t nr, room;
};

/*
 * Sort T, and keep the best name of each place: malloc, not __libc_malloc.  0; -1, with T empty, if
 * there is no memory.
 */
int symbol_table_finish(struct symbol_table *t);

/*
 * Return the name at ADDRESS of T, which is finished; NULL if it is in no symbol.  A symbol without
 * a size extends to the next one.
 */
const char *symbol_table_at(const struct symbol_table *t, uint64_t address);

#endif
