/*
 * Whatever a .heap file has in it, it is refused or read, and what was read can be written and
 * added up.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/read.h"
#include "profile/write-heap.h"
#include "report/calls.h"
#include "report/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_profile struct profile *p = NULL;
	auto_calls struct calls calls = { 0 };
	auto_tree struct tree tree = { 0 };
	auto_free char *written = NULL;
	auto_free char *copy = malloc(size + 1);
	auto_file FILE *f = NULL;
	struct calls_options options = { .by = CALLS_BY_LINE };
	size_t len;
	struct err e = { 0 };

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	if (profile_parse(&p, "it", copy, size, &e) < 0) {
		if (!*e.msg)
			abort();
		return 0;
	}
	if (p->default_type >= p->types.nr || p->values.nr != p->samples.nr * p->types.nr)
		abort();
	options.type = p->default_type;
	if (calls_make(&calls, p, &options, &e) < 0 || tree_make(&tree, &calls, &e) < 0)
		abort();
	f = open_memstream(&written, &len);
	if (f && heap_write(p, f, true, &e) == 0 && fflush(f) == 0) {
		auto_profile struct profile *again = NULL;

		if (profile_parse(&again, "what was written", written, len, &e) < 0 ||
			again->is_partial)
			abort();
	}
	return 0;
}
