/* malloc_info's document, written from the heaps that memdiag has read. */
#include <config.h>

#include "heap/xml.h"

#include "glibc/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The lines at the end of each heap and, summed up, at the end of the document. */
struct totals {
	struct heap_sum fast, rest;
	uint64_t system_bytes, max_system_bytes, aspace_bytes, mprotect_bytes;
};

static bool
has_fastbins(const struct heap *h)
{
	return h->layout.nr_fastbins > 0;
}

static void
print_size(FILE *f, const char *element, const struct heap_bin *bin)
{
	if (bin->count)
		fprintf(f,
			"  <%s from=\"%" PRIu64 "\" to=\"%" PRIu64 "\" total=\"%" PRIu64
			"\" count=\"%" PRIu64 "\"/>\n",
			element, bin->from_bytes, bin->to_bytes, bin->total_bytes, bin->count);
}

static void
print_total(FILE *f, const char *type, struct heap_sum sum)
{
	fprintf(f, "<total type=\"%s\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n", type,
		sum.count, sum.bytes);
}

static void
print_number(FILE *f, const char *element, const char *type, uint64_t size)
{
	fprintf(f, "<%s type=\"%s\" size=\"%" PRIu64 "\"/>\n", element, type, size);
}

/*
 * Return the totals: "rest" is the sum of the bins' raw size words and, since 2.31 (BZ 24026), one
 * more chunk, the top, whose flags do not count (malloc/malloc.c, __malloc_info).
 */
static struct totals
totals_of(const struct heap_arena *a)
{
	struct totals t = {
		.fast = a->fast,
		.rest = { 1, a->top.bytes },
		.system_bytes = a->system_bytes,
		.max_system_bytes = a->max_system_bytes,
		.aspace_bytes = a->system_bytes,
		.mprotect_bytes = a->mprotect_bytes,
	};

	for (size_t i = 0; i < HEAP_NR_BINS; i++) {
		t.rest.count += a->bin[i].count;
		t.rest.bytes += a->bin[i].total_bytes;
	}
	return t;
}

static void
xml_add_totals(struct totals *to, const struct totals *t)
{
	to->fast.count += t->fast.count;
	to->fast.bytes += t->fast.bytes;
	to->rest.count += t->rest.count;
	to->rest.bytes += t->rest.bytes;
	to->system_bytes += t->system_bytes;
	to->max_system_bytes += t->max_system_bytes;
	to->aspace_bytes += t->aspace_bytes;
	to->mprotect_bytes += t->mprotect_bytes;
}

/* Print the totals.  MMAPPED is for the end of the document, NULL in a heap. */
static void
print_totals(FILE *f, const struct totals *t, bool has_fast, const struct heap_sum *mmapped)
{
	if (has_fast)
		print_total(f, "fast", t->fast);
	print_total(f, "rest", t->rest);
	if (mmapped)
		print_total(f, "mmap", *mmapped);
	print_number(f, "system", "current", t->system_bytes);
	print_number(f, "system", "max", t->max_system_bytes);
	print_number(f, "aspace", "total", t->aspace_bytes);
	print_number(f, "aspace", "mprotect", t->mprotect_bytes);
}

static void
print_arena(FILE *f, const struct heap *h, const struct heap_arena *a, const struct totals *t)
{
	fprintf(f, "<heap nr=\"%u\">\n<sizes>\n", a->nr);
	for (size_t i = 0; i < h->layout.nr_fastbins && i < MALLOC_NR_FASTBINS; i++)
		print_size(f, "size", &a->fastbin[i]);
	for (size_t i = 1; i < HEAP_NR_BINS; i++)
		print_size(f, "size", &a->bin[i]);
	print_size(f, "unsorted", &a->bin[0]);
	fputs("</sizes>\n", f);
	print_totals(f, t, has_fastbins(h), NULL);
	if (!a->is_main)
		print_number(f, "aspace", "subheaps", a->segment.nr);
	fputs("</heap>\n", f);
}

int
heap_write_xml(const struct heap *h, struct text *out, struct err *e)
{
	struct heap_sum mmapped = { h->layout.params.nr_mmaps, h->layout.params.mmapped };
	struct totals all = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return err_set(e, ENOMEM, "cannot write the document");
	fputs("<malloc version=\"1\">\n", f);
	for (size_t i = 0; i < h->arena.nr; i++) {
		struct totals t = totals_of(&h->arena.v[i]);

		print_arena(f, h, &h->arena.v[i], &t);
		xml_add_totals(&all, &t);
	}
	print_totals(f, &all, has_fastbins(h), &mmapped);
	fputs("</malloc>\n", f);
	if (fclose(f)) {
		free(text);
		return err_set(e, ENOMEM, "cannot write the document");
	}
	*out = (struct text){ text, len };
	return 0;
}
