/*
 * fork: parent and child count apart.
 */
#ifndef MEMDIAG_AGENT_HOOK_FORK_H
#define MEMDIAG_AGENT_HOOK_FORK_H

#pragma GCC visibility push(hidden)

/* Have fork() keep the counters of parent and child apart. */
void fork_watch(void);

#pragma GCC visibility pop

#endif
