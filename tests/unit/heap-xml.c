/* The document we write is the one that glibc writes of the same heaps, to the byte. */
#include <config.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "glibc/layout.h"
#include "heap/heap.h"
#include "heap/xml.h"
#include "tap.h"

/* The state while the lines of a recorded document are read. */
struct reader {
	struct heap *h;
	struct heap_arena *a; /* of the <heap> we are in, NULL outside */
	unsigned int nr_fast, nr_bins;
};

static bool
read_size(struct reader *r, const char *line)
{
	struct heap_bin b, *to;
	char element[16];

	if (sscanf(line,
		    "  <%15s from=\"%" SCNu64 "\" to=\"%" SCNu64 "\" total=\"%" SCNu64
		    "\" count=\"%" SCNu64 "\"/>",
		    element, &b.from_bytes, &b.to_bytes, &b.total_bytes, &b.count) != 5)
		return false;
	if (!strcmp(element, "unsorted"))
		to = &r->a->bin[0];
	else if (b.to_bytes % 16 == 0) /* no flag bit: a fastbin */
		to = &r->a->fastbin[r->nr_fast++];
	else
		to = &r->a->bin[++r->nr_bins];
	*to = b;
	return true;
}

static bool
read_arena_line(struct reader *r, const char *line)
{
	struct heap_arena *a = r->a;
	uint64_t n, m;

	if (sscanf(line, "<total type=\"fast\" count=\"%" SCNu64 "\" size=\"%" SCNu64, &n, &m) == 2)
		a->fast = (struct heap_sum){ n, m };
	else if (sscanf(line, "<total type=\"rest\" count=\"%*u\" size=\"%" SCNu64, &n) == 1)
		a->top.bytes = n;
	else if (sscanf(line, "<system type=\"current\" size=\"%" SCNu64, &n) == 1)
		a->system_bytes = n;
	else if (sscanf(line, "<system type=\"max\" size=\"%" SCNu64, &n) == 1)
		a->max_system_bytes = n;
	else if (sscanf(line, "<aspace type=\"mprotect\" size=\"%" SCNu64, &n) == 1)
		a->mprotect_bytes = n;
	else if (sscanf(line, "<aspace type=\"subheaps\" size=\"%" SCNu64, &n) == 1)
		for (a->is_main = false; a->segment.nr < n;)
			array_add(&a->segment);
	else
		return read_size(r, line);
	return true;
}

static void
begin_arena(struct reader *r)
{
	r->a = array_add(&r->h->arena);
	r->a->nr = (unsigned int)r->h->arena.nr - 1;
	r->a->is_main = true;
	r->nr_fast = r->nr_bins = 0;
}

static void
end_arena(struct reader *r)
{
	for (size_t i = 0; i < HEAP_NR_BINS; i++)
		r->a->top.bytes -= r->a->bin[i].total_bytes;
	r->a = NULL;
}

static void
read_line(struct reader *r, const char *line)
{
	struct malloc_params *p = &r->h->layout.params;

	if (!strncmp(line, "<heap nr=", 9))
		begin_arena(r);
	else if (!strcmp(line, "</heap>"))
		end_arena(r);
	else if (r->a)
		read_arena_line(r, line);
	else if (!strncmp(line, "<total type=\"fast\"", 18))
		r->h->layout.nr_fastbins = 10;
	else
		sscanf(line, "<total type=\"mmap\" count=\"%" SCNu64 "\" size=\"%" SCNu64,
			&p->nr_mmaps, &p->mmapped);
}

static void
release(struct heap *h)
{
	for (size_t i = 0; i < h->arena.nr; i++)
		free(h->arena.v[i].segment.v);
	free(h->arena.v);
}

static size_t
first_difference(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	return i;
}

static void
test_document(const char *name)
{
	char path[512];
	auto_text struct text want = { 0 }, got = { 0 };
	struct heap h = { 0 };
	struct reader r = { .h = &h };
	auto_fd int fd = -1;
	auto_free char *copy = NULL;
	struct err e = { 0 };
	char *rest = NULL;

	snprintf(path, sizeof path, "%s/malloc_info/%s", TEST_DATA, name);
	fd = open(path, O_RDONLY);
	if (!ok(fd >= 0 && text_read(&want, fd, 1 << 20) == 0, "%s is read", name))
		return;
	copy = strdup(want.v);
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		read_line(&r, line);
	is_u64(h.arena.nr, 7, "it has seven arenas");
	ok(heap_write_xml(&h, &got, &e) == 0, "it is written");
	if (!ok(got.len == want.len && !memcmp(got.v, want.v, got.len), "and is the same")) {
		size_t at = first_difference(got.v, want.v);

		printf("# byte %zu: got '%.60s'\n# want '%.60s'\n", at, got.v + at, want.v + at);
	}
	release(&h);
}

int
main(void)
{
	test_document("glibc-2.31.xml");
	test_document("glibc-2.36.xml");
	test_document("glibc-2.41.xml");
	test_document("glibc-2.43.xml");
	test_document("glibc-2.44.xml");
	return tap_end();
}
