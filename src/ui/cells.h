/*
 * cells: text in columns of a terminal.
 */
#ifndef MEMDIAG_UI_CELLS_H
#define MEMDIAG_UI_CELLS_H

#include <stdbool.h>
#include <stdio.h>

/* Return whether the locale can show every character: whether it is UTF-8. */
bool cells_have_unicode(void);

/* Return the number of columns of TEXT, which is UTF-8. */
int cells_width(const char *text);

/*
 * Print TEXT, which is UTF-8, to F in exactly WIDTH columns: with blanks before it if IS_RIGHT,
 * else after it; without its middle if it is longer.  A character that the locale cannot show, or
 * that has no width of its own, becomes "?".
 */
void cells_put(FILE *f, const char *text, int width, bool is_right);

/*
 * Return TEXT in WIDTH columns or fewer, without its middle if it is longer.  The caller frees the
 * result; NULL if memory is exhausted.
 */
char *cells_cut(const char *text, int width);

/* As cells_put(), without blanks, and without its end if TEXT is longer. */
void cells_put_line(FILE *f, const char *text, int width);

#endif
