/*
 * leaves: the names and groups of the classes of memory.
 */
#ifndef MEMDIAG_MAPS_LEAVES_H
#define MEMDIAG_MAPS_LEAVES_H

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

#endif
