/*
 * put: a text that a unit test writes bit by bit.
 */
#ifndef MEMDIAG_TESTS_PUT_H
#define MEMDIAG_TESTS_PUT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static char text[100000];
static size_t len; /* of TEXT; the next put() goes on there */

static inline void __attribute__((format(printf, 1, 2))) put(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	len += (size_t)vsnprintf(text + len, sizeof text - len, fmt, ap);
	va_end(ap);
	if (len >= sizeof text)
		abort();
}

#endif
