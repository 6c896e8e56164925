/* os-priv: a core file, as the files of os share it. */
#ifndef MEMDIAG_OS_OS_PRIV_H
#define MEMDIAG_OS_OS_PRIV_H

#include <libelf.h>

#include "os/os.h"

struct os_page_run;
struct os_syscall;

/* A stretch of memory: one PT_LOAD. */
struct core_segment {
	raddr start, end;
	uint64_t offset;      /* in the file, of ... */
	uint64_t data_bytes;  /* ... its first bytes; the rest was not written */
	uint64_t there_bytes; /* of which the file has, if it was cut off */
	unsigned int flags;   /* PF_R ... */
};

/* A mapping of a file: one entry of NT_FILE. */
struct core_mapping {
	raddr start, end;
	uint64_t offset_bytes; /* into the file */
	const char *path;      /* in the note */
	size_t file;	       /* index */
};

struct core_file {
	const char *path;
	raddr header; /* where its beginning is mapped; 0 if nowhere */
	bool is_tried;
	int fd;		       /* -1: not there or not the one */
	uint64_t mapped_bytes; /* of its pages; the last is filled up with zeroes */
};

struct core_thread {
	pid_t tid;
	raddr sp, pc, pointer; /* 0: not known */
};

struct core {
	char *path, *sysroot; /* owned */
	int fd;
	uint64_t file_bytes;
	Elf *elf; /* keeps the notes, which paths and auxv point into */
	const struct core_machine *machine;
	unsigned int word_bytes;
	uint64_t page_bytes;
	uint64_t notes_offset;
	bool has_holes; /* where a page was neither present nor swapped */
	uint32_t uid;
	pid_t ppid;
	const char *auxv;
	size_t auxv_bytes;
	struct {
		struct core_segment *v; /* sorted, never overlapping */
		size_t nr, room;
	} segment;
	struct {
		struct core_mapping *v; /* sorted, never overlapping */
		size_t nr, room;
	} mapping;
	struct {
		struct core_file *v;
		size_t nr, room;
	} file;
	struct {
		struct core_thread *v;
		size_t nr, room;
	} thread;   /* sorted by tid */
	int signal; /* that ended it */
};

void core_free(struct core *c);

/* The value of TYPE in auxv, 0 if it is not there. */
uint64_t core_auxv(const struct core *c, uint64_t type);

/* NULL: it has none of that number. */
const struct core_thread *core_thread(const struct core *c, pid_t tid);
/* The segment that holds A, or the first behind it; NULL if none. */
const struct core_segment *core_segment_from(const struct core *c, raddr a);
/* As pread(), from the bytes of segment S that the core file has, from A on. */
ssize_t core_read_segment(
	const struct core *c, const struct core_segment *s, raddr a, void *to, size_t size);
/* The mapping that holds A, or NULL. */
const struct core_mapping *core_mapping_at(const struct core *c, raddr a);

/* For a core file what os_... says for a process. */
int core_proc_read(
	const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e);
int core_proc_link(const struct target *t, const char *name, char *buf, size_t size, struct err *e);
void core_status(const struct target *t, struct os_status *ret);
void core_stat(const struct core *c, struct os_stat *ret);
int core_threads(const struct core *c, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e);
/* As os_is_kernel_worker(). */
bool core_is_kernel_worker(const struct core *c, pid_t tid);
int core_thread_syscall(const struct core *c, pid_t tid, struct os_syscall *ret, struct err *e);
ssize_t core_read_some(const struct core *c, raddr from, void *to, size_t size, struct err *e);
int core_pages_walk(const struct core *c, raddr start, raddr end,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);

/* The file of mapping M, open, if it is found and has the build-id that is in C; else NULL. */
const struct core_file *core_file_of(const struct core *c, const struct core_mapping *m);

/* The possible uses of an unmodified mapping of a file (PF_R ...), by its ELF header. */
unsigned int core_mapping_flags(const struct core *c, const struct core_mapping *m);

/* WHAT ("stop its threads") takes a living process: fill E, ERR_UNSUPPORTED.  Returns -1. */
int core_refuse(const struct target *t, const char *what, struct err *e);

/* ---- files of /proc/PID ---- */

/* More than any of them has: 4 GiB of maps would be 40 million mappings. */
#define PROC_FILE_MAX_BYTES (UINT64_C(4) << 30)

/*
 * ERROR, or ESRCH for ENOENT: an ended process shows as the one of a name, or the other of the
 * read.
 */
int proc_gone_or(int error);

/*
 * Open the file NAME of T, or of its thread TID unless that is 0.  -1 with errno (EINVAL: it leads
 * to a file of the target's choice, and FLAGS are without O_PATH).
 */
int proc_open_at(const struct target *t, pid_t tid, const char *name, int flags);

/* ---- steps.c ---- */

/* Count a step: a ptrace request, a read or write of memory, a question while memdiag waits. */
void os_step(void);
unsigned long os_nr_steps(void);

/* ---- pages ---- */

/*
 * Bits of an entry of /proc/PID/pagemap (fs/proc/task_mmu.c, pte_to_pagemap_entry()); the guard bit
 * since 6.15: before, a guard page looks like a swapped one.
 */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_FILE (UINT64_C(1) << 61)
#define ENTRY_GUARD (UINT64_C(1) << 58)
#define ENTRY_EXCLUSIVE (UINT64_C(1) << 56)
#define ENTRY_PFN ((UINT64_C(1) << 55) - 1) /* 0 without CAP_SYS_ADMIN (since 4.2) */

/* ---- zero-pages.c ---- */

/* The numbers of the physical pages that are zero pages. */
struct zero_pages {
	uint64_t pfn; /* of the one of the usual size; 0: not known, and nothing is dropped */
	uint64_t huge_pages; /* how many pages a huge one has, a power of two */
	uint64_t huge_pfn;   /* of the first page of the huge one, as soon as it was seen */
	uint64_t other_pfn;  /* of a huge page that was last seen not to be one */
	int flags_fd;	     /* /proc/kpageflags, or -1 */
};
#define ZERO_PAGES_NONE                                                                            \
	(struct zero_pages)                                                                        \
	{                                                                                          \
		.flags_fd = -1, .huge_pfn = UINT64_MAX, .other_pfn = UINT64_MAX                    \
	}

/* Find out what can be known; what cannot be stays unknown.  Z is closed by zero_pages_close(). */
void zero_pages_open(struct zero_pages *z);
void zero_pages_close(struct zero_pages *z);

/*
 * Make 0 those of the NR entries, for the addresses from page number PAGE on, that are zero pages.
 */
void zero_pages_drop(struct zero_pages *z, uint64_t page, uint64_t *entry, size_t nr);

/*
 * The type of the file system that is mounted from device DEV where T sees it ("ext4"), into BUF.
 * 0, or -1 if none: for a deleted file, a part of btrfs.
 */
int os_mounted_type(const struct target *t, uint64_t dev, char *buf, size_t size);

/*
 * Whether DEV is the kernel's own tmpfs, which has all memory that is shared without a file system,
 * and is mounted nowhere (mm/shmem.c, shm_mnt).
 */
bool os_is_kernels_tmpfs(uint64_t dev);

/* ---- seccomp.c ---- */

struct sock_filter;
struct seccomp_data;

/* The answer of the filter F of NR instructions, which the kernel has accepted, to the call D. */
uint32_t os_filter_run(const struct sock_filter *f, size_t nr, const struct seccomp_data *d);

/* ---- stops.c, for ptrace.c alone ------------------------------------------------------------- */

/* Thread TID has stopped, or runs again or is not ours any more; all of them. */
void os_stops_begin(pid_t tid);
void os_stops_end(pid_t tid);
void os_stops_forget(void);

/* ---- memory.c and ptrace.c, for part.c alone ------------------------------------------------- */

/* Write SIZE bytes of ours to T. */
int os_write(const struct target *t, raddr to, const void *from, size_t size, struct err *e);
/* Write SIZE bytes to memory of stopped thread TID, eight at a time. */
int os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e);

#endif
