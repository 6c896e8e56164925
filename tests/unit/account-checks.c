/* Numbers that have to agree, and what is called exact when they do not. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account/checks.h"
#include "base/array.h"
#include "heap/heap.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "os/os.h"
#include "os/target.h"
#include "view/checks.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)

static const struct heap_mmapped no_blocks = { .has_account = true, .is_listed = true };
/* All that may be compared, with nothing wrong. */
static const struct check_facts sound = { .has_segments = true,
	.found_bytes = 9 * MIB,
	.system_bytes = 9 * MIB,
	.has_in_use = true,
	.in_use_bytes = 5 * MIB,
	.in_use_of_bytes = 9 * MIB,
	.has_resident = true,
	.resident_bytes = 8 * MIB,
	.rss_bytes = 10 * MIB,
	.mmapped = &no_blocks };

/* The names of the checks of F that fail, "a b". */
static bool
fails(const struct check_facts *f, const char *names)
{
	char failed[200] = "";
	struct checks c;

	checks_make(&c, f);
	for (size_t i = 0; i < c.nr; i++) {
		size_t len = strlen(failed);

		if (!c.v[i].holds)
			snprintf(failed + len, sizeof failed - len, "%s%s", len ? " " : "",
				c.v[i].name);
	}
	if (strcmp(failed, names) == 0)
		return true;
	printf("# failed: %s\n", failed);
	return false;
}

static void
test_facts(void)
{
	struct heap_mmapped blocks = no_blocks;
	struct check_facts f = sound, none = { 0 };
	struct checks c;

	ok(fails(&f, ""), "all agree");
	f.found_bytes--;
	ok(fails(&f, "segments"), "a byte of the arenas was not found");
	f = (struct check_facts){ 0 };
	ok(check_facts_add_arena(&f, 9, 0, 8) && check_facts_add_arena(&f, 8, 0, 9),
		"two arenas are apart");
	ok(fails(&f, "segments"), "and their difference is not made up for by that of another");
	f = (struct check_facts){ 0 };
	ok(!check_facts_add_arena(&f, 8 * MIB + 4096, 4096, 8 * MIB) && fails(&f, ""),
		"a page may be left over");
	f = sound;
	f.in_use_bytes = f.in_use_of_bytes + 1;
	ok(fails(&f, "in_use"), "more is in use than the arenas have");
	f = sound;
	f.resident_bytes = f.rss_bytes + 1;
	ok(fails(&f, "resident"), "more is resident in arenas than in all");
	f.rss_lag_bytes = 4096;
	ok(fails(&f, ""), "but RSS may lag behind");
	f = sound;
	f.mmapped = &blocks;
	blocks = (struct heap_mmapped){
		.has_account = true, .account = { 1, 0 }, .is_listed = true
	};
	ok(fails(&f, "mmapped_count"), "a block was not found");
	checks_make(&c, &f);
	ok(c.is_mmapped_rough && !c.is_rough, "blocks are approximate then, arenas are not");
	blocks.has_account = false;
	ok(fails(&f, ""), "unknown without malloc's count");
	blocks.has_account = true;
	blocks.is_listed = false;
	ok(fails(&f, ""), "and if none were searched for");
	blocks = (struct heap_mmapped){
		.has_account = true, .account = { 0, 1 }, .is_listed = true
	};
	ok(fails(&f, "mmapped_bytes"), "a byte of the blocks was not found");
	f = sound;
	checks_make(&c, &f);
	ok(!c.is_rough && !c.is_mmapped_rough && !c.is_resident_rough,
		"nothing is approximate if all agree");
	f.in_use_bytes = f.in_use_of_bytes + 1;
	checks_make(&c, &f);
	ok(c.is_rough && !c.is_resident_rough,
		"arenas are approximate if more is in use than they have");
	checks_make(&c, &none);
	ok(!c.nr && !c.is_rough, "nothing is compared that is not known");
}

/* An arena of 9 MiB of which FOUND were found. */
static void
add_arena(struct heap *h, uint64_t found_bytes)
{
	struct heap_arena *a = array_add(&h->arena);

	a->certainty = h->certainty = HEAP_EXACT;
	a->system_bytes = 9 * MIB;
	a->found_bytes = found_bytes;
	a->has_pages = true;
	a->resident_bytes = 5 * MIB;
}

static void
test_distrust(void)
{
	struct rss_watch rss = { .rss_bytes = 10 * MIB };
	struct check_facts f = { 0 };
	struct heap h = { 0 };
	struct checks c;

	add_arena(&h, 9 * MIB);
	add_arena(&h, 9 * MIB);
	check_facts_add_heap(&f, &h, &rss, NULL);
	checks_make(&c, &f);
	checks_distrust(&c, &h);
	ok(h.arena.v[0].certainty == HEAP_EXACT && h.certainty == HEAP_EXACT, "exact stays exact");
	h.arena.v[1].found_bytes--;
	f = (struct check_facts){ 0 };
	check_facts_add_heap(&f, &h, &rss, NULL);
	checks_make(&c, &f);
	checks_distrust(&c, &h);
	ok(h.arena.v[0].certainty == HEAP_EXACT, "an arena is not to blame for another");
	ok(h.arena.v[1].certainty == HEAP_APPROXIMATE && *h.arena.v[1].why,
		"that one is not exact, and says why");
	ok(h.certainty == HEAP_APPROXIMATE, "nor are the heaps");
	h.arena.v[1].found_bytes++;
	h.arena.v[1].certainty = HEAP_EXACT;
	f = (struct check_facts){ 0 };
	rss.rss_bytes--;
	check_facts_add_heap(&f, &h, &rss, NULL);
	checks_make(&c, &f);
	checks_distrust(&c, &h);
	ok(h.arena.v[0].certainty == HEAP_APPROXIMATE && h.arena.v[1].certainty == HEAP_APPROXIMATE,
		"more resident than RSS: none of them is exact");
	free(h.arena.v);
}

/* Whether the checks of H with the facts that are in F call its first arena exact. */
static bool
is_exact(struct heap *h, const struct check_facts *f)
{
	struct checks c;

	h->certainty = h->arena.v[0].certainty = HEAP_EXACT;
	checks_make(&c, f);
	checks_distrust(&c, h);
	return h->arena.v[0].certainty == HEAP_EXACT && h->certainty == HEAP_EXACT;
}

static struct check_facts
facts_of(const struct heap *h, const struct rss_watch *w, const struct heap_mmapped *m,
	const struct space *s)
{
	struct check_facts f = { .mmapped = m };

	check_facts_add_heap(&f, h, w, s);
	return f;
}

static void
test_heap(void)
{
	struct rss_watch rss = { .rss_bytes = 5 * MIB };
	struct check_facts f;
	struct heap h = { 0 };
	struct checks c;

	add_arena(&h, 9 * MIB);
	h.arena.v[0].in_use.bytes = 9 * MIB;
	f = facts_of(&h, &rss, NULL, NULL);
	ok(is_exact(&h, &f), "all of an arena may be in use, and resident");
	h.arena.v[0].in_use.bytes++;
	f = facts_of(&h, &rss, NULL, NULL);
	ok(!is_exact(&h, &f), "but no more than that");
	h.arena.v[0].in_use.bytes--;
	rss.rss_bytes--;
	f = facts_of(&h, &rss, NULL, NULL);
	ok(!is_exact(&h, &f), "nor more be resident than in the process");
	rss.lag_bytes = 1;
	f = facts_of(&h, &rss, NULL, NULL);
	ok(is_exact(&h, &f), "unless RSS may lag behind");
	rss.lag_bytes = 0;
	h.arena.v[0].is_hugetlb = true;
	f = facts_of(&h, &rss, NULL, NULL);
	ok(is_exact(&h, &f), "or it is in pages that RSS does not count");
	h.arena.v[0].is_hugetlb = h.arena.v[0].has_pages = false;
	f = facts_of(&h, &rss, NULL, NULL);
	ok(!f.has_resident && is_exact(&h, &f), "it is not compared where pages are unknown");
	h.arena.v[0].found_bytes--;
	h.arena.v[0].certainty = HEAP_CONSISTENT;
	*h.arena.v[0].why = 0;
	f = facts_of(&h, &rss, NULL, NULL);
	checks_make(&c, &f);
	checks_distrust(&c, &h);
	ok(h.arena.v[0].certainty == HEAP_CONSISTENT && !*h.arena.v[0].why,
		"the first doubt of an arena stays");
	free(h.arena.v);
}

/*
 * An arena of 9 MiB, 5 MiB of them resident, and large blocks that have one more than RSS leaves.
 */
static void
test_sum(void)
{
	struct rss_watch rss = { .rss_bytes = 7 * MIB };
	struct heap_mmapped blocks = { .resident_bytes = 2 * MIB };
	const struct process p = { .arenas_error.kind = 0 };
	struct space s = { .process = &p,
		.rss_from = SPACE_RSS_SCAN,
		.before.vm_rss_bytes = 7 * MIB,
		.after.vm_rss_bytes = 7 * MIB };
	struct check_facts f;
	struct heap h = { 0 };

	add_arena(&h, 9 * MIB);
	f = facts_of(&h, &rss, &blocks, &s);
	is_u64(f.resident_bytes, 7 * MIB, "arenas and large blocks are one sum");
	ok(is_exact(&h, &f), "which may be all of RSS");
	blocks.resident_bytes++;
	f = facts_of(&h, &rss, &blocks, &s);
	ok(!is_exact(&h, &f), "but no more");
	f = facts_of(&h, &rss, &blocks, NULL);
	ok(is_exact(&h, &f), "without blocks it is less");
	s.after.vm_rss_bytes--;
	f = facts_of(&h, &rss, &blocks, &s);
	is_u64(f.resident_bytes, 5 * MIB, "blocks that were counted at another RSS are left out");
	s.before.vm_rss_bytes--;
	s.after.vm_rss_bytes++;
	f = facts_of(&h, &rss, &blocks, &s);
	is_u64(f.resident_bytes, 5 * MIB, "so they are if it changed before");
	free(h.arena.v);
}

/* The numbers of a whole address space, read between two looks at RSS. */
static void
test_space(void)
{
	struct leaf leaf[] = {
		{ .start = { 0x1000 },
			.end = { 0x5000 },
			.kind = LEAF_MAIN_HEAP,
			.rss_bytes = 0x3000 },
		{ .start = { 0x9000 },
			.end = { 0xa000 },
			.kind = LEAF_ARENA,
			.arena = 1,
			.rss_bytes = 0x1000 },
	};
	struct heap_mmapped blocks = { .resident_bytes = 0x2000 };
	const struct process p = { .arenas_error.kind = 0 };
	struct space s = { .process = &p,
		.rss_from = SPACE_RSS_SCAN,
		.before.vm_rss_bytes = 8,
		.after.vm_rss_bytes = 9 };
	struct check_facts f = { .mmapped = &blocks };

	s.leaves.v = leaf;
	s.leaves.nr = 2;
	check_facts_add_space(&f, &s);
	is_u64(f.resident_bytes, 0x6000, "space: arenas and large blocks");
	is_u64(f.rss_bytes, 9, "space: RSS after it");
	s.before.vm_rss_bytes = 10;
	check_facts_add_space(&f, &s);
	is_u64(f.rss_bytes, 10, "space: or before it, if that was more");
	ok(!check_facts_add_space_arena(&f, &s, 0, 0x4fff), "what brk gives may end in a page");
	ok(check_facts_add_space_arena(&f, &s, 0, 0x2fff), "but not be larger by more");
	ok(!check_facts_add_space_arena(&f, &s, 1, 0x1000),
		"heaps of other arenas are as large as malloc says");
	ok(check_facts_add_space_arena(&f, &s, 1, 0x1001), "to the byte");
}

static void
test_watch(void)
{
	auto_target struct target t = TARGET_NONE;
	struct rss_watch w = { .t = &t };
	struct err e;

	target_open(&t, getpid(), &e);
	rss_watch_look(NULL, &w);
	ok(w.rss_bytes > 100000, "RSS is noted");
	w.rss_bytes = UINT64_C(1) << 60;
	rss_watch_look(NULL, &w);
	is_u64(w.rss_bytes, UINT64_C(1) << 60, "and the largest is kept");
}

static void
test_print(void)
{
	struct check_facts f = sound;
	struct checks c;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	json_t *list;

	f.found_bytes -= 7;
	f.is_apart = true;
	checks_make(&c, &f);
	checks_print(&c, out);
	fclose(out);
	is_str(text,
		"Check failed: bytes found in arenas: 9437177, system bytes of malloc: 9437184, "
		"difference -7.\n",
		"what fails is printed, and no more");
	free(text);
	f.has_run = true;
	out = open_memstream(&text, &len);
	checks_make(&c, &f);
	checks_print(&c, out);
	fclose(out);
	ok(strstr(text, "difference -7 (the process ran meanwhile).\n"),
		"and that the process ran");
	free(text);
	list = checks_json(&c);
	ok(json_array_size(list) == 5, "JSON has all of them");
	ok(json_integer_value(json_object_get(json_array_get(list, 0), "difference")) == 7 &&
			json_is_false(json_object_get(json_array_get(list, 0), "holds")),
		"with the difference");
	json_decref(list);
}

int
main(void)
{
	test_facts();
	test_distrust();
	test_heap();
	test_sum();
	test_space();
	test_watch();
	test_print();
	return tap_end();
}
