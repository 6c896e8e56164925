/*
 * heap-file: what was noted, as a .heap file that the agent writes itself, where no memdiag does:
 * the text that `memdiag report`, go tool pprof, jeprof and google-pprof read.  Only system calls,
 * no memory, and no lock of the program's.
 */
#ifndef MEMDIAG_AGENT_NOTE_HEAP_FILE_H
#define MEMDIAG_AGENT_NOTE_HEAP_FILE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* In a forked child: no thread of it is writing a file. */
void heap_file_begin_child(void);

/*
 * Write what was noted into FD, which may be a pipe.  0, or an errno: EAGAIN if another thread is
 * writing a file just now, ENODATA if the sites are not this process's, else why FD cannot be
 * written.
 */
int heap_file_write_to(int fd);

/*
 * Write PREFIX.PID.SEQ.KINDn.TIME.heap; TIME is UTC.  Trouble is said on stderr, the first time.
 * Nothing is written if the sites are not this process's, or another thread is writing.
 */
void heap_file_write(char kind);
/*
 * The same for the file at the end of the program, for which another thread that is writing is
 * waited for as long as it gets on.  No file is begun after it: the process would end in the
 * middle.  If the program MAY_GO_ON others wait meanwhile, and true is returned if a file was to be
 * written: then heap_file_go_on() has to be called if it does.
 */
bool heap_file_write_last(bool may_go_on);
/* Remove it again, and let others write. */
void heap_file_go_on(void);

#pragma GCC visibility pop

#endif
