/*
 * Whatever an object has for .eh_frame, its index is sorted and lies in it; and whatever a function
 * has for rules, reading them ends, within them.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stack/index.h"
#include "stack/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
make_index(const uint8_t *frames, size_t size)
{
	struct stack_index i;

	stack_index_read(&i, frames, size, (raddr){ 0x10000 });
	for (size_t k = 0; k < i.entries.nr; k++)
		if ((size_t)i.entries.v[k].frame >= size ||
			(k && i.entries.v[k].start < i.entries.v[k - 1].start))
			abort();
	free(i.entries.v);
}

/* The first CIE_BYTES are those of a CIE, the others those of an FDE, in blocks of that size. */
static void
check_rules(const uint8_t *bytes, size_t size, size_t cie_bytes)
{
	auto_free uint8_t *cie = malloc(cie_bytes ? cie_bytes : 1);
	auto_free uint8_t *fde = malloc(size > cie_bytes ? size - cie_bytes : 1);

	if (!cie || !fde)
		return;
	memcpy(cie, bytes, cie_bytes);
	memcpy(fde, bytes + cie_bytes, size - cie_bytes);
	for (uint64_t column = 0; column < 256; column += 16)
		if (stack_rules_are_sound(&(struct stack_rules){
			    cie, fde, cie_bytes, size - cie_bytes, column }) &&
			column > 96)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The copy has that size exactly, so that a sanitizer finds reads behind it. */
	auto_free uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	make_index(copy, size);
	for (size_t at = 0; at < size && at < 4096; at += 1 + at / 8) {
		const size_t left = size - at;

		check_rules(copy + at, left < 300 ? left : 300, left < 10 ? left : 10);
	}
	return 0;
}
