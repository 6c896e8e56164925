/*
 * The bytes of an object's file, copied when they are needed.  The file is not mapped: it may be
 * the target's, and a mapping raises SIGBUS if the file gets shorter; besides, memdiag's mapping
 * would be shared with the target and halve the target's PSS.
 */
#include <config.h>

#include "elf/contents.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK_BYTES UINT64_C(16384)
/* The tables of the largest programs are smaller; a damaged file may ask for all of its bytes. */
#define MAX_READ_BYTES (UINT64_C(1) << 30)

struct contents {
	char *v; /* sparse, with the layout of the file */
	uint64_t size_bytes, read_bytes;
	unsigned char is_there[]; /* a bit for each block that was read */
};

struct contents *
contents_new(uint64_t size_bytes, struct err *e)
{
	const uint64_t nr_blocks = size_bytes / BLOCK_BYTES + 1;
	struct contents *c = calloc(1, sizeof *c + nr_blocks / 8 + 1);

	if (!c) {
		err_set(e, ENOMEM, "cannot copy an object");
		return NULL;
	}
	c->size_bytes = size_bytes;
	c->v = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->v != MAP_FAILED)
		return c;
	err_set(e, errno, "cannot copy an object");
	free(c);
	return NULL;
}

void
contents_free(struct contents *c)
{
	if (!c)
		return;
	munmap(c->v, c->size_bytes);
	free(c);
}

char *
contents_at(const struct contents *c, uint64_t offset)
{
	return c->v + offset;
}

static bool
contents_is_there(const struct contents *c, uint64_t block)
{
	return c->is_there[block / 8] & 1U << block % 8;
}

/* Read the blocks [FROM, TO).  0, or -1. */
static int
read_blocks(struct contents *c, int fd, uint64_t from, uint64_t to)
{
	uint64_t at = from * BLOCK_BYTES, end = to * BLOCK_BYTES;

	if (end > c->size_bytes)
		end = c->size_bytes;
	if (end - at > MAX_READ_BYTES - c->read_bytes)
		return -1;
	while (at < end) {
		ssize_t n = pread(fd, c->v + at, end - at, (off_t)at);

		if (n <= 0) /* the file has become shorter */
			return -1;
		at += (uint64_t)n;
		c->read_bytes += (uint64_t)n;
	}
	for (uint64_t i = from; i < to; i++)
		c->is_there[i / 8] |= (unsigned char)(1U << i % 8);
	return 0;
}

int
contents_read(struct contents *c, int fd, uint64_t offset, uint64_t size)
{
	uint64_t block = offset / BLOCK_BYTES, end, from;

	if (offset > c->size_bytes || size > c->size_bytes - offset)
		return -1;
	end = size ? (offset + size - 1) / BLOCK_BYTES + 1 : block;
	while (block < end) {
		for (; block < end && contents_is_there(c, block); block++)
			;
		for (from = block; block < end && !contents_is_there(c, block); block++)
			;
		if (block > from && read_blocks(c, fd, from, block) < 0)
			return -1;
	}
	return 0;
}
