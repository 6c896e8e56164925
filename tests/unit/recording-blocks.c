/*
 * The table of live blocks against an array: blocks come, are replaced and go, by seeds, at
 * addresses of which many have the
 * same place in the table.
 *
 *	history-blocks [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "recording/blocks.h"
#include "seeds.h"

#define NR_ADDRESSES 3000
#define STEPS 6000

static struct block there[NR_ADDRESSES]; /* address 0: it is not */
static size_t nr_there;

static uint64_t
address_of(size_t i)
{
	return UINT64_C(0x7f0000000000) + i * 16;
}

static bool
put(struct blocks *b, size_t i)
{
	const struct block block = {
		.address = address_of(i), .bytes = some(1 << 30), .site = (uint32_t)some(1 << 20)
	};

	if (blocks_put(b, block) < 0)
		return FAIL("no memory");
	nr_there += !there[i].address;
	there[i] = block;
	return true;
}

static bool
take(struct blocks *b, size_t i)
{
	struct block got = { .address = 0 };
	const bool want = there[i].address;

	if (blocks_take(b, address_of(i), &got) != want)
		return FAIL("%#" PRIx64 " is%s there", address_of(i), want ? "" : " not");
	if (want &&
		(got.address != there[i].address || got.bytes != there[i].bytes ||
			got.site != there[i].site))
		return FAIL("%#" PRIx64 " is another block", address_of(i));
	nr_there -= want;
	there[i].address = 0;
	return true;
}

static bool
try(void)
{
	struct blocks b = { 0 };
	const size_t nr = some(2) ? NR_ADDRESSES : 50;
	const uint64_t growth = 3 + some(5); /* of 10 steps as many add one */
	bool is_good = !blocks_take(&b, address_of(0), &(struct block){ 0 }) ||
		FAIL("an empty table has a block");

	memset(there, 0, sizeof there);
	nr_there = 0;
	for (size_t i = 0; i < STEPS && is_good; i++) {
		is_good = some(10) < growth ? put(&b, some(nr)) : take(&b, some(nr));
		if (b.nr != nr_there)
			is_good = FAIL("the table has %zu blocks, not %zu", b.nr, nr_there);
	}
	for (size_t i = 0; i < nr && is_good; i++)
		is_good = take(&b, i);
	blocks_release(&b);
	return is_good;
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 100), try, "each block is found once, as it was put there");
	return tap_end();
}
