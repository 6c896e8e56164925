/*
 * hook: functions hooked for the whole process, and given back.
 */
#ifndef MEMDIAG_INJECT_HOOK_H
#define MEMDIAG_INJECT_HOOK_H

#include "arch/prologue.h"
#include "glibc/arenas.h"
#include "inject/malloc.h"
#include "stop/stop.h"

struct target;

/* A function whose callers, all of them, are to call another one. */
struct hook {
	const char *name; /* of its symbol */
	raddr function;
	uint64_t size_bytes;
	unsigned int nr_args; /* integers or pointers; PROLOGUE_ANY_ARGS if that is not known */
	raddr hook;	      /* what is to be called instead */
	raddr real;	      /* a pointer of HOOK's, which is given what does as FUNCTION did */
};

struct hook_report {
	size_t nr_entries; /* functions whose beginning was changed, or changed back */
	size_t nr_slots;   /* pointers in global offset tables that were */
	size_t nr_already; /* of both, that needed no change */
	/* that another tool has changed since, and were left as they are */
	size_t nr_foreign;
	size_t nr_tries;	 /* how often all threads were stopped for it */
	struct stop_report stop; /* the last time */
};

/* Returns 0 if this build of memdiag can hook functions, else -1 with E set (ERR_UNSUPPORTED). */
int hook_check(const struct target *t, struct err *e);

/*
 * Hook NR functions (one or more), in one go while all threads of the target stand still: by a jump
 * at the function's beginning, so that every call is seen, however it is made; if that is
 * impossible, by the global offset tables of all objects.  A function that is hooked in the same
 * way counts as already hooked; one that leads to another hook of the same library is led to this
 * one in the same stop, so that no call is missed.  Functions that lead to that library and are not
 * among these are let go in the same stop.  The code for it takes 64 KiB of the target's address
 * space, which stay when the hooks are lifted: a thread may be there still.  If memdiag dies in
 * between, some functions are hooked and the others are not.  ERR_NO_SAFE_POINT if during
 * opt->wait_ns a thread was always in the middle of the bytes that change; ERR_UNSUPPORTED if a
 * function has another tool's jump already, or a breakpoint or kernel probe on an instruction that
 * would be moved, or can be hooked in neither way.  Then nothing is hooked.
 */
int hook_set(struct inject_target *callee, const struct arenas *a, const struct inject_options *opt,
	const struct hook *hook, size_t nr, struct hook_report *ret, struct inject_report *report,
	struct err *e);

/*
 * The range of the direct callers of the libc malloc function at FUNCTION, which were compiled
 * together with it: [*RET_START, *RET_END) has all addresses that such calls return to, and none of
 * other code.  Both {0}: there are none.  All other callers call through a table, so that a program
 * can put a function of its own in between.
 */
void hook_inner_calls(
	const struct inject_target *callee, raddr function, raddr *ret_start, raddr *ret_end);

/*
 * The code whose calls of mmap() and so on are not the program's, but come by the hooks of these
 * functions: libc's; in a static program malloc's, for no more is known there.
 */
void hook_libc_code(const struct inject_target *callee, raddr *ret_start, raddr *ret_end);

/* Put back every byte.  Succeeds also if no hooks are set: nothing is counted then. */
int hook_lift(struct inject_target *callee, const struct inject_options *opt,
	struct hook_report *ret, struct err *e);

#endif
