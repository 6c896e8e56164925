/*
 * Whatever a profile.proto has in it, it is refused or read, and what was read can be written
 * again.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/pprof-write.h"
#include "profile/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_profile struct profile *p = NULL;
	auto_free char *written = NULL;
	auto_free char *copy = malloc(size + 1);
	auto_file FILE *f = NULL;
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
	f = open_memstream(&written, &len);
	if (f && pprof_write(p, f, &e) == 0 && fflush(f) == 0) {
		auto_profile struct profile *again = NULL;

		if (profile_parse(&again, "what was written", written, len, &e) < 0 ||
			again->samples.nr != p->samples.nr)
			abort();
	}
	return 0;
}
