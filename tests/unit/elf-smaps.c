#include <config.h>

#include "base/cleanup.h"
#include "elf/smaps.h"
#include "tap.h"

struct kept {
	struct smaps_entry v[8];
	int nr;
	int stop_at;
};

static int
keep(const struct smaps_entry *entry, void *arg)
{
	struct kept *k = arg;

	if (k->nr < 8)
		k->v[k->nr] = *entry;
	return ++k->nr == k->stop_at ? 7 : 0;
}

static int
parse_file(struct kept *k, const char *name)
{
	char path[512];
	auto_file FILE *f = NULL;
	struct err e;

	snprintf(path, sizeof path, "%s/smaps/%s.smaps", TEST_DATA, name);
	f = fopen(path, "r");
	return f ? smaps_parse(f, keep, k, &e) : -1;
}

static void
bad(const char *text, const char *name)
{
	auto_file FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct kept k = { 0 };
	struct err e = { 0 };

	ok(smaps_parse(f, keep, &k, &e) == -1 && e.kind == ERR_FAILED, "%s is refused", name);
}

static void
test_new(void)
{
	struct kept k = { 0 };
	const struct smaps_entry *heap = &k.v[0], *huge = &k.v[1];

	ok(parse_file(&k, "linux-6.18") == 0 && k.nr == 2, "a new kernel's");
	is_u64(heap->start.v, 0x555555000000, "start");
	is_u64(heap->end.v, 0x555555021000, "end");
	is_u64(heap->rss_bytes, 100 << 10, "Rss");
	is_u64(heap->pss_bytes, 50 << 10, "Pss, and not Pss_Dirty");
	is_u64(heap->private_bytes, 100 << 10, "what is private, clean or dirty");
	is_u64(heap->dirty_bytes, 98 << 10, "Private_Dirty and Shared_Dirty");
	is_u64(heap->locked_bytes, 12 << 10, "Locked");
	is_u64(heap->swap_bytes, 32 << 10, "Swap, and not SwapPss");
	is_u64(heap->anon_huge_bytes, 64 << 10, "AnonHugePages");
	ok(smaps_has_flag(heap, "gu") && smaps_has_flag(heap, "rd"), "flags that are there");
	ok(!smaps_has_flag(heap, "ht") && !smaps_has_flag(heap, "u "), "and that are not");
	is_u64(huge->hugetlb_bytes, 4096 << 10, "hugetlb is private and shared");
	is_u64(huge->page_bytes, 2 << 20, "in large pages");
	ok(smaps_has_flag(huge, "ht"), "and flagged");
}

static void
test_old(void)
{
	struct kept k = { 0 };

	ok(parse_file(&k, "linux-2.6.32") == 0 && k.nr == 2,
		"an old kernel's, with a colon in a name");
	is_u64(k.v[0].rss_bytes, 4 << 10, "Rss");
	is_u64(k.v[1].private_bytes, 8 << 10, "a key that is missing counts as 0");
	is_str(k.v[1].flags, "", "no flags");
}

static void
test_stop(void)
{
	struct kept k = { .stop_at = 1 };

	ok(parse_file(&k, "linux-6.18") == 7 && k.nr == 1, "the callback can end it");
}

int
main(void)
{
	struct kept k = { 0 };
	auto_file FILE *nothing = fopen("/dev/null", "r");
	struct err e;

	test_new();
	test_old();
	test_stop();
	bad("Rss: 4 kB\n", "a number of no mapping");
	bad("hello\n", "a word");
	bad("7f00-7f00 rw-p 00000000 00:00 0 \n", "an empty mapping");
	bad("1000-2000 rw-p 00000000 00:00 0 \nRss 4 kB\n", "a key without a colon");
	ok(smaps_parse(nothing, keep, &k, &e) == 0 && k.nr == 0, "nothing is no mapping");
	return tap_end();
}
