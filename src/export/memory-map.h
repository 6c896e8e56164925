/*
 * export: what was read of processes, for other tools.  This header has the resident memory of a
 * process as a profile, whose frames are classes of memory.
 */
#ifndef MEMDIAG_EXPORT_MEMORY_MAP_H
#define MEMDIAG_EXPORT_MEMORY_MAP_H

#include "base/err.h"
#include "profile/profile.h"

struct space;
struct target;

/*
 * Make a profile of the resident bytes of S, which was read from T, or with T NULL from a saved
 * map.  Its types are "resident" (RSS and pages of the hugetlb pool) and, if it is known, "swap",
 * in bytes; the sums of each are those of S.  Stacks, from the root on, are the process, the class,
 * its part, and the object or thread:
 *
 *	[mysqld];[glibc heap];[arena 3];[free: top]
 *	[mysqld];[stack];[thread stacks];[NAME]		the thread is a label as well
 *	[mysqld];[so];[libc.so.6];[text]
 *
 * Names are printable, in brackets so that no tool takes one for a function that allocates, and
 * have no (), which pprof cuts off with their contents, and no <>.  The top of an arena is separate
 * if pages were counted by address and it can be read; no thread is stopped for that.  The caller
 * frees *RET.  Returns 0, or -1 with E, which has the reason if the pages of S were not counted.
 */
int memory_map_make(
	struct profile **ret, const struct space *s, const struct target *t, struct err *e);

#endif
