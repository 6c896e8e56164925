/*
 * large: the stacks of large calls, as lines on stderr, where no memdiag prints them: a frame is a
 * file and an offset in it, which addr2line(1) takes for a library.
 */
#ifndef MEMDIAG_AGENT_NOTE_LARGE_H
#define MEMDIAG_AGENT_NOTE_LARGE_H

#pragma GCC visibility push(hidden)

/* Print those that came since the last time, each stack once.  The caller holds the sites. */
void large_print(void);
/* In a forked child nobody prints, and none of its own was printed. */
void large_begin_child(void);

#pragma GCC visibility pop

#endif
