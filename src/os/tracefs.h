/*
 * tracefs: the kernel's list of tracepoints in tracefs: their numbers and their fields.
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
 * Open the mounted tracefs, at /sys/kernel/tracing, /sys/kernel/debug/tracing or elsewhere.  If it
 * is not mounted and MAY_MOUNT, mount one without a place in the tree of files: no other process
 * sees it, and it ends with T or with memdiag (fsmount(2), since Linux 5.2).  0, or -1 with E:
 * ERR_PERMISSION, also if it is not mounted and must not be, with what helps.
 */
int tracefs_open(struct tracefs *t, bool may_mount, struct err *e);
void tracefs_release(struct tracefs *t);
#define auto_tracefs __attribute__((cleanup(tracefs_release)))

/*
 * Store the number of tracepoint NAME ("syscalls/sys_enter_mmap") for perf_event_open() in *RET.
 * 0, or -1 with E: ERR_UNSUPPORTED if the kernel does not have it.
 */
int tracefs_id(const struct tracefs *t, const char *name, uint64_t *ret, struct err *e);

/*
 * Store the offset of FIELD in that tracepoint's records, and its size (from its file "format").
 * 0, or -1 with E: ERR_UNSUPPORTED if it has no such field.
 */
int tracefs_field(const struct tracefs *t, const char *name, const char *field, size_t *ret_offset,
	size_t *ret_bytes, struct err *e);

#endif
