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
 * A copy of descriptor FD of thread TID of the target (0: of the process), or -1 with E (EBADF: it
 * is closed).  Made by pidfd_getfd(), since Linux 5.6, and never by opening the descriptor's file:
 * the copy is the same open file, with the access that the target got for itself.  An open() would
 * be with memdiag's rights, on a file of the target's choice.  Descriptors are those of thread TID
 * since Linux 6.9; before, those of the first thread, and if that has ended none can be copied.
 *
 * The target may put another file in the place of FD at any moment.  So a caller examines the copy,
 * never FD, and nothing about FD is known from an earlier copy.
 */
int os_copy_fd(const struct target *t, pid_t tid, int fd, struct err *e);

/*
 * A descriptor of ours for the memfd NAME, which thread TID has just made as its descriptor FD with
 * MFD_ALLOW_SEALING; or -1 with E.  os_check_memfd() has accepted it.  Where pidfd_getfd() does not
 * exist (before Linux 5.6) it is opened by its name in /proc, after proof that it is a memfd whose
 * owner is the target's user, who could open it for writing as well.
 */
int os_copy_memfd(const struct target *t, pid_t tid, int fd, const char *name, struct err *e);

/*
 * A descriptor of ours for reading the file in memory that is descriptor FD of T, or -1 with E.  It
 * is on the kernel's own tmpfs, so reads of it never wait, whatever T has put in its place.
 */
int os_copy_memory_file(const struct target *t, int fd, struct err *e);

/*
 * Prove that descriptor FD of ours is an empty memfd NAME, open for reading and writing, that has
 * no seals yet and can be given some.  0, or -1 with E, which has the reason.  Reads and writes
 * of such a file never wait: it is no pipe, no device, and on no file system with a server.  Nor
 * does the proof itself, whatever FD is.
 */
int os_check_memfd(int fd, const char *name, struct err *e);

/*
 * Give the memfd FD of ours a size of BYTES that nobody can change, and prove that: what is mapped
 * stays there, and what is read has an end.  0, or -1 with E.
 */
int os_fix_size(int fd, uint64_t bytes, struct err *e);

/*
 * Whether FD of ours is on a file system through which the kernel is controlled, such as proc or
 * sysfs: its files ask for the rights of the process that writes (oom_score_adj), not only for
 * those of the one that has opened them.  May wait for the server of FD's file system.
 */
bool os_controls_kernel(int fd);

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
