/* malloc_info's text as every glibc since 2.10 has written it, and as a target that lies might. */
#include <config.h>

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/malloc-info.h"
#include "old-libc.h"
#include "tap.h"

static bool
parse_file(struct malloc_info *mi, const char *name)
{
	char path[512];
	auto_text struct text text = { 0 };
	struct err e = { 0 };
	auto_fd int fd = -1;

	snprintf(path, sizeof path, "%s/malloc_info/%s", TEST_DATA, name);
	fd = open(path, O_RDONLY);
	if (!ok(fd >= 0 && text_read(&text, fd, 1 << 20) == 0 &&
			    malloc_info_parse(mi, text.v, text.len, &e) == 0,
		    "%s is read", name))
		printf("# %s\n", e.msg);
	return mi->heap.nr > 0;
}

struct expect {
	const char *name;
	size_t nr_heaps;
	bool has_fast, has_mmap, has_top, is_doubtful;
	uint64_t fast_bytes, rest_bytes, system_bytes, max_system_bytes, mmap_count, mmap_bytes;
	size_t nr_sizes; /* of the first heap */
	uint64_t main_in_use, last_in_use, last_subheaps;
};

/* The sums of the recorded documents are those of their own last lines. */
static const struct expect documents[] = {
	{ "glibc-2.31.xml", 7, true, true, true, false, 17072, 134009802, 157773824, 157773824, 8,
		4333568, 6, 15138816 - 672 - 13603139 + 499, 24125440 - 20354853 + 2533, 1 },
	{ "glibc-2.36.xml", 7, true, true, true, false, 17072, 134009706, 157773824, 157773824, 8,
		4333568, 6, 15138816 - 672 - 13603139 + 499, 23912448 - 20160143 + 2591, 1 },
	{ "glibc-2.41.xml", 7, true, true, true, false, 17072, 134009706, 157773824, 157773824, 8,
		4333568, 6, 15138816 - 672 - 13603139 + 499, 24125440 - 20354837 + 2533, 1 },
	{ "glibc-2.43.xml", 7, false, true, true, false, 0, 132781718, 158724096, 158724096, 2,
		3350528, 2, 15138816 - 13603027 + 499, 24072192 - 20159967 + 2591, 1 },
	{ "glibc-2.44.xml", 7, false, true, true, false, 0, 132781718, 158724096, 158724096, 2,
		3350528, 2, 15138816 - 13603027 + 499, 24072192 - 20159967 + 2591, 1 },
	{ "made-2.10.xml", 2, true, false, false, false, 64, 12677, 401408, 405504, 0, 0, 2,
		135168 - 64 - 384, 266240 - 12288, 0 },
	{ "made-2.17.xml", 2, true, false, false, true, 64, 12677, 401408, 405504, 0, 0, 2,
		135168 - 64 - 384, 266240 - 12288, 0 },
	{ "made-2.18.xml", 1, true, false, false, true, 64, 387, 135168, 135168, 0, 0, 2,
		135168 - 64 - 384, 135168 - 64 - 384, 0 },
	{ "made-2.19.xml", 2, true, false, false, false, 64, 12759, 401408, 405504, 0, 0, 3,
		135168 - 64 - 384 - 80, 266240 - 12288, 0 },
	{ "made-2.20.xml", 1, true, true, false, false, 64, 387, 135168, 135168, 7, 9437184, 2,
		135168 - 64 - 384, 135168 - 64 - 384, 0 },
	{ "made-2.27.xml", 2, true, true, false, false, 64, 12685, 80135168, 80138240, 0, 0, 2,
		135168 - 64 - 384, 80000000 - 12288, 2 },
	{ "made-2025-12.xml", 2, false, true, true, false, 0, 230387, 270336, 270336, 0, 0, 1,
		135168 - 100384, 135168 - 130000, 1 },
};

static void
test_document(const struct expect *x)
{
	auto_malloc_info struct malloc_info mi = { 0 };

	if (!parse_file(&mi, x->name))
		return;
	is_u64(mi.heap.nr, x->nr_heaps, "heaps");
	ok(mi.heap.v[0].has_fast == x->has_fast && mi.has_mmap == x->has_mmap,
		"what it has: fastbins and mmap");
	ok(mi.has_top_in_rest == x->has_top, "whether rest has the top in it");
	ok(mi.is_unsorted_doubtful == x->is_doubtful && !mi.is_cut && !mi.note[0],
		"whether it is to be doubted");
	is_u64(mi.fast_bytes, x->fast_bytes, "fast");
	is_u64(mi.rest_bytes, x->rest_bytes, "rest");
	is_u64(mi.system_bytes, x->system_bytes, "system");
	is_u64(mi.max_system_bytes, x->max_system_bytes, "max");
	ok(mi.mmap_count == x->mmap_count && mi.mmap_bytes == x->mmap_bytes, "mmap");
	is_u64(mi.heap.v[0].size.nr, x->nr_sizes, "sizes of the main arena");
	is_u64(malloc_info_in_use(&mi.heap.v[0]), x->main_in_use, "in use in the main arena");
	is_u64(malloc_info_in_use(&mi.heap.v[mi.heap.nr - 1]), x->last_in_use,
		"in use in the last");
	is_u64(mi.heap.v[mi.heap.nr - 1].nr_subheaps, x->last_subheaps, "its heaps");
}

static void
test_flags(void)
{
	auto_malloc_info struct malloc_info mi = { 0 };
	struct malloc_info_size *s;

	if (!parse_file(&mi, "made-2.27.xml"))
		return;
	s = mi.heap.v[1].size.v;
	ok(s->from_bytes == 4096 && s->to_bytes == 8192 && s->total_bytes == 12288 && s->count == 2,
		"flag bits are taken off sizes and totals");
	ok(mi.heap.v[0].size.v[0].is_fast && !mi.heap.v[0].size.v[1].is_fast,
		"lines of fastbins and of bins are distinguished");
}

static void
test_resident(void)
{
	/* 1000 in use, 3000 free of which 3 are flags of 3 chunks */
	struct malloc_info_heap h = {
		.system_bytes = 4000, .fast_bytes = 500, .rest_bytes = 2503, .rest_flags = 3
	};

	is_u64(malloc_info_in_use(&h), 1000, "in use is what is not free, without the flags");
	is_u64(malloc_info_free_resident(&h, 4000), 3000, "all resident: all that is free");
	is_u64(malloc_info_free_resident(&h, 1500), 500, "what cannot be in use must be free");
	is_u64(malloc_info_free_resident(&h, 1000), 0, "what may be in use may not be counted");
	is_u64(malloc_info_free_resident(&h, 9999), 3000, "never more than is free");
}

/* ---- documents of a liar ---- */

#define HEAD "<malloc version=\"1\">\n"
#define HEAP                                                                                       \
	"<heap nr=\"0\">\n<sizes>\n</sizes>\n<total type=\"rest\" count=\"1\" size=\"1000\"/>\n"   \
	"<system type=\"current\" size=\"4096\"/>\n<system type=\"max\" "                          \
	"size=\"4096\"/>\n</heap>\n"

static void
refused_n(const char *xml, size_t len, const char *words, const char *name)
{
	struct malloc_info mi = { 0 };
	struct err e = { 0 };
	int r = malloc_info_parse(&mi, xml, len, &e);

	if (!ok(r == -1 && strstr(e.msg, words) && !mi.heap.v && !mi.heap.nr, "%s: '%s'", name,
		    words))
		printf("# returned %d: %s\n", r, e.msg);
	malloc_info_release(&mi);
}

static void
refused(const char *xml, const char *words, const char *name)
{
	refused_n(xml, strlen(xml), words, name);
}

/* BEFORE, then N times PIECE, then nothing more. */
static void
refused_repeated(
	const char *before, const char *piece, size_t n, const char *words, const char *name)
{
	size_t len = strlen(before), step = strlen(piece);
	auto_free char *xml = malloc(len + n * step + 1);

	memcpy(xml, before, len);
	for (size_t i = 0; i < n; i++, len += step)
		memcpy(xml + len, piece, step);
	xml[len] = '\0';
	refused_n(xml, len, words, name);
}

static void
test_hostile(void)
{
	static const char nul[] = HEAD HEAP "\0</malloc>";

	refused("", "ends before its first heap", "nothing");
	refused("hello\n", "no XML", "no XML");
	refused(HEAD "</malloc>", "no heap", "no heap, though malloc has at least one arena");
	refused("<html>\n</html>", "does not begin with <malloc>", "another document");
	refused("<!DOCTYPE malloc [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>" HEAD "&b;",
		"DOCTYPE", "an entity bomb");
	refused(HEAD "<heap nr=\"&x;\">", "no XML", "an entity nobody declared");
	refused_n(nul, sizeof nul - 1, "no XML", "a NUL");
	refused(HEAD "\377\376", "no XML", "bytes that are no text");
	refused("<?xml version=\"1.0\" encoding=\"UTF-16\"?>" HEAD "\361", "no XML",
		"an encoding of its own choice");
	refused(HEAD HEAP "</heap></malloc>", "no XML", "unbalanced tags");
	refused(HEAD HEAP "</malloc><malloc>", "no XML", "more after the end");
	refused(HEAD "<heap nr=\"0\"><heap nr=\"1\"></heap></heap></malloc>", "more heaps than",
		"a heap in a heap");
	refused(HEAD "<heap nr=\"-1\">", "something else where a number", "a negative number");
	refused(HEAD "<heap nr=\"1e3\">", "something else where a number", "a float");
	refused(HEAD "<heap>", "something else where a number", "no number");
	refused(HEAD "<heap nr=\"0\"><system type=\"max\" size=\"18446744073709551616\"/></heap>",
		"impossible sizes", "a number beyond 64 bits");
	refused(HEAD "<heap nr=\"0\"><total type=\"fast\" count=\"1\" size=\"1\"/></heap>",
		"impossible sizes", "more free than there is");
	refused(HEAD "<heap nr=\"0\">"
		     "<size from=\"65\" to=\"65\" total=\"4095\" count=\"63\"/>"
		     "<size from=\"65\" to=\"65\" total=\"4095\" count=\"63\"/>"
		     "<system type=\"max\" size=\"4096\"/></heap>",
		"more in its heaps", "bins that hold more than the heap");
	refused(HEAD "<total type=\"mmap\" count=\"1\" size=\"999999999999999999\"/>",
		"more is mapped", "mmapped blocks beyond an address space");
	refused_repeated(HEAD, "<a>", 1000000, "nested too deeply", "a million open tags");
	refused_repeated(HEAD, HEAP, 70000, "more heaps than", "too many heaps");
	refused_repeated(HEAD "<heap nr=\"0\">",
		"<size from=\"1\" to=\"1\" total=\"1\" count=\"1\"/>", 2000,
		"more sizes in one heap", "too many sizes");
	refused_repeated(HEAD "<a b=\"", "x<sizes>", 4000000, "ends before",
		"one tag of megabytes, in linear time");
	refused_n(HEAD, (size_t)2 << 30, "is not read", "gigabytes");
}

static void
test_cut(void)
{
	auto_malloc_info struct malloc_info mi = { 0 };
	struct err e = { 0 };
	static const char whole[] = HEAD HEAP HEAP "</malloc>\n";
	size_t len, nr_wrong = 0;

	for (len = 0; len < strlen(HEAD HEAP HEAP "</malloc>"); len++) {
		size_t want = len < strlen(HEAD HEAP) - 1  ? 0
			: len < strlen(HEAD HEAP HEAP) - 1 ? 1
							   : 2;
		int r = malloc_info_parse(&mi, whole, len, &e);

		nr_wrong +=
			want ? r != 0 || !mi.is_cut || mi.heap.nr != want || !mi.note[0] : r != -1;
		malloc_info_release(&mi);
	}
	is_u64(nr_wrong, 0,
		"cut at any byte, the heaps that are whole are kept and is_cut says so");
	ok(malloc_info_parse(&mi, whole, strlen(whole), &e) == 0 && !mi.is_cut && mi.heap.nr == 2,
		"whole it is not cut");
}

/* ---- our own malloc ---- */

static pthread_barrier_t barrier;

static void *
allocate(void *arg)
{
	void *p[64];

	(void)arg;
	for (size_t i = 0; i < 64; i++)
		p[i] = malloc(i * 700 + 2000);
	for (size_t i = 0; i < 64; i += 2)
		free(p[i]);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (size_t i = 1; i < 64; i += 2)
		free(p[i]);
	return NULL;
}

static void
test_own(void)
{
	static char xml[1 << 20], buffer[4096];
	auto_malloc_info struct malloc_info mi = { 0 };
	FILE *f = fmemopen(xml, sizeof xml, "w");
	struct mallinfo2 m;
	struct err e = { 0 };
	pthread_t thread[3];
	uint64_t in_use = 0;

	pthread_barrier_init(&barrier, NULL, 4);
	for (size_t i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, allocate, NULL);
	pthread_barrier_wait(&barrier);
	setvbuf(f, buffer, _IOFBF, sizeof buffer); /* so that writing does not allocate */
	malloc_info(0, f);
	fflush(f);
	m = mallinfo2();
	ok(malloc_info_parse(&mi, xml, strlen(xml), &e) == 0, "our own account is read: %s", e.msg);
	for (size_t i = 0; i < mi.heap.nr; i++)
		in_use += malloc_info_in_use(&mi.heap.v[i]);
	if (!m.arena)
		ok(true, "an arena for each thread # SKIP malloc is a sanitizer's here");
	else
		is_u64(mi.heap.nr, 4, "an arena for each thread");
	is_u64(mi.system_bytes, m.arena, "system is mallinfo2's arena");
	is_u64(in_use, m.uordblks, "in use is mallinfo2's uordblks to the byte");
	is_u64(mi.mmap_bytes, m.hblkhd, "mmapped blocks are its hblkhd");
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	fclose(f);
}

/* ---- a document in a file ---- */

static void
is_found(const char *text, const char *want, const char *name)
{
	auto_text struct text found = { 0 };
	struct err e = { 0 };
	const int failed = malloc_info_find(&found, "FILE", text, strlen(text), &e);

	if (failed)
		ok(strstr(e.msg, want) && !found.v, "%s: %s", name, e.msg);
	else
		is_str(found.v, want, name);
}

static void
test_find(void)
{
	is_found("<malloc version=\"1\">x</malloc>", "<malloc version=\"1\">x</malloc>",
		"a document alone");
	is_found("log\n<malloc>\n<malloc version=\"1\">\nx\n</malloc>\n<log",
		"\n\n<malloc version=\"1\">\nx\n</malloc>", "a document in a log, in its line");
	is_found("a\n<malloc version=\"1\">x", "\n<malloc version=\"1\">x", "one without its end");
	is_found("a\n<malloc version=\"1\">\n</malloc>\n\n<malloc version=\"1\">",
		"in lines 2 and 5", "two documents are refused");
	is_found("<malloc ver", "has no document", "a text without one");
	is_found("", "has no document", "an empty text");
}

/* The sum of many sizes, each of them possible, is none. */
static void
test_sum(void)
{
	char xml[65536];
	size_t len = (size_t)snprintf(
		xml, sizeof xml, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
	struct malloc_info mi = { 0 };
	struct err e = { 0 };

	for (int i = 0; i < 128; i++)
		len += (size_t)snprintf(xml + len, sizeof xml - len,
			"<size from=\"144115188075855841\" to=\"144115188075855841\" "
			"total=\"144115188075855841\" count=\"1\"/>\n");
	snprintf(xml + len, sizeof xml - len,
		"</sizes>\n<total type=\"rest\" count=\"1\" size=\"7\"/>\n"
		"<system type=\"current\" size=\"144115188075855872\"/>\n</heap>\n</malloc>\n");
	ok(malloc_info_parse(&mi, xml, strlen(xml), &e) < 0 && !mi.heap.v,
		"sizes whose sum is beyond 64 bits: %s", e.msg);
	malloc_info_release(&mi);
}

int
main(void)
{
	alarm(300); /* a hang is a failure */
	for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
		test_document(&documents[i]);
	test_flags();
	test_resident();
	test_hostile();
	test_cut();
	test_own();
	test_find();
	test_sum();
	return tap_end();
}
