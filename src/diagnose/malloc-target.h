/*
 * malloc-target: what the commands that ask malloc inside a process share: all that has to be known
 * before a thread is borrowed.
 */
#ifndef MEMDIAG_DIAGNOSE_MALLOC_TARGET_H
#define MEMDIAG_DIAGNOSE_MALLOC_TARGET_H

#include "base/err.h"
#include "glibc/process.h"
#include "jemalloc/find.h"
#include "jemalloc/jemalloc.h"
#include "os/os.h"
#include "ui/ui.h"

struct malloc_target {
	struct target target;
	struct process process; /* as it was before the call */
	struct inject_target *inject;
	bool is_jemalloc; /* not glibc's malloc is meant but JEMALLOC */
	struct jemalloc jemalloc;
	/* kind is 0, or another tracer has it: it cannot be stopped, nor called into */
	struct err traced;
};
#define MALLOC_TARGET_NONE                                                                         \
	{                                                                                          \
		.target = TARGET_NONE                                                              \
	}

/*
 * Claim process OPT->pid (ui_claim()) and learn all but its arenas; nothing is stopped.  MT must be
 * MALLOC_TARGET_NONE.  ERR_UNSUPPORTED when its malloc is neither glibc's nor jemalloc's.  MT is to
 * be released in any case.  That another tracer has it is an error, unless MAY_BE_TRACED: then
 * mt->traced says so.
 */
int malloc_target_open(struct malloc_target *mt, const struct ui_options *opt,
	enum malloc_choice choice, bool may_be_traced, struct err *e);

/*
 * Find the arenas: just before the call, as the proof that a thread is safe looks at their locks.
 * ERR_FAILED when they are damaged, and malloc had better not be called.
 */
int malloc_target_find_arenas(struct malloc_target *mt, struct err *e);

/*
 * Whether the libc of P has the functions that 'trim --tops' calls
 * (inject_discard()): not up to 2.31, whose wait for a lock is a function without a symbol.
 */
bool has_trim_of_tops(const struct process *p);

void malloc_target_release(struct malloc_target *mt);
#define auto_malloc_target __attribute__((cleanup(malloc_target_release)))

#endif
