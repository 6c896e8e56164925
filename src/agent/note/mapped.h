/*
 * mapped: the files whose code is mapped, as text in the file of the sites.  With this text, the
 * names of functions can be found after the program has ended, however it ended.
 */
#ifndef MEMDIAG_AGENT_NOTE_MAPPED_H
#define MEMDIAG_AGENT_NOTE_MAPPED_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Request the text, which does not exist yet: the program starts or was forked. */
void mapped_begin(void);
/*
 * Write the text, unless no object was loaded since the last time.  Makes system calls then: a
 * program that has just loaded an object may make them, too.
 */
void mapped_note(void);
/* True if mapped_note() would write the text.  Makes no system call. */
bool mapped_is_due(void);
/* As mapped_note(), but also if mapped_begin() was not called. */
void mapped_note_now(void);

#pragma GCC visibility pop

#endif
