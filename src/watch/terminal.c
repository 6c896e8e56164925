#include <config.h>

#include "watch/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <curses.h>

/* How long the rest of a key that begins with ESC may take. */
#define ESCAPE_MS 100

static void
measure(struct watch_terminal *t)
{
	getmaxyx(stdscr, t->rows, t->columns);
}

static void
begin_colours(void)
{
	const char *without = getenv("NO_COLOR");

	if ((without && *without) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(WATCH_GRAPH + 1, COLOR_CYAN, -1);
	init_pair(WATCH_ALERT + 1, COLOR_RED, -1);
}

int
watch_terminal_open(struct watch_terminal *t, struct err *e)
{
	/* Unlike initscr() it returns if it fails. */
	if (!newterm(NULL, stdout, stdin))
		return err_set(e, errno, "cannot use the terminal");
	t->is_open = true;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	begin_colours();
	measure(t);
	return 0;
}

static attr_t
attribute_of(enum watch_style style)
{
	static const attr_t attributes[NR_WATCH_STYLES] = {
		[WATCH_TITLE] = A_BOLD,
		[WATCH_HEAD] = A_REVERSE,
		[WATCH_ALERT] = A_BOLD,
	};

	return attributes[style];
}

void
watch_terminal_show(struct watch_terminal *t, const struct watch_lines *l)
{
	erase();
	for (int i = 0; i < (int)l->nr && i < t->rows; i++) {
		const struct watch_line *line = &l->v[i];

		attrset((int)attribute_of(line->style));
		if (line->style == WATCH_GRAPH || line->style == WATCH_ALERT)
			attron(COLOR_PAIR(line->style + 1));
		mvaddstr(i, 0, line->text);
		if (line->style == WATCH_HEAD) /* also where it has no text */
			mvchgat(i, 0, -1, attribute_of(line->style), 0, NULL);
	}
	attrset(A_NORMAL);
	refresh();
}

static int
key_of(int c)
{
	switch (c) {
	case KEY_UP:
		return WATCH_KEY_UP;
	case KEY_DOWN:
		return WATCH_KEY_DOWN;
	case KEY_LEFT:
		return WATCH_KEY_LEFT;
	case KEY_RIGHT:
		return WATCH_KEY_RIGHT;
	case KEY_PPAGE:
		return WATCH_KEY_PAGE_UP;
	case KEY_NPAGE:
		return WATCH_KEY_PAGE_DOWN;
	case KEY_HOME:
		return WATCH_KEY_HOME;
	case KEY_END:
		return WATCH_KEY_END;
	case KEY_RESIZE:
		return WATCH_KEY_RESIZE;
	default:
		return c >= ' ' && c < 0x7f ? c : WATCH_KEY_OTHER;
	}
}

/* Return whether the terminal was hung up: each read of it then ends at once. */
static bool
is_gone(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

int
watch_terminal_key(struct watch_terminal *t, int ms)
{
	int c;

	timeout(ms);
	c = getch();
	if (c == KEY_RESIZE)
		measure(t);
	if (c != ERR)
		return key_of(c);
	return is_gone() ? WATCH_KEY_GONE : WATCH_KEY_NONE;
}

void
watch_terminal_close(struct watch_terminal *t)
{
	if (!t->is_open)
		return;
	endwin();
	t->is_open = false;
}
