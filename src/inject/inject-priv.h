/*
 * inject-priv: shared by the files of inject/.
 *
 *	target.c	the facts that are known before anything stops
 *	safety.c	places where a thread must not be borrowed; the proof
 *	pick.c		the threads worth trying, found without stopping any
 *	borrow.c	stop one, prove it, give it back
 *	worker.c	calls in a stopped thread, and their undo list
 *	helper.c	a pthread made in the target for the work
 *	call.c		calls that hold malloc's locks
 *	surroundings.c	whether the target's cgroups have room for a call
 *	job.c		a worker and memory for the work, removed afterwards
 *	malloc.c	malloc_info and malloc_trim on top of these
 */
#ifndef MEMDIAG_INJECT_INJECT_PRIV_H
#define MEMDIAG_INJECT_INJECT_PRIV_H

#include <stdbool.h>

/* glibc asks every thread to take part in setuid() with this signal (nptl/pthreadP.h). */
#define SIGSETXID 33

/* The reason why a thread was not taken: static text, or text with a name in it. */
struct reason {
	char text[96];
	/* a seccomp filter, which E of borrow_take() describes: trying again is useless */
	bool is_filter;
};

#endif
