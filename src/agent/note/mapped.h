/*
 * mapped: which files' code is mapped, as text beside the sites: so the names of functions can be
 * found when the program has ended, whatever it ended by.
 */
#ifndef MEMDIAG_AGENT_NOTE_MAPPED_H
#define MEMDIAG_AGENT_NOTE_MAPPED_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* It is to be noted, and nothing is yet: the program starts, or has been forked. */
void mapped_begin(void);
/*
 * Note it, unless nothing was loaded since the last time.  Makes system calls then: a program that
 * has just loaded something may make them, too.
 */
void mapped_note(void);
/* Whether it would do something.  Makes no system call. */
bool mapped_is_due(void);
/* As mapped_note(), also if mapped_begin() was not called. */
void mapped_note_now(void);

#pragma GCC visibility pop

#endif
