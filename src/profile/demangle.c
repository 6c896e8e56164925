#include <config.h>

#include "profile/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * A name of a few hundred bytes can refer to parts of itself repeatedly, so that it would take all
 * memory when written out.
 */
#define MAX_NAME_BYTES 65536
/* libiberty refuses longer ones, to save its stack (cp-demangle.c, d_demangle_callback()). */
#define MAX_MANGLED_BYTES 2048

struct demangled {
	char *v;
	size_t nr, room;
	jmp_buf too_long;
};

/* libiberty has all of its data on the stack, so longjmp() leaks nothing. */
static void
demangle_add_piece(const char *piece, size_t len, void *arg)
{
	struct demangled *d = arg;

	if (len > MAX_NAME_BYTES - d->nr)
		longjmp(d->too_long, 1);
	if (d->nr + len >= d->room) {
		size_t room = 2 * (d->nr + len) + 256;
		char *bigger = realloc(d->v, room);

		if (!bigger)
			longjmp(d->too_long, 1);
		d->v = bigger;
		d->room = room;
	}
	memcpy(d->v + d->nr, piece, len);
	d->nr += len;
	d->v[d->nr] = '\0';
}

char *
demangle(const char *name)
{
	struct demangled d = { 0 };
	bool is_rust = strncmp(name, "_R", 2) == 0, is_cpp = strncmp(name, "_Z", 2) == 0;
	bool is_done;

	if ((!is_rust && !is_cpp) || strnlen(name, MAX_MANGLED_BYTES + 1) > MAX_MANGLED_BYTES)
		return NULL;
	if (setjmp(d.too_long)) {
		free(d.v);
		return NULL;
	}
	is_done = rust_demangle_callback(name, 0, demangle_add_piece, &d);
	if (!is_done && is_cpp) {
		d.nr = 0;
		is_done = cplus_demangle_v3_callback(name, DMGL_ANSI, demangle_add_piece, &d);
	}
	if (is_done && d.nr)
		return d.v;
	free(d.v);
	return NULL;
}
