/*
 * os: the kernel's side of a target: /proc, its memory, its pages, and ptrace; or what the kernel
 * wrote of them into a core file.  Only this room uses ptrace(), waitpid(), process_vm_readv(),
 * ioctl() or "/proc".  This header declares the target and its files in /proc; each other header
 * has one subject.
 */
#ifndef MEMDIAG_OS_OS_H
#define MEMDIAG_OS_OS_H

#include <stdint.h>
#include <sys/types.h>

struct core;
struct os_frozen;

/*
 * A process, or the core file of a process.  A process is held by an open /proc/PID directory, and
 * its memory by an open file: when it ends, reads of them fail with ESRCH, even after its number
 * was given to another process.  Writes to its memory and its threads' registers use the number;
 * call target_is_alive() where that matters.
 */
struct target {
	pid_t pid;     /* the thread group, as seen in our PID namespace */
	pid_t mem_tid; /* a living thread; the leader unless that is a zombie */
	/* O_PATH of /proc/PID, or of /proc/PID/task/TID if the leader died */
	int proc_fd;
	int task_fd; /* O_PATH of /proc/PID/task */
	/*
	 * /proc/PID/mem, which stays with the program that ran when it was opened; -1 if it may not
	 * be opened
	 */
	int mem_fd;
	int pagemap_fd;	      /* /proc/PID/pagemap, likewise */
	int pidfd;	      /* -1 if the kernel has no pidfds (before 5.3) */
	uint64_t start_ticks; /* field 22 of /proc/PID/stat: since boot, in clock ticks */
	char comm[64];	      /* its name, made printable */
	/* owned; NULL for a process.  For a core file only pid, mem_tid and comm are set as well */
	struct core *core;
	/* borrowed; NULL, or the threads of the process of which this one is a copy */
	const struct os_frozen *frozen;
};
/* An initial value before target_open(): a target that target_release() leaves alone. */
#define TARGET_NONE                                                                                \
	{                                                                                          \
		.proc_fd = -1, .task_fd = -1, .mem_fd = -1, .pagemap_fd = -1, .pidfd = -1          \
	}

#endif
