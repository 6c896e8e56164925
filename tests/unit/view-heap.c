/* The output of 'memdiag heap' for known heaps. */
#include <config.h>

#include <stdlib.h>

#include "account/totals.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "glibc/arenas.h"
#include "heap/heap.h"
#include "heap/walk.h"
#include "maps/maps.h"
#include "os/os.h"
#include "ui/json.h"
#include "ui/ui.h"
#include "view/heap-json.h"
#include "view/heap-text.h"
#include "view/heap.h"
#include "tap.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

static struct leaf chunk[] = {
	{ .start = { 0x7f3000000000 }, .end = { 0x7f3002000000 }, .rss_bytes = 3 * MIB },
	{ .start = { 0x7f3002000000 }, .end = { 0x7f3002100000 }, .swap_bytes = MIB },
};
static struct heap_mmapped mmapped = { .has_account = true,
	.account = { 2, 33 * MIB },
	.is_listed = true,
	.chunk = { chunk, 2, 2 },
	.has_pages = true,
	.bytes = 33 * MIB,
	.resident_bytes = 3 * MIB,
	.swapped_bytes = MIB };
static struct target target = TARGET_NONE;
static const struct checks checks;
static struct warnings warnings;

/* An arena of which each number is another. */
static void
add_arena(struct heap *h, uint64_t scale, enum heap_certainty certainty)
{
	struct heap_arena *a = array_add(&h->arena);
	struct heap_segment *s = array_add(&a->segment);

	a->nr = (unsigned int)h->arena.nr - 1;
	a->addr = (raddr){ 0x7f0000000030 + a->nr * 64 * MIB };
	a->is_main = !a->nr;
	a->certainty = certainty;
	a->attached = 3;
	a->system_bytes = 101 * MIB * scale;
	a->max_system_bytes = 102 * MIB * scale;
	a->mprotect_bytes = 103 * MIB * scale;
	a->in_use = (struct heap_sum){ 1000, 21 * MIB * scale };
	a->cached = (struct heap_sum){ 10, MIB * scale };
	a->binned = (struct heap_sum){ 50, 60 * MIB * scale };
	a->top = (struct heap_chunk){ a->addr, 19 * MIB * scale };
	a->has_pages = true;
	a->resident_bytes = 80 * MIB * scale;
	a->live_resident_bytes = 20 * MIB * scale;
	a->stranded_bytes = 7 * MIB * scale;
	a->page_bytes[HEAP_PAGE_LIVE] = 11 * MIB * scale;
	a->page_bytes[HEAP_PAGE_MIXED] = 13 * MIB * scale;
	a->page_bytes[HEAP_PAGE_TRIMMABLE] = 40 * MIB * scale;
	a->page_bytes[HEAP_PAGE_CACHED] = 4 * MIB * scale;
	a->page_bytes[HEAP_PAGE_TOP] = 12 * MIB * scale;
	a->page_bytes[HEAP_PAGE_RETURNED] = 17 * MIB * scale;
	a->page_bytes[HEAP_PAGE_RESERVED] = 18 * MIB * scale;
	a->largest[0] = (struct heap_chunk){ { 0x7f1000000000 + a->nr }, 9 * MIB * scale };
	a->used_size[heap_size_class(64)] = (struct heap_sum){ 5, 320 };
	a->free_size[heap_size_class(64)] = (struct heap_sum){ 6, 384 };
	*s = (struct heap_segment){ .start = a->addr,
		.end = raddr_add(a->addr, 64 * MIB),
		.in_use = { 1, 5 * MIB },
		.free = { 2, 14 * MIB },
		.last_in_use = { { 0x7f2000000000 }, 48 },
		.below_bytes = 8 * MIB * scale };
}

static void
make(struct heap *h, enum heap_certainty second)
{
	*h = (struct heap){ .layout = { .era = "2.27 to 2.42", .mp = { 1 } },
		.knows_caches = true,
		.nr_stops = 1,
		.longest_stop_ns = 12300000 };
	add_arena(h, 1, HEAP_EXACT);
	add_arena(h, 2, second);
	*array_add(&h->thread) =
		(struct heap_thread){ .arena = h->arena.v[1].addr, .cached = { 12, 4 * KIB } };
	if (second == HEAP_APPROXIMATE)
		snprintf(h->arena.v[1].why, sizeof h->arena.v[1].why, "its lock was held");
}

static void
release(struct heap *h)
{
	for (size_t i = 0; i < h->arena.nr; i++)
		free(h->arena.v[i].segment.v);
	free(h->arena.v);
	free(h->thread.v);
}

/* The output; the caller frees it. */
static char *
shown(const struct heap_report *r, bool as_json)
{
	static const struct ui_options ui = { 0 };
	char *text = NULL;
	size_t len;
	struct ui_output out = { .f = open_memstream(&text, &len) };
	struct err e = { 0 };

	json_auto_t *document = as_json ? heap_to_json(r, &e) : NULL;

	if ((document ? ui_json_print(document, &out, &e) : heap_show_text(&out, &ui, r, &e)) < 0)
		printf("# %s\n", e.msg);
	fclose(out.f);
	return text;
}

static void
says(const char *text, const char *words)
{
	if (!ok(strstr(text, words) != NULL, "it says '%s'", words))
		printf("# in: %s\n", text);
}

static void
test_totals(void)
{
	struct heap h;
	struct heap_totals t;
	uint64_t sum = 0;

	make(&h, HEAP_EXACT);
	heap_totals(&t, &h);
	for (int i = 0; i < NR_HEAP_ACCOUNTS; i++)
		sum += t.account_bytes[i];
	is_u64(t.resident_bytes, 240 * MIB, "resident bytes are added up");
	is_u64(sum, 240 * MIB, "what they are for comes to as many");
	is_u64(t.account_bytes[HEAP_TOPS], 24 * MIB, "tops of thread arenas are for themselves");
	is_u64(t.account_bytes[HEAP_MAIN_TOP], 12 * MIB, "and so is the main arena's");
	is_u64(t.account_bytes[HEAP_KEPT], 3 * MIB, "the rest is cached, and headers");
	is_u64(t.in_use_bytes, 60 * MIB, "cached chunks are not in use");
	ok(heap_arena_fragmentation(&h.arena.v[0]) == 0.75, "fragmentation is what is not in use");
	is_u64(t.nr_approximate, 0, "nothing is approximate");
	h.arena.v[1].has_pages = false;
	heap_totals(&t, &h);
	ok(!t.has_pages && !t.resident_bytes, "without the pages of one there is no sum of pages");
	h.arena.v[1].attached = -1;
	ok(heap_arena_threads(&h, &h.arena.v[1]) == 1, "threads are counted where malloc does not");
	release(&h);
}

static void
test_summary(void)
{
	struct heap h;
	struct heap_report r = {
		.t = &target, .h = &h, .mmapped = &mmapped, .checks = &checks, .warnings = &warnings
	};
	char *text;

	make(&h, HEAP_EXACT);
	text = shown(&r, false);
	says(text, "(glibc 2.27 to 2.42)");
	says(text, "  in use                       60.0 MiB\n");
	says(text, "  free, trimmable             120.0 MiB  in 2 arenas; see memdiag trim\n");
	says(text, "  free, stranded               21.0 MiB  on pages that are in use in part\n");
	says(text, "  free, thread tops            24.0 MiB");
	says(text, "  free, main top               12.0 MiB  not where brk ends; trim leaves it\n");
	says(text, "  together                    240.0 MiB  of 303.0 MiB that the arenas have\n");
	says(text, "  free, given back             51.0 MiB");
	says(text, "  reserved                     54.0 MiB");
	says(text,
		"  large blocks                 33.0 MiB  2 with mappings of their own\n"
		"  resident                      3.0 MiB\n");
	says(text, "Arenas: 2 exact. The process was stopped 1 time, for 12.3 ms at most.\n");
	ok(!strchr(text, '~'), "nothing is marked");
	free(text);
	h.arena.v[0].page_bytes[HEAP_PAGE_TOP] = 0;
	text = shown(&r, false);
	ok(!strstr(text, "main top"), "which is left out without a main arena's top");
	free(text);
	h.arena.v[0].has_pages = false;
	text = shown(&r, false);
	says(text, "  cached                        3.0 MiB");
	free(text);
	h.knows_caches = false;
	text = shown(&r, false);
	ok(!strstr(text, "  cached"), "no number is shown of caches that are not known");
	says(text, "\nWhat threads have cached is not known: it counts as in use.\n");
	says(text, "In 2 arenas, resident or not:\n");
	says(text, "  free                        180.0 MiB\n");
	ok(!strstr(text, "trimmable"), "nothing is said of pages that were not seen");
	free(text);
	release(&h);
}

static void
test_tables(void)
{
	struct heap h;
	struct heap_report r = { .t = &target,
		.h = &h,
		.mmapped = &mmapped,
		.checks = &checks,
		.warnings = &warnings,
		.limit = 1,
		.views = HEAP_ARENAS | HEAP_PAGES | HEAP_HISTOGRAM | HEAP_FREE | HEAP_PINS |
			HEAP_THREADS };
	char *text;

	make(&h, HEAP_APPROXIMATE);
	text = shown(&r, false);
	says(text,
		"   ~1        3  ~202.0 MiB  ~204.0 MiB  ~40.0 MiB  ~2.0 MiB  ~80.0 MiB  ~14.0 MiB "
		" "
		"~24.0 MiB  ~34.0 MiB      1  ~75 %  approximate\nand 1 more; -n 0 shows all\n"
		"arena 1: its lock was held\n");
	says(text,
		"   ~1  ~22.0 MiB  ~26.0 MiB  ~80.0 MiB  ~8.0 MiB  ~24.0 MiB    ~0 B  ~34.0 MiB  "
		"~36.0 MiB\n");
	says(text, "       64 B  79 B     ~10  ~640 B   ~12  ~768 B\n");
	says(text, "In use, as malloc counts: with ~3.0 MiB that threads keep.\n");
	says(text, "0x7f1000000001  ~18.0 MiB      1\nand 1 more");
	says(text,
		"0x7f0004000030      1  64.0 MiB  ~5.0 MiB  ~14.0 MiB   ~16.0 MiB  0x7f2000000000"
		"     ~48 B\n");
	says(text,
		"     ?      1     ~12  ~4.0 KiB  ?\nA single ? stands for what is not known.\n");
	says(text, "Arenas: 1 exact, 1 approximate.");
	says(text, "\n~ is approximate");
	free(text);
	h.arena.v[0].is_by_lists = true;
	text = shown(&r, false);
	says(text, "       64 B  79 B       ?      ?   ~12  ~768 B\n");
	says(text, "\nWhat keeps the heaps of 1 of 2 arenas from shrinking is not known");
	free(text);
	h.arena.v[1].is_by_lists = true;
	h.knows_caches = false;
	h.arena.v[0].largest[0].bytes = h.arena.v[1].largest[0].bytes = 0;
	text = shown(&r, false);
	ok(!strstr(text, "LAST CHUNK"), "what pins no heap that is known is no table");
	says(text, "\nWhat keeps the heaps of 2 of 2 arenas from shrinking is not known");
	says(text, "\n\nNo chunk is free.\n");
	says(text, "  ~40.0 MiB       ?  ~80.0 MiB");
	says(text, "\nWhat threads have cached is not known: it counts as in use.\n");
	says(text, "     ?      1       ?      ?  ?\n");
	free(text);
	h.thread.nr = 0;
	text = shown(&r, false);
	says(text, "\nWhich arena each thread uses, and what it has cached, is unknown.\n");
	free(text);
	release(&h);
}

static void
test_json(void)
{
	struct heap h;
	struct heap_report r = {
		.t = &target, .h = &h, .mmapped = &mmapped, .checks = &checks, .warnings = &warnings
	};
	char *text;

	make(&h, HEAP_APPROXIMATE);
	text = shown(&r, true);
	says(text, "\"schema\": \"memdiag.heap/1\"");
	says(text, "\"kind\": \"free_trimmable\",\n        \"bytes\": 125829120\n");
	says(text,
		"\"address\": \"0x7f0004000030\",\n        \"certainty\": \"approximate\",\n"
		"        \"why\": \"its lock was held\"");
	says(text,
		"\"from_bytes\": 64,\n        \"to_bytes\": 79,\n        \"in_use_chunks\": 10,");
	says(text, "\"free_below_bytes\": 8388608\n");
	ok(!strstr(text, "cut to"), "no number is too large");
	free(text);
	h.arena.v[1].is_by_lists = true;
	h.arena.v[1].max_system_bytes = UINT64_MAX;
	h.knows_caches = false;
	h.thread.nr = 0;
	text = shown(&r, true);
	says(text, "\"free_below_bytes\": null\n");
	says(text, "\"cached_bytes\": null");
	says(text, "\"threads\": null");
	says(text, "\"max_system_bytes\": 9223372036854775807,");
	says(text, "was cut to 9223372036854775807: memory is damaged");
	ok(!strstr(text, ": -"), "no number is negative");
	free(text);
	release(&h);
}

/* Blocks with mappings of their own, of which malloc counts more, or has no account. */
static void
test_mmapped(void)
{
	struct heap h;
	struct heap_mmapped m = mmapped;
	struct heap_report r = { .t = &target,
		.h = &h,
		.mmapped = &m,
		.checks = &checks,
		.warnings = &warnings,
		.views = HEAP_MMAPPED };
	char *text;

	make(&h, HEAP_EXACT);
	text = shown(&r, false);
	says(text,
		"0x7f3000000000  32.0 MiB   3.0 MiB      0 B\n"
		"0x7f3002000000   1.0 MiB       0 B  1.0 MiB\n");
	ok(!strstr(text, "malloc counts"), "malloc counts as many");
	free(text);
	m.account.bytes += MIB;
	ok(!heap_mmapped_agrees(&m), "as many but larger is something else");
	m.account.count++;
	text = shown(&r, false);
	says(text,
		"34.0 MiB  3 with mappings of their own; found 2 of 3, 33.0 MiB of 34.0 MiB\n"
		"  resident                     ~3.0 MiB\n");
	says(text, "\nmalloc counts 3 of 34.0 MiB in all");
	free(text);
	text = shown(&r, true);
	says(text, "\"count\": 3,\n      \"bytes\": 35651584,\n      \"found_count\": 2,");
	says(text, "\"agrees\": false");
	free(text);
	m.has_account = false;
	text = shown(&r, true);
	says(text, "\"count\": null,\n      \"bytes\": null,\n      \"found_count\": 2,");
	says(text, "\"agrees\": null");
	free(text);
	text = shown(&r, false);
	says(text, "~33.0 MiB  ~2 with mappings of their own\n");
	free(text);
	m.is_listed = false;
	m.chunk.nr = 0;
	text = shown(&r, false);
	says(text,
		"             ?  ? with mappings of their own; memdiag could not search for "
		"them\n");
	free(text);
	release(&h);
}

/* The arenas of a malloc that is not known. */
static void
test_headers(void)
{
	struct arena_heap heap = { { 0x7f0000000000 }, 9 * MIB, 10 * MIB };
	struct arena v[] = { { .addr = { 0x1000 }, .is_main = true },
		{ .addr = { 0x7f0000000030 }, .heap = &heap, .nr_heaps = 1, .nr_tids = 2 } };
	struct arenas arenas = { .v = v, .nr = 2 };
	struct heap h = { 0 };
	struct heap_report r = { .t = &target,
		.h = &h,
		.mmapped = &mmapped,
		.checks = &checks,
		.warnings = &warnings,
		.arenas = &arenas };
	char *text = shown(&r, false);

	says(text, "does not know the layout of this malloc");
	says(text, "    0          0x1000    brk        ?        0\n");
	says(text, "    1  0x7f0000000030      1  9.0 MiB        2\n");
	ok(!strstr(text, "in use"), "nothing is said of what is in them");
	free(text);
	text = shown(&r, true);
	says(text, "\"layout\": null");
	says(text, "\"system_bytes\": 9437184");
	free(text);
}

int
main(void)
{
	strcpy(target.comm, "test");
	test_totals();
	test_summary();
	test_tables();
	test_json();
	test_mmapped();
	test_headers();
	return tap_end();
}
