/* A file of its own: <term.h> has macros with short names, such as "columns" and "lines". */
#include <config.h>

#include "watch/terminfo.h"

#include <unistd.h>

#include <curses.h>
#include <term.h>

bool
watch_terminal_is_usable(void)
{
	const char *move;
	int status;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
		setupterm(NULL, STDOUT_FILENO, &status) == ERR)
		return false;
	move = tigetstr("cup");
	del_curterm(cur_term);
	return move && move != (const char *)-1;
}
