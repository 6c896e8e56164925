/* Any saved map is refused, or read and added up. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "maps/maps.h"
#include "maps/space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = malloc(size + 1);
	auto_map_file struct map_file f = { 0 };
	auto_space struct space s = { 0 };
	struct err e = { 0 };
	uint64_t bytes = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (map_file_parse(&f, "file", text, size, &e) < 0) {
		if (!e.msg[0])
			abort();
		return 0;
	}
	if (space_read_file(&s, &f, &(struct space_options){ .want_pss = true }, &e) < 0)
		abort();
	for (size_t i = 0; i < s.leaves.nr; i++)
		bytes += s.leaves.v[i].end.v - s.leaves.v[i].start.v;
	if (bytes != s.totals.virt_bytes)
		abort();
	return 0;
}
