/* The line that a terminal gets while work takes longer than a second. */
#include <config.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/ui.h"

#define A_WHILE_MS 300000

static int terminal; /* what is written to standard error comes out here */

/* A terminal for standard error. */
static bool
take_terminal(void)
{
	int end;

	terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0)
		return false;
	end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	return end >= 0 && dup2(end, STDERR_FILENO) >= 0;
}

/* Read until WANTED is there, or nothing comes for MS milliseconds. */
static bool
comes(const char *wanted, int ms)
{
	struct pollfd p = { .fd = terminal, .events = POLLIN };
	char text[1000] = "";
	size_t len = 0;

	while (!strstr(text, wanted) && len < sizeof text - 1 && poll(&p, 1, ms) > 0) {
		ssize_t n = read(terminal, text + len, sizeof text - 1 - len);

		if (n <= 0)
			return false;
		len += (size_t)n;
	}
	return len > 0 && strstr(text, wanted);
}

int
main(void)
{
	struct ui_options opt = { 0 }, quiet = { .quiet = true };
	struct ui_progress *p;

	if (!take_terminal()) {
		skip("a terminal", "none can be opened");
		return tap_end();
	}
	p = ui_progress_begin(&opt, "counting sheep");
	ok(p, "on a terminal there is progress");
	ok(comes("\r\033[Kmemdiag: counting sheep, 1.0 s", A_WHILE_MS),
		"after a second it is shown");
	ok(comes("memdiag: counting sheep, 1.5 s", A_WHILE_MS), "and again");
	ui_note(&opt, "a note");
	ok(comes("\r\033[Kmemdiag: a note", A_WHILE_MS), "a note is on a line of its own");
	ok(comes("memdiag: counting sheep", A_WHILE_MS), "behind which it goes on");
	ui_progress_end(p);
	ok(comes("\r\033[K", A_WHILE_MS), "the end removes it");
	ui_progress_end(ui_progress_begin(&opt, "nothing"));
	ok(!comes("nothing", 0), "quick work tells nothing");
	ok(!ui_progress_begin(&quiet, "nothing"), "nor does --quiet");
	ui_progress_end(NULL);
	return tap_end();
}
