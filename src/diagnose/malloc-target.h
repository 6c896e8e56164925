/*
 * malloc-target: shared by the commands that call malloc inside a process: all facts needed before
 * a thread is borrowed.
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
	struct process process; /* before the call */
	struct inject_target *inject;
	bool is_jemalloc; /* JEMALLOC is used instead of glibc's malloc */
	struct jemalloc jemalloc;
	/* kind is 0, or another tracer has it: it can be neither stopped nor called into */
	struct err traced;
};
#define MALLOC_TARGET_NONE                                                                         \
	{                                                                                          \
		.target = TARGET_NONE                                                              \
	}

/*
 * Claim process OPT->pid (ui_claim()) and collect all facts except its arenas; no thread is
 * stopped.  MT must be MALLOC_TARGET_NONE; release it in any case.  Fails with ERR_UNSUPPORTED if
 * the malloc is neither glibc's nor jemalloc's.  Another tracer is an error, unless MAY_BE_TRACED:
 * then it is recorded in mt->traced.
 */
int malloc_target_open(struct malloc_target *mt, const struct ui_options *opt,
	enum malloc_choice choice, bool may_be_traced, struct err *e);

/*
 * Find the arenas; call it just before the call, as the proof that a thread is safe checks their
 * locks.  Fails with ERR_FAILED if the arenas are damaged, so that malloc should not be called.
 */
int malloc_target_find_arenas(struct malloc_target *mt, struct err *e);

/*
 * True if the libc of P has the functions that 'trim --tops' calls (inject_discard()).  False up to
 * 2.31, where waiting for a lock is a function without a symbol.
 */
bool has_trim_of_tops(const struct process *p);

void malloc_target_release(struct malloc_target *mt);
#define auto_malloc_target __attribute__((cleanup(malloc_target_release)))

#endif
