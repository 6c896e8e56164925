/*
 * Random unsorted bins, sound and damaged, as the walk meets them: what runs.c says of them against
 * an oracle that follows the list chunk by chunk.  MEMDIAG_TEST_SEEDS="FIRST LAST" tries other
 * seeds.
 */
#include <config.h>

#include <stdlib.h>
#include <unistd.h>

#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/pages-priv.h"
#include "heap/runs.h"
#include "tap.h"

#define MAX_CHUNKS 400
#define HEAD UINT64_C(0x7f0000000060)	    /* of the unsorted bin */
#define OTHER_HEAD UINT64_C(0x7f0000000070) /* of all other bins */
#define NOWHERE UINT64_C(0x7f0000100008)
#define RUNS_MAX (UINT64_C(1) << 17) /* as runs.c has it */

struct chunk {
	uint64_t addr, raw, fd, bk;
	unsigned int bin;    /* by its size */
	bool is_new_segment; /* it does not follow what was added before it */
};

static struct chunk chunk[MAX_CHUNKS];	    /* in the order of the walk */
static int nr, list[MAX_CHUNKS], nr_listed; /* LIST: the unsorted bin, from fd of its header on */
static uint64_t first;			    /* fd of the header */
static uint32_t state;

static unsigned int
below(unsigned int n)
{
	state = state * 1664525 + 1013904223;
	return (unsigned int)((uint64_t)state * n >> 32);
}

/* ---- bins ---- */

/* Segments in any order of address, in each the chunks rise. */
static void
make_chunks(void)
{
	unsigned int segments = 1 + below(4), turn = below(100);
	uint64_t at = 0;

	nr = (int)(1 + below(MAX_CHUNKS - 1));
	for (int i = 0; i < nr; i++) {
		bool is_new = !i || below((unsigned int)nr / segments + 1) == 0;

		if (is_new)
			at = UINT64_C(0x7f1000000000) +
				(uint64_t)(turn++ * 200 % 509) * UINT64_C(0x4000000);
		chunk[i] =
			(struct chunk){ .addr = at, .bin = 2 + below(3), .is_new_segment = is_new };
		chunk[i].raw = (16 * (chunk[i].bin + below(9) * 3)) | PREV_INUSE;
		at += 16 * (2 + below(100));
	}
}

/* Stretches of the unsorted chunks in either direction, some swapped: from all in order to none. */
static void
order_list(void)
{
	int swaps = below(3) ? (int)below(4) : nr_listed;
	unsigned int longest = 1 + below(40);

	for (int i = 0, next; i < nr_listed; i = next) {
		bool is_down = below(2);

		next = i + 1 + (int)below(longest);
		next = next < nr_listed ? next : nr_listed;
		for (int low = i, high = next - 1; is_down && low < high; low++, high--) {
			int kept = list[low];

			list[low] = list[high];
			list[high] = kept;
		}
	}
	for (int i = 0; i < swaps; i++) {
		unsigned int a = below((unsigned int)nr_listed), b = below((unsigned int)nr_listed);
		int kept = list[a];

		list[a] = list[b];
		list[b] = kept;
	}
}

/* Link NR_MEMBERS chunks behind HEAD. */
static void
link_list(const int *member, int nr_members, uint64_t head)
{
	for (int i = 0; i < nr_members; i++) {
		chunk[member[i]].fd = i + 1 < nr_members ? chunk[member[i + 1]].addr : head;
		chunk[member[i]].bk = i ? chunk[member[i - 1]].addr : head;
	}
}

static void
make_bins(uint32_t seed)
{
	bool is_unsorted[MAX_CHUNKS];
	unsigned int share;

	state = seed * 2654435761u + 1;
	make_chunks();
	nr_listed = 0;
	share = below(5);
	for (int i = 0; i < nr; i++) {
		is_unsorted[i] = below(4) < share;
		if (is_unsorted[i])
			list[nr_listed++] = i;
	}
	if (nr_listed)
		order_list();
	link_list(list, nr_listed, HEAD);
	first = nr_listed ? chunk[list[0]].addr : HEAD;
	for (unsigned int bin = 2; bin < 5; bin++) {
		int member[MAX_CHUNKS], n = 0;

		for (int i = 0; i < nr; i++)
			if (!is_unsorted[i] && chunk[i].bin == bin)
				member[n++] = i;
		link_list(member, n, OTHER_HEAD + 16 * bin);
	}
}

/* One link of the unsorted bin leads to something else. */
static const char *
damage(void)
{
	struct chunk *from = &chunk[list[below((unsigned int)nr_listed)]];
	uint64_t *link = below(8) ? &from->fd : &first;

	switch (below(5)) {
	case 0:
		*link = chunk[list[below((unsigned int)nr_listed)]].addr;
		return "to any chunk of the list";
	case 1:
		*link = chunk[below((unsigned int)nr)].addr;
		return "to any free chunk";
	case 2:
		*link = NOWHERE;
		return "to where nothing is";
	case 3:
		*link = chunk[below((unsigned int)nr)].addr + 16;
		return "into a chunk";
	default:
		from->bk = chunk[below((unsigned int)nr)].addr;
		return "back to any free chunk";
	}
}

/* ---- what is true of them ---- */

static int
chunk_at(uint64_t addr)
{
	for (int i = 0; i < nr; i++)
		if (chunk[i].addr == addr)
			return i;
	return -1;
}

struct truth {
	bool has_end;  /* the list comes back to its header, by free chunks, each once */
	bool is_sound; /* and so it does backwards */
	struct heap_bin bin[HEAP_NR_BINS];
};

static void
follow_each(struct truth *ret)
{
	bool is_seen[MAX_CHUNKS] = { false };
	uint64_t before = HEAD;

	*ret = (struct truth){ .has_end = true, .is_sound = true };
	for (uint64_t at = first; at != HEAD;) {
		int i = chunk_at(at);

		if (i < 0 || is_seen[i]) {
			ret->has_end = ret->is_sound = false;
			return;
		}
		is_seen[i] = true;
		ret->is_sound &= chunk[i].bk == before;
		before = at;
		at = chunk[i].fd;
	}
	for (int i = 0; i < nr; i++) {
		struct heap_bin *b = &ret->bin[is_seen[i] ? 0 : chunk[i].bin - 1];

		b->from_bytes =
			!b->count || chunk[i].raw < b->from_bytes ? chunk[i].raw : b->from_bytes;
		b->to_bytes = chunk[i].raw > b->to_bytes ? chunk[i].raw : b->to_bytes;
		b->total_bytes += chunk[i].raw;
		b->count++;
	}
}

/* ---- what runs.c says ---- */

/* Whether it says that the list is sound; if so also what is in the bins. */
static bool
follow_runs(struct heap_bin bin[HEAP_NR_BINS], size_t *ret_nr_runs)
{
	struct free_runs r = { .is_used = true };
	bool is_sound = true;

	for (int i = 0; i < nr; i++) {
		if (chunk[i].is_new_segment)
			runs_close(&r);
		is_sound &= runs_add(
			&r, chunk[i].addr, chunk[i].raw, chunk[i].fd, chunk[i].bk, chunk[i].bin);
	}
	is_sound = is_sound && runs_follow(&r, HEAD, first) && runs_sum_up(&r, bin);
	*ret_nr_runs = r.nr;
	free(r.v);
	return is_sound;
}

static bool
fails(const char *why, uint32_t seed, const char *what)
{
	printf("# seed %" PRIu32 ", %d chunks, %d in the list, %s: %s\n", seed, nr, nr_listed, what,
		why);
	return false;
}

/* Whether runs.c and the oracle agree on what has been made. */
static bool
agree(uint32_t seed, const char *what, size_t *nr_runs)
{
	struct heap_bin bin[HEAP_NR_BINS] = { { 0 } };
	struct truth truth;
	bool says_sound;

	follow_each(&truth);
	says_sound = follow_runs(bin, nr_runs);
	if (truth.is_sound && !says_sound)
		return fails("a sound list is called damaged", seed, what);
	if (!truth.has_end && says_sound)
		return fails("a damaged list is called sound", seed, what);
	/*
	 * A wrong link back may go unnoticed here (struct link_sums finds it), but changes no bin.
	 */
	if (says_sound && memcmp(bin, truth.bin, sizeof bin) != 0)
		return fails("the bins differ", seed, what);
	return true;
}

static void
test_seeds(uint32_t from, uint32_t to)
{
	unsigned int nr_sound = 0, nr_right = 0, nr_damaged = 0, nr_noticed = 0, nr_short = 0;

	for (uint32_t seed = from; seed <= to; seed++) {
		size_t nr_runs;
		const char *what;

		make_bins(seed);
		nr_sound++;
		nr_right += agree(seed, "sound", &nr_runs);
		nr_short += nr_runs < (size_t)nr / 2;
		if (!nr_listed)
			continue;
		what = damage();
		nr_damaged++;
		nr_noticed += agree(seed, what, &nr_runs);
	}
	is_u64(nr_right, nr_sound, "sound bins: as chunk by chunk");
	is_u64(nr_noticed, nr_damaged, "damaged bins: as chunk by chunk");
	ok(nr_damaged > nr_sound / 2 && nr_short > nr_sound / 10,
		"%u bins; a run has many chunks in %u", nr_sound, nr_short);
}

static bool
add_chunk(struct free_runs *r, uint64_t addr, uint64_t fd, uint64_t bk)
{
	return runs_add(r, addr, 32, fd, bk, 2);
}

static void
test_runs(void)
{
	struct free_runs r = { .is_used = true };
	struct heap_bin bin[HEAP_NR_BINS] = { { 0 } };

	ok(runs_follow(&r, HEAD, HEAD) && runs_sum_up(&r, bin) && !bin[0].count,
		"nothing in an empty bin");
	add_chunk(&r, 0x1000, 0x2000, HEAD);
	add_chunk(&r, 0x2000, 0x3000, 0x1000);
	add_chunk(&r, 0x3000, HEAD, 0x2000);
	is_u64(r.nr, 1, "one run of chunks freed downwards");
	runs_close(&r);
	add_chunk(&r, 0x9000, 0x8000, 0xa000);
	add_chunk(&r, 0xa000, 0x9000, 0xb000);
	add_chunk(&r, 0xb000, 0xa000, OTHER_HEAD);
	is_u64(r.nr, 2, "one of chunks freed upwards");
	is_u64(r.v[1].entry, 0xb000, "which the list enters from above");
	free(r.v);
	r = (struct free_runs){ .is_used = true };
	runs_add(&r, 0x1000, 32, 0x2000, OTHER_HEAD, 2);
	runs_add(&r, 0x2000, 64, OTHER_HEAD, 0x1000, 4);
	ok(runs_follow(&r, HEAD, HEAD) && !runs_sum_up(&r, bin),
		"a sorted bin has no chunks of several sizes");
	free(r.v);
}

static void
test_too_many(void)
{
	struct free_runs r = { .is_used = true };
	uint64_t added = 0;

	while (added <= RUNS_MAX && add_chunk(&r, 0x1000 + 64 * added, NOWHERE, NOWHERE))
		added++;
	is_u64(added, RUNS_MAX, "so many runs are kept");
	ok(r.has_too_many, "and it is noted that there are more");
	free(r.v);
}

int
main(void)
{
	const char *seeds = getenv("MEMDIAG_TEST_SEEDS");
	uint32_t from = 1, to = 3000;

	alarm(300); /* for a loop that does not end */
	if (seeds && sscanf(seeds, "%" SCNu32 " %" SCNu32, &from, &to) != 2)
		return 64;
	test_seeds(from, to);
	test_runs();
	test_too_many();
	return tap_end();
}
