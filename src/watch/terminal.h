/*
 * terminal: a page on a terminal, and the keys that are pressed there, by ncurses.
 */
#ifndef MEMDIAG_WATCH_TERMINAL_H
#define MEMDIAG_WATCH_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "watch/lines.h"

/* Keys that are no characters. */
enum watch_key {
	WATCH_KEY_NONE = 0, /* the time is over */
	WATCH_KEY_UP = 0x100,
	WATCH_KEY_DOWN,
	WATCH_KEY_LEFT,
	WATCH_KEY_RIGHT,
	WATCH_KEY_PAGE_UP,
	WATCH_KEY_PAGE_DOWN,
	WATCH_KEY_HOME,
	WATCH_KEY_END,
	WATCH_KEY_RESIZE,
	WATCH_KEY_OTHER,
	WATCH_KEY_GONE, /* the terminal is */
};

/* The size of the terminal, as it was asked for last. */
struct watch_terminal {
	bool is_open;
	int columns, rows;
};

/* Take the terminal, which is usable, until watch_terminal_close().  0, or -1 with E. */
int watch_terminal_open(struct watch_terminal *t, struct err *e);

/* Show L in place of what was shown before. */
void watch_terminal_show(struct watch_terminal *t, const struct watch_lines *l);

/* Return a character, or an enum watch_key, that comes within MS milliseconds. */
int watch_terminal_key(struct watch_terminal *t, int ms);

/* Give the terminal back as it was. */
void watch_terminal_close(struct watch_terminal *t);
#define auto_watch_terminal __attribute__((cleanup(watch_terminal_close)))

#endif
