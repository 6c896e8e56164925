/*
 * Declarations that the files of profile share: the formats.
 */
#ifndef MEMDIAG_REPORT_PRIV_H
#define MEMDIAG_REPORT_PRIV_H

#include "base/text.h"
#include "profile/profile.h"

/* The lines that only memdiag reads in its .heap files.  Each is a comment to others. */
#define HEAP_MARK "# memdiag heap 1"
#define HEAP_END "# end"

/* Where a reader is in a text. */
struct lines {
	const char *name; /* of the file */
	const char *at, *end;
	const char *line; /* the present one, without its end and the white space around it */
	size_t len;
	size_t nr;	  /* its number */
	bool is_whole;	  /* it was ended */
	bool is_indented; /* it began with white space */
};

/* Go to the next line; false at the end. */
bool lines_next(struct lines *l);
/* "NAME, line N: WHY". */
int lines_fail(const struct lines *l, struct err *e, const char *why);
bool lines_begins(const struct lines *l, const char *prefix);

/*
 * Numbers at *AT, before END, after white space; *AT is behind them then.  False: none, too large.
 */
bool parse_number(const char **at, const char *end, int64_t *ret);
bool parse_hex(const char **at, const char *end, uint64_t *ret);
/* Whether C comes next, after white space; *AT is behind it then. */
bool parse_char(const char **at, const char *end, char c);

/*
 * The name that heap_write() wrote as S: a NUL-terminated string, to be freed; NULL: no memory.
 */
char *heap_unescape(const char *s, size_t len);

bool heap_is_text(const char *data, size_t len);
int heap_parse(struct profile *p, const char *name, const char *data, size_t len, struct err *e);
/* The lines of our own in a .heap file, which begin with "# " and "#+ ". */
struct heap_notes {
	bool is_ours, has_end;
	struct {
		uint32_t *v; /* thread_1 of each thread in its list */
		size_t nr, room;
	} threads;
};
int heap_note(struct profile *p, struct heap_notes *notes, const struct lines *l, struct err *e);
/* The sample and the values in a line "#+ THREAD SIZE VALUE...". */
int heap_detail(const struct profile *p, const struct heap_notes *notes, const struct lines *l,
	struct profile_sample *ret, int64_t *values, struct err *e);

/* Whether DATA is packed by gzip. */
bool gzip_is(const char *data, size_t len);
/*
 * Unpack DATA, of the file NAME, into RET, which must be zeroed; the caller releases it in any
 * case. 0, or -1 with E: it is damaged or cut off, or ENOMEM with how much it became.
 */
int gzip_unpack(struct text *ret, const char *name, const char *data, size_t len, struct err *e);

int pprof_parse(struct profile *p, const char *name, const char *data, size_t len, struct err *e);

#endif
