/*
 * growth: what grew between two outputs that were saved with --json.
 */
#ifndef MEMDIAG_ACCOUNT_GROWTH_H
#define MEMDIAG_ACCOUNT_GROWTH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* ---- saved outputs --------------------------------------------------------------------------- */

/* Read what memdiag wrote with --json into PATH.  *RET is the caller's; 0, or -1 with E. */
int saved_read(json_t **ret, const char *path, struct err *e);
/* The command that wrote it, as in "maps". */
const char *saved_command(json_t *saved);
/* Whether both are of one process: not of a later one with its number. */
bool saved_is_same_target(json_t *a, json_t *b);
/* Whether "data" has what FILTER takes; FILTER and a missing member may be null, which is all. */
bool saved_is_same_filter(json_t *data, json_t *filter);
/* The process it is of, as in "12 (mariadbd)", made printable, into BUF. */
const char *saved_target(json_t *saved, char *buf, size_t size);

/* ---- lists that are compared ----------------------------------------------------------------- */

#define GROWTH_COLUMNS 8
#define GROWTH_BY_NAME SIZE_MAX

/*
 * A list of rows in "data", and which of their numbers may grow.  A member whose name ends in
 * "bytes" is a size; of another, a count, both numbers are shown.  Rows are matched by name, and so
 * are the rows in their member "parts".  An object that is no list is one row.
 */
struct growth_list {
	const char *member; /* of "data" */
	const char *title;  /* of the column of names */
	/* The name of a row into BUF; NULL when it has none. */
	const char *(*name)(json_t *row, char *buf, size_t size);
	/* The name for people; NULL: the name itself. */
	const char *(*label)(const char *name);
	struct growth_column {
		const char *member, *title;
		bool is_rare;	  /* not shown when nothing in it grew */
	} column[GROWTH_COLUMNS]; /* the first without a member ends it */
	size_t sort;		  /* the column that matters most */
};

/* The member "name". */
const char *growth_name(json_t *row, char *buf, size_t size);

struct growth_row {
	char *key;	  /* owned; the name, behind that of what it is a part of */
	const char *name; /* in the key */
	bool is_guess;	  /* its "confidence" is, in either document */
	int64_t was[GROWTH_COLUMNS], is[GROWTH_COLUMNS];
};

struct growth {
	const struct growth_list *list;
	/* not compared: one document or both could not count it */
	bool is_missing[GROWTH_COLUMNS];
	struct growth_row *v;
	size_t nr, room;
};

/* Compare the lists WAS and IS of two documents.  G must be zeroed or released.  0 or -1 with E. */
int growth_find(
	struct growth *g, const struct growth_list *list, json_t *was, json_t *is, struct err *e);
void growth_release(struct growth *g);
#define auto_growth __attribute__((cleanup(growth_release)))

/* Sorted by growth in COLUMN, the largest first; or by name. */
void growth_sort(struct growth *g, size_t column);

size_t growth_nr_columns(const struct growth_list *list);
/* Whether the column is of sizes in bytes. */
bool growth_is_size(const struct growth_column *c);
/* By how much ROW grew in COLUMN. */
int64_t growth_change(const struct growth_row *row, size_t column);
/* Whether a size of ROW changed; whether there is such a row. */
bool growth_is_changed(const struct growth *g, const struct growth_row *row);
bool growth_is_any(const struct growth *g);

#endif
