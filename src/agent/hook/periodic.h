/* periodic: the line of MemTracer that is printed every period, and files of a profile. */
#ifndef MEMDIAG_AGENT_HOOK_PERIODIC_H
#define MEMDIAG_AGENT_HOOK_PERIODIC_H

#pragma GCC visibility push(hidden)

/*
 * If lines or files are requested, print the line now, and start the thread that prints it every
 * period and writes files of a profile.
 */
void periodic_start(void);

#pragma GCC visibility pop

#endif
