/*
 * tracefs: the kernel's list of tracepoints, as tracefs has it: their numbers and their fields.
 */
#ifndef MEMDIAG_OS_TRACEFS_H
#define MEMDIAG_OS_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tracefs {
	int fd; /* of its root; -1: not open */
};
#define TRACEFS_NONE                                                                               \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * Open the tracefs that is mounted, at /sys/kernel/tracing, /sys/kernel/debug/tracing or
 * elsewhere.  If none is and MAY_MOUNT, mount one that has no place in the tree of files: no other
 * process sees it, and it ends with T or with memdiag (fsmount(2), since Linux 5.2).  0, or -1 with
 * E: ERR_PERMISSION, also if there is none and it may not be mounted, with what helps.
 */
int tracefs_open(struct tracefs *t, bool may_mount, struct err *e);
void tracefs_release(struct tracefs *t);
#define auto_tracefs __attribute__((cleanup(tracefs_release)))

/*
 * The number of tracepoint NAME ("syscalls/sys_enter_mmap") for perf_event_open(), into *RET.  0,
 * or -1 with E: ERR_UNSUPPORTED if the kernel does not have it.
 */
int tracefs_id(const struct tracefs *t, const char *name, uint64_t *ret, struct err *e);

/*
 * Where FIELD of that tracepoint lies in its records, and its size (as its file "format" says).  0,
 * or -1 with E: ERR_UNSUPPORTED if it has no such field.
 */
int tracefs_field(const struct tracefs *t, const char *name, const char *field, size_t *ret_offset,
	size_t *ret_bytes, struct err *e);

#endif
