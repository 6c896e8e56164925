/* growth: the growth between two outputs saved with --json. */
#ifndef MEMDIAG_ACCOUNT_GROWTH_H
#define MEMDIAG_ACCOUNT_GROWTH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* ---- saved outputs --------------------------------------------------------------------------- */

/* Read PATH, memdiag's output with --json.  The caller frees *RET.  Returns 0, or -1 with E. */
int saved_read(json_t **ret, const char *path, struct err *e);
/* Return the command that wrote it, such as "maps". */
const char *saved_command(json_t *saved);
/* True if both describe one process, and not a later process with the same PID. */
bool saved_is_same_target(json_t *a, json_t *b);
/* True if "data" has the filter FILTER; null, or no member, means that everything is selected. */
bool saved_is_same_filter(json_t *data, json_t *filter);
/* Write the process of the document, such as "12 (mariadbd)", made printable, to BUF. */
const char *saved_target(json_t *saved, char *buf, size_t size);

/* ---- lists that are compared ----------------------------------------------------------------- */

#define GROWTH_COLUMNS 8
#define GROWTH_BY_NAME SIZE_MAX

/*
 * A list of rows in "data", and its numbers that may grow.  A member whose name ends in "bytes" is
 * a size; other members are counts, shown with both numbers.  Rows are matched by name, and so are
 * the rows in their member "parts".  An object instead of a list is a single row.
 */
struct growth_list {
	const char *member; /* in "data" */
	const char *title;  /* of the name column */
	/* Write the name of a row to BUF; NULL if it has no name. */
	const char *(*name)(json_t *row, char *buf, size_t size);
	/* The name to print; NULL: the name itself. */
	const char *(*label)(const char *name);
	struct growth_column {
		const char *member, *title;
		bool is_rare;	  /* hidden if no row grew in it */
	} column[GROWTH_COLUMNS]; /* ends at the first without a member */
	size_t sort;		  /* the most important column */
};

/* Return the member "name". */
const char *growth_name(json_t *row, char *buf, size_t size);

struct growth_row {
	char *key;	  /* owned; the name, preceded by the parent's name */
	const char *name; /* within the key */
	bool is_guess;	  /* "confidence" is a guess in either document */
	int64_t was[GROWTH_COLUMNS], is[GROWTH_COLUMNS];
};

struct growth {
	const struct growth_list *list;
	/* not compared: at least one document has no count */
	bool is_missing[GROWTH_COLUMNS];
	struct growth_row *v;
	size_t nr, room;
};

/*
 * Compare the lists WAS and IS of two documents.  G must be zeroed or released.  Returns 0, or -1
 * with E.
 */
int growth_find(
	struct growth *g, const struct growth_list *list, json_t *was, json_t *is, struct err *e);
void growth_release(struct growth *g);
#define auto_growth __attribute__((cleanup(growth_release)))

/* Sort by growth in COLUMN, largest first, or by name. */
void growth_sort(struct growth *g, size_t column);

size_t growth_nr_columns(const struct growth_list *list);
/* True if the column has sizes in bytes. */
bool growth_is_size(const struct growth_column *c);
/* Return the growth of ROW in COLUMN. */
int64_t growth_change(const struct growth_row *row, size_t column);
/*
 * growth_is_changed(): true if a size of ROW changed; a changed count alone is not worth a line.
 * growth_is_any(): true if such a row exists.
 */
bool growth_is_changed(const struct growth *g, const struct growth_row *row);
bool growth_is_any(const struct growth *g);

#endif
