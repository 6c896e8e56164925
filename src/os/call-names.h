/*
 * call-names: system calls by their names.
 */
#ifndef MEMDIAG_OS_CALL_NAMES_H
#define MEMDIAG_OS_CALL_NAMES_H

#include <stddef.h>

/*
 * Print "futex()" for system call NR, "system call 4711" for one without a name here, into BUF;
 * return BUF.
 */
const char *os_call_name(long nr, char *buf, size_t size);

#endif
