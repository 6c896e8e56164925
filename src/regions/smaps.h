/*
 * smaps: /proc/PID/smaps, mapping by mapping.
 */
#ifndef MEMDIAG_REGIONS_SMAPS_H
#define MEMDIAG_REGIONS_SMAPS_H

#include "regions/regions.h"

/* One mapping of /proc/PID/smaps.  Values that a kernel does not print are 0. */
struct smaps_entry {
	raddr start, end;
	uint64_t rss_bytes, pss_bytes, swap_bytes, anonymous_bytes;
	uint64_t private_bytes; /* clean and dirty: what the process alone has */
	uint64_t dirty_bytes;	/* the same and shared ones: written, and not in a file or swap */
	uint64_t locked_bytes;	/* by mlock(); of a shared page a fraction, as in PSS */
	uint64_t hugetlb_bytes; /* private and shared */
	uint64_t anon_huge_bytes;
	uint64_t page_bytes; /* KernelPageSize */
	char flags[128];     /* VmFlags as printed: "rd wr mr mw ..." */
};

/*
 * Call FN for every mapping in F, in the format of /proc/PID/smaps.  FN returns 0 to go on; another
 * value ends it and is returned.  -1 with E for what is not smaps.
 */
int smaps_parse(
	FILE *f, int (*fn)(const struct smaps_entry *entry, void *arg), void *arg, struct err *e);
bool smaps_has_flag(const struct smaps_entry *entry, const char flag[2]);

#endif
