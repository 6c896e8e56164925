/*
 * large: print the stacks of large calls as lines on stderr if memdiag does not print them.  A
 * frame is a file and an offset in it, which addr2line(1) accepts for a library.
 */
#ifndef MEMDIAG_AGENT_NOTE_LARGE_H
#define MEMDIAG_AGENT_NOTE_LARGE_H

#pragma GCC visibility push(hidden)

/*
 * Print the stacks that were added since the last call, each of them once.  The caller holds the
 * sites.
 */
void large_print(void);
/* In a forked child, forget the parent's printing thread and the stacks that it printed. */
void large_begin_child(void);

#pragma GCC visibility pop

#endif
