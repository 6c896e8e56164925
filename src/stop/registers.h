/*
 * registers: the only place where registers, the extended state and the signal mask of a thread are
 * set.  They carry the number of the stop in which they were read, and can be set in that stop
 * alone: a thread that has run since is elsewhere, and what it was is wrong for it.
 */
#ifndef MEMDIAG_STOP_REGISTERS_H
#define MEMDIAG_STOP_REGISTERS_H

#include "arch/arch.h"

/*
 * Set REGS of thread TID.  -1 with E, and nothing is set, unless they are of the stop that it
 * stands in.
 */
int registers_set(pid_t tid, const struct arch_regs *regs, struct err *e);
/* The same for TH's extended state, and for its signal mask. */
int registers_set_ext(pid_t tid, const struct arch_thread *th, struct err *e);
int registers_set_mask(pid_t tid, const struct arch_thread *th, uint64_t mask, struct err *e);

/*
 * Take REGS, which were read in an earlier stop, into the stop that TID stands in.  Only for a
 * thread that was proven to have made nothing since but calls of memdiag's, and to stand in one.
 */
void registers_carry(pid_t tid, struct arch_regs *regs);

#endif
