/*
 * smaps: /proc/PID/smaps, mapping by mapping.
 */
#ifndef MEMDIAG_ELF_SMAPS_H
#define MEMDIAG_ELF_SMAPS_H

#include "elf/regions.h"

/* The fields that are read; the kernel determines which of them exist. */
enum smaps_field {
	SMAPS_SIZE,
	SMAPS_PAGE_SIZE,
	SMAPS_RSS,
	SMAPS_PSS,
	SMAPS_PRIVATE_CLEAN,
	SMAPS_PRIVATE_DIRTY,
	SMAPS_SHARED_DIRTY,
	SMAPS_LOCKED,
	SMAPS_ANONYMOUS,
	SMAPS_ANON_HUGE,
	SMAPS_SHARED_HUGETLB,
	SMAPS_PRIVATE_HUGETLB,
	SMAPS_SWAP,
	NR_SMAPS_FIELDS,
};
#define SMAPS_BIT(field) (1U << (field))
extern const char *const smaps_field_names[NR_SMAPS_FIELDS];

/* One mapping of /proc/PID/smaps.  Values that a kernel does not print are 0. */
struct smaps_entry {
	raddr start, end;
	unsigned int fields; /* bits of enum smaps_field that were printed */
	uint64_t size_bytes; /* as printed */
	uint64_t rss_bytes, pss_bytes, swap_bytes, anonymous_bytes;
	uint64_t private_bytes; /* clean and dirty: of this process alone */
	/* private and shared dirty pages: written, and not in a file or swap */
	uint64_t dirty_bytes;
	uint64_t locked_bytes;	/* by mlock(); a fraction of each shared page, as in PSS */
	uint64_t hugetlb_bytes; /* private and shared */
	uint64_t anon_huge_bytes;
	uint64_t page_bytes; /* KernelPageSize */
	char flags[128];     /* VmFlags as printed: "rd wr mr mw ..." */
};

/*
 * Call FN for every mapping in F, in the format of /proc/PID/smaps.  FN returns 0 to continue;
 * another value ends the walk and is returned.  -1 with E if F is not smaps.
 */
int smaps_parse(
	FILE *f, int (*fn)(const struct smaps_entry *entry, void *arg), void *arg, struct err *e);

/*
 * Add LINE, NUL-terminated, which follows the first line of ENTRY's mapping, to ENTRY.  SMAPS_BAD:
 * a field that is read has no number of kB or appears a second time; ENTRY is unchanged.
 */
enum smaps_line { SMAPS_OTHER, SMAPS_TAKEN, SMAPS_BAD };
enum smaps_line smaps_take_line(struct smaps_entry *entry, const char *line);

bool smaps_has_flag(const struct smaps_entry *entry, const char flag[2]);

#endif
