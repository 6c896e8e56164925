/*
 * birth: system calls by which a thread of the target makes another thread.
 */
#ifndef MEMDIAG_INJECT_BIRTH_H
#define MEMDIAG_INJECT_BIRTH_H

#include <sys/types.h>

#include "arch/arch.h"

struct target;

/*
 * Thread TID of T, with registers R, is stopped at the exit of a system call.  If the kernel has
 * refused to make a thread, let libc see it as one that has ended: its stack is free then.
 */
void birth_note_exit(const struct target *t, pid_t tid, const struct arch_regs *r);

#endif
