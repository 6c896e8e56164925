/*
 * answers: whether a file answers a read at once.
 */
#ifndef MEMDIAG_OS_ANSWERS_H
#define MEMDIAG_OS_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

struct target;

/*
 * Whether the file NAME below /proc/PID, of device DEV, can be opened and read without waiting for
 * a server that does not answer.  Asked once for each device, in a child process that may hang in
 * our place; files of disks are not asked.
 */
bool os_file_answers(const struct target *t, const char *name, uint64_t dev);

#endif
