/*
 * heap-file: the samples or the record as a .heap file, which the agent writes itself if no memdiag
 * does: the text format that `memdiag report`, go tool pprof, jeprof and google-pprof read.  It
 * uses only system calls, allocates no memory, and takes no lock of the program.
 */
#ifndef MEMDIAG_AGENT_NOTE_HEAP_FILE_H
#define MEMDIAG_AGENT_NOTE_HEAP_FILE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* In a forked child, forget a file that a thread of the parent was writing. */
void heap_file_begin_child(void);

/*
 * Write the samples or the record to FD, which may be a pipe.  Returns 0 or an errno: EAGAIN if
 * another thread is writing a file now, ENODATA if the sites belong to another process, else the
 * error of the write.
 */
int heap_file_write_to(int fd);

/*
 * Write PREFIX.PID.SEQ.KINDn.TIME.heap; TIME is UTC.  The first error is reported on stderr.
 * Nothing is written if the sites belong to another process or another thread is writing.
 */
void heap_file_write(char kind);
/*
 * Write the file at the end of the program, as heap_file_write().  If another thread is writing,
 * wait for it as long as it makes progress.  No file is begun afterwards, since the process would
 * end before it is complete.  If the program MAY_GO_ON, other writers wait meanwhile.  Returns true
 * if a file was to be written: heap_file_go_on() must then be called if the program continues.
 */
bool heap_file_write_last(bool may_go_on);
/* Remove the file of heap_file_write_last(), and let other threads write again. */
void heap_file_go_on(void);

#pragma GCC visibility pop

#endif
