/*
 * proc: the files below /proc/PID.
 */
#ifndef MEMDIAG_OS_PROC_H
#define MEMDIAG_OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "base/text.h"

struct target;

/*
 * Read all of /proc/PID/NAME.  TID 0 reads the process's own file, else that of one thread.  A core
 * file has maps, in which all mappings are private and files have made-up inodes, and auxv.
 * Returns 0, or -1 with E and OUT released.
 */
int os_proc_read(
	const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e);

/* As os_proc_read(), but as a stream.  Returns NULL with E on failure. */
FILE *os_proc_stream(const struct target *t, const char *name, struct err *e);

/*
 * Open /proc/PID/NAME (flags as of open(2), O_CLOEXEC is added).  Returns a descriptor or -1.
 * Files below root/, fd/ and the like are of the target's choice: they are only held (O_PATH), and
 * opened by os_open_held() of os/stranger.h.
 */
int os_proc_open(const struct target *t, const char *name, int flags, struct err *e);

/* Return whether T finds a proc file system at /proc; it may not after a chroot(). */
bool os_sees_proc(const struct target *t);

/*
 * Store in BUF the name by which thread TID itself can open its descriptor FD; the name is valid
 * for that thread only.  Returns 0, or -1 with E.
 */
int os_own_fd_name(
	const struct target *t, pid_t tid, int fd, char *buf, size_t size, struct err *e);

/* Store the target of the symbolic link /proc/PID/NAME in BUF, NUL-terminated; 0 or -1 with E. */
int os_proc_link(const struct target *t, const char *name, char *buf, size_t size, struct err *e);

/* The present system call of thread TID, read without stopping it (/proc/PID/task/TID/syscall). */
struct os_syscall {
	bool is_running; /* then all else is unknown */
	long nr;	 /* -1: blocked, but not in a system call (page fault, stopped) */
	uint64_t arg[6];
	raddr sp, pc;
};

int os_thread_syscall(const struct target *t, pid_t tid, struct os_syscall *ret, struct err *e);

/*
 * Get the head of thread TID's robust futex list: it lies in glibc's struct pthread, at the top of
 * the thread's stack.  Works on running threads without stopping them.  Returns 0 or -1 (no list,
 * no right).
 */
int os_robust_list(const struct target *t, pid_t tid, raddr *ret_head);

#endif
