/*
 * The blocks that a child's malloc mapped one by one, against its own mallinfo2().
 */
#include <config.h>

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "glibc/arenas.h"
#include "glibc/chunks.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/target.h"
#include "old-libc.h"
#include "tap.h"

#define KIB ((size_t)1024)
#define FAKE_BYTES (64 * KIB)
#define PAGE_BYTES ((size_t)4096)

static void *volatile kept[16];
static bool alone, with_second = true;

static size_t
usable(const void *p)
{
	return malloc_usable_size((void *)(uintptr_t)p);
}

/*
 * How many bytes malloc's account grows too much by while kept[6] is resized: since 2.43 by two
 * words (mremap_chunk(), malloc/malloc.c).
 */
static size_t
resize_mapped(void)
{
	size_t counted = mallinfo2().hblkhd, had = usable(kept[6]);

	kept[7] = realloc(kept[6], 3000 * KIB); /* mremap() */
	return mallinfo2().hblkhd - counted - (usable(kept[7]) - had);
}

/* The highest address up to which pages were asked for. */
static uint64_t asked_to;

int __real_os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);
int __wrap_os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);

int
__wrap_os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e)
{
	asked_to = end.v > asked_to ? end.v : asked_to;
	return __real_os_pages_walk(p, start, end, want_kind, fn, arg, e);
}

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
	const bool *with_second_libc = arg; /* whose malloc keeps an account of its own */
	struct mallinfo2 info;
	size_t excess;

	setvbuf(stdout, NULL, _IOLBF, 512);
	malloc_trim(0); /* else what the test itself has freed may be enough for the first */
	kept[0] = malloc(200 * KIB);
	kept[1] = malloc(5000 * KIB);
	kept[2] = calloc(1, 300 * KIB);
	kept[3] = aligned_alloc(4 * KIB, 400 * KIB);
	kept[4] = aligned_alloc(2048 * KIB, 1000 * KIB);
	kept[5] = aligned_alloc(64, 160 * KIB);
	kept[6] = malloc(1000 * KIB);
	excess = resize_mapped();
	kept[8] = malloc(700 * KIB);
	free(kept[8]); /* from here on malloc maps nothing that is smaller */
	kept[8] = malloc(900 * KIB);
	info = mallinfo2();
	printf("chunks %zu %zu\n", info.hblks, info.hblkhd - excess);
	if (*with_second_libc && !dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW))
		_exit(1);
	child_ready();
}

/* Starts of mappings as malloc leaves them since 2.43, and others that only look like it. */
static void
fake_chunks(void *arg)
{
	char *p = map_apart(7 * FAKE_BYTES);

	(void)arg;
	printf("at %p\n", (void *)p);
	write_words(p, 0, FAKE_BYTES | 2);			   /* to 2.42 */
	write_words(p + FAKE_BYTES, 0, (FAKE_BYTES - 16) | 2);	   /* since 2.43 */
	write_words(p + 2 * FAKE_BYTES, 1, (FAKE_BYTES - 16) | 2); /* on huge pages */
	write_words(p + 3 * FAKE_BYTES, 0, 4 * FAKE_BYTES | 2);	   /* to the end */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	write_words(p, 0, 2 * FAKE_BYTES | 2); /* beyond the end */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	write_words(p, 0, FAKE_BYTES | 3); /* not the flags of one */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	write_words(p, 0, 2); /* of no size: no endless loop */
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	write_words(p, 16, FAKE_BYTES | 2); /* not where it says it is */
	p = map_apart(3 * FAKE_BYTES);
	printf("at %p\n", (void *)p);
	/* then one with data that looks like a header of the first one's */
	write_words(p, 0, FAKE_BYTES | 2);
	write_words(p + FAKE_BYTES, 0, 2 * FAKE_BYTES | 2);
	write_words(p + FAKE_BYTES + PAGE_BYTES - 16, FAKE_BYTES + PAGE_BYTES - 16,
		(2 * FAKE_BYTES - PAGE_BYTES + 16) | 2);
	p = map_apart(FAKE_BYTES);
	printf("at %p\n", (void *)p);
	child_ready(); /* nothing present */
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
		       &s->chunks, &s->v.t, s->pages, &a, r->start, r->end, r->end, &s->v.e) == 0;
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
	struct child c = child_start(map_chunks, &alone);
	uint64_t nr = 0, bytes = 0, found = 0, before;
	bool all_read = true;
	struct search s;

	if (!ok(sscanf(c.said, "chunks %" SCNu64 " %" SCNu64, &nr, &bytes) == 2, "mapped blocks") ||
		!search_begin(&s, c.pid))
		return;
	before = view_present_bytes(&s.v);
	for (size_t i = 0; i < s.v.p.maps.nr; i++)
		if (may_have_chunks(&s.v.p.maps.region[i]))
			all_read &= search_region(&s, &s.v.p.maps.region[i]);
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
	static const size_t wanted[] = { 4, 0, 0, 0, 0, 2, 0 };
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
			r = regions_find(&s.v.p.maps, (raddr){ at });
		asked_to = 0;
		if (!ok(r && r->start.v == at && search_region(&s, r), "fake %zu is searched", i))
			break;
		is_u64(s.chunks.nr, wanted[i], "it has as many chunks as it should");
		ok(asked_to <= r->end.v, "no page behind it was asked for");
		if (i == 0 && s.chunks.nr)
			is_u64(s.chunks.v[s.chunks.nr - 1].end.v, r->end.v, "to the very end");
		s.chunks.nr = 0;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	is_u64(view_present_bytes(&s.v), before, "looking made no page present");
	search_end(&s, &c);
}

/* ---- with what malloc itself says ---- */

static bool
count_none(const struct process *p, uint64_t *ret)
{
	(void)p;
	*ret = 0;
	return true;
}

/* How many blocks the address space of PID has if malloc's account is as OPT says. */
static uint64_t
nr_in_space(pid_t pid, const struct space_options *opt)
{
	auto_target struct target t = TARGET_NONE;
	auto_space struct space s = { 0 };
	uint64_t nr = 0;
	struct err e;

	if (!ok(target_open(&t, pid, &e) == 0 && space_read(&s, &t, opt, &e) == 0, "space is read"))
		return UINT64_MAX;
	for (size_t i = 0; i < s.leaves.nr; i++)
		nr += s.leaves.v[i].kind == LEAF_CHUNK;
	return nr;
}

static void
test_account(void)
{
	const struct space_options unknown = { 0 }, none = { .count_mmapped = count_none },
				   some = { .nr_mmapped = 8, .count_mmapped = count_none };
	/*
	 * Both now: once we have freed a large block, malloc maps only what is larger, in children
	 * too.
	 */
	struct child c = child_start(map_chunks, &alone),
		     two = child_start(map_chunks, &with_second);

	is_u64(nr_in_space(c.pid, &unknown), 8, "all are found without an account");
	is_u64(nr_in_space(c.pid, &some), 8, "and with one");
	is_u64(nr_in_space(c.pid, &none), 0, "none is looked for if malloc says that it has none");
	is_u64(nr_in_space(two.pid, &unknown), 8, "all are found beside a second libc");
	is_u64(nr_in_space(two.pid, &none), 8, "one account of two libcs is not believed");
	/* The last to start holds the first's pipes open, too. */
	ok(child_end(&two) && child_end(&c), "the children live on");
}

int
main(void)
{
	limit_cpu(300); /* for a loop that does not end */
	alarm(1800);	/* for a child that does not answer */
	test_fake();
	if (!skip_if_sanitized("real blocks")) {
		test_real();
		test_account();
	}
	return tap_end();
}
