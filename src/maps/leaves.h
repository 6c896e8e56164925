/*
 * leaves: the names and groups of the classes of memory.
 */
#ifndef MEMDIAG_MAPS_LEAVES_H
#define MEMDIAG_MAPS_LEAVES_H

/*
 * ---- leaves: the use of each range of the address space
 * ------------------------------------------
 */

/* The groups of leaves, which are printed first. */
enum group {
	GROUP_STACK,
	/* glibc malloc's: main heap, arenas, chunks with their own mappings */
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
	LEAF_THREAD_STACK, /* one for each thread, whether or not its SP is known */
	/* below SP of a waiting thread: leftover pages */
	LEAF_STACK_UNUSED,
	LEAF_STACK_TLS, /* static TLS and struct pthread, at the high end */
	LEAF_STACK_GUARD,
	LEAF_CACHED_STACK, /* of a thread that has ended, kept for another thread */

	LEAF_MAIN_HEAP,	 /* brk */
	LEAF_MAIN_PIECE, /* memory of the main arena from mmap(), because brk was blocked */
	LEAF_ARENA,	 /* the used part of a thread arena's heaps */
	/* after their ends: free() has shortened them.  Resident if locked */
	LEAF_ARENA_SHRUNK,
	LEAF_ARENA_RESERVE, /* the rest of their 64 MiB */
	LEAF_CHUNK,	    /* one block of malloc() with its own mapping */

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
	LEAF_SHM_TMPFS, /* any other file in memory */

	LEAF_HUGETLB,
	LEAF_NAMED, /* named by the program: prctl(PR_SET_VMA_ANON_NAME) */
	LEAF_GO_HEAP,
	LEAF_JAVA_HEAP,
	LEAF_MIMALLOC_HEAP,
	LEAF_JIT,	  /* executable anonymous memory */
	LEAF_ANON_SMALL,  /* under 1 MiB */
	LEAF_ANON_MEDIUM, /* under 64 MiB */
	LEAF_ANON_LARGE,

	LEAF_RESERVE, /* PROT_NONE */

	LEAF_VDSO,   /* and the kernel's other own mappings */
	LEAF_DEVICE, /* device memory, io_uring, perf, aio, dma-buf */
	NR_LEAF_KINDS,
};

enum confidence {
	CONFIDENCE_GUESS,
	CONFIDENCE_VERIFIED, /* a structure in memory was checked */
	CONFIDENCE_EXACT,    /* from the kernel */
};

const char *group_name(enum group g);
const char *leaf_kind_name(enum leaf_kind k);
/*
 * Return the label for NAME in sums, which may be a leaf_kind_name(): it shows that a class by size
 * means the size of a mapping, not the resident bytes of all of them.  Other names are returned
 * unchanged.
 */
const char *leaf_label(const char *name);
enum group leaf_kind_group(enum leaf_kind k);
const char *confidence_name(enum confidence c);

#endif
