/*
 * jemalloc-priv: shared by the files of jemalloc/.
 *
 *	find.c	find jemalloc in a process
 *	ctl.c	calls of mallctl() in a borrowed thread
 *	ask.c	its account
 *	prof.c	its profiler
 */
#ifndef MEMDIAG_JEMALLOC_JEMALLOC_PRIV_H
#define MEMDIAG_JEMALLOC_JEMALLOC_PRIV_H

#include "inject/job.h"
#include "jemalloc/jemalloc.h"

/* A call of mallctl(), as stored in the target. */
struct ctl {
	char name[96];
	uint64_t size_bytes; /* of VALUE; 0: no value is requested */
	uint64_t value;	     /* JEMALLOC_UNKNOWN without an answer */
	uint64_t got_bytes;
	uint64_t is_known;  /* not 0 if it has an answer */
	uint64_t new_bytes; /* of NEW; 0: no value is set */
	uint64_t new;
};

#define CTL_MAX 64
/* The buffer has CTL_MAX of them, followed by the stack and frames of the calls. */
#define CTL_BUFFER_BYTES                                                                           \
	(CTL_MAX * sizeof(struct ctl) + LONG_CALL_STACK_BYTES + CTL_MAX * LONG_CALL_NEXT_BYTES)

/* The place of the calls. */
struct ctls {
	const struct jemalloc *j;
	struct job *job;
	struct worker *worker;
	const struct workspace *ws;
};

/*
 * Make the NR calls V, from 1 to CTL_MAX, in sequence; the worker and other threads run freely
 * meanwhile.  Fills the values, and adds the elapsed time to the report.  Succeeds even if this
 * jemalloc does not know a name.
 */
int ctl_make(const struct ctls *in, struct ctl *v, size_t nr, struct err *e);

/*
 * Copy the string that CTL's value points to, truncated and made printable, into BUF; "" if
 * unknown.
 */
void ctl_string(const struct ctls *in, const struct ctl *ctl, char *buf, size_t size);

/* Initialiser of a query for a value of SIZE bytes. */
#define CTL_ASK(control, size)                                                                     \
	{                                                                                          \
		.name = (control), .size_bytes = (size)                                            \
	}

#endif
