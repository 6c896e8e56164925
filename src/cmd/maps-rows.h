/*
 * maps-rows: the leaves of an address space added up, for 'memdiag maps'.
 */
#ifndef MEMDIAG_CMD_MAPS_ROWS_H
#define MEMDIAG_CMD_MAPS_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "maps/maps.h"

enum rows_by { BY_CLASS, BY_OBJECT, BY_ARENA, BY_THREAD, BY_MAPPING, NR_BY };
enum rows_sort {
	SORT_RSS,
	SORT_VIRT,
	SORT_SWAP,
	SORT_HUGETLB,
	SORT_COUNT,
	SORT_NAME,
	SORT_ADDRESS,
};

extern const char *const rows_by_names[NR_BY];

/* A class of the user's own: mappings whose path matches. */
struct user_class {
	const char *name;
	const char *glob;
};

struct user_classes {
	struct user_class *v;
	size_t nr, room;
};

#define NO_PARENT SIZE_MAX

struct row {
	char *name;		/* owned; raw */
	size_t parent;		/* index of the row it is a part of, or NO_PARENT */
	const struct leaf *leaf;	/* BY_MAPPING: the one it stands for */
	uint64_t virt_bytes, rss_bytes, swap_bytes, hugetlb_bytes, huge_bytes;
	uint64_t pss_bytes, uss_bytes, count;
	uint64_t unused_bytes;	/* of RSS, in stacks: left over below the stack pointer */
	bool has_unused;	/* false: no stack pointer is known */
	enum confidence confidence;	/* of the least sure of its leaves */
};

struct rows {
	struct row *v;
	size_t nr, room;
};

/* Add up the leaves of S.  R must be zeroed or released.  0, or -1 with E and R released. */
int rows_make(struct rows *r, const struct space *s, const struct target *t, enum rows_by by,
	const struct user_classes *classes, struct err *e);
/* Whether the pages of S were counted where they are, so that unused_bytes is right. */
bool rows_know_unused(const struct space *s);
void rows_release(struct rows *r);
#define auto_rows __attribute__((cleanup(rows_release)))

/*
 * The rows in the order to print them in: parts behind what they are parts of.  *RET has R->nr
 * pointers and is the caller's to free.
 */
int rows_sort(const struct rows *r, enum rows_sort sort, const struct row ***ret, struct err *e);

/* "groups" of the JSON document, or "mappings" when each row is one. */
json_t *rows_to_json(const struct rows *r, const struct row *const *order, const struct space *s);

#endif
