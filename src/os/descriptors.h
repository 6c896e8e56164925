/*
 * descriptors: the open files of a target.
 */
#ifndef MEMDIAG_OS_DESCRIPTORS_H
#define MEMDIAG_OS_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct target;

/*
 * Return a copy of descriptor FD of thread TID of the target (0: of the process), or -1 with E
 * (EBADF: FD is closed).  The copy comes from pidfd_getfd(), since Linux 5.6, and never from
 * opening the descriptor's file: it is the same open file, with the access that the target got for
 * itself.  An open() would use memdiag's rights, on a file of the target's choice.  Descriptors are
 * those of thread TID since Linux 6.9; before, those of the first thread, and if that has ended no
 * descriptor can be copied.
 *
 * The target may put another file in the place of FD at any moment.  So examine the copy, never FD,
 * and conclude nothing about FD from an earlier copy.
 */
int os_copy_fd(const struct target *t, pid_t tid, int fd, struct err *e);

/*
 * Return our descriptor for the memfd NAME, which thread TID has just made as its descriptor FD
 * with MFD_ALLOW_SEALING; or -1 with E.  os_check_memfd() has accepted it.  Without pidfd_getfd()
 * (before Linux 5.6) it is opened by its name in /proc, after a check that it is a memfd owned by
 * the target's user, who could open it for writing as well.
 */
int os_copy_memfd(const struct target *t, pid_t tid, int fd, const char *name, struct err *e);

/*
 * Return our descriptor for reading the file in memory that is descriptor FD of T, or -1 with E.
 * It is on the kernel's own tmpfs, so reads never wait, whatever T has put in its place.
 */
int os_copy_memory_file(const struct target *t, int fd, struct err *e);

/*
 * Check that our descriptor FD is an empty memfd NAME, open for reading and writing, that has no
 * seals yet and accepts seals.  0, or -1 with E, which has the reason.  Reads and writes of such a
 * file never wait: it is not a pipe, a device, or on a file system with a server.  The check itself
 * does not wait either, whatever FD is.
 */
int os_check_memfd(int fd, const char *name, struct err *e);

/*
 * Give our memfd FD a size of BYTES that no process can change, and check that: mappings of it stay
 * valid, and reads of it end.  0, or -1 with E.
 */
int os_fix_size(int fd, uint64_t bytes, struct err *e);

/*
 * Return whether our FD is on a file system that controls the kernel, such as proc or sysfs: such
 * files (oom_score_adj) check the rights of the process that writes, not only of the one that
 * opened them.  May wait for the server of FD's file system.
 */
bool os_controls_kernel(int fd);

/*
 * Print the name by which a process can open the file of its own descriptor FD again; return BUF.
 */
const char *os_fd_path_inside(int fd, char *buf, size_t size);

/* The file of a target's descriptor. */
struct os_descriptor {
	/* as in /proc/PID/fd: "pipe:[123]", a path; not printable yet */
	char name[256];
	mode_t mode; /* S_IFMT of the file */
	int flags;   /* as of open(2) */
};

/*
 * Examine descriptor FD of T, without waiting for the server of its file.  0 or -1 with E (ENOENT:
 * closed).
 */
int os_descriptor(const struct target *t, int fd, struct os_descriptor *ret, struct err *e);

/* List the descriptors of T in any order; *RET is the caller's to free.  0 or -1 with E. */
int os_descriptors(const struct target *t, int **ret, size_t *ret_nr, struct err *e);

/* Return RLIMIT_FSIZE of T in bytes: a write beyond it raises SIGXFSZ.  UINT64_MAX: no limit. */
uint64_t os_file_size_limit(const struct target *t);

#endif
