/*
 * safety-priv: the functions of safety.c that other files of inject/ use.
 */
#ifndef MEMDIAG_INJECT_SAFETY_PRIV_H
#define MEMDIAG_INJECT_SAFETY_PRIV_H

#include <stdbool.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/err.h"
#include "base/raddr.h"
#include "inject/inject-priv.h"
#include "inject/target.h"

/* Fill CALLEE's dangers.  0, or -1 with E. */
int safety_learn(struct inject_target *callee, struct err *e);

/*
 * Return whether a thread has the lock that pthread_create() needs, perhaps for long: setuid()
 * keeps it until all threads have taken part.  False if unknown.
 */
bool safety_is_making_threads(const struct inject_target *callee);

/* Return whether A lies in libc or in its parts libpthread and ld.so. */
bool safety_is_in_libc(const struct inject_target *callee, raddr a);

/* Return whether A is an arena, which begins with its lock. */
bool safety_is_arena(const struct inject_target *callee, raddr a);

/*
 * Return whether SP of thread TID is on the stack that libc or the kernel gave it.  Coroutines and
 * handlers have separate stacks, and the memory below SP there may belong to any part of the
 * program.
 */
bool safety_is_own_stack(const struct inject_target *callee, pid_t tid, raddr sp);

/* Return the kind of code at A if a borrowed thread must not be in it, else NULL. */
const char *safety_danger_at(const struct inject_target *callee, raddr a);

/*
 * Prove that stopped thread TID may be borrowed: neither it nor any caller on its stack is at a
 * dangerous place, it holds no arena's lock, and it is in no restartable sequence.  REGS are its
 * registers.  IS_PARKED: it waits in a system call that is known to be safe.  IS_STRICT: refuse
 * also for uncertainties that a complete walk of its stack has resolved.  Returns true, or false
 * with WHY.
 */
bool safety_prove(struct inject_target *callee, pid_t tid, const struct arch_regs *regs,
	bool is_parked, bool is_strict, struct reason *why);

#endif
