/*
 * inject-priv: what the files of inject/ share.
 *
 *	target.c	what is known before anything stops
 *	safety.c	what a thread may not be in the middle of; the proof
 *	pick.c		which threads are worth trying, without stopping any
 *	borrow.c	stop one, prove it, give it back
 *	worker.c	calls in a stopped thread, and their undo list
 *	helper.c	a pthread of the target's own for the work
 *	call.c		calls that hold malloc's locks
 *	surroundings.c	whether the target's cgroups have room for a call
 *	job.c		a worker and memory for what is to be done, put back afterwards
 *	malloc.c	malloc_info and malloc_trim on top of these
 */
#ifndef MEMDIAG_INJECT_INJECT_PRIV_H
#define MEMDIAG_INJECT_INJECT_PRIV_H

#include <stdbool.h>

/* glibc asks every thread to take part in setuid() with this signal (nptl/pthreadP.h). */
#define SIGSETXID 33

/* Why a thread was not taken: static text, or text with a name in it. */
struct reason {
	char text[96];
	/* a seccomp filter, which E of borrow_take() describes: no use to try it again */
	bool is_filter;
};

#endif
