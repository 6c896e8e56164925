/*
 * maps: every byte of the target's address space: what it is for, and how much of it is resident.
 */
#ifndef MEMDIAG_MAPS_MAPS_H
#define MEMDIAG_MAPS_MAPS_H

#include <sys/types.h>

#include "elf/map-file.h"
#include "elf/objects.h"
#include "glibc/process.h"
#include "glibc/threads.h"
#include "os/os.h"

/* ---- stacks: where those of the threads are -------------------------------------------------- */

struct thread_stack {
	pid_t tid;	  /* 0: its thread has ended, and libc keeps it */
	raddr start, end; /* all of it, the guard included */
	/* at its low end; 0 for the main thread, whose guard is no mapping */
	uint64_t guard_bytes;
	raddr tls; /* the page where static TLS begins; from there to the end it is
				 * libc's, struct pthread last.  0 if not known */
	raddr sp;  /* between the guard and here it is unused; 0 if not known */
	bool is_main;
	bool is_guess; /* shown by the mapping around SP; else libc or the kernel says so */
};

struct thread_stacks {
	struct thread_stack *v; /* sorted by start, never overlapping */
	size_t nr, room;
};

/*
 * Find the stacks of T's THREADS, and of ended threads if libc keeps them (glibc does, for up to 40
 * MiB and for those that were not joined), into S, which must be zeroed or released.  A stack that
 * the program itself made lies where it made it, perhaps in malloc's heap.  Nothing is stopped;
 * without WANT_SP, sp is known only where it was needed.  A stack that cannot be determined is left
 * out.
 */
int thread_stacks_find(struct thread_stacks *s, const struct target *t, const struct regions *m,
	const struct objects *o, const struct threads *threads, bool want_sp, struct err *e);
void thread_stacks_release(struct thread_stacks *s);
#define auto_thread_stacks __attribute__((cleanup(thread_stacks_release)))

/* ---- leaves: what every stretch of the address space is for ---------------------------------- */

/* The groups that are printed first. */
enum group {
	GROUP_STACK,
	/* glibc malloc's: main heap, arenas, chunks with a mapping of their own */
	GROUP_HEAP,
	GROUP_EXE,
	GROUP_SO,
	GROUP_FILE,
	GROUP_SHM,
	GROUP_ANON,
	GROUP_RESERVE, /* address space without memory */
	GROUP_KERNEL,
	NR_GROUPS,
};

enum leaf_kind {
	LEAF_MAIN_STACK,
	LEAF_THREAD_STACK, /* one of each thread, whether or not its SP is known */
	/* below SP of a thread that waits: what it has there is left over */
	LEAF_STACK_UNUSED,
	LEAF_STACK_TLS, /* static TLS and struct pthread, at the high end */
	LEAF_STACK_GUARD,
	LEAF_CACHED_STACK, /* of a thread that has ended, kept for the next */

	LEAF_MAIN_HEAP,	 /* brk */
	LEAF_MAIN_PIECE, /* what mmap() gave the main arena because brk was in the way */
	LEAF_ARENA,	 /* a thread arena's heaps, as far as they go */
	/* behind their ends: free() has shortened them.  Resident if locked */
	LEAF_ARENA_SHRUNK,
	LEAF_ARENA_RESERVE, /* the rest of their 64 MiB */
	LEAF_CHUNK,	    /* one malloc() with a mapping of its own */

	LEAF_EXE_TEXT, /* the parts of the program, in the order of LEAF_SO_... */
	LEAF_EXE_RODATA,
	LEAF_EXE_RELRO,
	LEAF_EXE_DATA,
	LEAF_EXE_BSS,
	LEAF_EXE_PADDING,

	LEAF_SO_TEXT,
	LEAF_SO_RODATA,
	LEAF_SO_RELRO, /* written by ld.so, then made read-only */
	LEAF_SO_DATA,
	LEAF_SO_BSS,
	LEAF_SO_PADDING, /* holes between segments */

	LEAF_FILE_PRIVATE,
	LEAF_FILE_SHARED,
	LEAF_FILE_DELETED,

	LEAF_SHM_SYSV,
	LEAF_SHM_POSIX,
	LEAF_SHM_MEMFD,
	LEAF_SHM_JAVA,	/* HotSpot's heap, with ZGC */
	LEAF_SHM_ANON,	/* MAP_SHARED | MAP_ANONYMOUS */
	LEAF_SHM_TMPFS, /* any other file that lives in memory */

	LEAF_HUGETLB,
	LEAF_NAMED, /* named by the program: prctl(PR_SET_VMA_ANON_NAME) */
	LEAF_GO_HEAP,
	LEAF_JAVA_HEAP,
	LEAF_MIMALLOC_HEAP,
	LEAF_JIT,	  /* executable and of no file */
	LEAF_ANON_SMALL,  /* under 1 MiB */
	LEAF_ANON_MEDIUM, /* under 64 MiB */
	LEAF_ANON_LARGE,

	LEAF_RESERVE, /* PROT_NONE */

	LEAF_VDSO,   /* and whatever else the kernel maps for itself */
	LEAF_DEVICE, /* device memory, io_uring, perf, aio, dma-buf */
	NR_LEAF_KINDS,
};

enum confidence {
	CONFIDENCE_GUESS,
	CONFIDENCE_VERIFIED, /* a structure in memory was checked */
	CONFIDENCE_EXACT,    /* the kernel says so */
};

const char *group_name(enum group g);
const char *leaf_kind_name(enum leaf_kind k);
/*
 * The name that people read in a sum instead of NAME, which may be a leaf_kind_name(): it says that
 * a class by size means the size of a mapping, not the resident bytes of all of them.  NAME itself
 * for all others.
 */
const char *leaf_label(const char *name);
enum group leaf_kind_group(enum leaf_kind k);
const char *confidence_name(enum confidence c);

/* An interval of addresses; mappings that the kernel has merged are cut again. */
struct leaf {
	raddr start, end;
	uint32_t region;    /* index of the region it is part of */
	uint8_t kind;	    /* enum leaf_kind */
	uint8_t confidence; /* enum confidence */
	bool is_tmpfs;	    /* pages of its file count as RssShmem */
	bool is_continued;  /* the same thing as the leaf before, in another mapping */
	int32_t object;	    /* index into objects, -1 if none */
	int32_t arena;	    /* index into arenas, -1 if none */
	pid_t tid;	    /* 0 if none */
	uint64_t rss_bytes; /* as VmRSS counts: without hugetlb, without zero pages */
	uint64_t swap_bytes;
	uint64_t hugetlb_bytes;
	uint64_t huge_bytes; /* of RSS, mapped as transparent huge pages: has_huge */
	uint64_t pss_bytes, uss_bytes, dirty_bytes, locked_bytes; /* of smaps: has_pss */
};

/* ---- space: all of an address space ---------------------------------------------------------- */

/* The source of the numbers of pages. */
enum space_rss {
	SPACE_RSS_AUTO, /* the first of these that works */
	SPACE_RSS_SCAN,
	SPACE_RSS_PAGEMAP,
	SPACE_RSS_SMAPS, /* a number for each mapping; where it has several leaves, spread */
	SPACE_RSS_NONE,	 /* the numbers are 0 */
};

struct space_options {
	enum space_rss rss_from;
	bool want_pss;	  /* and what else smaps has; makes the target's mmap() wait */
	bool want_unused; /* LEAF_STACK_UNUSED; asks the kernel once for each thread */
	raddr cut[2];	  /* a leaf ends at the page that each of these is in; 0: none */
	/*
	 * The target as it was read just now, by process_read() and process_find_arenas(): it is
	 * not read again, and must outlive the space.  NULL: space_read() reads it.
	 */
	const struct process *process;
	/* An earlier reading, which saves work: see process_read_with().  May be NULL. */
	const struct process *known;
	/*
	 * How many blocks malloc has mapped one by one, by its own account (mp_.n_mmaps); 0: not
	 * known.  If fewer are found at once, the search goes on longer.
	 */
	uint64_t nr_mmapped;
	/*
	 * Called for that account, if NR_MMAPPED is 0, as soon as the arenas are known: true with
	 * RET set if it can be read.  With 0 no memory is read to look for them; more never makes a
	 * search longer.  NULL: no such function.
	 */
	bool (*count_mmapped)(const struct process *p, uint64_t *ret);
};

struct space_totals {
	uint64_t virt_bytes, rss_bytes, swap_bytes, hugetlb_bytes, huge_bytes;
	uint64_t pss_bytes, uss_bytes, dirty_bytes, locked_bytes;
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
};

struct space {
	const struct process *process; /* what was read: OWN, or that of the options */
	struct process *own;	       /* owned; NULL if the options had it */
	const struct map_file *file;   /* space_read_file(): its file; NULL for a process */
	struct threads threads;
	const struct object *malloc_object; /* of the process: objects_malloc() */
	struct {
		struct leaf *v; /* sorted by start; every byte of VmSize is in exactly one */
		size_t nr, room;
	} leaves;
	struct space_totals totals;
	enum space_rss rss_from; /* what was used */
	struct err rss_error;	 /* why nothing better was; kind is 0 if nothing failed */
	struct err memory_error; /* why its memory may not be read; kind is 0 if it may */
	bool has_kinds;		 /* rss_anon_bytes, rss_file_bytes and rss_shmem_bytes are filled */
	bool has_pss;		 /* smaps was read */
	bool has_huge;		 /* huge_bytes are filled: by PAGEMAP_SCAN or smaps */
	bool counts_zero;	 /* rss_bytes have zero pages in them: see os_pages_know_zero() */
	unsigned int linux_version;	/* that counted the pages: see OS_LINUX() */
	struct os_status before, after; /* the counting of pages */
	bool has_faulted;		/* in between: pages came, and others may have gone */
};

/*
 * Read the target's address space and count its pages.  Nothing is stopped.  S need not be
 * initialised; on failure it is released.  If pages cannot be counted it succeeds: rss_from is
 * SPACE_RSS_NONE then, and rss_error says why.  So it does if the target's memory may not be read,
 * as Yama has it; memory_error says why, and no thread's stack, heap or arena is found.
 */
int space_read(
	struct space *s, const struct target *t, const struct space_options *opt, struct err *e);

/*
 * The same of the saved map F, whose mappings are moved to S, and whose text S needs as long as it
 * is there.  Stacks, arenas and objects are guessed by names and shapes.  There are no counters of
 * the kernel: BEFORE and AFTER have the sums over the mappings.  rss_error says so if F has no
 * numbers of pages; of smaps it has those that space_knows().  OPT has want_pss and cut.  0, or -1
 * with E and S released.
 */
int space_read_file(
	struct space *s, struct map_file *f, const struct space_options *opt, struct err *e);
/* Whether the numbers of FIELD are known, if pages were counted at all. */
static inline bool
space_knows(const struct space *s, enum smaps_field field)
{
	return !s->file || s->file->fields & SMAPS_BIT(field);
}
void space_release(struct space *s);

/*
 * How much memory of our own S takes in bytes.  It is in proportion to the number of mappings,
 * which vm.max_map_count bounds (65,530 by default).
 */
uint64_t space_own_bytes(const struct space *s);
#define auto_space __attribute__((cleanup(space_release)))

/* A sum of ours and the kernel's own counter of the same. */
struct identity {
	const char *name;
	uint64_t ours_bytes, kernel_bytes;
	const char *explained_by; /* NULL if they are equal */
};

#define NR_IDENTITIES 7

/* Fill RET with those that the data show, and return how many there are. */
size_t space_identities(const struct space *s, struct identity ret[NR_IDENTITIES]);

/* ---- repeats: files that are mapped more than once ------------------------------------------- */

struct repeat {
	const char *path; /* owned by the space */
	/* counted again in VIRT: addresses of what another address has too */
	uint64_t virt_bytes;
	uint64_t rss_bytes; /* counted again in RSS, at most */
};

struct repeats {
	struct repeat *v; /* the largest first */
	size_t nr, room;
};

/*
 * Fill R, which must be zeroed or released and must not outlive S.  0, or -1 with E and R released.
 */
int repeats_find(struct repeats *r, const struct space *s, struct err *e);
void repeats_release(struct repeats *r);
#define auto_repeats __attribute__((cleanup(repeats_release)))

#endif
