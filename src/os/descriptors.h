/*
 * descriptors: the open files of a target.
 */
#ifndef MEMDIAG_OS_DESCRIPTORS_H
#define MEMDIAG_OS_DESCRIPTORS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct target;

/*
 * A descriptor of ours for descriptor FD of the target, or -1 with E: by pidfd_getfd (5.6+), else
 * what it leads to is opened anew with FLAGS, which does for files.
 */
int os_open_fd(const struct target *t, int fd, int flags, struct err *e);

/* The name by which a process can open the file of its own descriptor FD anew; returns BUF. */
const char *os_fd_path_inside(int fd, char *buf, size_t size);

/* The file that a descriptor of a target leads to. */
struct os_descriptor {
	/* as /proc/PID/fd has it: "pipe:[123]", a path; not printable yet */
	char name[256];
	mode_t mode; /* S_IFMT of its file */
	int flags;   /* of open(2) */
};

/*
 * Look at descriptor FD of T, without waiting for a server of its file.  0 or -1 with E (ENOENT:
 * closed).
 */
int os_descriptor(const struct target *t, int fd, struct os_descriptor *ret, struct err *e);

/* The descriptors of T in any order; *RET is the caller's to free.  0 or -1 with E. */
int os_descriptors(const struct target *t, int **ret, size_t *ret_nr, struct err *e);

/* RLIMIT_FSIZE of T in bytes: a write beyond it is answered with SIGXFSZ.  UINT64_MAX: none. */
uint64_t os_file_size_limit(const struct target *t);

#endif
