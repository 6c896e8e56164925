/*
 * os: the kernel's side of a target: /proc, its memory, its pages, and ptrace; or what it wrote of
 * them into a core file.  The only room that says ptrace(), waitpid(), process_vm_readv(), ioctl()
 * or "/proc".
 * May use: base/.
 */
#ifndef MEMDIAG_OS_OS_H
#define MEMDIAG_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"
#include "base/raddr.h"
#include "base/text.h"

/* ---- the target ---------------------------------------------------------------------------- */

struct core;

/*
 * A process that is looked at, or the core file of one.  A process is held by an open /proc/PID
 * directory, and its memory by an open file: when it ends, reads of them fail with ESRCH, even after
 * its number was given to somebody else.  Writes to its memory and its threads' registers go by
 * number; ask target_is_alive() where that matters.
 */
struct target {
	pid_t pid;		/* the thread group, as seen from our PID namespace */
	pid_t mem_tid;		/* a living thread; the leader unless that is a zombie */
	int proc_fd;		/* O_PATH of /proc/PID, or of /proc/PID/task/TID if the leader died */
	int task_fd;		/* O_PATH of /proc/PID/task */
	int mem_fd;		/* /proc/PID/mem, which stays that of the program that ran then; -1
				 * where it may not be opened */
	int pidfd;		/* -1 where the kernel has none (before 5.3) */
	uint64_t start_ticks;	/* field 22 of /proc/PID/stat: since boot, in clock ticks */
	char comm[64];		/* its name, made printable */
	struct core *core;	/* owned; NULL for a process.  Of a core file only pid, mem_tid
				 * and comm are filled besides */
};

/*
 * Take hold of process PID (a thread's number means its process).  T need not be initialised.
 * Fails with ERR_GONE when there is none or only a zombie is left, ERR_UNSUPPORTED for a kernel
 * thread.
 */
int target_open(struct target *t, pid_t pid, struct err *e);

/*
 * Take the core file PATH for a target: written by the kernel, gcore or systemd-coredump, of an
 * x86-64, i386 or aarch64 process.  It answers what it can of what is below, and fails with
 * ERR_UNSUPPORTED where it takes a living process.  What it leaves out because a file has it is read
 * from that file, if the build-id shows that it is the one: SYSROOT is where to look for files
 * before they are looked for where they were, NULL for nowhere.  A core file that was cut off is
 * read as far as it goes.  Not safe for two threads.  T need not be initialised.  Fails with
 * ERR_UNSUPPORTED for what is no core file or one of another kind.
 */
int target_open_core(struct target *t, const char *path, const char *sysroot, struct err *e);

/* What is to be said of a core file. */
struct os_core_facts {
	const char *path;	/* as given; owned by the target */
	int signal;		/* that ended the process, 0 if none did */
	uint64_t memory_bytes;	/* that were written */
	uint64_t missing_bytes;	/* of which the file does not have: it was cut off */
	bool is_filtered;	/* not even stacks were written: /proc/PID/coredump_filter is to blame */
};

/* False when T is a process. */
bool os_core_facts(const struct target *t, struct os_core_facts *ret);

void target_release(struct target *t);
#define auto_target __attribute__((cleanup(target_release)))
/* For a declaration before target_open(): a target that target_release() leaves alone. */
#define TARGET_NONE { .proc_fd = -1, .task_fd = -1, .mem_fd = -1, .pidfd = -1 }

/*
 * False once the process has ended (a zombie has ended), or has no memory any more as it ends.  A
 * core file stays.
 */
bool target_is_alive(const struct target *t);

/*
 * Read /proc/PID/NAME whole.  TID 0 reads the process's own file, else that of one thread.  A core
 * file has maps, in which all is private and files are told apart by made-up inodes, and auxv.
 * Returns 0, or -1 with E and OUT released.
 */
int os_proc_read(
	const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e);

/* As os_proc_read(), but to be read bit by bit.  Returns NULL with E on failure. */
FILE *os_proc_stream(const struct target *t, const char *name, struct err *e);

/* Open /proc/PID/NAME (flags as of open(2), O_CLOEXEC is added).  Returns a descriptor or -1. */
int os_proc_open(const struct target *t, const char *name, int flags, struct err *e);

/*
 * The name by which thread TID itself can open its descriptor FD, into BUF; it is no other thread's.
 * Returns 0, or -1 with E.
 */
int os_own_fd_name(
	const struct target *t, pid_t tid, int fd, char *buf, size_t size, struct err *e);

/* What the symbolic link /proc/PID/NAME points to, into BUF, NUL-terminated; 0 or -1 with E. */
int os_proc_link(
	const struct target *t, const char *name, char *buf, size_t size, struct err *e);

/* What /proc/PID/status says.  Fields a kernel does not print stay 0. */
struct os_status {
	char state;		/* R S D T t Z X */
	pid_t tgid, ppid, tracer;
	uint32_t uid;		/* effective */
	int nr_threads;
	int seccomp;		/* 0 none, 1 strict, 2 filter */
	bool is_kernel_thread;
	bool has_memory;	/* false for zombies and kernel threads */
	bool has_shadow_stack;	/* x86_Thread_features names shstk (6.6+) */
	int nr_pid_namespaces;	/* numbers on the NSpid line, 1 outside of any container */
	pid_t inner_tid;	/* the thread's number in its own namespace; 0 before 4.1 */
	uint64_t vm_size_bytes, vm_peak_bytes, vm_rss_bytes, vm_hwm_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
	uint64_t vm_swap_bytes, vm_pte_bytes, hugetlb_bytes;
	uint64_t vm_locked_bytes;	/* mlock(), mlockall(): addresses */
	uint64_t signals_pending;	/* SigPnd | ShdPnd */
	uint64_t signals_blocked;	/* SigBlk */
	uint64_t voluntary_switches;
};

int os_status(const struct target *t, pid_t tid, struct os_status *ret, struct err *e);

/* /proc/PID/stat.  Addresses are 0 to a caller that may not trace the target (mm_struct is hidden). */
struct os_stat {
	raddr start_stack;	/* field 28 */
	raddr start_brk;	/* field 47 */
	raddr arg_start;	/* field 48 */
	uint64_t start_ticks;	/* field 22 */
	uint64_t nr_faults;	/* fields 10 and 12: page faults of all threads so far */
};

int os_stat(const struct target *t, struct os_stat *ret, struct err *e);

/*
 * Have T for oneself among those that ask so: who changes it in several steps.  *RET is a descriptor,
 * the caller's to close, which ends it, as its own end does.  0, or -1 with E when another still had
 * it after WAIT_NS.
 */
int os_lock(const struct target *t, uint64_t wait_ns, int *ret, struct err *e);

/*
 * The thread numbers in the order of /proc/PID/task, the first MAX of them: the kernel takes its time
 * for each.  *RET_TIDS is the caller's to free.
 */
int os_threads(
	const struct target *t, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e);

/* The name of thread TID made printable, "?" if it is gone. */
const char *os_thread_name(const struct target *t, pid_t tid, char *buf, size_t size);

/*
 * What thread TID is doing, without stopping it (/proc/PID/task/TID/syscall).
 */
struct os_syscall {
	bool is_running;	/* then nothing else is known */
	long nr;		/* -1: blocked, but not in a system call (page fault, stopped) */
	uint64_t arg[6];
	raddr sp, pc;
};

int os_thread_syscall(
	const struct target *t, pid_t tid, struct os_syscall *ret, struct err *e);

/*
 * The head of thread TID's robust futex list: it lies in glibc's struct pthread, at the top of the
 * thread's stack.  Works on running threads, stops nobody.  Returns 0 or -1 (no list, no right).
 */
int os_robust_list(const struct target *t, pid_t tid, raddr *ret_head);

/*
 * The thread pointer of TID, which glibc's struct pthread is found by: in core files of 64 bit only,
 * for one would have to stop the thread of a process.  Returns 0 or -1.
 */
int os_thread_pointer(const struct target *t, pid_t tid, raddr *ret);

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * Copy SIZE bytes of the target.  Returns 0 when all were copied, else -1 with E (EFAULT: some of
 * the range is not mapped).  Reading a page that is not present maps the zero page there, and a
 * swapped page comes back from swap: ask os_pages() first where that matters.
 */
int os_read(const struct target *t, raddr from, void *to, size_t size, struct err *e);

/* As os_read(), but copies what it can from the start and returns the bytes copied, or -1. */
ssize_t os_read_some(const struct target *t, raddr from, void *to, size_t size, struct err *e);

/*
 * As os_read_some(), about twice as fast for many pages at once: for pages that no other process
 * has (os_pages_exclusive()).  Of shared ones it would give the target copies of its own.
 */
ssize_t os_read_unshared(
	const struct target *t, raddr from, void *to, size_t size, struct err *e);

/*
 * Copy SIZE bytes from each of the NR addresses FROM, one behind the other into TO;
 * zeroes stand for what is not mapped.
 */
int os_read_each(const struct target *t, const raddr *from, size_t nr, size_t size, void *to,
	struct err *e);

/* Write SIZE bytes of ours to the target.  Only inject/ has reason to. */
int os_write(const struct target *t, raddr to, const void *from, size_t size, struct err *e);

/* ---- pages ----------------------------------------------------------------------------------- */

/* A run of pages that share the same answer, as large as the kernel tells it. */
struct os_page_run {
	raddr start, end;
	bool is_present;	/* counted in RSS: present and not the zero page */
	bool is_swapped;	/* and not a guard page (MADV_GUARD_INSTALL) */
	bool is_guard;
	bool is_file;		/* file or shared memory page; only if asked for */
	bool is_huge;		/* mapped as a huge page (PAGEMAP_SCAN only) */
};

enum os_pages_by {
	OS_PAGES_AUTO,		/* the first of these that works */
	OS_PAGES_SCAN,		/* PAGEMAP_SCAN, 6.7+ */
	OS_PAGES_PAGEMAP,	/* reads of /proc/PID/pagemap: zero pages look like any other */
	OS_PAGES_HOLES,		/* a core file: holes stand for what was neither present nor swapped */
	OS_PAGES_NONZERO,	/* one without holes: what has data, which is not all that was present */
	OS_PAGES_NONE,		/* what a reader that could not be opened uses */
};

/* A reader of page states.  Not safe for two threads. */
struct os_pages;

/*
 * Open a reader.  BY other than AUTO forces that way; a core file has but one.  Returns 0 with *RET, or -1 with E
 * (ERR_PERMISSION: which capability is missing).
 */
int os_pages_open(
	struct os_pages **ret, const struct target *t, enum os_pages_by by, struct err *e);
void os_pages_free(struct os_pages *p);
static inline void
os_pages_cleanup(struct os_pages **p)
{
	os_pages_free(*p);
}
#define auto_pages __attribute__((cleanup(os_pages_cleanup)))
/* All threads of the target stand still, or run again: then nobody waits for pauses, or somebody does. */
void os_pages_stopped(struct os_pages *p, bool is_stopped);

/* What AUTO came to; NONE for NULL. */
enum os_pages_by os_pages_by(const struct os_pages *p);

/*
 * Call FN for every run of pages in [START, END) that is present, swapped or a guard, in order of
 * address; pages that are none of these are not mentioned.  With WANT_KIND is_file is filled, at
 * about three times the cost.  The range is walked in pieces with short pauses, so that the
 * target's own mmap and munmap never wait for long.  FN returns 0 to go on; any other value ends
 * the walk and is returned.  -1 with E on failure.
 */
int os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);

/*
 * How many bytes of [START, END), which are pages, are present and nobody else's, into *RET.
 * ERR_UNSUPPORTED for a core file.
 */
int os_pages_exclusive(
	struct os_pages *p, raddr start, raddr end, uint64_t *ret_bytes, struct err *e);

/* ---- mappings --------------------------------------------------------------------------------- */

enum os_fs {
	OS_FS_UNKNOWN,		/* it takes CAP_SYS_ADMIN to tell */
	OS_FS_TMPFS,		/* memory: tmpfs, memfd, System V, shared anonymous */
	OS_FS_HUGETLB,		/* pages from the hugetlb pool */
	OS_FS_OTHER,
};

/* What kind of file system has the file that is mapped at exactly [START, END). */
enum os_fs os_mapping_fs(const struct target *t, raddr start, raddr end);

/*
 * Open the file that is mapped at START, if it can be reached and is the very one: of a process by
 * its name PATH with DEV and INODE, of a core file by the build-id.  Returns a descriptor or -1.
 */
int os_mapping_open(
	const struct target *t, raddr start, const char *path, uint64_t dev, uint64_t inode);

/* ---- ptrace ---------------------------------------------------------------------------------- */

/* Monotonic time in nanoseconds. */
uint64_t os_now_ns(void);
void os_sleep_ns(uint64_t ns);

/*
 * Run FN(ARG) in a thread of ours of its own, which may trace.  Meanwhile SIGINT, SIGTERM, SIGHUP,
 * SIGQUIT, SIGTSTP and SIGALRM to us are held back, and our priority is raised as far as we may: a
 * stopped thread waits for us at every step.  When FN has returned the kernel lets go whatever it
 * still traces; also threads that run, which cannot be detached from.  Not reentrant.
 */
int os_trace(void (*fn)(void *arg), void *arg, struct err *e);

enum os_stop_kind {
	OS_STOP_TIMEOUT,	/* none: the deadline has passed */
	OS_STOP_EVENT,		/* asked for by os_interrupt(), or the first stop of a new thread */
	OS_STOP_GROUP,		/* a SIGSTOP or the like stopped the whole process */
	OS_STOP_SIGNAL,		/* SIG is about to be delivered */
	OS_STOP_SYSCALL,	/* at its entry or exit */
	OS_STOP_CLONE,		/* made the thread NEW_TID, which is ours and stops by itself */
	OS_STOP_EXEC,		/* the process runs another program now */
	OS_STOP_GONE,		/* the thread has ended */
};

struct os_stop {
	enum os_stop_kind kind;
	int sig;
	bool is_own;	/* SIGNAL: a fault of the thread's own, or its own abort(); nobody sent it */
	pid_t new_tid;
	enum { OS_PHASE_UNKNOWN, OS_PHASE_ENTRY, OS_PHASE_EXIT } phase;	/* SYSCALL; unknown before 5.3 */
};

enum os_resume {
	OS_RESUME_FREE,		/* PTRACE_CONT */
	OS_RESUME_TO_SYSCALL,	/* PTRACE_SYSCALL: to the next entry or exit of a system call */
};

/*
 * Attach to one thread without stopping it.  exec is reported; never with EXITKILL: if we die, the
 * target runs on.  One that was to be let go by os_detach_later() is kept.  ERR_GONE if it is ending.
 * On EPERM E says why, by diagnosis: which uid, capability, namespace, LSM or tracer is in the way,
 * and what helps.
 */
int os_seize(const struct target *t, pid_t tid, struct err *e);

/* Whether threads that a stopped thread makes are attached too, from birth (OS_STOP_CLONE). */
int os_trace_births(pid_t tid, bool want, struct err *e);

int os_interrupt(pid_t tid, struct err *e);
int os_resume(pid_t tid, enum os_resume how, int sig, struct err *e);

/* Wait for TID to stop until DEADLINE_NS of os_now_ns().  0 with *RET, or -1 with E. */
int os_wait(pid_t tid, uint64_t deadline_ns, struct os_stop *ret, struct err *e);

/*
 * Let a thread go that was interrupted and has not stopped: as soon as it does, which os_wait() for
 * any other and os_attend() see to.  Until then it may hold a lock that others wait for.
 */
void os_detach_later(pid_t tid);

/* Sleep for NS, letting such threads go meanwhile.  Only in os_trace(). */
void os_attend(uint64_t ns);

/* Let a stopped thread go, delivering SIG if not 0.  ESRCH (it has ended) is no error here. */
int os_detach(pid_t tid, int sig, struct err *e);

/*
 * A register set of a stopped thread (NT_PRSTATUS, NT_X86_XSTATE ... of elf.h) to or from BUF.
 * *SIZE is the room and becomes the size.
 */
int os_get_regset(pid_t tid, unsigned int type, void *buf, size_t *size, struct err *e);
int os_set_regset(pid_t tid, unsigned int type, const void *buf, size_t size, struct err *e);

/*
 * Write SIZE bytes to memory of stopped thread TID that need not be writable: code.  Eight bytes are
 * written in one go, whatever happens to us.
 */
int os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e);

/* The kernel's 64-bit blocked signal mask of a stopped thread. */
int os_get_sigmask(pid_t tid, uint64_t *ret, struct err *e);
int os_set_sigmask(pid_t tid, uint64_t mask, struct err *e);

/*
 * Where the stopped thread's rseq area says it is inside a restartable sequence.  *RET is false
 * when it has no area or the kernel cannot tell (before 5.13).
 */
int os_is_in_rseq(const struct target *t, pid_t tid, bool *ret, struct err *e);

/* Whether system calls of the stopped thread are dispatched to a handler of its own (6.4+). */
int os_has_syscall_dispatch(pid_t tid, bool *ret, struct err *e);

/* Whether thread TID is scheduled as most are (SCHED_OTHER): neither real time nor batch nor idle. */
bool os_is_scheduled_plainly(pid_t tid);

/* In os_trace(): whether somebody has asked us to end (SIGINT ...), which is held back still. */
bool os_is_asked_to_end(void);

/* ---- seccomp filters ----------------------------------------------------------------------------- */

struct os_filter {
	pid_t tid;		/* a thread that has it */
	struct sock_filter *code;
	size_t nr;
};

/* Filters of any threads of a target, each once. */
struct os_filters {
	struct os_filter *v;
	size_t nr, room;
};

struct os_call {
	const char *name;
	long nr;		/* -1: one that is skipped */
	uint64_t arg[6];
};

/*
 * Add those of thread TID, which is stopped and ours.  -1 with E, also when they cannot be read: that takes
 * CAP_SYS_ADMIN, and that we have no filter ourselves (kernel/seccomp.c, seccomp_get_filter()).
 */
int os_filters_add(struct os_filters *f, const struct target *t, pid_t tid, struct err *e);

/* One of F that does more than refuse CALL: it may end the thread for it.  NULL: there is none. */
const struct os_filter *os_filters_harm(const struct os_filters *f, const struct os_call *call);

void os_filters_release(struct os_filters *f);
#define auto_filters __attribute__((cleanup(os_filters_release)))

/* Whether A and B are threads of processes that share one address space (kcmp). */
bool os_shares_memory(pid_t a, pid_t b);

/*
 * A descriptor of ours for descriptor FD of the target, or -1 with E: by pidfd_getfd (5.6+), else
 * what it leads to is opened anew with FLAGS, which does for files.
 */
int os_open_fd(const struct target *t, int fd, int flags, struct err *e);

/*
 * Why tracing T is refused, after it was: fills E from what /proc says of the target and of us.
 * DID is what was tried, as in "attach to thread 12".  Returns -1.
 */
int os_diagnose_eperm(const struct target *t, const char *did, struct err *e);

/* What we are allowed to do to others, by /proc. */
struct os_rights {
	uint32_t uid;		/* effective */
	bool has_ptrace;	/* CAP_SYS_PTRACE is effective */
	bool has_read;		/* CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE is */
	bool has_filter;	/* a seccomp filter is on us */
	bool is_first_user_namespace;
	long yama_scope;	/* kernel.yama.ptrace_scope; 0 where there is no Yama */
	char lsm[128];		/* the security modules, "?" if not known; fit for a terminal */
};

void os_rights(struct os_rights *ret);

/* ---- ourselves, and programs that we start ------------------------------------------------------ */

/* The file that we run from, into BUF. */
int os_own_path(char *buf, size_t size, struct err *e);

/* The name by which others can open descriptor FD of ours, into BUF; returns BUF. */
const char *os_fd_path(int fd, char *buf, size_t size);

struct os_end {
	int status;		/* of wait(2) */
	uint64_t elapsed_ns, user_ns, system_ns;
	uint64_t max_rss_bytes;
};

/*
 * Have FN(ARG) become another program in a child of ours, and wait for its end.  FN finds signals as
 * we were given them, and returns only if it failed; then its error is ours.  Meanwhile a signal that
 * somebody sends to us goes on to the child.  Those of the terminal go to both anyway, and do nothing
 * to us; but when one stops the child we stop as well, so that a shell sees it.  One sent to our
 * whole process group arrives at the child twice.
 */
int os_run_child(
	int (*fn)(void *arg, struct err *e), void *arg, struct os_end *ret, struct err *e);

/*
 * What to exit with to have ended as the child did; where that was by a signal this ends us by it.
 */
int os_end_as(int wait_status);

/* ---- the machine ----------------------------------------------------------------------------- */

/* CPUs this machine has online. */
int os_nr_cpus(void);

/*
 * The memory limit and use of the target's cgroup (v2 memory.max, v1 memory.limit_in_bytes), the
 * tightest on the way to the root that is visible.  Returns 0, or -1 when there is none.
 */
int os_cgroup_memory(const struct target *t, uint64_t *ret_limit_bytes, uint64_t *ret_used_bytes);

/* Whether the cgroup of the target is frozen. */
bool os_is_frozen(const struct target *t);

#endif
