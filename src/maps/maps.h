/*
 * maps: the target's address space: the mappings as the kernel lists them, what each stretch of
 * them is for, and how much of it is resident.
 * May use: wire/, elf/, os/, base/.
 */
#ifndef MEMDIAG_MAPS_MAPS_H
#define MEMDIAG_MAPS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "os/os.h"

/* ---- regions: one line of /proc/PID/maps each ------------------------------------------------ */

struct region {
	raddr start, end;	/* [start, end) */
	char prot[5];		/* "rwxp", NUL-terminated; the last is 'p' or 's' */
	uint64_t offset_bytes;	/* into the file; 0 if anonymous */
	uint64_t dev, inode;	/* dev as makedev() makes it; 0, 0 if anonymous */
	const char *path;	/* owned by the map, raw as the kernel wrote it; NULL if none */
};

struct paths;

struct maps {
	struct region *region;	/* sorted by start, never overlapping */
	size_t nr;
	struct paths *paths;	/* what the regions' paths point into */
	uint64_t torn_bytes;	/* told twice, because the map changed while it was read */
	uint64_t size_before_bytes, size_after_bytes;	/* VmSize around it; 0 if not a target's */
};

/*
 * Parse F, in the format of /proc/PID/maps, into M, which must be zeroed or released.  Lines are
 * not limited in length.  Returns 0, or -1 with E set and M released.
 */
int maps_parse(struct maps *m, FILE *f, struct err *e);

/*
 * Read the target's maps.  As maps_parse(); a map that changes meanwhile is read again, three times
 * at most, until its size is what the kernel says it is.
 */
int maps_read(struct maps *m, const struct target *t, struct err *e);

/* Free what M owns, not M itself.  Safe on a zeroed or half-built map. */
void maps_release(struct maps *m);
#define auto_maps __attribute__((cleanup(maps_release)))

/* Bytes mapped, as VmSize counts: x86-64's [vsyscall] is listed but is not the process's. */
uint64_t maps_size(const struct maps *m);
bool region_is_vsyscall(const struct region *r);

/*
 * Whether malloc can have it: private memory of no file, unless of one that stands for huge pages.
 * The kernel's own and devices' are none.
 */
bool region_may_be_malloc(const struct region *r);

/* The region that holds A, or NULL. */
const struct region *maps_find(const struct maps *m, raddr a);

/* ---- objects: the ELF files that are mapped --------------------------------------------------- */

struct image;

struct object {
	struct image *image;	/* owned by the list */
	raddr start, end;	/* all of its segments, bss included */
	const char *path;	/* as in maps; owned by the map the list was made from */
	uint64_t dev, inode;
	bool is_executable;	/* the program itself */
	bool is_loader;		/* ld.so */
	bool is_libc;		/* DT_SONAME is libc.so.6, or it is a program that has glibc in itself */
};

struct objects {
	struct object *v;	/* sorted by start */
	size_t nr, room;
	raddr vdso;		/* the ELF header of the kernel's own, which is not in V; {0}: none */
};

/*
 * Find the ELF objects in M: every file mapping at offset 0 that begins with an ELF header.  An
 * object that cannot be read is left out.  O must be zeroed or released and must not outlive M.
 * Those of KNOWN, which the same target had a moment ago (NULL: nothing is known), that are mapped
 * still are not opened again.
 */
int objects_find(struct objects *o, const struct maps *m, const struct target *t,
	const struct objects *known, struct err *e);
void objects_release(struct objects *o);
#define auto_objects __attribute__((cleanup(objects_release)))

/* The object that A lies in, or NULL. */
const struct object *objects_at(const struct objects *o, raddr a);

/*
 * The object whose malloc() the program gets its memory from: the first that defines it in the list of
 * the dynamic linker, which is the order of search, without memdiag's agent; or a static program itself.
 * NULL if there is none or the list cannot be read.
 */
const struct object *objects_malloc(const struct objects *o, const struct target *t);

/* Whether O is memdiag's agent. */
bool object_is_agent(const struct object *o);

/* Whose malloc O has, which has one: "glibc", "jemalloc" ...; NULL if it is none that we know. */
const char *object_allocator(const struct object *o);

/* ---- arenas: where glibc malloc keeps its heaps ------------------------------------------------ */

/* One 64 MiB-aligned piece of a thread arena (struct heap_info, malloc/arena.c). */
struct arena_heap {
	raddr start;		/* of the heap_info */
	uint64_t size_bytes;	/* in use by the arena: heap_info.size */
	uint64_t mapped_bytes;	/* made readable and writable: heap_info.mprotect_size */
};

struct arena {
	raddr addr;		/* struct malloc_state; its mutex is the int at offset 0 */
	bool is_main;
	struct arena_heap *heap;	/* owned; none for the main arena */
	size_t nr_heaps;
	pid_t *tid;		/* owned; threads attached to it, as far as they could be told */
	size_t nr_tids;
};

struct threads;

/*
 * The arenas in the order of the ring that starts at main_arena, which is malloc_info's order.
 */
struct arenas {
	struct arena *v;
	size_t nr, room;
	unsigned int word_bytes;	/* of a pointer in the target: 8 or 4 */
	unsigned int bins_offset;	/* of the bins in struct malloc_state */
	uint64_t heap_max_bytes;	/* HEAP_MAX_SIZE: 64 MiB on 64 bit */
	bool is_ring_closed;	/* false: memory is damaged or changed; what is here may lack some */
	int64_t tls_offset_bytes;	/* from a thread's robust list head to the pointer to its
					 * arena; 0 if that cannot be told */
};

/*
 * Find main_arena by its initialiser in the file of libc or of the static program, or by the shape
 * of its bins in memory, which proves it in any case; then the ring and the heaps (malloc/malloc.c
 * struct malloc_state).  Nothing is stopped.  ERR_UNSUPPORTED when there is no glibc malloc or its
 * ring is not one.  KNOWN, what the same target had a moment ago (NULL: nothing is known), saves the
 * search; ring and heaps are read again all the same.
 */
int arenas_find(struct arenas *a, const struct target *t, const struct maps *m,
	const struct objects *o, const struct arenas *known, struct err *e);
void arenas_release(struct arenas *a);
#define auto_arenas __attribute__((cleanup(arenas_release)))

/*
 * Read ring and heaps of KNOWN, which the same target had a moment ago, again into A, which must be
 * zeroed or released, until DEADLINE_NS of os_now_ns() (0: none).  Its main arena is there in any
 * case; what could not be read by then makes the ring one that is not closed.  0, or -1 with E.
 */
int arenas_read_again(struct arenas *a, const struct target *t, const struct maps *m,
	const struct arenas *known, uint64_t deadline_ns, struct err *e);

/* Heaps of malloc's that none of the arenas has. */
struct stray_heaps {
	size_t nr;
	uint64_t bytes;
};

/*
 * Look for heaps wherever one can begin, and count those that are not of A: the ring is damaged then,
 * or they are of the malloc of a second libc (dlmopen).  Only pages that PAGES says are present are
 * read.  An arena that is born meanwhile is a stray, too.
 */
void arenas_find_strays(const struct arenas *a, const struct target *t, const struct maps *m,
	struct os_pages *pages, struct stray_heaps *ret);

/* Tell which of THREADS uses which arena by the pointer in its TLS. */
int arenas_find_threads(
	struct arenas *a, const struct target *t, const struct threads *threads, struct err *e);

/* Where the pointer to its arena lies in the TLS of thread TID; {0} if that cannot be told. */
raddr arenas_slot_of_thread(const struct arenas *a, const struct target *t, pid_t tid);

/* The arena thread TID uses, read from its TLS; {0} if it has none yet or it cannot be told. */
raddr arenas_of_thread(const struct arenas *a, const struct target *t, pid_t tid);

/* ---- threads, and where their stacks are ------------------------------------------------------- */

/* A thread of the target, and where its robust futex list begins, which is in libc's struct pthread. */
struct thread {
	pid_t tid;
	raddr head;	/* {0}: it cannot be told */
};

struct threads {
	struct thread *v;
	size_t nr, room;
};

/* List the first MAX of T's threads into THREADS, which must be zeroed or released. */
int threads_list(struct threads *threads, const struct target *t, size_t max, struct err *e);
void threads_release(struct threads *threads);
#define auto_threads __attribute__((cleanup(threads_release)))

struct thread_stack {
	pid_t tid;		/* 0: its thread has ended, libc keeps it for the next one or, if
				 * nobody joined it, for good */
	raddr start, end;	/* all of it, the guard included */
	uint64_t guard_bytes;	/* at its low end; 0 for the main thread, whose guard is no mapping */
	raddr tls;		/* the page where static TLS begins; from there to the end it is
				 * libc's, struct pthread last.  0 if not known */
	raddr sp;		/* between the guard and here it is unused; 0 if not known */
	bool is_main;
	bool is_guess;		/* told by the mapping around SP; else libc or the kernel says so */
};

struct thread_stacks {
	struct thread_stack *v;	/* sorted by start, never overlapping */
	size_t nr, room;
};

/*
 * Find the stacks of T's THREADS, and of ended threads if libc keeps them (glibc does, for up to 40
 * MiB and for those that were not joined), into S, which must be zeroed or released.  A stack that
 * the program itself made lies where it made it, perhaps in malloc's heap.  Nothing is stopped;
 * without WANT_SP, sp is known only where it was needed.  A stack that cannot be told is left out.
 */
int thread_stacks_find(struct thread_stacks *s, const struct target *t, const struct maps *m,
	const struct objects *o, const struct threads *threads, bool want_sp, struct err *e);
void thread_stacks_release(struct thread_stacks *s);
#define auto_thread_stacks __attribute__((cleanup(thread_stacks_release)))

/*
 * The word with libc's lock of its lists of stacks, which pthread_create() takes, and setuid() and
 * its kin until every thread has taken part: 0 when it is free.  {0}: it cannot be told (before 2.34,
 * or when the first thread has ended).
 */
raddr thread_stacks_lock(const struct target *t, const struct objects *o);

/* ---- leaves: what every stretch of the address space is for -------------------------------------- */

/* What a person asks for first. */
enum group {
	GROUP_STACK,
	GROUP_HEAP,		/* glibc malloc's: main heap, arenas, chunks with a mapping of their own */
	GROUP_EXE,
	GROUP_SO,
	GROUP_FILE,
	GROUP_SHM,
	GROUP_ANON,
	GROUP_RESERVE,		/* address space without memory */
	GROUP_KERNEL,
	NR_GROUPS,
};

enum leaf_kind {
	LEAF_MAIN_STACK,
	LEAF_THREAD_STACK,	/* one of each thread, whether or not its SP is known */
	LEAF_STACK_UNUSED,	/* below SP of a thread that waits: what it has there is left over */
	LEAF_STACK_TLS,		/* static TLS and struct pthread, at the high end */
	LEAF_STACK_GUARD,
	LEAF_CACHED_STACK,	/* of a thread that has ended, kept for the next */

	LEAF_MAIN_HEAP,		/* brk */
	LEAF_MAIN_PIECE,	/* what mmap() gave the main arena because brk was in the way */
	LEAF_ARENA,		/* readable and writable part of a thread arena's heaps */
	LEAF_ARENA_RESERVE,	/* the rest of their 64 MiB */
	LEAF_CHUNK,		/* one malloc() with a mapping of its own */

	LEAF_EXE_TEXT,		/* the parts of the program, in the order of LEAF_SO_... */
	LEAF_EXE_RODATA,
	LEAF_EXE_RELRO,
	LEAF_EXE_DATA,
	LEAF_EXE_BSS,
	LEAF_EXE_PADDING,

	LEAF_SO_TEXT,
	LEAF_SO_RODATA,
	LEAF_SO_RELRO,		/* written by ld.so, then made read-only */
	LEAF_SO_DATA,
	LEAF_SO_BSS,
	LEAF_SO_PADDING,	/* holes between segments */

	LEAF_FILE_PRIVATE,
	LEAF_FILE_SHARED,
	LEAF_FILE_DELETED,

	LEAF_SHM_SYSV,
	LEAF_SHM_POSIX,
	LEAF_SHM_MEMFD,
	LEAF_SHM_ANON,		/* MAP_SHARED | MAP_ANONYMOUS */
	LEAF_SHM_TMPFS,		/* any other file that lives in memory */

	LEAF_HUGETLB,
	LEAF_NAMED,		/* named by the program: prctl(PR_SET_VMA_ANON_NAME) */
	LEAF_GO_HEAP,
	LEAF_JAVA_HEAP,
	LEAF_MIMALLOC_HEAP,
	LEAF_JIT,		/* executable and of no file */
	LEAF_ANON_SMALL,	/* under 1 MiB */
	LEAF_ANON_MEDIUM,	/* under 64 MiB */
	LEAF_ANON_LARGE,

	LEAF_RESERVE,		/* PROT_NONE */

	LEAF_VDSO,		/* and whatever else the kernel maps for itself */
	LEAF_DEVICE,		/* device memory, io_uring, perf, aio, dma-buf */
	NR_LEAF_KINDS,
};

enum confidence {
	CONFIDENCE_GUESS,
	CONFIDENCE_VERIFIED,	/* a structure in memory was checked */
	CONFIDENCE_EXACT,	/* the kernel says so */
};

const char *group_name(enum group g);
const char *leaf_kind_name(enum leaf_kind k);
enum group leaf_kind_group(enum leaf_kind k);
const char *confidence_name(enum confidence c);

/* An interval of addresses; mappings that the kernel has merged are cut again. */
struct leaf {
	raddr start, end;
	uint32_t region;	/* index of the region it is part of */
	uint8_t kind;		/* enum leaf_kind */
	uint8_t confidence;	/* enum confidence */
	bool is_tmpfs;		/* pages of its file count as RssShmem */
	int32_t object;		/* index into objects, -1 if none */
	int32_t arena;		/* index into arenas, -1 if none */
	pid_t tid;		/* 0 if none */
	uint64_t rss_bytes;	/* as VmRSS counts: without hugetlb, without zero pages */
	uint64_t swap_bytes;
	uint64_t hugetlb_bytes;
	uint64_t huge_bytes;	/* of RSS, mapped as transparent huge pages */
	uint64_t pss_bytes, uss_bytes;
};

/* ---- space: all of an address space --------------------------------------------------------------- */

/* Where the numbers of pages come from. */
enum space_rss {
	SPACE_RSS_AUTO,		/* the first of these that works */
	SPACE_RSS_SCAN,
	SPACE_RSS_PAGEMAP,
	SPACE_RSS_SMAPS,	/* a number for each mapping; where it has several leaves, spread */
	SPACE_RSS_NONE,		/* the numbers are 0 */
};

struct space_options {
	enum space_rss rss_from;
	bool want_pss;		/* reads smaps, which makes the target's mmap() wait */
	bool want_unused;	/* LEAF_STACK_UNUSED; asks the kernel once for each thread */
	/* what the target had a moment ago: see objects_find() and arenas_find(); NULL: not known */
	const struct objects *objects;
	const struct arenas *arenas;
};

struct space_totals {
	uint64_t virt_bytes, rss_bytes, swap_bytes, hugetlb_bytes, huge_bytes;
	uint64_t pss_bytes, uss_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
};

struct space {
	struct maps maps;
	struct objects objects;
	struct threads threads;
	const struct object *malloc_object;	/* of OBJECTS: objects_malloc() */
	struct arenas arenas;	/* empty when malloc is not glibc's: see arenas_error */
	struct err arenas_error;	/* kind is 0 when there are arenas */
	struct {
		struct leaf *v;	/* sorted by start; every byte of VmSize is in exactly one */
		size_t nr, room;
	} leaves;
	struct space_totals totals;
	enum space_rss rss_from;	/* what was used */
	struct err rss_error;	/* why nothing better was; kind is 0 if nothing failed */
	bool has_kinds;		/* rss_anon_bytes, rss_file_bytes and rss_shmem_bytes are filled */
	bool has_pss;
	struct os_status before, after;	/* the counting of pages */
	bool has_faulted;	/* in between: pages came, and others may have gone */
};

/*
 * Read the target's address space and count its pages.  Nothing is stopped.  S need not be
 * initialised; on failure it is released.  That pages cannot be counted is no failure: rss_from is
 * SPACE_RSS_NONE then, and rss_error says why.
 */
int space_read(struct space *s, const struct target *t, const struct space_options *opt,
	struct err *e);
void space_release(struct space *s);
#define auto_space __attribute__((cleanup(space_release)))

/* A sum of ours and the kernel's own counter of the same. */
struct identity {
	const char *name;
	uint64_t ours_bytes, kernel_bytes;
	const char *explained_by;	/* NULL if they are equal */
};

#define NR_IDENTITIES 7

/* Fill RET and return how many there are: those that can be told with what was read. */
size_t space_identities(const struct space *s, struct identity ret[NR_IDENTITIES]);

/* ---- repeats: files that are mapped more than once ------------------------------------------------ */

struct repeat {
	const char *path;	/* owned by the space */
	uint64_t virt_bytes;	/* counted again in VIRT: addresses of what another address has too */
	uint64_t rss_bytes;	/* counted again in RSS, at most */
};

struct repeats {
	struct repeat *v;	/* the largest first */
	size_t nr, room;
};

/* Fill R, which must be zeroed or released and must not outlive S.  0, or -1 with E and R released. */
int repeats_find(struct repeats *r, const struct space *s, struct err *e);
void repeats_release(struct repeats *r);
#define auto_repeats __attribute__((cleanup(repeats_release)))

/* ---- smaps ----------------------------------------------------------------------------------------- */

/* One mapping of /proc/PID/smaps.  What a kernel does not print is 0. */
struct smaps_entry {
	raddr start, end;
	uint64_t rss_bytes, pss_bytes, swap_bytes, anonymous_bytes;
	uint64_t private_bytes;	/* clean and dirty: what the process alone has */
	uint64_t hugetlb_bytes;	/* private and shared */
	uint64_t anon_huge_bytes;
	uint64_t page_bytes;	/* KernelPageSize */
	char flags[128];	/* VmFlags as printed: "rd wr mr mw ..." */
};

/*
 * Call FN for every mapping in F, in the format of /proc/PID/smaps.  FN returns 0 to go on; another
 * value ends it and is returned.  -1 with E for what is not smaps.
 */
int smaps_parse(FILE *f, int (*fn)(const struct smaps_entry *entry, void *arg), void *arg,
	struct err *e);
bool smaps_has_flag(const struct smaps_entry *entry, const char flag[2]);

/* ---- chunks: what malloc mapped one by one -------------------------------------------------------- */

/* A mapping of malloc's for a single block (sysmalloc_mmap(), malloc/malloc.c). */
struct mmapped_chunk {
	raddr start, end;	/* pages */
};

struct mmapped_chunks {
	struct mmapped_chunk *v;
	size_t nr, room;
};

/*
 * Add to C those from START on, one behind the other, up to the first page that is none or is not
 * present: what the program mapped there itself hides the ones behind it.  [START, END) must be
 * private, anonymous, writable and of no other known use; A are the target's arenas.  Reads one
 * present page for each, and none else.  Returns 0, or -1 with E and C as far as it came.
 */
int mmapped_chunks_find(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, struct err *e);
void mmapped_chunks_release(struct mmapped_chunks *c);
#define auto_mmapped_chunks __attribute__((cleanup(mmapped_chunks_release)))

#endif
