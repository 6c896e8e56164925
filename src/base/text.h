/* text: memdiag's own strings, and untrusted strings. */
#ifndef MEMDIAG_BASE_TEXT_H
#define MEMDIAG_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The contents of a file: LEN bytes at V, followed by a NUL that is not counted. */
struct text {
	char *v; /* owned; NULL when empty */
	size_t len;
};

void text_release(struct text *t);
#define auto_text __attribute__((cleanup(text_release)))

/*
 * Read FD to its end into T, which must be zeroed or released.  Returns 0, or -1 with errno set and
 * T released; EFBIG if FD has more than MAX_BYTES.
 */
int text_read(struct text *t, int fd, size_t max_bytes);

/*
 * As text_read(), for a file from its beginning, without using the file position of FD, which other
 * processes may share and move.
 */
int text_read_whole(struct text *t, int fd, size_t max_bytes);

/*
 * Write S into BUF (of SIZE bytes, NUL-terminated, cut to fit) so that a terminal can show it:
 * control bytes and bytes that are not valid UTF-8 become \ooo.  Names of files, threads and
 * mappings are untrusted and never printed without this.  Returns BUF.
 */
const char *text_printable(const char *s, char *buf, size_t size);

/* As text_printable(), but text that was cut ends with "...".  SIZE is at least 4. */
const char *text_abbreviate(const char *s, char *buf, size_t size);

/*
 * As text_printable(), but a backslash becomes two, so that different names never look alike
 * (unless they were cut).  For names in documents that programs read.  Escaped text may be passed
 * to text_printable(), but not to this function again.
 */
const char *text_escape(const char *s, char *buf, size_t size);

/*
 * Return how many of the SIZE bytes at S, from the first one on, are text: characters that
 * text_printable() keeps, tabs and ends of lines.  A character that is cut off is no text.
 */
size_t text_length(const char *s, size_t size);

/* Print BYTES for people, "512 B", "4.0 KiB", "1.2 GiB" ..., into BUF; return BUF. */
const char *text_bytes(uint64_t bytes, char *buf, size_t size);

#endif
