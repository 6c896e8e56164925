/*
 * os: the kernel's side of a target: /proc, its memory, its pages, and ptrace; or what the kernel
 * wrote of them into a core file.  The only room that says ptrace(), waitpid(),
 * process_vm_readv(), ioctl() or "/proc".  This header has the target and its files in /proc, each
 * of the others one subject.
 */
#ifndef MEMDIAG_OS_OS_H
#define MEMDIAG_OS_OS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "base/text.h"

struct core;

/*
 * A process, or the core file of one.  A process is held by an open /proc/PID directory, and its
 * memory by an open file: when it ends, reads of them fail with ESRCH, even after its number was
 * given to another process.  Writes to its memory and its threads' registers go by number; ask
 * target_is_alive() where that matters.
 */
struct target {
	pid_t pid;     /* the thread group, as seen from our PID namespace */
	pid_t mem_tid; /* a living thread; the leader unless that is a zombie */
	/* O_PATH of /proc/PID, or of /proc/PID/task/TID if the leader died */
	int proc_fd;
	int task_fd;	      /* O_PATH of /proc/PID/task */
	int mem_fd;	      /* /proc/PID/mem, which stays that of the program that ran then; -1
				 * where it may not be opened */
	int pagemap_fd;	      /* /proc/PID/pagemap, likewise */
	int pidfd;	      /* -1 where the kernel has none (before 5.3) */
	uint64_t start_ticks; /* field 22 of /proc/PID/stat: since boot, in clock ticks */
	char comm[64];	      /* its name, made printable */
	struct core *core;    /* owned; NULL for a process.  For a core file only pid, mem_tid
				 * and comm are filled as well */
};

/*
 * Open process PID (a thread's number means its process).  T need not be initialised. Fails with
 * ERR_GONE if it does not exist or is a zombie, ERR_UNSUPPORTED for a kernel thread.
 */
int target_open(struct target *t, pid_t pid, struct err *e);

/*
 * Take the core file PATH for a target: written by the kernel, gcore or systemd-coredump, of an
 * x86-64, i386 or aarch64 process.  It answers what it can of what is below, and fails with
 * ERR_UNSUPPORTED where it takes a living process.  What it leaves out because a file has it is
 * read from that file, if the build-id shows that it is the one: SYSROOT is where to look for files
 * before they are looked for where they were, NULL for nowhere.  A core file that was cut off is
 * read as far as it goes.  Not safe for two threads.  T need not be initialised.  Fails with
 * ERR_UNSUPPORTED for what is no core file or one of another kind.
 */
int target_open_core(struct target *t, const char *path, const char *sysroot, struct err *e);

/* The remarks on a core file. */
struct os_core_facts {
	const char *path;	/* as given; owned by the target */
	int signal;		/* that ended the process, 0 if none did */
	uint64_t memory_bytes;	/* that were written */
	uint64_t missing_bytes; /* of which the file does not have: it was cut off */
	/* no ELF header of a mapped file was written, by which files are known */
	bool lacks_headers;
	/* not even stacks were written: /proc/PID/coredump_filter is to blame */
	bool is_filtered;
};

/* False when T is a process. */
bool os_core_facts(const struct target *t, struct os_core_facts *ret);

void target_release(struct target *t);
/*
 * For a child that was forked: have descriptors of its own, so that a claim of its parent's (see
 * target_claim()) ends with its parent.  0, or -1 with E and T as it was.
 */
int target_reopen(struct target *t, struct err *e);
#define auto_target __attribute__((cleanup(target_release)))
/* For a declaration before target_open(): a target that target_release() leaves alone. */
#define TARGET_NONE                                                                                \
	{                                                                                          \
		.proc_fd = -1, .task_fd = -1, .mem_fd = -1, .pagemap_fd = -1, .pidfd = -1          \
	}

/*
 * False once the process has ended (a zombie has ended), or has no memory any more as it ends; true
 * if that cannot be determined.  A core file stays.
 */
bool target_is_alive(const struct target *t);

/*
 * Hold T by another thread if the one it is held by has ended and the process has not: its files in
 * /proc are those of one thread, and empty once that has ended.  What target_is_alive() returns.
 */
bool target_renew(struct target *t);

/*
 * Read /proc/PID/NAME whole.  TID 0 reads the process's own file, else that of one thread.  A core
 * file has maps, in which all is private and files have made-up inodes, and auxv. Returns 0, or -1
 * with E and OUT released.
 */
int os_proc_read(
	const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e);

/* As os_proc_read(), but as a stream.  Returns NULL with E on failure. */
FILE *os_proc_stream(const struct target *t, const char *name, struct err *e);

/*
 * Open /proc/PID/NAME (flags as of open(2), O_CLOEXEC is added).  Returns a descriptor or -1.  What
 * is below root/, fd/ and the like is a file of the target's choice: that is only held (O_PATH),
 * and opened by os_open_held() of os/stranger.h.
 */
int os_proc_open(const struct target *t, const char *name, int flags, struct err *e);

/* Whether T finds a file system of processes at /proc; there may be none after a chroot(). */
bool os_sees_proc(const struct target *t);

/*
 * The name by which thread TID itself can open its descriptor FD, into BUF; it is no other
 * thread's.  Returns 0, or -1 with E.
 */
int os_own_fd_name(
	const struct target *t, pid_t tid, int fd, char *buf, size_t size, struct err *e);

/* The target of the symbolic link /proc/PID/NAME, into BUF, NUL-terminated; 0 or -1 with E. */
int os_proc_link(const struct target *t, const char *name, char *buf, size_t size, struct err *e);

/* The fields of /proc/PID/status.  Fields that a kernel does not print stay 0. */
struct os_status {
	char state; /* R S D T t Z X */
	pid_t tgid, ppid, tracer;
	uint32_t uid;		   /* effective */
	uint32_t uids[3], gids[3]; /* real, effective and saved */
	int nr_threads;
	int seccomp;	       /* 0 none, 1 strict, 2 filter */
	bool is_kernel_thread; /* not of a zombie; from /proc/PID/stat */
	bool has_memory;       /* false for zombies and kernel threads */
	bool has_shadow_stack; /* x86_Thread_features names shstk (6.6+) */
	int nr_pid_namespaces; /* numbers on the NSpid line, 1 outside of any container */
	pid_t inner_tid;       /* the thread's number in its own namespace; 0 before 4.1 */
	uint64_t vm_size_bytes, vm_peak_bytes, vm_rss_bytes, vm_hwm_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
	uint64_t vm_swap_bytes, vm_pte_bytes, hugetlb_bytes;
	uint64_t vm_locked_bytes; /* mlock(), mlockall(): addresses */
	uint64_t signals_pending; /* SigPnd | ShdPnd */
	uint64_t signals_blocked; /* SigBlk */
	uint64_t voluntary_switches;
	uint64_t capabilities; /* CapPrm */
};

int os_status(const struct target *t, pid_t tid, struct os_status *ret, struct err *e);

/*
 * Number NR, 4 to 52 as in proc(5), of the fields of thread TID's stat file: *RET, 0 if the kernel
 * has no such field.  Returns 0, or -1 with E.
 */
int os_stat_field(const struct target *t, pid_t tid, int nr, uint64_t *ret, struct err *e);

/*
 * /proc/PID/stat.  Addresses are 0 to a caller that may not trace the target (mm_struct is hidden).
 */
struct os_stat {
	raddr start_stack;    /* field 28 */
	raddr start_brk;      /* field 47 */
	raddr arg_start;      /* field 48 */
	uint64_t start_ticks; /* field 22 */
	uint64_t nr_faults;   /* fields 10 and 12: page faults of all threads so far */
};

int os_stat(const struct target *t, struct os_stat *ret, struct err *e);

/*
 * Claim T, which lasts until target_unclaim(), target_release() or our own end: no other memdiag
 * may change or stop it meanwhile.  Claiming it again does nothing.  Excludes memdiags of other
 * users; of other PID namespaces since Linux 6.9 only. 0, or -1 with E: ERR_NO_SAFE_POINT, naming
 * the other process, when it still had T after WAIT_NS.
 */
int target_claim(const struct target *t, uint64_t wait_ns, struct err *e);
void target_unclaim(const struct target *t);

/*
 * Be the one memdiag that writes the log of T, for as long as *RET_FD is open, here or in a child.
 * 0, or -1 with E: another one does.  It excludes those that target_claim() does.
 */
int target_claim_log(const struct target *t, int *ret_fd, struct err *e);
/* Whether any memdiag does. */
bool target_log_is_claimed(const struct target *t);

#endif
