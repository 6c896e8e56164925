/*
 * processes: the address spaces of several processes, each as one line.
 */
#ifndef MEMDIAG_ACCOUNT_PROCESSES_H
#define MEMDIAG_ACCOUNT_PROCESSES_H

#include "account/rows.h"
#include "maps/maps.h"
#include "os/os.h"
#include "os/status.h"

/* Columns of resident memory: a few groups each. */
enum process_part { PART_STACK, PART_HEAP, PART_FILES, PART_ANON, PART_SHM, NR_PROCESS_PARTS };

struct process_sum {
	pid_t pid;
	char name[64]; /* as of struct target: printable */
	uint64_t virt_bytes, rss_bytes, swap_bytes, hugetlb_bytes;
	bool has_extra[NR_EXTRAS]; /* the next are known */
	uint64_t extra_bytes[NR_EXTRAS];
	uint64_t nr_mappings; /* 0 if not known */
	bool has_parts;	      /* the next is known; it adds up to rss_bytes */
	uint64_t part_bytes[NR_PROCESS_PARTS];
};

struct process_sums {
	struct process_sum *v;
	size_t nr, room;
};

/*
 * The line of T: what SEL takes of its address space S; or all of it by STATUS, of which no more is
 * known, if S is NULL.
 */
struct process_sum process_sum_of(const struct target *t, const struct space *s,
	const struct selection *sel, const struct os_status *status);

/* All of SUMS added up; has_parts and has_extra if all have. */
struct process_sum process_sums_total(const struct process_sums *sums);

/* Largest first, or by name. */
void process_sums_sort(struct process_sums *sums, enum rows_sort sort);

#endif
