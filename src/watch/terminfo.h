/*
 * terminfo: what the terminal can do.
 */
#ifndef MEMDIAG_WATCH_TERMINFO_H
#define MEMDIAG_WATCH_TERMINFO_H

#include <stdbool.h>

/*
 * Return whether a page can be shown on the terminal of standard input and output: both are one,
 * and its cursor can be moved.
 */
bool watch_terminal_is_usable(void);

#endif
