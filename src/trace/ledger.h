/*
 * ledger: which stretch of an address space was mapped by whom.
 */
#ifndef MEMDIAG_TRACE_LEDGER_H
#define MEMDIAG_TRACE_LEDGER_H

#include <stddef.h>
#include <stdint.h>

/* [START, END), mapped by OWNER, which is a number of the caller's. */
struct ledger_piece {
	uint64_t start, end;
	uint32_t owner;
};

/* Zeroed it is empty. */
struct ledger {
	void *root; /* of tsearch(3): struct ledger_piece, which never overlap */
	size_t nr;  /* pieces */
};

void ledger_release(struct ledger *l);

/* Called for pieces. */
typedef void ledger_visit(const struct ledger_piece *p, void *arg);

/*
 * Let [START, END) be OWNER's, which nobody has (ledger_cut()); it is one piece with what OWNER has
 * next to it.  0, or -1 for lack of memory, with
 * L as it was.
 */
int ledger_add(struct ledger *l, uint64_t start, uint64_t end, uint32_t owner);

/*
 * Take [START, END) from all who have a part of it; VISIT, which may be NULL, is called for each
 * such part, in no order.  0, or -1 for lack of memory: then the rest of a piece that was cut in
 * two is lost.
 */
int ledger_cut(struct ledger *l, uint64_t start, uint64_t end, ledger_visit *visit, void *arg);

/*
 * Move what is in [START, END) to where TO is the new address of START; nothing is there.  0, or -1
 * as of the others.
 */
int ledger_move(struct ledger *l, uint64_t start, uint64_t end, uint64_t to);

/* Call VISIT for every piece, in the order of addresses. */
void ledger_walk(const struct ledger *l, ledger_visit *visit, void *arg);

#endif
