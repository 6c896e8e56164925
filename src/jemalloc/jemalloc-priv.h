/*
 * jemalloc-priv: what the files of jemalloc/ share.
 *
 *	find.c	where jemalloc is in a process
 *	ctl.c	calls of mallctl() in a borrowed thread
 *	ask.c	its account
 *	prof.c	its profiler
 */
#ifndef MEMDIAG_JEMALLOC_JEMALLOC_PRIV_H
#define MEMDIAG_JEMALLOC_JEMALLOC_PRIV_H

#include "inject/job.h"
#include "jemalloc/jemalloc.h"

/* A call of mallctl(), as it lies in the target. */
struct ctl {
	char name[96];
	uint64_t size_bytes; /* of VALUE; 0: nothing is asked */
	uint64_t value;	     /* JEMALLOC_UNKNOWN where it has no answer */
	uint64_t got_bytes;
	uint64_t is_known;  /* whether it has one */
	uint64_t new_bytes; /* of NEW; 0: nothing is set */
	uint64_t new;
};

#define CTL_MAX 64
/* The buffer has CTL_MAX of them, and above them the stack and frames of the calls. */
#define CTL_BUFFER_BYTES                                                                           \
	(CTL_MAX * sizeof(struct ctl) + LONG_CALL_STACK_BYTES + CTL_MAX * LONG_CALL_NEXT_BYTES)

/* Where they are made. */
struct ctls {
	const struct jemalloc *j;
	struct job *job;
	struct worker *worker;
	const struct workspace *ws;
};

/*
 * Make the NR calls V, from 1 to CTL_MAX, one after the other; the worker runs freely meanwhile,
 * and other threads with it.  Fills the values; the time it took is added to the report.  Succeeds
 * also if this jemalloc does not know a name.
 */
int ctl_make(const struct ctls *in, struct ctl *v, size_t nr, struct err *e);

/* The string that CTL's value points to, cut and made printable, into BUF; "" if none. */
void ctl_string(const struct ctls *in, const struct ctl *ctl, char *buf, size_t size);

/* A question, as an initialiser: a value of SIZE bytes. */
#define CTL_ASK(control, size)                                                                     \
	{                                                                                          \
		.name = (control), .size_bytes = (size)                                            \
	}

#endif
