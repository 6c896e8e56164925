/*
 * A saved maps or smaps: what bug reports have around it, and what is wrong in it.  Random address
 * spaces are written as such files, with noise, and the sums of the generator are the oracle.
 */
#include <config.h>

#include <ctype.h>

#include "account/sums.h"
#include "elf/map-file.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "seeds.h"

/* A copy of TEXT that may be changed; A NUL stands for itself if LEN is not 0. */
static char *
copy_of(const char *text, size_t *len)
{
	char *copy;

	if (!*len)
		*len = strlen(text);
	copy = malloc(*len + 1);
	if (!copy)
		abort();
	memcpy(copy, text, *len);
	copy[*len] = '\0';
	return copy;
}

/* ---- what is refused ---- */

static void
bad_bytes(const char *text, size_t len, const char *want, const char *name)
{
	struct map_file f = { 0 };
	struct err e = { 0 };
	char *copy = copy_of(text, &len);
	const int failed = map_file_parse(&f, "FILE", copy, len, &e);

	ok(failed == -1 && strstr(e.msg, want) && !f.maps.region && !f.entry.v, "%s is refused",
		name);
	if (!failed || !strstr(e.msg, want))
		printf("#   got %d '%s', want '%s'\n", failed, e.msg, want);
	map_file_release(&f);
	free(copy);
}

static void
bad(const char *text, const char *want, const char *name)
{
	bad_bytes(text, 0, want, name);
}

#define A "00400000-00402000 r-xp 00000000 08:01 7 /bin/a\n"
#define B "00402000-00403000 rw-p 00000000 00:00 0 \n"
#define RSS(kb) "Size: 8 kB\nRss: " #kb " kB\n"
#define RSS4(kb) "Size: 4 kB\nRss: " #kb " kB\n"

static void
test_bad_lines(void)
{
	static char long_line[70000];

	bad("", "no line of /proc/PID/maps", "an empty file");
	bad("hello\nworld\n", "no line of /proc/PID/maps", "another text");
	bad_bytes(
		A "x\0y\n" B, sizeof(A "x\0y\n" B) - 1, "line 2: it contains a NUL byte", "a NUL");
	memset(long_line, 'a', sizeof long_line - 1);
	bad(long_line, "line 1: the line is longer", "a gigantic line");
	bad(A "00402000-0040", "line 2: the line of the mapping is damaged", "half an address");
	bad(A "00402000", "line 2: the line of the mapping is damaged", "an address alone");
	bad(A "00402000-00403000 rw", "line 2: the line of the mapping is damaged",
		"half a mapping");
	bad(A "00403000-00402000 rw-p 00000000 00:00 0 \n",
		"line 2: the line of the mapping is damaged", "an end before its start");
	bad(A "11111111111111111-11111111111111112 rw-p 00000000 00:00 0 \n",
		"line 2: the line of the mapping is damaged", "an address of 68 bits");
	bad(A "00402100-00403000 rw-p 00000000 00:00 0 \n", "line 2: this is not what Linux writes",
		"an address within a page");
	bad(A "00402000-00403000 quux 00000000 00:00 0 \n", "line 2: this is not what Linux writes",
		"another protection");
	bad("00400000-7ff000000000 ---p 00000000 00:00 0 [rollup]\nRss: 4 kB\n",
		"line 1: this is of smaps_rollup", "smaps_rollup");
}

static void
test_bad_order(void)
{
	bad(B A, "line 2: its address is below that of line 1: two processes", "another order");
	bad(A B A B, "line 3: its address is below that of line 2: two processes", "two processes");
	bad(A "00401000-00403000 rw-p 00000000 00:00 0 \n",
		"line 2: the mapping overlaps that of line 1", "an overlap");
	bad(A A, "line 2: the mapping overlaps that of line 1", "the same line again");
	bad(A "[...]\n" B, "line 3: a mapping after line 2, which is not part of the same process",
		"a part that was left out");
	bad(A RSS(4) "$ ps\n" B RSS4(4), "line 5: a mapping after line 4",
		"a mapping after other lines");
	bad(A RSS(4) "$ ps\nRss: 4 kB\n", "line 5: Rss of no mapping", "a field after other lines");
	bad("Rss: 4 kB\n" A RSS(4), "line 1: Rss of no mapping",
		"a field before the first mapping");
}

static void
test_bad_numbers(void)
{
	bad(A RSS(4) B "Size: 4 kB\nRss: x kB\n", "line 6: 'Rss' has no number of kB", "a word");
	bad(A RSS(4) B "Size: 4 kB\nRss: -1 kB\n", "line 6: 'Rss' has no number", "a sign");
	bad(A RSS(4) B "Size: 4 kB\nRss: 4 MB\n", "line 6: 'Rss' has no number", "another unit");
	bad(A RSS(4) B "Size: 4 kB\nRss: 4\n", "line 6: 'Rss' has no number", "no unit");
	bad(A "Rss: 99999999999999999999999 kB\n", "line 2: 'Rss' has no number", "an overflow");
	bad(A "Rss: 4 kB\nRss: 4 kB\n", "line 3: 'Rss' has no number of kB, or is there a second",
		"a field that is there twice");
	bad(A "Size: 4 kB\nRss: 4 kB\n", "line 1: the mapping has 8 kB, and its Size is another",
		"a Size that is wrong");
	bad(A RSS(12), "line 1: Rss is more than the mapping has", "Rss beyond the mapping");
	bad(A RSS(4) "Pss: 12 kB\n", "line 1: Pss is more", "Pss beyond the mapping");
	bad(A RSS(4) "Private_Clean: 8 kB\nPrivate_Dirty: 4 kB\n", "line 1: Private_Dirty is more",
		"USS beyond the mapping");
	bad(A RSS(4) "Locked: 12 kB\n", "line 1: Locked is more", "Locked beyond the mapping");
	bad(A RSS(4) "AnonHugePages: 2048 kB\n", "line 1: AnonHugePages is more", "huge pages");
	bad(A RSS(4) "Private_Hugetlb: 2048 kB\n", "line 1: Private_Hugetlb is more", "hugetlb");
	bad(A RSS(4) B "Size: 4 kB\n00403000-00404000 rw-p 00000000 00:00 0 \n" RSS4(4),
		"line 4: the mapping has no Rss, and others have", "a mapping without Rss");
	bad(A RSS(4) B RSS4(4) "Swap: 4 kB\n", "line 4: the mapping has Swap, and others do not",
		"a field that others lack");
	bad(A "Size: 8 kB\nPss: 4 kB\n", "line 1: the mapping has no Rss", "smaps without any Rss");
}

/* ---- what is read ---- */

struct good {
	struct map_file f;
	char *text;
	bool is_read;
};

static struct good
good(const char *text, const char *name)
{
	struct good g = { 0 };
	struct err e = { 0 };
	size_t len = 0;

	g.text = copy_of(text, &len);
	g.is_read = map_file_parse(&g.f, "FILE", g.text, len, &e) == 0;
	if (!ok(g.is_read, "%s is read", name))
		printf("#   %s\n", e.msg);
	return g;
}

static void
good_release(struct good *g)
{
	map_file_release(&g->f);
	free(g->text);
}

static void
test_around(void)
{
	struct good g = good("Hello,\n\n2026-11-27 here is the map\n```\n# cat /proc/1/smaps\r\n" A
			     "Size:                  8 kB\r\nRss: 4 kB\r\n\r\n    " B
			     "\tSize: 4 kB\r\n Rss: 0 kB\r\nVmFlags: rd wr\n```\nand more\n"
			     "2026-11-27 bye",
		"a report with lines around it, CRLF and blanks");

	ok(g.is_read && g.f.maps.nr == 2 && g.f.entry.nr == 2, "with two mappings");
	ok(g.is_read && strcmp(g.f.maps.region[0].path, "/bin/a") == 0, "and their names");
	ok(g.is_read && g.f.entry.v[0].rss_bytes == 4096 && !g.f.entry.v[1].rss_bytes,
		"and numbers");
	ok(!g.f.cut_line, "and nothing is missing");
	good_release(&g);
	g = good(A B "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", "maps");
	ok(g.is_read && g.f.maps.nr == 3 && !g.f.entry.nr && !g.f.fields, "has no numbers");
	good_release(&g);
	g = good("08048000-08049000 r-xp 00000000 08:01 7 /bin/a b\\012c \n"
		 "bffdf000-c0000000 rw-p bffdf000 00:00 0          [stack]\n",
		"that of 32 bits");
	ok(g.is_read && strcmp(g.f.maps.region[0].path, "/bin/a b\\012c ") == 0,
		"a blank at the end belongs to the name");
	good_release(&g);
}

static void
test_cut(void)
{
	struct good g = good(A RSS(4) "Swap: 0 kB\n" B RSS4(4), "a file that was cut off");

	ok(g.is_read && g.f.cut_line == 5, "the line of the mapping that is not whole is known");
	ok(g.f.maps.nr == 1 && g.f.entry.nr == 1, "and it is left out");
	good_release(&g);
}

/* Fields that a kernel does not print are not known. */
static void
test_unknown_fields(void)
{
	struct good g = good(A RSS(4) B RSS4(4), "smaps with nothing but Rss");
	struct space s = { 0 };
	struct err e = { 0 };

	if (g.is_read &&
		ok(space_read_file(&s, &g.f, &(struct space_options){ .want_pss = true }, &e) == 0,
			"its space")) {
		is_u64(s.totals.rss_bytes, 8192, "RSS");
		ok(!space_knows(&s, SMAPS_SWAP), "swap is not known");
		ok(!extra_is_known(&s, EXTRA_PSS) && !extra_is_known(&s, EXTRA_THP),
			"nor are PSS and huge pages");
		space_release(&s);
	}
	good_release(&g);
	g = good(A B, "maps");
	if (g.is_read &&
		ok(space_read_file(&s, &g.f, &(struct space_options){ 0 }, &e) == 0, "its space")) {
		is_u64(s.totals.virt_bytes, 0x3000, "VIRT");
		ok(s.rss_from == SPACE_RSS_NONE && s.rss_error.kind, "RSS is not known, and why");
		space_release(&s);
	}
	good_release(&g);
}

/* ---- shapes ---- */

/* The kind of the leaf at ADDR, and its confidence. */
static void
is_leaf(const struct space *s, uint64_t addr, enum leaf_kind kind, const char *name)
{
	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];

		if (!raddr_in((raddr){ addr }, l->start, l->end))
			continue;
		if (!ok(l->kind == kind, "%s: %s", name, leaf_kind_name(kind)))
			printf("#   got %s\n", leaf_kind_name((enum leaf_kind)l->kind));
		return;
	}
	ok(false, "%s: there is a leaf", name);
}

static void
test_shapes(void)
{
	struct good g = good("00400000-00401000 r-xp 00000000 08:01 3 /opt/plugin\n"
			     "555555554000-555555555000 r--p 00000000 08:01 9 /bin/x\n"
			     "555555555000-555555556000 r-xp 00001000 08:01 9 /bin/x\n"
			     "555555556000-555555557000 r--p 00002000 08:01 9 /bin/x\n"
			     "555555557000-555555558000 r--p 00002000 08:01 9 /bin/x\n"
			     "555555558000-555555559000 rw-p 00003000 08:01 9 /bin/x\n"
			     "555555559000-555575559000 rw-p 00000000 00:00 0 \n"
			     "555575560000-555575581000 rw-p 00000000 00:00 0 [heap]\n"
			     "7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0 \n"
			     "7ffff0021000-7ffff4000000 ---p 00000000 00:00 0 \n"
			     "7ffff6000000-7ffff6001000 ---p 00000000 00:00 0 \n"
			     "7ffff6001000-7ffff6801000 rw-p 00000000 00:00 0 \n"
			     "7ffff6801000-7ffff6802000 ---p 00000000 00:00 0 \n"
			     "7ffff6802000-7ffff7001000 rw-p 00000000 00:00 0 \n"
			     "7ffff7100000-7ffff7101000 ---p 00000000 00:00 0 \n"
			     "7ffff7101000-7ffff7103000 rw-p 00000000 00:00 0 \n"
			     "7ffff7200000-7ffff7300000 ---p 00000000 00:00 0 \n"
			     "7ffff7300000-7ffff7310000 rw-p 00000000 00:00 0 \n"
			     "7ffff7d00000-7ffff7d26000 r--p 00000000 08:01 5 /lib/libc.so.6\n"
			     "7ffff7d26000-7ffff7df0000 r-xp 00026000 08:01 5 /lib/libc.so.6\n"
			     "7ffff7df0000-7ffff7e00000 r--p 000e0000 08:01 5 /lib/libc.so.6\n"
			     "7ffff7e00000-7ffff7e02000 rw-p 00100000 08:01 5 /lib/libc.so.6\n"
			     "7ffff7e02000-7ffff7e0f000 rw-p 00000000 00:00 0 \n"
			     "7ffff7f00000-7ffff7f01000 rw-p 00000000 08:01 6 /lib/libbig.so.1\n"
			     "7ffff7f01000-7ffff7f02000 r-xp 00001000 08:01 6 /lib/libbig.so.1\n"
			     "7ffff7f02000-7ffff7f03000 rw-p 00002000 08:01 6 /lib/libbig.so.1\n"
			     "7ffff7f03000-7ffff8203000 rw-p 00000000 00:00 0 \n"
			     "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n",
		"a map with all shapes");
	struct space s = { 0 };
	struct err e = { 0 };

	if (!g.is_read ||
		!ok(space_read_file(&s, &g.f, &(struct space_options){ 0 }, &e) == 0, "its space"))
		return;
	is_leaf(&s, 0x400000, LEAF_SO_TEXT, "an object below the one that [heap] follows");
	is_leaf(&s, 0x555555554000, LEAF_EXE_RODATA, "the program's header");
	is_leaf(&s, 0x555555555000, LEAF_EXE_TEXT, "its code");
	is_leaf(&s, 0x555555557000, LEAF_EXE_RELRO, "its part before the data");
	is_leaf(&s, 0x555555558000, LEAF_EXE_DATA, "its data");
	is_leaf(&s, 0x555555559000, LEAF_EXE_BSS, "512 MiB between it and brk");
	is_leaf(&s, 0x555575560000, LEAF_MAIN_HEAP, "[heap]");
	is_leaf(&s, 0x7ffff0000000, LEAF_ARENA, "memory at a multiple of 64 MiB");
	is_leaf(&s, 0x7ffff0021000, LEAF_ARENA_RESERVE, "and the rest of that");
	is_leaf(&s, 0x7ffff6000000, LEAF_STACK_GUARD, "a page without access");
	is_leaf(&s, 0x7ffff6001000, LEAF_THREAD_STACK, "8 MiB above it");
	is_leaf(&s, 0x7ffff6802000, LEAF_THREAD_STACK, "8 MiB with a guard");
	is_leaf(&s, 0x7ffff7101000, LEAF_ANON_SMALL, "8 KiB above a page without access");
	is_leaf(&s, 0x7ffff7300000, LEAF_ANON_SMALL, "64 KiB above 1 MiB without access");
	is_leaf(&s, 0x7ffff7d26000, LEAF_SO_TEXT, "a library");
	is_leaf(&s, 0x7ffff7df0000, LEAF_SO_RODATA, "a part before the data in memory alone");
	is_leaf(&s, 0x7ffff7e02000, LEAF_SO_BSS, "the memory behind it");
	is_leaf(&s, 0x7ffff7f03000, LEAF_ANON_MEDIUM, "3 MiB behind another");
	is_leaf(&s, 0x7ffffffde000, LEAF_MAIN_STACK, "[stack]");
	ok(s.leaves.v[0].confidence == CONFIDENCE_GUESS, "an object is a guess");
	space_release(&s);
	good_release(&g);
}

/* ---- random files ---- */

struct random_file {
	char *text;
	size_t len;
	FILE *f;
	unsigned int fields; /* that are written */
	bool is_smaps, has_crlf;
	size_t line;		 /* written so far */
	size_t nr;		 /* mappings */
	size_t mapping_line[64]; /* of each */
	uint64_t virt, sum[NR_SMAPS_FIELDS];
};

static void
end_line(struct random_file *r)
{
	fputs(r->has_crlf ? "\r\n" : "\n", r->f);
	r->line++;
	if (!some(20)) {
		fputs(r->has_crlf ? "\r\n" : "\n", r->f);
		r->line++;
	}
}

static void
write_noise(struct random_file *r)
{
	static const char *const noise[] = { "$ cat /proc/1234/smaps", "```", "Hello: world",
		"2026-11-27 22:10:01 INFO it grew", "MemTotal:  1 kB", "", "--", "VmRSS:   12 kB" };

	for (uint64_t n = some(4); n; n--) {
		fputs(noise[some(sizeof noise / sizeof *noise)], r->f);
		end_line(r);
	}
}

/* All fields in another order, some that are not read, and numbers that can be. */
static void
write_fields(struct random_file *r, uint64_t size)
{
	const unsigned int first = (unsigned int)some(NR_SMAPS_FIELDS);
	uint64_t private = some(size / 4096 + 1) * 4;

	for (unsigned int k = 0; k < NR_SMAPS_FIELDS; k++) {
		const unsigned int i = (first + k) % NR_SMAPS_FIELDS;
		uint64_t kb = some(size / 4096 + 1) * 4;

		if (!(r->fields & SMAPS_BIT(i)))
			continue;
		if (i == SMAPS_SIZE)
			kb = size / 1024;
		else if (i == SMAPS_PRIVATE_CLEAN || i == SMAPS_SHARED_HUGETLB)
			kb = some(2) ? 0 : private / 2;
		else if (i == SMAPS_PRIVATE_DIRTY || i == SMAPS_SHARED_DIRTY ||
			i == SMAPS_PRIVATE_HUGETLB)
			kb = private / 2;
		r->sum[i] += kb * 1024;
		fprintf(r->f, "%s%s:%*s%" PRIu64 " kB", some(4) ? "" : "  ", smaps_field_names[i],
			(int)some(20) + 1, "", kb);
		end_line(r);
		if (!some(6)) {
			fputs(some(2) ? "THPeligible:           0" : "VmFlags: rd wr mr ", r->f);
			end_line(r);
		}
	}
}

static void
write_mapping(struct random_file *r, uint64_t *at)
{
	static const char *const names[] = { "", "", "[heap]", "/lib/libc.so.6", "/bin/x (deleted)",
		"[stack]", "/a b:c", "[anon: x]" };
	const uint64_t size = (some(300) + 1) * 4096;
	const char *name = names[some(sizeof names / sizeof *names)];

	*at += some(3) * 4096;
	r->mapping_line[r->nr++] = r->line + 1;
	fprintf(r->f, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " 08:01 %" PRIu64 "%s%s",
		*at, *at + size, some(2) ? 'r' : '-', some(2) ? 'w' : '-', some(2) ? 'x' : '-',
		some(9) ? 'p' : 's', some(99) * 4096, *name == '/' ? some(99) + 1 : 0,
		some(2) ? " " : "                    ", name);
	*at += size;
	r->virt += size;
	end_line(r);
	if (r->is_smaps)
		write_fields(r, size);
}

static void
random_file_begin(struct random_file *r)
{
	*r = (struct random_file){ .is_smaps = some(4) != 0, .has_crlf = some(3) == 0 };
	r->fields = SMAPS_BIT(SMAPS_RSS) |
		((unsigned int)some(1U << NR_SMAPS_FIELDS) & (SMAPS_BIT(NR_SMAPS_FIELDS) - 1));
	r->f = open_memstream(&r->text, &r->len);
	if (!r->f)
		abort();
}

static void
random_file_write(struct random_file *r)
{
	uint64_t at = some(2) ? 0x08048000 : 0x555555554000;

	write_noise(r);
	for (uint64_t n = some(60) + 1; n; n--)
		write_mapping(r, &at);
	fputs("$ exit", r->f);
	end_line(r);
	write_noise(r);
	fclose(r->f);
}

static bool
is_sum(uint64_t got, uint64_t want, const char *name)
{
	return got == want || FAIL("%s is %" PRIu64 ", not %" PRIu64, name, got, want);
}

static bool
check_space(const struct random_file *r, const struct space *s)
{
	const uint64_t *sum = r->sum;
	uint64_t leaves = 0;

	for (size_t i = 0; i < s->leaves.nr; i++)
		leaves += s->leaves.v[i].rss_bytes;
	return is_sum(s->process->maps.nr, r->nr, "the number of mappings") &&
		is_sum(s->totals.virt_bytes, r->virt, "VIRT") &&
		is_sum(s->rss_from == SPACE_RSS_SMAPS, r->is_smaps, "whether RSS is known") &&
		is_sum(s->totals.rss_bytes, sum[SMAPS_RSS], "RSS") &&
		is_sum(leaves, sum[SMAPS_RSS], "RSS of all parts") &&
		is_sum(s->totals.pss_bytes, sum[SMAPS_PSS], "PSS") &&
		is_sum(s->totals.uss_bytes, sum[SMAPS_PRIVATE_CLEAN] + sum[SMAPS_PRIVATE_DIRTY],
			"USS") &&
		is_sum(s->totals.dirty_bytes, sum[SMAPS_PRIVATE_DIRTY] + sum[SMAPS_SHARED_DIRTY],
			"what is dirty") &&
		is_sum(s->totals.locked_bytes, sum[SMAPS_LOCKED], "what is locked") &&
		is_sum(s->totals.swap_bytes, sum[SMAPS_SWAP], "swap") &&
		is_sum(s->totals.huge_bytes, sum[SMAPS_ANON_HUGE], "huge pages") &&
		is_sum(s->totals.hugetlb_bytes,
			sum[SMAPS_SHARED_HUGETLB] + sum[SMAPS_PRIVATE_HUGETLB], "hugetlb");
}

static bool
try_whole(void)
{
	struct random_file r;
	struct map_file f = { 0 };
	struct space s = { 0 };
	struct err e = { 0 };
	bool is_same;

	random_file_begin(&r);
	random_file_write(&r);
	if (map_file_parse(&f, "FILE", r.text, r.len, &e) < 0)
		is_same = FAIL("%s", e.msg);
	else if (space_read_file(&s, &f, &(struct space_options){ .want_pss = true }, &e) < 0)
		is_same = FAIL("%s", e.msg);
	else
		is_same = check_space(&r, &s);
	space_release(&s);
	map_file_release(&f);
	free(r.text);
	return is_same;
}

/* A mapping is there twice, or lacks its last digit: the line is named. */
static bool
try_damaged(void)
{
	struct random_file r;
	struct map_file f = { 0 };
	struct err e = { 0 };
	const bool is_twice = some(2) != 0;
	char *at, *second, want[64];
	size_t line = 1, victim;
	bool is_named;

	random_file_begin(&r);
	random_file_write(&r);
	victim = r.mapping_line[some(r.nr)];
	for (at = r.text; line < victim; line++)
		at = strchr(at, '\n') + 1;
	second = strchr(at, '-') + 1;
	if (is_twice) /* its end is beyond the beginning of the next, or is below its own */
		memmove(second, at, (size_t)(second - 1 - at));
	else
		*second = 'z';
	snprintf(want, sizeof want, "line %zu: ", victim);
	is_named = map_file_parse(&f, "FILE", r.text, r.len, &e) < 0 && strstr(e.msg, want);
	map_file_release(&f);
	free(r.text);
	return is_named || FAIL("want '%s', got '%s'", want, e.msg);
}

/* Whatever bytes are changed, there is a result or a message. */
static bool
try_bytes(void)
{
	struct random_file r;
	struct map_file f = { 0 };
	struct space s = { 0 };
	struct err e = { 0 };
	bool is_fine;

	random_file_begin(&r);
	random_file_write(&r);
	for (uint64_t n = some(20) + 1; n; n--)
		r.text[some(r.len)] = (char)some(256);
	is_fine = map_file_parse(&f, "FILE", r.text, r.len, &e) < 0
		? e.msg[0] != '\0'
		: space_read_file(&s, &f, &(struct space_options){ .want_pss = true }, &e) == 0;
	space_release(&s);
	map_file_release(&f);
	free(r.text);
	return is_fine || FAIL("no message");
}

int
main(int argc, char **argv)
{
	const struct seeds seeds = seeds_of(argc, argv, 2000);

	test_bad_lines();
	test_bad_order();
	test_bad_numbers();
	test_around();
	test_cut();
	test_unknown_fields();
	test_shapes();
	seeds_try(seeds, try_whole, "files with the wrong sums, of random ones");
	seeds_try(seeds, try_damaged, "damaged lines that were not named");
	seeds_try(seeds, try_bytes, "files of changed bytes without a result or a message");
	return tap_end();
}
