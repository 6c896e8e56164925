/*
 * The blocks that a child's malloc mapped one by one, against its own mallinfo2().
 */
#include <config.h>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "maps/maps.h"
#include "tap.h"

#define KIB ((size_t)1024)
#define FAKE_BYTES (64 * KIB)

static void *volatile kept[16];

/* Memory of the program's own, in mappings that are neighbours of nobody's. */
static char *
map_apart(size_t bytes)
{
	char *p = mmap(NULL, bytes + 2 * FAKE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + FAKE_BYTES, bytes, PROT_READ | PROT_WRITE);
	return p + FAKE_BYTES;
}

static void
write_words(char *at, uint64_t first, uint64_t second)
{
	memcpy(at, &first, sizeof first);
	memcpy(at + sizeof first, &second, sizeof second);
}

static void
map_chunks(void *arg)
{
	struct mallinfo2 info;

	(void)arg;
	setvbuf(stdout, NULL, _IOLBF, 512);
	malloc_trim(0);	/* else what the test itself has freed may be enough for the first */
	kept[0] = malloc(200 * KIB);
	kept[1] = malloc(5000 * KIB);
	kept[2] = calloc(1, 300 * KIB);
	kept[3] = aligned_alloc(4 * KIB, 400 * KIB);
	kept[4] = aligned_alloc(2048 * KIB, 1000 * KIB);
	kept[5] = aligned_alloc(64, 160 * KIB);
	kept[6] = malloc(1000 * KIB);
	kept[7] = realloc(kept[6], 3000 * KIB);	/* mremap() */
	kept[8] = malloc(700 * KIB);
	free(kept[8]);	/* from here on malloc maps nothing that is smaller */
	kept[8] = malloc(900 * KIB);
	info = mallinfo2();
	printf("chunks %zu %zu\n", info.hblks, info.hblkhd);
	child_ready();
}

/* What malloc since 2.43 leaves at the start of its mappings, and what only looks like it. */
static void
fake_chunks(void *arg)
{
	char *p = map_apart(7 * FAKE_BYTES);

	(void)arg;
	printf("at %p\n", (void *)p);
	write_words(p, 0, FAKE_BYTES | 2);				/* to 2.42 */
	write_words(p + FAKE_BYTES, 0, (FAKE_BYTES - 16) | 2);		/* since 2.43 */
	write_words(p + 2 * FAKE_BYTES, 1, (FAKE_BYTES - 16) | 2);	/* on huge pages */
	write_words(p + 3 * FAKE_BYTES, 0, 4 * FAKE_BYTES | 2);		/* to the end */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	write_words(p, 0, 2 * FAKE_BYTES | 2);	/* beyond the end */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	write_words(p, 0, FAKE_BYTES | 3);	/* not the flags of one */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	write_words(p, 0, 2);			/* of no size: no endless loop */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	write_words(p, 16, FAKE_BYTES | 2);	/* not where it says it is */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	child_ready();				/* nothing present */
}

static bool
may_have_chunks(const struct region *r)
{
	return !r->path && memcmp(r->prot, "rw-p", 4) == 0;
}

struct search {
	struct view v;
	struct os_pages *pages;
	struct mmapped_chunks chunks;
};

static bool
search_begin(struct search *s, pid_t pid)
{
	*s = (struct search){ .pages = NULL };
	return view_take(&s->v, pid) &&
		ok(os_pages_open(&s->pages, &s->v.t, OS_PAGES_AUTO, &s->v.e) == 0,
			"its pages can be asked for");
}

static bool
search_region(struct search *s, const struct region *r)
{
	struct arenas a = { .word_bytes = 8 };

	return mmapped_chunks_find(
		       &s->chunks, &s->v.t, s->pages, &a, r->start, r->end, &s->v.e) == 0;
}

static void
search_end(struct search *s, struct child *c)
{
	mmapped_chunks_release(&s->chunks);
	os_pages_free(s->pages);
	view_release(&s->v);
	ok(child_end(c), "the child lives on");
}

static void
test_real(void)
{
	struct child c = child_start(map_chunks, NULL);
	uint64_t nr = 0, bytes = 0, found = 0, before;
	bool all_read = true;
	struct search s;

	if (!ok(sscanf(c.said, "chunks %" SCNu64 " %" SCNu64, &nr, &bytes) == 2, "mapped blocks") ||
		!search_begin(&s, c.pid))
		return;
	before = view_present_bytes(&s.v);
	for (size_t i = 0; i < s.v.m.nr; i++)
		if (may_have_chunks(&s.v.m.region[i]))
			all_read &= search_region(&s, &s.v.m.region[i]);
	ok(all_read, "all mappings are searched");
	for (size_t i = 0; i < s.chunks.nr; i++)
		found += s.chunks.v[i].end.v - s.chunks.v[i].start.v;
	is_u64(nr, 8, "malloc mapped what it should");
	is_u64(s.chunks.nr, nr, "as many as malloc says");
	is_u64(found, bytes, "as large as malloc says");
	is_u64(view_present_bytes(&s.v), before, "looking made no page present");
	search_end(&s, &c);
}

static void
test_fake(void)
{
	static const size_t wanted[] = { 4, 0, 0, 0, 0, 0 };
	struct child c = child_start(fake_chunks, NULL);
	const char *line = c.said;
	struct search s;
	uint64_t at, before;

	if (!search_begin(&s, c.pid))
		return;
	before = view_present_bytes(&s.v);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const struct region *r = NULL;

		if (line && sscanf(line, "at %" SCNx64, &at) == 1)
			r = maps_find(&s.v.m, (raddr){ at });
		if (!ok(r && r->start.v == at && search_region(&s, r), "fake %zu is searched", i))
			break;
		is_u64(s.chunks.nr, wanted[i], "it has as many chunks as it should");
		if (i == 0 && s.chunks.nr)
			is_u64(s.chunks.v[s.chunks.nr - 1].end.v, r->end.v, "to the very end");
		s.chunks.nr = 0;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	is_u64(view_present_bytes(&s.v), before, "looking made no page present");
	search_end(&s, &c);
}

int
main(void)
{
	alarm(300);
	test_fake();
	if (!skip_if_sanitized("real blocks"))
		test_real();
	return tap_end();
}
