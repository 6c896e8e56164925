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
	const char *member; /* its name in "data", unless ROWS finds it, and in the output */
	const char *title;  /* of the name column */
	/* Return the list in DATA, which the caller frees; NULL if it is missing.  NULL: MEMBER. */
	json_t *(*rows)(json_t *data);
	/* Write the name of a row to BUF; NULL if it has no name. */
	const char *(*name)(json_t *row, char *buf, size_t size);
	/* The name to print; NULL: the name itself. */
	const char *(*label)(const char *name);
	/*
	 * Return what identifies a row, which the caller frees; NULL with E if it is not known.
	 * NULL: its name.
	 */
	char *(*key)(json_t *row, struct err *e);
	/* Write what is printed as text, which is printable, to BUF; NULL: the label. */
	const char *(*text)(json_t *row, char *buf, size_t size);
	/* Set members of TO, a row of the output, that describe ROW; NULL: nothing. */
	void (*describe)(json_t *row, json_t *to);
	/*
	 * Both numbers of each column are printed with their difference.  Each row must have all
	 * of them, and rows with the same key are added up.
	 */
	bool has_both;
	struct growth_column {
		/* "retained.bytes" is the member "bytes" of the member "retained" */
		const char *member, *title;
		bool is_rare;	  /* hidden if no row grew in it */
	} column[GROWTH_COLUMNS]; /* ends at the first without a member */
	size_t sort;		  /* the most important column */
};

/* Return the rows of L in "data", which the caller frees; NULL: they are missing. */
json_t *growth_rows(const struct growth_list *l, json_t *data);

/* Return the member "name". */
const char *growth_name(json_t *row, char *buf, size_t size);

struct growth_row {
	char *key;     /* owned; the row's key, preceded by the parent's */
	char *name;    /* owned */
	json_t *from;  /* owned; the row in the newer document, or else in the older one */
	bool is_guess; /* "confidence" is a guess in either document */
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
/* Return the name of a column's member in the output: without what leads to it. */
const char *growth_column_name(const struct growth_column *c);
/* True if the column has sizes in bytes. */
bool growth_is_size(const struct growth_column *c);
/* Return the growth of ROW in COLUMN. */
int64_t growth_change(const struct growth_row *row, size_t column);
/* The state of a row by all its numbers: it had only zeros before, or it has only these now. */
enum growth_state { GROWTH_SAME, GROWTH_CHANGED, GROWTH_NEW, GROWTH_GONE };
enum growth_state growth_state(const struct growth *g, const struct growth_row *row);

/*
 * growth_is_changed(): true if a size of ROW changed; a changed count alone is not worth a line.
 * growth_is_any(): true if such a row exists.
 */
bool growth_is_changed(const struct growth *g, const struct growth_row *row);
bool growth_is_any(const struct growth *g);

#endif
