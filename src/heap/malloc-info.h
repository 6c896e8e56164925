/*
 * malloc-info: glibc's own account of its heaps: the XML document that malloc_info() writes.
 */
#ifndef MEMDIAG_HEAP_MALLOC_INFO_H
#define MEMDIAG_HEAP_MALLOC_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* A <size> or <unsorted> line: free chunks of FROM..TO bytes, without flag bits. */
struct malloc_info_size {
	uint64_t from_bytes, to_bytes, total_bytes, count;
	bool is_unsorted;
	bool is_fast; /* counted in fast_bytes, else in rest_bytes */
};

/* One <heap>, which is one arena.  Numbers are as printed unless stated otherwise. */
struct malloc_info_heap {
	unsigned int nr;
	struct {
		struct malloc_info_size *v; /* owned */
		size_t nr, room;
	} size;
	bool has_fast; /* false since 2.43, which has no fastbins */
	uint64_t fast_count, fast_bytes;
	uint64_t rest_count, rest_bytes; /* binned and, since 2.31, top */
	/* bytes that the flag bits of chunk sizes add to rest_bytes */
	uint64_t rest_flags;
	uint64_t system_bytes, max_system_bytes;
	uint64_t aspace_bytes, mprotect_bytes;
	uint64_t nr_subheaps; /* 0 if not printed (main arena; before 2.27) */
};

struct malloc_info {
	struct {
		struct malloc_info_heap *v; /* owned; in the document's order, main first */
		size_t nr, room;
	} heap;
	/* the sum of system_bytes as printed at the end, if has_total */
	bool has_total;
	uint64_t total_system_bytes;
	bool has_mmap; /* printed since 2.20 */
	uint64_t mmap_count, mmap_bytes;
	/* of all heaps here */
	uint64_t fast_bytes, rest_bytes, system_bytes, max_system_bytes;
	bool has_top_in_rest;	   /* found by content: rest includes free space of the top chunk */
	bool is_cut;		   /* the document ended early; complete heaps are kept */
	bool is_unsorted_doubtful; /* BZ 16112 (before 2.19): garbage was found and left out */
	char note[160];		   /* other oddities, "" if not found */
};

/*
 * Parse LEN bytes of the text that malloc_info(0, f) of glibc 2.10 to 2.44 writes into MI, which
 * must be zeroed or released.  By content, never by version.  The text is untrusted: entities,
 * NULs, endless or unbalanced documents and numbers out of range are errors; a document that only
 * lacks its end is_cut, if one heap is complete.  Returns 0, or -1 with E set and MI released.
 */
int malloc_info_parse(struct malloc_info *mi, const char *xml, size_t len, struct err *e);
void malloc_info_release(struct malloc_info *mi);

/*
 * Find the document in LEN bytes at TEXT, of the file NAME, such as a log, and copy it into RET,
 * which must be zeroed or released.  RET keeps the newlines before it, so that line numbers are
 * those of the file.  0, or -1 with E: more than one document, or (ERR_UNSUPPORTED) no document.
 */
int malloc_info_find(
	struct text *ret, const char *name, const char *text, size_t len, struct err *e);
#define auto_malloc_info __attribute__((cleanup(malloc_info_release)))

/*
 * Return the bytes of the arena that the program uses, as malloc counts: the tcache and malloc's
 * headers are in use, and so is the top chunk unless has_top_in_rest.
 */
uint64_t malloc_info_in_use(const struct malloc_info_heap *h);

/*
 * Return the bytes of the top chunk: rest_bytes minus the lines of sizes.  0 unless
 * HAS_TOP_IN_REST.
 */
uint64_t malloc_info_top(const struct malloc_info_heap *h, bool has_top_in_rest);

/*
 * Return the minimum of bytes that are both free and resident, if RESIDENT_BYTES of the arena are
 * resident: the blocks in use cannot take more than all of their bytes.
 */
uint64_t malloc_info_free_resident(const struct malloc_info_heap *h, uint64_t resident_bytes);

#endif
