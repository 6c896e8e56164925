#include <config.h>

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum err_kind
err_kind_of(int code)
{
	switch (code) {
	case ESRCH:
		return ERR_GONE;
	case EPERM:
	case EACCES:
		return ERR_PERMISSION;
	default:
		return ERR_FAILED;
	}
}

static void __attribute__((format(printf, 4, 0)))
err_fill(struct err *e, enum err_kind kind, int code, const char *fmt, va_list ap)
{
	size_t len;

	e->code = code;
	e->kind = kind;
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	len = strlen(e->msg);
	if (code)
		snprintf(e->msg + len, sizeof e->msg - len, ": %s", strerror(code));
}

int
err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_fill(e, err_kind_of(code), code, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_set_kind(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_fill(e, kind, code, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_context(struct err *e, const char *fmt, ...)
{
	char was[sizeof e->msg];
	va_list ap;
	size_t len;

	memcpy(was, e->msg, sizeof was);
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	len = strlen(e->msg);
	snprintf(e->msg + len, sizeof e->msg - len, ": %s", was);
	return -1;
}

int
err_hint(struct err *e, const char *fmt, ...)
{
	size_t len = strlen(e->msg);
	va_list ap;

	len += (size_t)snprintf(e->msg + len, sizeof e->msg - len, ". ");
	if (len >= sizeof e->msg)
		return -1;
	va_start(ap, fmt);
	vsnprintf(e->msg + len, sizeof e->msg - len, fmt, ap);
	va_end(ap);
	return -1;
}
