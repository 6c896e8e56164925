#include <config.h>

#include "stack/index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/image.h"
#include "elf/symbols.h"

/*
 * Limit for the bytes of all CIEs that are read, one for each change of the CIE between functions.
 * Linkers merge equal ones, of a few dozen bytes; damaged ones may be as long as the section.
 */
#define MAX_CIE_BYTES (UINT64_C(64) << 20)

/* The encoding of pointers in .eh_frame (LSB, "DWARF Exception Header Encoding"). */
enum { PCREL = 0x10, FORMAT = 0x0f, UDATA4 = 0x03, SDATA4 = 0x0b, UNKNOWN = 0xff };

/* Return the size of a pointer of ENCODING, 0 if it varies. */
static size_t
pointer_bytes(uint8_t encoding)
{
	static const uint8_t bytes[] = { 8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8, 0, 0, 0 };

	return bytes[encoding & FORMAT];
}

/* Return the encoding of addresses in FDEs of CIE; UNKNOWN if it cannot be found. */
static uint8_t
encoding_of(const Dwarf_CIE *cie)
{
	const uint8_t *at = cie->augmentation_data;
	const uint8_t *end = at ? at + cie->augmentation_data_size : NULL;
	uint8_t skipped;

	if (*cie->augmentation != 'z')
		return *cie->augmentation ? UNKNOWN : 0;
	for (const char *c = cie->augmentation + 1; *c; c++)
		switch (*c) {
		case 'R':
			return at && at < end ? *at : UNKNOWN;
		case 'P':
			skipped = at && at < end ? (uint8_t)(1 + pointer_bytes(*at)) : 1;
			if (skipped == 1 || end - at < skipped)
				return UNKNOWN;
			at += skipped;
			break;
		case 'L':
			at++;
			break;
		case 'S':
		case 'B':
			break;
		default:
			return UNKNOWN;
		}
	return 0;
}

/* Decode the bytes at AT, which the target has at ADDR. */
static bool
index_decode(const uint8_t *at, const uint8_t *end, uint8_t encoding, uint64_t addr, uint64_t *ret)
{
	const size_t bytes = pointer_bytes(encoding);
	int32_t word;

	if ((encoding & ~(FORMAT | PCREL)) || (size_t)(end - at) < bytes ||
		(bytes != 8 && (encoding & FORMAT) != UDATA4 && (encoding & FORMAT) != SDATA4))
		return false;
	if (bytes == 8) {
		memcpy(ret, at, 8);
	} else {
		memcpy(&word, at, 4);
		*ret = (encoding & FORMAT) == UDATA4 ? (uint32_t)word : (uint64_t)(int64_t)word;
	}
	*ret += encoding & PCREL ? addr : 0;
	return true;
}

static int
index_by_start(const void *a, const void *b)
{
	const struct stack_index_entry *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void
index_add_frame(struct stack_index *i, uint64_t pc, uint64_t offset)
{
	const int64_t start = (int64_t)(pc - i->base.v);
	struct stack_index_entry *added;

	if (start != (int32_t)start || offset > INT32_MAX || !(added = array_add(&i->entries)))
		return;
	*added = (struct stack_index_entry){ (int32_t)start, (int32_t)offset };
}

/* Return the encoding of addresses in FDEs of the CIE at AT; *RET_NEXT is the end of the CIE. */
static uint8_t
read_encoding(const unsigned char *ident, Elf_Data *data, Dwarf_Off at, Dwarf_Off *ret_next)
{
	Dwarf_CFI_Entry cie;

	*ret_next = data->d_size; /* an error may have been found at the end */
	return dwarf_next_cfi(ident, data, true, at, ret_next, &cie) == 0 && dwarf_cfi_cie_p(&cie)
		? encoding_of(&cie.cie)
		: UNKNOWN;
}

/* Walk DATA, which is the whole section. */
static void
index_go_over_frames(struct stack_index *i, Elf_Data *data, const unsigned char *ident)
{
	const uint8_t *bytes = data->d_buf;
	Dwarf_Off at = 0, next, cie_at = UINT64_MAX, cie_end;
	uint8_t encoding = UNKNOWN;
	Dwarf_CFI_Entry entry;
	uint64_t pc, cie_bytes = 0;

	for (; dwarf_next_cfi(ident, data, true, at, &next, &entry) == 0; at = next) {
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != cie_at) {
			cie_at = entry.fde.CIE_pointer;
			encoding = read_encoding(ident, data, cie_at, &cie_end);
			cie_bytes += cie_end > cie_at ? cie_end - cie_at : 0;
			if (cie_bytes > MAX_CIE_BYTES)
				return;
		}
		if (index_decode(entry.fde.start, entry.fde.end, encoding,
			    i->base.v + (uint64_t)(entry.fde.start - bytes), &pc))
			index_add_frame(i, pc, at);
	}
}

void
stack_index_read(struct stack_index *i, const unsigned char *bytes, size_t size, raddr base)
{
	const unsigned char ident[EI_NIDENT] = { [EI_CLASS] = ELFCLASS64, [EI_DATA] = ELFDATA2LSB };
	Elf_Data data = { .d_buf = (void *)(uintptr_t)bytes,
		.d_type = ELF_T_BYTE,
		.d_size = size < INT32_MAX ? size : INT32_MAX,
		.d_version = EV_CURRENT };

	*i = (struct stack_index){ .base = base };
	index_go_over_frames(i, &data, ident);
	if (i->entries.nr)
		qsort(i->entries.v, i->entries.nr, sizeof *i->entries.v, index_by_start);
}

void
stack_index_make(struct stack_index *i, const struct image *image)
{
	const unsigned char *bytes;
	uint64_t size;
	raddr base;

	*i = (struct stack_index){ 0 };
	if (image_section(image, ".eh_frame", &base, &size) == 0 &&
		(bytes = image_bytes(image, base, size)))
		stack_index_read(i, bytes, size, base);
}
