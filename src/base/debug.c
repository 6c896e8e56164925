#include <config.h>

#include "base/debug.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HELD_BYTES (1 << 20)

static bool enabled;
static struct timespec start;

/*
 * The lines that are held back; allocated beforehand, because memory must not be allocated while
 * threads are stopped.
 */
static struct {
	bool is_on;
	char *v;
	size_t len;
	unsigned long nr_lost;
} held;

void
debug_enable(void)
{
	if (enabled)
		return;
	enabled = true;
	held.v = malloc(HELD_BYTES);
	clock_gettime(CLOCK_MONOTONIC, &start);
}

bool
debug_is_enabled(void)
{
	return enabled;
}

/*
 * Return whether stderr takes a line without waiting: a pipe that poll() reports writable has room
 * for PIPE_BUF bytes (pipe(7)).
 */
static bool
is_writable(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents & POLLOUT;
}

static void
base_debug_hold(const char *line)
{
	size_t len = strlen(line);

	if (!held.len && is_writable()) {
		fputs(line, stderr);
		return;
	}
	if (!held.v || len > HELD_BYTES - held.len) {
		held.nr_lost++;
		return;
	}
	memcpy(held.v + held.len, line, len);
	held.len += len;
}

void
debug(const char *fmt, ...)
{
	char line[600], *text;
	struct timespec now;
	va_list ap;

	if (!enabled)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	text = line +
		snprintf(line, sizeof line, "memdiag: %8.3f ms  ",
			(double)(now.tv_sec - start.tv_sec) * 1e3 +
				(double)(now.tv_nsec - start.tv_nsec) / 1e6);
	va_start(ap, fmt);
	vsnprintf(text, sizeof line - 1 - (size_t)(text - line), fmt, ap);
	va_end(ap);
	strcat(text, "\n");
	if (held.is_on)
		base_debug_hold(line);
	else
		fputs(line, stderr);
}

void
debug_hold(void)
{
	held.is_on = true;
}

void
debug_let_go(void)
{
	held.is_on = false;
	if (held.len)
		fwrite(held.v, 1, held.len, stderr);
	held.len = 0;
	if (held.nr_lost)
		debug("%lu more lines came while threads were stopped, and were not kept",
			held.nr_lost);
	held.nr_lost = 0;
}
