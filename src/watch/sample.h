/*
 * sample: the memory of a process at one moment, as watch shows and saves it.
 */
#ifndef MEMDIAG_WATCH_SAMPLE_H
#define MEMDIAG_WATCH_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/status.h"

/* The tables of a sample. */
enum watch_view {
	WATCH_CLASSES, /* groups of leaves, and their parts; the groups add up to RSS */
	WATCH_OBJECTS,
	WATCH_ARENAS,
	WATCH_THREADS,
	WATCH_SITES, /* stacks with the most bytes in use, of a running profile */
	WATCH_HEAP,  /* malloc's free memory */
	NR_WATCH_VIEWS
};

/* The numbers of a row.  The first is in bytes, and its growth is shown. */
#define WATCH_NUMBERS 3

struct watch_number {
	const char *title;  /* of a column; NULL: the table has no such number */
	const char *member; /* in JSON */
	bool is_bytes;
};

/* The names of a table: static. */
struct watch_view_info {
	const char *name;  /* on the command line, in JSON */
	const char *title; /* of the column of names */
	char key;	   /* that selects it */
	struct watch_number number[WATCH_NUMBERS];
};

extern const struct watch_view_info watch_views[NR_WATCH_VIEWS];

/* Rows of a table; those with the least of the first number are left out. */
#define WATCH_MAX_ROWS 64

#define WATCH_NO_PARENT (-1)

struct watch_row {
	char *name; /* owned; untrusted unless it is of a running process: then of text_escape() */
	int parent; /* the row that contains this one, and comes before it, or WATCH_NO_PARENT */
	uint64_t number[WATCH_NUMBERS];
};

struct watch_table {
	struct watch_row *v; /* parents first; the largest first */
	size_t nr, room;
	uint64_t nr_more; /* rows left out */
	bool is_read;
	bool is_rough; /* its numbers are approximate */
	char *why;     /* owned; the reason, if it is not read; NULL: it was not asked for */
};

struct watch_sample {
	uint64_t time_ns; /* CLOCK_REALTIME */
	pid_t pid;
	char comm[OS_COMM_BYTES];
	uint64_t virt_bytes, rss_bytes, swap_bytes, hugetlb_bytes, peak_bytes; /* peak of RSS */
	uint64_t limit_bytes, used_bytes; /* of its cgroup; 0: no limit */
	uint64_t nr_threads, nr_arenas, nr_mappings;
	uint64_t stopped_ns; /* how long its threads were stopped for this; 0: they were not */
	struct watch_table table[NR_WATCH_VIEWS];
};

/* Add a row called NAME to T.  Returns it, its numbers 0, or NULL with E. */
struct watch_row *watch_table_add(
	struct watch_table *t, const char *name, int parent, struct err *e);

/*
 * Compare two rows of a table that have the same parent, as for qsort(); the same sign as of
 * strcmp().
 */
typedef int watch_compare_fn(const struct watch_table *t, const struct watch_row *a,
	const struct watch_row *b, void *arg);

/*
 * Store the rows of T in ORDER, which has room for all: rows of one parent as COMPARE has them, and
 * after each row those that it contains.
 */
void watch_table_order(
	const struct watch_table *t, watch_compare_fn *compare, void *arg, size_t *order);

/* Sort T by the first number, and leave out all but WATCH_MAX_ROWS rows.  0, or -1 with E. */
int watch_table_finish(struct watch_table *t, struct err *e);

/* Return the row of T called NAME below a parent called PARENT (NULL: without one), or NULL. */
const struct watch_row *watch_table_find(
	const struct watch_table *t, const char *name, const char *parent);

/* Return the name of the parent of R, a row of T, or NULL. */
const char *watch_parent(const struct watch_table *t, const struct watch_row *r);

/* Free what S owns.  Safe on a zeroed S. */
void watch_sample_release(struct watch_sample *s);
#define auto_watch_sample __attribute__((cleanup(watch_sample_release)))

#endif
