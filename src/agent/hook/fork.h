/* fork: separate counters for parent and child. */
#ifndef MEMDIAG_AGENT_HOOK_FORK_H
#define MEMDIAG_AGENT_HOOK_FORK_H

#pragma GCC visibility push(hidden)

/* Make fork() separate the counters of parent and child. */
void fork_watch(void);

#pragma GCC visibility pop

#endif
