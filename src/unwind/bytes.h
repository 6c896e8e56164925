/* bytes: read the numbers of unwind tables within bounds. */
#ifndef MEMDIAG_UNWIND_BYTES_H
#define MEMDIAG_UNWIND_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	const uint8_t *at, *end;
	bool is_bad; /* a read passed END or found an invalid value; all further numbers are 0 */
};

static inline void
bytes_fail(struct bytes *b)
{
	b->is_bad = true;
	b->at = b->end;
}

static inline bool
bytes_have(struct bytes *b, size_t n)
{
	if ((size_t)(b->end - b->at) >= n)
		return true;
	bytes_fail(b);
	return false;
}

/* Read a number of N bytes, at most 8. */
static inline uint64_t
bytes_number(struct bytes *b, size_t n)
{
	uint64_t v = 0;

	if (!bytes_have(b, n))
		return 0;
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)b->at[i] << 8 * i;
	b->at += n;
	return v;
}

static inline int64_t
bytes_signed(struct bytes *b, size_t n)
{
	const unsigned int unused = 64 - 8 * (unsigned int)n;

	return (int64_t)(bytes_number(b, n) << unused) >> unused;
}

static inline uint8_t
bytes_byte(struct bytes *b)
{
	return bytes_have(b, 1) ? *b->at++ : 0;
}

/* Read a LEB128 number; bits above 64 are dropped. */
static inline uint64_t
bytes_leb(struct bytes *b, bool is_signed)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_byte(b);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !b->is_bad);
	if (is_signed && shift < 64 && (byte & 0x40))
		v |= ~UINT64_C(0) << shift;
	return v;
}

static inline uint64_t
bytes_unsigned_leb(struct bytes *b)
{
	return bytes_leb(b, false);
}

static inline int64_t
bytes_signed_leb(struct bytes *b)
{
	return (int64_t)bytes_leb(b, true);
}

static inline void
bytes_skip(struct bytes *b, uint64_t n)
{
	if (n <= (uint64_t)(b->end - b->at))
		b->at += n;
	else
		bytes_fail(b);
}

/* Return the next N bytes, and skip them. */
static inline struct bytes
bytes_part(struct bytes *b, uint64_t n)
{
	struct bytes part = { b->at, b->at, false };

	bytes_skip(b, n);
	if (b->is_bad)
		part.is_bad = true;
	else
		part.end = part.at + n;
	return part;
}

/* DW_EH_PE_ encodings of pointers (LSB, "DWARF Exception Header Encoding"). */
enum {
	PTR_ABSOLUTE = 0x00,
	PTR_ULEB = 0x01,
	PTR_UDATA2 = 0x02,
	PTR_UDATA4 = 0x03,
	PTR_UDATA8 = 0x04,
	PTR_SLEB = 0x09,
	PTR_SDATA2 = 0x0a,
	PTR_SDATA4 = 0x0b,
	PTR_SDATA8 = 0x0c,
	PTR_RELATIVE = 0x10, /* relative to its own address */
	PTR_DATA_RELATIVE = 0x30,
	PTR_INDIRECT = 0x80,
	PTR_OMITTED = 0xff,
};

/*
 * Read a pointer in ENCODING; DATA is the base of data-relative pointers.  Indirect pointers are
 * not followed.
 */
static inline uint64_t
bytes_pointer(struct bytes *b, uint8_t encoding, uint64_t data)
{
	const uint64_t here = (uint64_t)(uintptr_t)b->at;
	uint64_t v = 0;

	switch (encoding & 0x0f) {
	case PTR_ABSOLUTE:
	case PTR_UDATA8:
	case PTR_SDATA8:
		v = bytes_number(b, 8);
		break;
	case PTR_ULEB:
		v = bytes_unsigned_leb(b);
		break;
	case PTR_UDATA2:
		v = bytes_number(b, 2);
		break;
	case PTR_UDATA4:
		v = bytes_number(b, 4);
		break;
	case PTR_SLEB:
		v = (uint64_t)bytes_signed_leb(b);
		break;
	case PTR_SDATA2:
		v = (uint64_t)bytes_signed(b, 2);
		break;
	case PTR_SDATA4:
		v = (uint64_t)bytes_signed(b, 4);
		break;
	default:
		bytes_fail(b);
	}
	switch (encoding & 0x70) {
	case 0:
		return v;
	case PTR_RELATIVE:
		return v + here;
	case PTR_DATA_RELATIVE:
		return v + data;
	default:
		bytes_fail(b);
		return 0;
	}
}

#endif
