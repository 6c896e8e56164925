/*
 * pick-priv: the functions of pick.c that other files of inject/ use.
 */
#ifndef MEMDIAG_INJECT_PICK_PRIV_H
#define MEMDIAG_INJECT_PICK_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "inject/inject-priv.h"
#include "inject/target.h"

struct candidate {
	pid_t tid;
	bool is_parked;	 /* in a system call of the allow-list; else it is running */
	long syscall_nr; /* of a parked thread, with its place: checked again after the stop */
	raddr sp, pc;
	int rank; /* lower is better */
};

struct candidates {
	struct candidate *v; /* best first */
	size_t nr, room;
	size_t nr_threads;
	size_t nr_best;	      /* candidates of the best possible rank */
	struct reason reason; /* why the last refused thread is not a candidate */
	size_t nr_refused;
	size_t nr_running;
	uint64_t state; /* equal in two rounds if no thread has moved in between */
};

/*
 * Find candidates.  ROUND is the number of earlier calls; with many threads each round examines
 * others.
 */
int candidates_find(
	struct candidates *c, const struct inject_target *callee, size_t round, struct err *e);

/* Return whether C is unchanged since it was found, so that it may be interrupted. */
bool candidate_is_unchanged(const struct candidate *c, const struct inject_target *callee);

void candidates_release(struct candidates *c);
#define auto_candidates __attribute__((cleanup(candidates_release)))

#endif
