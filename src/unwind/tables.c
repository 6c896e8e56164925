#include <config.h>

#include "unwind/tables.h"

#include "unwind/program.h"

/* The readable bytes of O from AT on; empty if AT is not readable. */
static struct bytes
tables_bytes_of(const struct unwind_object *o, uint64_t at)
{
	static const uint8_t nothing;
	const uint8_t *p = (const uint8_t *)(uintptr_t)at;

	for (uint32_t i = 0; i < o->nr_spans; i++)
		if (p >= o->span[i].start && p < o->span[i].end)
			return (struct bytes){ p, o->span[i].end, false };
	return (struct bytes){ &nothing, &nothing, true };
}

/* ---- .eh_frame_hdr (LSB, "The .eh_frame_hdr section") ---- */

/*
 * All linkers write the binary search table in this encoding: numbers of 4 bytes, relative to the
 * header.
 */
#define TABLE_ENCODING (PTR_DATA_RELATIVE | PTR_SDATA4)

static int64_t
entry(const uint8_t *table, uint64_t i, unsigned int part)
{
	int32_t v;

	__builtin_memcpy(&v, table + 8 * i + 4 * part, sizeof v);
	return v;
}

/* The address of the FDE for PC in a table of NR entries relative to BASE; 0 if not found. */
static uint64_t
tables_search(const uint8_t *table, uint64_t nr, uint64_t base, uint64_t pc)
{
	const int64_t wanted = (int64_t)(pc - base);
	uint64_t low = 0, high = nr;

	if (!nr || wanted < entry(table, 0, 0))
		return 0;
	while (high - low > 1) {
		const uint64_t middle = low + (high - low) / 2;

		if (entry(table, middle, 0) <= wanted)
			low = middle;
		else
			high = middle;
	}
	return base + (uint64_t)entry(table, low, 1);
}

/* The address of the FDE for PC in O's .eh_frame_hdr; 0 if not found. */
static uint64_t
search_header(const struct unwind_object *o, uint64_t pc)
{
	const uint64_t header = (uint64_t)(uintptr_t)o->header;
	struct bytes b = tables_bytes_of(o, header);
	const uint8_t version = bytes_byte(&b), pointer = bytes_byte(&b), count = bytes_byte(&b),
		      encoding = bytes_byte(&b);
	uint64_t nr;

	if (version != 1 || count == PTR_OMITTED || encoding != TABLE_ENCODING)
		return 0;
	if (pointer != PTR_OMITTED)
		bytes_pointer(&b, pointer, header);
	nr = bytes_pointer(&b, count, header);
	if (b.is_bad || nr > (uint64_t)(b.end - b.at) / 8)
		return 0;
	return tables_search(b.at, nr, header, pc);
}

static uint64_t
tables_find_frame(const struct unwind_object *o, uint64_t pc)
{
	return o->header ? search_header(o, pc)
			 : tables_search((const uint8_t *)o->index, o->nr_index, o->start, pc);
}

/* ---- .eh_frame (LSB, "The .eh_frame section") ---- */

/*
 * The bytes of an entry that follow its length.  Empty at the end of the section, or if the entry
 * is not readable.
 */
static struct bytes
entry_at(const struct unwind_object *o, uint64_t at)
{
	struct bytes b = tables_bytes_of(o, at);
	uint64_t size = bytes_number(&b, 4);

	if (size == UINT32_MAX)
		size = bytes_number(&b, 8);
	return bytes_part(&b, size);
}

/*
 * Read the data that AUGMENTATION describes.  False if it has an unknown part, since the position
 * of the data after it is then unknown.
 */
static bool
read_augmentation(
	const char *augmentation, struct bytes *b, struct unwind_program *p, struct unwind_row *row)
{
	for (const char *c = augmentation; *c && !b->is_bad; c++) {
		switch (*c) {
		case 'z':
			*b = bytes_part(b, bytes_unsigned_leb(b));
			break;
		case 'R':
			p->pointer_encoding = bytes_byte(b);
			break;
		case 'P': {
			const uint8_t encoding = bytes_byte(b);

			bytes_pointer(b, encoding, 0);
			break;
		}
		case 'L':
			bytes_byte(b);
			break;
		case 'S':
			row->is_signal = true;
			break;
		case 'B': /* aarch64: return addresses are signed with key B */
		case 'G': /* and the stack is tagged (MTE) */
			break;
		default:
			return false;
		}
	}
	return !b->is_bad;
}

/* Read the CIE at AT. */
static bool
read_cie(const struct unwind_object *o, uint64_t at, struct unwind_program *p,
	struct unwind_row *row, bool *ret_has_data)
{
	struct bytes b = entry_at(o, at), data;
	const char *augmentation;
	uint8_t version;
	uint64_t ra;

	if (bytes_number(&b, 4) != 0 || b.is_bad)
		return false;
	version = bytes_byte(&b);
	augmentation = (const char *)b.at;
	while (bytes_byte(&b))
		;
	if (b.is_bad || (version != 1 && version != 3))
		return false;
	p->code_align = bytes_unsigned_leb(&b);
	p->data_align = bytes_signed_leb(&b);
	ra = version == 1 ? bytes_byte(&b) : bytes_unsigned_leb(&b);
	if (b.is_bad || ra >= UNWIND_NR_REGS)
		return false;
	row->ra = (uint8_t)ra;
	row->is_signal = false;
	p->pointer_encoding = PTR_ABSOLUTE;
	*ret_has_data = *augmentation == 'z';
	data = b;
	if (!read_augmentation(augmentation, &data, p, row))
		return false;
	if (*ret_has_data)
		bytes_skip(&b, bytes_unsigned_leb(&b));
	else
		b = data;
	p->initial = b;
	return !b.is_bad;
}

/* A frame description entry. */
struct fde {
	struct unwind_program program;
	uint64_t size; /* size of its code, from program.start on */
	bool has_data; /* its augmentation has a length */
	struct bytes rest;
};

/* Read the FDE in B up to its augmentation; ROW gets the values in its CIE. */
static bool
read_fde(const struct unwind_object *o, struct bytes b, struct fde *ret, struct unwind_row *row)
{
	const uint64_t here = (uint64_t)(uintptr_t)b.at, to_cie = bytes_number(&b, 4);
	struct unwind_program *p = &ret->program;

	if (b.is_bad || !to_cie || !read_cie(o, here - to_cie, p, row, &ret->has_data))
		return false;
	p->start = bytes_pointer(&b, p->pointer_encoding, 0);
	ret->size = bytes_pointer(&b, p->pointer_encoding & 0x0f, 0);
	ret->rest = b;
	return !b.is_bad && !(p->pointer_encoding & PTR_INDIRECT);
}

bool
unwind_find_row(const struct unwind_object *o, uint64_t pc, struct unwind_row *ret)
{
	const uint64_t at = tables_find_frame(o, pc);
	struct unwind_program *p;
	struct fde f;

	if (!at || !read_fde(o, entry_at(o, at), &f, ret) || pc - f.program.start >= f.size)
		return false;
	if (f.has_data)
		bytes_skip(&f.rest, bytes_unsigned_leb(&f.rest));
	p = &f.program;
	p->own = f.rest;
	ret->end = p->own.end > p->initial.end ? p->own.end : p->initial.end;
	return !p->own.is_bad && unwind_run(p, pc, ret);
}

bool
unwind_next_frame(const struct unwind_object *o, uint64_t *at, uint64_t *ret_pc)
{
	const struct bytes b = entry_at(o, *at);
	struct unwind_row ignored;
	struct fde f;

	if (b.is_bad || b.at == b.end)
		return false;
	*at = (uint64_t)(uintptr_t)b.end;
	*ret_pc = read_fde(o, b, &f, &ignored) && f.size ? f.program.start : 0;
	return true;
}

bool
unwind_is_trampoline(const struct unwind_object *o, uint64_t pc)
{
	static const uint8_t code[] = UNWIND_TRAMPOLINE;
	struct bytes b = tables_bytes_of(o, pc);

	for (size_t i = 0; i < sizeof code; i++)
		if (bytes_byte(&b) != code[i])
			return false;
	return !b.is_bad;
}
