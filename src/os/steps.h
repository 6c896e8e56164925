/*
 * steps: steps of a scan of the page map, which adapt to the time that each takes.
 */
#ifndef MEMDIAG_OS_STEPS_H
#define MEMDIAG_OS_STEPS_H

/* Count a step: a ptrace request, a read or write of memory, a check while memdiag waits. */
void os_step(void);
unsigned long os_nr_steps(void);

#endif
