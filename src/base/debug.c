#include <config.h>

#include "base/debug.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static bool enabled;
static struct timespec start;

void
debug_enable(void)
{
	enabled = true;
	clock_gettime(CLOCK_MONOTONIC, &start);
}

void
debug(const char *fmt, ...)
{
	char line[512];
	struct timespec now;
	va_list ap;

	if (!enabled)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	fprintf(stderr, "memdiag: %8.3f ms  %s\n",
		(double)(now.tv_sec - start.tv_sec) * 1e3 + (double)(now.tv_nsec - start.tv_nsec) / 1e6,
		line);
}
