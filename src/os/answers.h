/*
 * answers: whether a file answers a read at once.
 */
#ifndef MEMDIAG_OS_ANSWERS_H
#define MEMDIAG_OS_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

struct target;

/*
 * Return whether the file NAME below /proc/PID, on device DEV, can be opened and read without
 * waiting for a server that does not answer.  A child process, which may hang in our place, tries
 * it once per device; local disks are not tried.  Without a child the answer is no: memdiag export
 * may not make one.
 */
bool os_file_answers(const struct target *t, const char *name, uint64_t dev);

#endif
