/* Any smaps is refused or read mapping by mapping. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/smaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
look(const struct smaps_entry *entry, void *arg)
{
	if (entry->start.v >= entry->end.v || !memchr(entry->flags, '\0', sizeof entry->flags))
		abort();
	*(bool *)arg |= smaps_has_flag(entry, "ht");
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_file FILE *f = fmemopen((void *)(uintptr_t)data, size, "r");
	bool has_huge = false;
	struct err e = { 0 };

	if (f && smaps_parse(f, look, &has_huge, &e) < 0 && !e.msg[0])
		abort();
	return 0;
}
