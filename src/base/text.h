/* text: memdiag's own strings, and untrusted strings. */
#ifndef MEMDIAG_BASE_TEXT_H
#define MEMDIAG_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A file read whole: LEN bytes at V, followed by a NUL that is not counted. */
struct text {
	char *v; /* owned; NULL when empty */
	size_t len;
};

void text_release(struct text *t);
#define auto_text __attribute__((cleanup(text_release)))

/*
 * Read FD to its end into T, which must be zeroed or released.  Returns 0, or -1 with errno set
 * and T released; EFBIG when there are more than MAX_BYTES.
 */
int text_read(struct text *t, int fd, size_t max_bytes);

/*
 * The same of a file from its beginning, without the file position of FD, which other processes may
 * share and move.
 */
int text_read_whole(struct text *t, int fd, size_t max_bytes);

/*
 * Write S into BUF (of SIZE bytes, NUL-terminated, cut to fit) so that a terminal can show it:
 * control bytes and bytes that are not valid UTF-8 become \ooo.  Names of files, threads and
 * mappings are untrusted and never printed without this.  Returns BUF.
 */
const char *text_printable(const char *s, char *buf, size_t size);

/* As text_printable(), but what was cut to fit ends with "...".  SIZE is at least 4. */
const char *text_abbreviate(const char *s, char *buf, size_t size);

/*
 * As text_printable(), but a backslash becomes two, so that two names that differ never look alike
 * (unless they were cut).  For names in documents that programs read.  Text that is escaped already
 * may go through text_printable(), but not through this again.
 */
const char *text_escape(const char *s, char *buf, size_t size);

/* Bytes for a person: "512 B", "4.0 KiB", "1.2 GiB" ... into BUF; returns BUF. */
const char *text_bytes(uint64_t bytes, char *buf, size_t size);

#endif
