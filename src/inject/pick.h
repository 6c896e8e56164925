/*
 * pick: chooses the thread to borrow.
 */
#ifndef MEMDIAG_INJECT_PICK_H
#define MEMDIAG_INJECT_PICK_H

#include <stddef.h>

#include "base/err.h"
#include "glibc/arenas.h"

struct inject_target;

/* The threads that could be borrowed at this moment. */
struct inject_outlook {
	size_t nr_parked;  /* can be borrowed where they wait; some end the search */
	size_t nr_running; /* could be borrowed if they are stopped outside of malloc */
	size_t nr_refused; /* wait elsewhere */
	char refused[160]; /* the last of these: its number and the reason; "" without one */
};

/* Examine the target's threads without stopping any. */
int inject_outlook(struct inject_target *callee, const struct arenas *a, struct inject_outlook *ret,
	struct err *e);

#endif
