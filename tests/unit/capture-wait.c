/* A signal that asks memdiag to end is enough, whether it comes before a pipe is full or after. */
#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "capture/wait.h"
#include "tests/unit/tap.h"

static char text[1 << 20];

/* A pipe that nobody reads. */
static FILE *
open_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		exit(99);
	return fdopen(ends[1], "w");
}

int
main(void)
{
	FILE *f = open_pipe(), *other = open_pipe();
	size_t nr;

	alarm(300);
	memset(text, 'x', sizeof text);
	capture_hold_signals();
	ok(capture_wait(NULL, 0) == CAPTURE_WAIT_OVER, "without a signal a wait lasts its time");
	raise(SIGINT);
	nr = capture_write(f, text, sizeof text);
	ok(nr > 0 && nr < sizeof text, "a signal that waits ends a write to a full pipe");
	nr = capture_write(other, text, sizeof text);
	ok(nr > 0 && nr < sizeof text, "after it no write waits for a full pipe");
	ok(capture_wait(NULL, 1) == CAPTURE_WAIT_OVER, "a wait is ended by another signal only");
	raise(SIGTERM);
	ok(capture_wait(NULL, UINT64_C(300000000000)) == CAPTURE_WAIT_ASKED, "and by that it is");
	return tap_end();
}
