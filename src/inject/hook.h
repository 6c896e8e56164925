/*
 * hook: hook functions for the whole process, and restore them.
 */
#ifndef MEMDIAG_INJECT_HOOK_H
#define MEMDIAG_INJECT_HOOK_H

#include "arch/prologue.h"
#include "glibc/arenas.h"
#include "inject/malloc.h"
#include "stop/stop.h"

struct target;

/* A function whose callers will all call another one. */
struct hook {
	const char *name; /* of its symbol */
	raddr function;
	uint64_t size_bytes;
	unsigned int nr_args; /* integers or pointers; PROLOGUE_ANY_ARGS if unknown */
	raddr hook;	      /* function to call instead */
	raddr real;	      /* HOOK's pointer, set to code that does what FUNCTION did */
};

struct hook_report {
	size_t nr_entries; /* functions whose beginning was changed, or restored */
	size_t nr_slots;   /* pointers in global offset tables that were changed, or restored */
	size_t nr_already; /* functions and pointers that needed no change */
	/* functions and pointers that another tool has changed since, and that were left alone */
	size_t nr_foreign;
	size_t nr_tries;	 /* how often all threads were stopped */
	struct stop_report stop; /* the last of these stops */
};

/* Returns 0 if this build of memdiag can hook functions, else -1 with E set (ERR_UNSUPPORTED). */
int hook_check(const struct target *t, struct err *e);

/*
 * Hook NR functions (one or more), all in one stop of the target's threads: by a jump at the
 * function's beginning, so that every call is seen, however it is made; if that is impossible, by
 * the global offset tables of all objects.  A function that is hooked in the same way counts as
 * already hooked; one that leads to another hook of the same library is led to this one in the same
 * stop, so that no call is missed.  Functions that lead to that library and are not among these are
 * restored in the same stop.  The code takes 64 KiB of the target's address space, which stay
 * mapped when the hooks are lifted: a thread may still be there.  If memdiag dies in between, some
 * functions are hooked and the others are not.  Fails with ERR_NO_SAFE_POINT if during opt->wait_ns
 * a thread was always in the middle of the bytes that change; with ERR_UNSUPPORTED if a function
 * already has another tool's jump, or a breakpoint or kernel probe on an instruction that would be
 * moved, or can be hooked in neither way.  Then nothing is hooked.
 */
int hook_set(struct inject_target *callee, const struct arenas *a, const struct inject_options *opt,
	const struct hook *hook, size_t nr, struct hook_report *ret, struct inject_report *report,
	struct err *e);

/*
 * Find the direct callers of the libc malloc function at FUNCTION, which were compiled together
 * with it: [*RET_START, *RET_END) contains all addresses that such calls return to, and no address
 * of other code.  Both are {0} if no such caller exists.  All other callers call through a table,
 * so that a program can interpose its own function.
 */
void hook_inner_calls(
	const struct inject_target *callee, raddr function, raddr *ret_start, raddr *ret_end);

/*
 * Find the code whose calls of mmap() and similar functions reach the hooks without being the
 * program's: libc's code; in a static program malloc's, because no more is known there.
 */
void hook_libc_code(const struct inject_target *callee, raddr *ret_start, raddr *ret_end);

/* Restore every byte.  Succeeds also if no hooks are set: then all counts are 0. */
int hook_lift(struct inject_target *callee, const struct inject_options *opt,
	struct hook_report *ret, struct err *e);

#endif
