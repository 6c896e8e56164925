/* deadline: --timeout for commands that leave no trace in the target, at any point. */
#ifndef MEMDIAG_UI_DEADLINE_H
#define MEMDIAG_UI_DEADLINE_H

#include <stdint.h>

/*
 * Make the end of the deadline print WORDS, a line that must stay, to the descriptor FD, and exit
 * with STATUS, for a command with other exit statuses.  Call it before deadline_set().
 */
void deadline_end_with(int fd, const char *words, int status);

/*
 * End memdiag with UI_FAILED, or as deadline_end_with() demands, after NS; a later call replaces
 * the deadline.  Delayed in os_trace(): all threads are let go first, unless the tracing thread is
 * stuck (os/ptrace.h).  If memdiag waits for a file system whose server does not answer, it is
 * ended one second later.
 */
void deadline_set(uint64_t ns);

/* For deadline_set(): longer than the lifetime of any process. */
#define DEADLINE_NEVER_NS (UINT64_C(1) << 61)

#endif
