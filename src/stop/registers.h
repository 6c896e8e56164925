/*
 * registers: the only functions that set the registers, the extended state and the signal mask of a
 * thread.  These carry the number of the stop in which they were read, and can be set in that stop
 * only: a thread that has run since is elsewhere, and its old state would be wrong.
 */
#ifndef MEMDIAG_STOP_REGISTERS_H
#define MEMDIAG_STOP_REGISTERS_H

#include "arch/arch.h"

/*
 * Set REGS of thread TID.  If they are not from the thread's present stop, fail with -1 and E, and
 * set nothing.
 */
int registers_set(pid_t tid, const struct arch_regs *regs, struct err *e);
/* Likewise set TH's extended state, and its signal mask. */
int registers_set_ext(pid_t tid, const struct arch_thread *th, struct err *e);
int registers_set_mask(pid_t tid, const struct arch_thread *th, uint64_t mask, struct err *e);

/*
 * Accept REGS, read in an earlier stop, in TID's present stop.  Only for a thread that was proven
 * to have made only memdiag's calls since, and to be stopped in one of them.
 */
void registers_carry(pid_t tid, struct arch_regs *regs);

#endif
