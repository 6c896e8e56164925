/* os-priv: the structure of a core file, shared by the files of os. */
#ifndef MEMDIAG_OS_OS_PRIV_H
#define MEMDIAG_OS_OS_PRIV_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/raddr.h"

/* A range of memory: one PT_LOAD. */
struct core_segment {
	raddr start, end;
	uint64_t offset;      /* in the file, of the data */
	uint64_t data_bytes;  /* the first bytes of the segment; the rest was not written */
	uint64_t there_bytes; /* the part of the data that the file contains, if it was cut off */
	unsigned int flags;   /* PF_R ... */
};

/* A mapping of a file: one entry of NT_FILE. */
struct core_mapping {
	raddr start, end;
	uint64_t offset_bytes; /* into the file */
	const char *path;      /* points into the note */
	size_t file;	       /* index of the file */
};

struct core_file {
	const char *path;
	raddr header; /* address of its first page; 0 if not mapped */
	bool is_tried;
	int fd;		       /* -1: not found, or another file */
	uint64_t mapped_bytes; /* whole pages of the file; the last page is padded with zeroes */
};

/* Registers of a thread, in memory of the notes. */
struct core_regset {
	const char *at;
	size_t bytes;
};

#define CORE_NR_REGSETS 4

struct core_thread {
	pid_t tid;
	raddr sp, pc, pointer;			    /* 0: unknown */
	struct core_regset regset[CORE_NR_REGSETS]; /* NULL after the last */
};

struct core {
	char *path, *sysroot; /* owned */
	int fd;
	uint64_t file_bytes;
	Elf *elf; /* keeps the notes, into which paths and auxv point */
	const struct core_machine *machine;
	unsigned int word_bytes;
	uint64_t page_bytes;
	uint64_t notes_offset;
	bool has_holes; /* holes are pages that were neither present nor swapped */
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
	int signal; /* the signal that ended the process */
};

/* ---- files of /proc/PID ---- */

/* More than any such file contains: 4 GiB of maps would be 40 million mappings. */
#define PROC_FILE_MAX_BYTES (UINT64_C(4) << 30)

/* ---- pages ---- */

/*
 * Bits of an entry of /proc/PID/pagemap (fs/proc/task_mmu.c, pte_to_pagemap_entry()).  The guard
 * bit exists since 6.15: before, a guard page looks like a swapped one.
 */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_FILE (UINT64_C(1) << 61)
#define ENTRY_GUARD (UINT64_C(1) << 58)
#define ENTRY_EXCLUSIVE (UINT64_C(1) << 56)
#define ENTRY_PFN ((UINT64_C(1) << 55) - 1) /* 0 without CAP_SYS_ADMIN (since 4.2) */

/* ---- zero pages ---- */

/* The physical page numbers of zero pages. */
struct zero_pages {
	/* of the zero page of the usual size; 0: unknown, and zero_pages_drop() does nothing */
	uint64_t pfn;
	uint64_t huge_pages; /* number of pages in a huge page, a power of two */
	uint64_t huge_pfn;   /* of the first page of the huge zero page, once it was seen */
	uint64_t other_pfn;  /* of the huge page that was last found not to be the zero page */
	int flags_fd;	     /* descriptor of /proc/kpageflags, or -1 */
};
#define ZERO_PAGES_NONE                                                                            \
	(struct zero_pages)                                                                        \
	{                                                                                          \
		.flags_fd = -1, .huge_pfn = UINT64_MAX, .other_pfn = UINT64_MAX                    \
	}

#endif
