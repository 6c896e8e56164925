/* ledger: the owner of each mapped range of an address space. */
#ifndef MEMDIAG_TRACE_LEDGER_H
#define MEMDIAG_TRACE_LEDGER_H

#include <stddef.h>
#include <stdint.h>

/* [START, END), mapped by OWNER, a number chosen by the caller. */
struct ledger_piece {
	uint64_t start, end;
	uint32_t owner;
};

/* Empty if zeroed. */
struct ledger {
	void *root; /* from tsearch(3): struct ledger_piece, which never overlap */
	size_t nr;  /* pieces */
};

void ledger_release(struct ledger *l);

/* Callback for pieces. */
typedef void ledger_visit(const struct ledger_piece *p, void *arg);

/*
 * Assign [START, END) to OWNER, joining adjacent pieces of OWNER.  The range must have no owner
 * (ledger_cut()).  Returns 0, or -1 without memory, with L unchanged.
 */
int ledger_add(struct ledger *l, uint64_t start, uint64_t end, uint32_t owner);

/*
 * Remove [START, END) from all owners; VISIT, which may be NULL, is called for each removed part,
 * in any order.  Returns 0, or -1 without memory: then the rest of a piece that was cut in two is
 * lost.
 */
int ledger_cut(struct ledger *l, uint64_t start, uint64_t end, ledger_visit *visit, void *arg);

/*
 * Move the pieces in [START, END), so that START moves to TO; the destination must be empty.
 * Returns 0, or -1 as for ledger_add() and ledger_cut().
 */
int ledger_move(struct ledger *l, uint64_t start, uint64_t end, uint64_t to);

/* Call VISIT for every piece, in address order. */
void ledger_walk(const struct ledger *l, ledger_visit *visit, void *arg);

#endif
