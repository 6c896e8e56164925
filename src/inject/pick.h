/*
 * pick: which thread is borrowed.
 */
#ifndef MEMDIAG_INJECT_PICK_H
#define MEMDIAG_INJECT_PICK_H

#include <stddef.h>

#include "base/err.h"
#include "glibc/arenas.h"

struct inject_target;

/* Which threads could be borrowed at this moment. */
struct inject_outlook {
	size_t nr_parked;  /* that may be borrowed where they wait; some end the search */
	size_t nr_running; /* that might be, if they are stopped outside of malloc */
	size_t nr_refused; /* that wait elsewhere */
	char refused[160]; /* the last of these: its number, and why; "" if none */
};

/* Look at the target's threads, stopping none. */
int inject_outlook(struct inject_target *callee, const struct arenas *a, struct inject_outlook *ret,
	struct err *e);

#endif
