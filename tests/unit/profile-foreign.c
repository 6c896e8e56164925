/*
 * Files that are given to report by mistake: each kind is recognised by its first bytes, whole or
 * followed by anything, and by no fewer; maps and smaps of random address spaces are, by seeds;
 * random bytes and profiles are not.
 *
 *	report-foreign [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "profile/foreign.h"
#include "put.h"
#include "seeds.h"

#define BEGINS(text) (text), sizeof(text) - 1

/* The first bytes, from the documents of each format, and a word that memdiag says of it. */
static const struct {
	const char *bytes;
	size_t nr;
	const char *word;
} kinds[] = {
	{ BEGINS("{"), "JSON" },
	{ BEGINS("\177"
		 "ELF"),
		"library" },
	{ BEGINS("PERFILE2"), "perf report" },
	{ BEGINS("heaptrack"), "heaptrack" },
	{ BEGINS("v 10300 3"), "heaptrack" },
	{ BEGINS("desc: --time-unit=B"), "massif" },
	{ BEGINS("\x28\xb5\x2f\xfd"), "zstd" },
	{ BEGINS("\xfd\x37\x7a\x58\x5a\x00"), "xz" },
	{ BEGINS("BZh9"), "bzip2" },
	{ BEGINS("<malloc version=\"1\">"), "malloc_info" },
	{ BEGINS("___ Begin jemalloc statistics ___"), "jemalloc's statistics" },
	{ BEGINS("JAVA PROFILE 1.0.2"), "heap dump of Java" },
	{ BEGINS("FLR\0\0\2"), "Flight Recorder" },
	{ BEGINS("memray\0\x0c"), "memray" },
	{ BEGINS("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "CPU profile" },
};

/*
 * What is said of NR bytes in memory of their own, where a sanitizer sees each byte that is read
 * behind them.
 */
static const char *
kind_of(const char *bytes, size_t nr)
{
	char *copy = malloc(nr + !nr);
	const char *kind;

	memcpy(copy, bytes, nr);
	kind = foreign_kind(copy, nr);
	free(copy);
	return kind;
}

static void
test_kinds(void)
{
	static const size_t least[] = { 1, 4, 8, 9, 2, 5, 4, 6, 3, 16, 29, 13, 4, 7, 24 };
	char longer[200];

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *kind = kind_of(kinds[i].bytes, kinds[i].nr);

		ok(kind && strstr(kind, kinds[i].word), "a file is recognised: %s", kinds[i].word);
		ok(kind_of(kinds[i].bytes, least[i]) == kind, "by its first %zu bytes: %s",
			least[i], kinds[i].word);
		ok(!kind_of(kinds[i].bytes, least[i] - 1), "not by one byte fewer: %s",
			kinds[i].word);
		memset(longer, '\n', sizeof longer);
		memcpy(longer, kinds[i].bytes, kinds[i].nr);
		ok(kind_of(longer, sizeof longer) == kind, "whatever follows: %s", kinds[i].word);
		longer[0] ^= 0x20;
		ok(!kind_of(longer, sizeof longer), "not with another first byte: %s",
			kinds[i].word);
	}
}

/* ---- maps ---- */

/* A line of /proc/PID/maps (proc_pid_maps(5)). */
static void
put_mapping(void)
{
	const uint64_t start = some(UINT64_C(1) << 31) << 12 << some(4);

	put("%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08x %02x:%02x %u", start,
		start + 4096 * (1 + some(1000)), some(2) ? 'r' : '-', some(2) ? 'w' : '-',
		some(2) ? 'x' : '-', some(2) ? 'p' : 's', (unsigned int)some(1 << 20) << 12,
		(unsigned int)some(300), (unsigned int)some(300), (unsigned int)some(1 << 20));
	if (some(2))
		put("%*s/usr/lib/lib%u.so", (int)some(30) + 1, "", (unsigned int)some(1000));
	put(" \n");
}

static bool
try(void)
{
	const bool is_smaps = some(2);
	const size_t nr = 1 + some(8);
	const char *kind;

	len = 0;
	for (size_t i = 0; i < nr; i++) {
		put_mapping();
		if (is_smaps)
			put("Size: %15u kB\nRss:  %15u kB\n", (unsigned int)some(10000), 0u);
	}
	kind = kind_of(text, len);
	if (!kind || !strstr(kind, is_smaps ? "/proc/PID/smaps:" : "/proc/PID/maps:"))
		return FAIL("'%.60s' is %s", text, kind ? kind : "a profile");
	/* A letter that no protection has. */
	*(strchr(text, ' ') + 1 + some(4)) = 'q';
	kind = kind_of(text, len);
	return !kind || FAIL("'%.60s' is %s", text, kind);
}

/* Bytes that begin as none of them, and as none of the formats that are read. */
static bool
try_random(void)
{
	const size_t nr = 1 + some(300);
	const char *kind;

	for (size_t i = 0; i < nr; i++)
		text[i] = (char)some(256);
	text[0] = "aceghiklnoq0123@#%"[some(18)];
	kind = kind_of(text, nr);
	return !kind || FAIL("random bytes are %s", kind);
}

int
main(int argc, char **argv)
{
	const struct seeds s = seeds_of(argc, argv, 1000);

	test_kinds();
	seeds_try(s, try, "maps and smaps are recognised");
	seeds_try(s, try_random, "random bytes are not recognised");
	ok(!kind_of("", 0), "an empty file may be a profile");
	ok(!kind_of("heap profile: 1: 2 [3: 4] @ heap/1\n", 35), "a heap profile is one");
	ok(!kind_of("heap_v2/524288\n", 15), "a profile of jemalloc is one");
	return tap_end();
}
