/*
 * load-place: our library, placed in a program that has no dynamic linker.
 */
#ifndef MEMDIAG_INJECT_LOAD_PLACE_H
#define MEMDIAG_INJECT_LOAD_PLACE_H

#include "base/err.h"
#include "glibc/arenas.h"
#include "inject/load.h"
#include "inject/malloc.h"
#include "inject/target.h"

struct os_part;

/*
 * As load_library(), in a program that has no dynamic linker (inject_is_static()): memdiag puts the
 * library there itself.  Symbols that the library does not define are NULL, including functions.
 * Its thread-local words are zeroes at first; a thread finds the values of an earlier thread that
 * had the same stack.  When the library is complete FN is called, to pass data to it; then the
 * library's constructors are called.  If FN fails, nothing is left in the target.
 */
int load_place(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, const char *path,
	int (*fn)(const struct os_part *library, void *arg, struct err *e), void *arg,
	struct loaded_library *ret, struct inject_report *report, struct err *e);

#endif
