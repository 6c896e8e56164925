/* The pages of very many mappings are counted once each, whoever walks them and however often. */
#include <config.h>

#include <sys/mman.h>

#include "child.h"
#include "maps/classify.h"
#include "maps/identities.h"
#include "maps/leaf-pages.h"
#include "maps/maps-priv.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/target.h"

#define PAGE 4096
#define MANY 5000 /* so many are walked by a thread */
#define FEW 100

/*
 * As many mappings of a page each as ARG says, every third of them in memory; and on both sides of
 * them a page that nobody may touch, so that none merges with what lies there.
 */
static void
map_many(void *arg)
{
	int nr = *(const int *)arg;
	char *fence =
		mmap(NULL, (size_t)(nr + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *p = fence + PAGE;

	if (mprotect(p, (size_t)nr * PAGE, PROT_READ | PROT_WRITE) < 0)
		return;
	for (int i = 0; i < nr; i++) {
		if (i % 3 == 0)
			p[i * PAGE] = 1;
		if (i % 2 && mprotect(p + i * PAGE, PAGE, PROT_READ) < 0)
			return;
	}
	printf("%p\n", (void *)p);
	child_ready();
}

/* How many of the NR mappings at START have the pages that they should have. */
static uint64_t
count_right(const struct space *s, uint64_t start, int nr)
{
	uint64_t right = 0;
	int i = 0;

	for (size_t k = 0; k < s->leaves.nr && i < nr; k++) {
		const struct leaf *l = &s->leaves.v[k];

		if (l->start.v != start + (uint64_t)i * PAGE)
			continue;
		right += l->rss_bytes == (i % 3 ? 0 : PAGE) && l->end.v == l->start.v + PAGE;
		i++;
	}
	return right;
}

static void
test_read(const struct target *t, uint64_t start, int nr, enum space_rss from, const char *name)
{
	auto_space struct space s = { 0 };
	struct space_options opt = { .rss_from = from };
	struct identity id[NR_IDENTITIES];
	struct err e = { 0 };

	if (!ok(space_read(&s, t, &opt, &e) == 0 && s.rss_from == from, "%d, %s: read %s", nr, name,
		    e.msg))
		return;
	is_u64(count_right(&s, start, nr), (uint64_t)nr, name);
	for (size_t i = 0, n = space_identities(&s, id); i < n; i++)
		ok(!id[i].explained_by || strcmp(id[i].explained_by, "not explained") != 0,
			"%d, %s: %s", nr, name, id[i].name);
}

/*
 * The list is read to its middle, time and again: often enough that the thread has come somewhere
 * once.  Then again from its start, and every mapping three times.
 */
static void
test_torn(const struct target *t, uint64_t start, int nr)
{
	auto_leaf_pages struct leaf_pages *leaf_pages = NULL;
	auto_process struct process p = { 0 };
	auto_space struct space s = { .process = &p };
	struct spans none = { 0 };
	struct err e = { 0 };
	const struct regions_listener *listener;

	if (!ok(regions_read(&p.maps, t, &e) == 0 && space_classify(&s, &none, t, &e) == 0 &&
			    leaf_pages_open(&leaf_pages, t, OS_PAGES_SCAN, &e) == 0,
		    "%d: pages counted by hand %s", nr, e.msg))
		return;
	listener = leaf_pages_listener(leaf_pages);
	for (int times = 0; times < 100; times++) {
		listener->begin(listener->arg);
		for (size_t i = 0; i < p.maps.nr / 2; i++)
			listener->region(&p.maps.region[i], listener->arg);
	}
	listener->begin(listener->arg);
	for (size_t i = 0; i < 3 * p.maps.nr; i++)
		listener->region(&p.maps.region[i / 3], listener->arg);
	ok(leaf_pages_count(leaf_pages, &s, &e) == 0, "%d: pages are counted %s", nr, e.msg);
	is_u64(count_right(&s, start, nr), (uint64_t)nr, "each once");
}

/*
 * pagemap has 8 bytes for each page, also of the terabytes of ASan's shadow memory: these are read
 * where all repetitions are made.
 */
static bool
has_time_for_pagemap(void)
{
	return !tap_is_sanitized() || tap_share(100) == 100;
}

static void
test(int nr)
{
	auto_target struct target t = TARGET_NONE;
	struct child c = child_start(map_many, &nr);
	uint64_t start = strtoull(c.said, NULL, 16);
	struct err e = { 0 };

	if (ok(c.is_ready && target_open(&t, c.pid, &e) == 0, "a child of %d mappings", nr)) {
		test_read(&t, start, nr, SPACE_RSS_SCAN, "scan");
		if (has_time_for_pagemap())
			test_read(&t, start, nr, SPACE_RSS_PAGEMAP, "pagemap");
		else
			skip("pagemap", "the shadow memory of ASan takes a minute");
		test_torn(&t, start, nr);
	}
	ok(child_end(&c), "the child lives on");
}

int
main(void)
{
	test(FEW);
	test(MANY);
	return tap_end();
}
