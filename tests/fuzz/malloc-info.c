/* Whatever a target writes, malloc_info_parse() ends, and what it returns is sane. */
#include <config.h>

#include <stdlib.h>

#include "heap/malloc-info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct malloc_info mi = { 0 };
	struct text found = { 0 };
	struct err e = { 0 };

	if (malloc_info_find(&found, "file", (const char *)data, size, &e) == 0
			? !found.len || found.v[found.len]
			: found.v || !e.msg[0])
		abort();
	text_release(&found);
	if (malloc_info_parse(&mi, (const char *)data, size, &e) < 0) {
		if (mi.heap.v || !e.msg[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < mi.heap.nr; i++)
		if (malloc_info_in_use(&mi.heap.v[i]) > mi.heap.v[i].system_bytes)
			abort();
	malloc_info_release(&mi);
	return 0;
}
