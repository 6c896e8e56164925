/* Recorded maps against the leaves they must become. */
#include <config.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "maps/classify.h"
#include "maps/leaves.h"
#include "maps/maps-priv.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "maps/spans.h"
#include "os/os.h"
#include "tap.h"

static bool
read_space(struct space *s, const char *name, const struct spans *spans)
{
	struct target nobody = TARGET_NONE; /* the kernel cannot be asked about it */
	char path[512];
	auto_file FILE *f = NULL;
	struct err e = { 0 };

	*s = (struct space){ .own = calloc(1, sizeof *s->own) };
	s->process = s->own;
	snprintf(path, sizeof path, "%s/maps/%s.maps", TEST_DATA, name);
	f = fopen(path, "r");
	if (f && s->own && regions_parse(&s->own->maps, f, NULL, &e) == 0 &&
		space_classify(s, spans, &nobody, &e) == 0)
		return true;
	printf("# %s: %s\n", path, e.msg);
	return false;
}

/* Each leaf of NAME.maps is of the kind that the same line of NAME.want says. */
static void
fixture(const char *name)
{
	auto_space struct space s = { 0 };
	struct spans none = { 0 };
	char path[512], want[128];
	auto_file FILE *f = NULL;
	uint64_t sum = 0;
	size_t i = 0;

	snprintf(path, sizeof path, "%s/maps/%s.want", TEST_DATA, name);
	f = fopen(path, "r");
	if (!ok(f && read_space(&s, name, &none), "%s is read", name))
		return;
	for (; fgets(want, sizeof want, f); i++) {
		char words[256];

		want[strcspn(want, "\n")] = '\0';
		snprintf(words, sizeof words, "%s: line %zu: %s", name, i + 1, want);
		is_str(i < s.leaves.nr ? leaf_kind_name(s.leaves.v[i].kind) : NULL, want, words);
	}
	is_u64(s.leaves.nr, i, "no leaf too many");
	for (i = 0; i < s.leaves.nr; i++)
		sum += s.leaves.v[i].end.v - s.leaves.v[i].start.v;
	is_u64(sum, regions_size(&s.process->maps), "every byte once");
}

static void
test_tid(void)
{
	auto_space struct space s = { 0 };
	struct spans none = { 0 };

	ok(read_space(&s, "glibc-2.42", &none) && s.leaves.v[5].tid == 4711,
		"a stack that glibc named has its thread");
	space_release(&s);
	ok(read_space(&s, "linux-4.4", &none) && s.leaves.v[3].tid == 1235,
		"a stack that the kernel named has its thread");
}

static void
add(struct spans *s, uint64_t start, uint64_t end, enum leaf_kind kind)
{
	struct span span = SPAN_NONE;

	span.start.v = start;
	span.end.v = end;
	span.kind = (uint8_t)kind;
	span.confidence = CONFIDENCE_VERIFIED;
	spans_add(s, &span);
}

static void
leaf_is(const struct space *s, size_t i, uint64_t start, uint64_t end, enum leaf_kind kind)
{
	const struct leaf *l = &s->leaves.v[i];

	if (!ok(i < s->leaves.nr && l->start.v == start && l->end.v == end && l->kind == kind,
		    "leaf %zu: %s", i, leaf_kind_name(kind)))
		printf("#   got %#" PRIx64 "-%#" PRIx64 " %s\n", l->start.v, l->end.v,
			leaf_kind_name(l->kind));
}

/* One mapping that several things have merged into, and a file that no span may claim. */
static void
test_merged(void)
{
	auto_space struct space s = { 0 };
	auto_spans struct spans spans = { 0 };

	add(&spans, 0x7f0001001000, 0x7f0001003000, LEAF_CHUNK);
	add(&spans, 0x7f0001003000, 0x7f0001004000, LEAF_THREAD_STACK);
	add(&spans, 0x7f00011ff000, 0x7f0001201000, LEAF_ARENA);
	add(&spans, 0x7f0000405000, 0x7f0000407000, LEAF_ARENA);
	add(&spans, 0x7f0010000000, 0x7f0011000000, LEAF_ARENA_RESERVE);
	spans_settle(&spans);
	ok(read_space(&s, "names", &spans), "with spans");
	leaf_is(&s, 19, 0x7f0000405000, 0x7f0000406000, LEAF_FILE_PRIVATE);
	leaf_is(&s, 25, 0x7f0001000000, 0x7f0001001000, LEAF_ANON_MEDIUM);
	leaf_is(&s, 26, 0x7f0001001000, 0x7f0001003000, LEAF_CHUNK);
	leaf_is(&s, 27, 0x7f0001003000, 0x7f0001004000, LEAF_THREAD_STACK);
	leaf_is(&s, 28, 0x7f0001004000, 0x7f00011ff000, LEAF_ANON_MEDIUM);
	leaf_is(&s, 29, 0x7f00011ff000, 0x7f0001200000, LEAF_ARENA);
	leaf_is(&s, 30, 0x7f0010000000, 0x7f0018000000, LEAF_ANON_LARGE);
}

/* ---- spans, against a map of single addresses ---- */

#define ROOM 64

static void
paint(const struct spans *s, char *map)
{
	for (size_t i = 0; i < s->nr; i++)
		for (uint64_t a = s->v[i].start.v; a < s->v[i].end.v; a++)
			if (map[a] == '.')
				map[a] = (char)('A' + s->v[i].kind);
}

static bool
is_settled(const struct spans *s)
{
	for (size_t i = 1; i < s->nr; i++)
		if (s->v[i].start.v < s->v[i - 1].end.v)
			return false;
	return true;
}

static void
random_spans(struct spans *s, int kind)
{
	for (int i = 0; i < 6; i++) {
		uint64_t start = (uint64_t)rand() % (ROOM - 12);

		add(s, start, start + (uint64_t)rand() % 12, (enum leaf_kind)kind);
	}
	spans_settle(s);
}

static void
test_layers(void)
{
	int right = 0, rounds = 2000;

	srand(1);
	for (int i = 0; i < rounds; i++) {
		auto_spans struct spans top = { 0 }, below = { 0 };
		char want[ROOM + 1], got[ROOM + 1];

		memset(want, '.', ROOM);
		memset(got, '.', ROOM);
		random_spans(&top, 0);
		random_spans(&below, 1);
		paint(&top, want);
		paint(&below, want);
		right += is_settled(&top) && spans_lay_under(&top, &below) == 0 && is_settled(&top);
		paint(&top, got);
		right += memcmp(want, got, ROOM) == 0;
	}
	is_u64((uint64_t)right, (uint64_t)rounds * 2, "what is on top hides what lies below");
}

static void
test_edge(void)
{
	auto_spans struct spans top = { 0 }, below = { 0 };

	add(&top, UINT64_MAX - 4096, UINT64_MAX, LEAF_CHUNK);
	add(&below, UINT64_MAX - 8192, UINT64_MAX, LEAF_ARENA);
	limit_cpu(5);
	ok(spans_lay_under(&top, &below) == 0 && top.nr == 2 && top.v[0].kind == LEAF_ARENA,
		"the end of the address space");
	limit_cpu(0);
}

int
main(void)
{
	fixture("names");
	fixture("glibc-2.42");
	fixture("linux-4.4");
	fixture("i386");
	test_tid();
	test_merged();
	test_layers();
	test_edge();
	return tap_end();
}
