/*
 * The pieces of a child's main arena when brk is blocked, against its own mallinfo2(), and memory
 * of its own that only looks like one.
 */
#include <config.h>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "maps/identities.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "old-libc.h"
#include "tap.h"

#define PAGE ((size_t)4096)
#define KIB ((size_t)1024)
#define MIB (KIB * KIB)
#define FAKE_BYTES (256 * KIB)
#define NR_OWN 64

static void *volatile kept[200];

/* The child's own memory, which is not malloc's. */
static struct {
	char *v[NR_OWN];
	size_t bytes[NR_OWN], nr;
} own;

/* ---- the child ---- */

static char *
map_own(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || own.nr == NR_OWN)
		_exit(99);
	own.v[own.nr] = p;
	own.bytes[own.nr++] = bytes;
	return p;
}

static void
write_words(char *at, uint64_t first, uint64_t second)
{
	memcpy(at, &first, sizeof first);
	memcpy(at + sizeof first, &second, sizeof second);
}

static void
write_posts(char *end)
{
	write_words(end - 32, 0, 0x11);
	write_words(end - 16, 0, 0x11);
}

/* Chunks of BYTES each from START to END. */
static void
write_chunks(char *start, const char *end, size_t bytes)
{
	for (; start < end; start += bytes)
		write_words(start, 0, bytes | 1);
}

static char *
map_fake(uint64_t prev_size, uint64_t size)
{
	char *p = map_own(FAKE_BYTES);

	write_posts(p + FAKE_BYTES);
	write_words(p, prev_size, size);
	return p;
}

/* Memory that is not quite a piece: each lacks one thing. */
static void
map_fakes(void)
{
	size_t all = FAKE_BYTES - 32;
	char *p;

	map_fake(0, all);	     /* the first chunk always has its flag */
	map_fake(16, all | 1);	     /* no chunk is before it */
	map_fake(0, all | 3);	     /* of a mapping of its own */
	map_fake(0, all | 5);	     /* of a thread arena */
	map_fake(0, (all - 8) | 1);  /* not aligned */
	map_fake(0, (all - 16) | 1); /* not as far as the posts */
	map_fake(0, (all + 16) | 1); /* farther */
	map_fake(0, 1);		     /* of no size */
	map_fake(0, 17);	     /* too small */
	map_fake(0, (UINT64_C(1) << 62) | 1);
	p = map_fake(0, 64 * KIB | 1); /* the second is on a page that nobody has touched */
	memset(p + FAKE_BYTES - PAGE, 0, PAGE);
	p = map_fake(0, 1032 | 1); /* not aligned, but in the end at the posts */
	write_words(p + 1032, 0, (all - 1032) | 1);
	p = map_fake(0, all | 1); /* not two posts */
	write_words(p + all, 0, 0);
	p = map_fake(0, all | 1);
	write_words(p + all + 16, 0, 0);
	p = map_own(FAKE_BYTES); /* no posts at all */
	write_chunks(p, p + FAKE_BYTES, 64);
	p = map_own(FAKE_BYTES); /* posts that are not at the end of a page */
	write_words(p, 0, 1024 | 1);
	write_posts(p + 1024 + 32);
	memset(map_own(FAKE_BYTES), 0x5a, FAKE_BYTES);
}

/* As if malloc had got it. */
static void
map_perfect(void)
{
	char *p = map_own(FAKE_BYTES);

	write_chunks(p, p + FAKE_BYTES, 64);
	write_words(p + FAKE_BYTES - 64, 0, 32 | 1);
	write_posts(p + FAKE_BYTES);
}

/* A page far above the heap that it cannot grow through. */
static void
block_brk(void)
{
	uintptr_t brk = ((uintptr_t)sbrk(0) + 65535) & ~(uintptr_t)65535;

	if (mmap((void *)brk, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		    -1, 0) == MAP_FAILED)
		_exit(99);
}

static void
allocate(size_t from, size_t to, size_t bytes)
{
	for (size_t i = from; i < to; i++) {
		kept[i] = malloc(bytes);
		memset(kept[i], 0x5a, bytes / (bytes < MIB ? 1 : 1024));
	}
}

static void
report_own(void)
{
	struct mallinfo2 info = mallinfo2();

	printf("malloc %zu %zu\n", info.arena, info.hblkhd);
	for (size_t i = 0; i < own.nr; i++)
		printf("own %p %zu\n", (void *)own.v[i], own.bytes[i]);
	child_ready();
}

/*
 * Pieces of all sizes, blocks with mappings of their own and memory of the program's, one below the
 * other, so that one mapping holds them all; what the program maps last is the lowest.
 */
static void
use_pieces(void *arg)
{
	(void)arg;
	setvbuf(stdout, NULL, _IOLBF, 512);
	mallopt(M_MMAP_THRESHOLD, 1024 * KIB);
	block_brk();
	allocate(0, 40, 100 * KIB);
	map_fakes();
	allocate(40, 80, 1000);
	allocate(80, 90, 900 * KIB);
	memset(map_own(3 * MIB), 0x5a, 3 * MIB);
	allocate(90, 93, 2 * MIB); /* by mmap() */
	allocate(93, 120, 60 * KIB);
	for (size_t i = 0; i < 110; i += 3) {
		free(kept[i]);
		kept[i] = NULL;
	}
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	allocate(120, 122, 10 * MIB); /* most of them on pages that nobody has touched */
	mallopt(M_TOP_PAD, 0);
	allocate(122, 150, 70 * KIB);
	map_fakes();
	allocate(150, 151, 3 * MIB); /* top is in a piece with no other behind it */
	map_fakes();
	report_own();
}

static void
use_brk(void *arg)
{
	(void)arg;
	setvbuf(stdout, NULL, _IOLBF, 512);
	allocate(0, 40, 100 * KIB);
	map_perfect();
	report_own();
}

/* Each page begins like a piece, and from each one goes to the end and finds no end. */
static void
be_hostile(void *arg)
{
	size_t bytes = 64 * MIB;
	char *p;

	(void)arg;
	setvbuf(stdout, NULL, _IOLBF, 512);
	block_brk();
	allocate(0, 40, 100 * KIB);
	p = map_own(bytes);
	write_chunks(p, p + bytes, 64);
	report_own();
}

/* ---- the test ---- */

enum wanted { NO_PIECES, ALL_PIECES, WHATEVER };

struct seen {
	uint64_t main_bytes, piece_bytes, chunk_bytes;
	bool is_right; /* all pieces are the main arena's, and verified */
};

static struct seen
sum_up(const struct space *s)
{
	struct seen seen = { .is_right = true };

	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];
		uint64_t bytes = l->end.v - l->start.v;

		seen.main_bytes +=
			l->kind == LEAF_MAIN_HEAP || l->kind == LEAF_MAIN_PIECE ? bytes : 0;
		seen.piece_bytes += l->kind == LEAF_MAIN_PIECE ? bytes : 0;
		seen.chunk_bytes += l->kind == LEAF_CHUNK ? bytes : 0;
		if (l->kind == LEAF_MAIN_PIECE)
			seen.is_right &= l->arena == 0 && l->confidence == CONFIDENCE_VERIFIED;
	}
	return seen;
}

/* How much of the memory that the child says is its own was taken for malloc's. */
static uint64_t
taken_bytes(const struct space *s, const char *said)
{
	uint64_t start, bytes, taken = 0;

	for (const char *line = strstr(said, "own "); line; line = strstr(line + 1, "own "))
		for (size_t i = 0; sscanf(line, "own %" SCNx64 " %" SCNu64, &start, &bytes) == 2 &&
			i < s->leaves.nr;
			i++) {
			const struct leaf *l = &s->leaves.v[i];
			uint64_t from = l->start.v > start ? l->start.v : start;
			uint64_t to = l->end.v < start + bytes ? l->end.v : start + bytes;

			if (leaf_kind_group(l->kind) == GROUP_HEAP && from < to)
				taken += to - from;
		}
	return taken;
}

static void
test_sums(const struct space *s)
{
	struct identity id[NR_IDENTITIES];

	for (size_t i = 0, nr = space_identities(s, id); i < nr; i++)
		ok(!id[i].explained_by, "%s is what the kernel says", id[i].name);
}

/* RUN in a child; which pieces are to be found. */
static void
test(void (*run)(void *arg), enum wanted wanted, const char *name)
{
	auto_space struct space s = { 0 };
	struct space_options opt = { .rss_from = SPACE_RSS_AUTO };
	struct child c = child_start(run, NULL);
	uint64_t arena = 0, mmapped = 0, before;
	struct seen seen;
	struct view v;

	if (!ok(sscanf(c.said, "malloc %" SCNu64 " %" SCNu64, &arena, &mmapped) == 2, "%s", name) ||
		!view_take(&v, c.pid))
		return;
	before = view_present_bytes(&v);
	if (ok(space_read(&s, &v.t, &opt, &v.e) == 0, "%s: read %s", name, v.e.msg)) {
		seen = sum_up(&s);
		if (wanted != WHATEVER)
			is_u64(seen.main_bytes, arena, "the main arena is as large as malloc says");
		is_u64(seen.chunk_bytes, mmapped, "and so are the blocks that it mapped");
		ok(seen.piece_bytes || wanted != ALL_PIECES, "%s: there are pieces", name);
		ok(!seen.piece_bytes || wanted != NO_PIECES, "%s: there are none", name);
		ok(seen.is_right, "%s: they are verified, and the main arena's", name);
		is_u64(taken_bytes(&s, c.said), 0, "nothing else was taken for malloc's");
		test_sums(&s);
	}
	is_u64(view_present_bytes(&v), before, "looking made no page present");
	view_release(&v);
	ok(child_end(&c), "the child lives on");
}

int
main(void)
{
	alarm(300);
	if (!skip_if_sanitized("real blocks")) {
		test(use_pieces, ALL_PIECES, "brk is blocked");
		test(use_brk, NO_PIECES, "it is not");
		test(be_hostile, WHATEVER, "hostile");
	}
	return tap_end();
}
