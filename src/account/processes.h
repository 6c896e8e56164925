/* processes: the address spaces of several processes, one line each. */
#ifndef MEMDIAG_ACCOUNT_PROCESSES_H
#define MEMDIAG_ACCOUNT_PROCESSES_H

#include "account/rows.h"
#include "maps/maps.h"
#include "os/os.h"
#include "os/status.h"

/* Columns of resident memory: several groups each. */
enum process_part { PART_STACK, PART_HEAP, PART_FILES, PART_ANON, PART_SHM, NR_PROCESS_PARTS };

struct process_sum {
	pid_t pid;
	char name[64]; /* as in struct target: printable */
	uint64_t virt_bytes, rss_bytes, swap_bytes, hugetlb_bytes;
	bool has_extra[NR_EXTRAS]; /* true if the next member is known */
	uint64_t extra_bytes[NR_EXTRAS];
	uint64_t nr_mappings; /* 0 if unknown */
	bool has_parts;	      /* the next member is known; it adds up to rss_bytes */
	uint64_t part_bytes[NR_PROCESS_PARTS];
};

struct process_sums {
	struct process_sum *v;
	size_t nr, room;
};

/*
 * Return the line of T: the part of its address space S that SEL selects; or if S is NULL, all of
 * it from STATUS, without details.
 */
struct process_sum process_sum_of(const struct target *t, const struct space *s,
	const struct selection *sel, const struct os_status *status);

/* Add up SUMS; has_parts and has_extra are set if all have them. */
struct process_sum process_sums_total(const struct process_sums *sums);

/* Sort by size, largest first, or by name. */
void process_sums_sort(struct process_sums *sums, enum rows_sort sort);

#endif
