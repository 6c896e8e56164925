#include <config.h>

#include "heap/malloc-info.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * Limits for malicious targets.  glibc prints at most 137 size lines, about 10 KiB, for an arena
 * (malloc/malloc.c, __malloc_info: NFASTBINS + NBINS - 1).
 */
#define MAX_DOCUMENT_BYTES ((size_t)64 << 20)
#define MAX_HEAPS 65536
#define MAX_SIZES 1024
#define MAX_DEPTH 8
#define MAX_BYTES (UINT64_C(1) << 57) /* an address space with five levels of page tables */

/* The low bits of a chunk's size are flags (malloc/malloc.c, SIZE_BITS). */
#define FLAG_BITS UINT64_C(7)

struct parse {
	XML_Parser xml;
	struct malloc_info *mi;
	struct err *e;
	int depth;
	bool in_heap;	 /* the last of mi->heap is incomplete */
	bool has_failed; /* E has the reason */
};

/* The destination of the numbers of a <heap>. */
static const struct {
	const char *element, *type, *attribute;
	size_t offset;
} heap_field[] = {
#define F(element, type, attribute, member)                                                        \
	{                                                                                          \
		element, type, attribute, offsetof(struct malloc_info_heap, member)                \
	}
	F("total", "fast", "count", fast_count),
	F("total", "fast", "size", fast_bytes),
	F("total", "rest", "count", rest_count),
	F("total", "rest", "size", rest_bytes),
	F("system", "current", "size", system_bytes),
	F("system", "max", "size", max_system_bytes),
	F("aspace", "total", "size", aspace_bytes),
	F("aspace", "mprotect", "size", mprotect_bytes),
	F("aspace", "subheaps", "size", nr_subheaps),
#undef F
};

static void
malloc_info_stop(struct parse *p)
{
	p->has_failed = true;
	XML_StopParser(p->xml, XML_FALSE);
}

static unsigned long
line_number(const struct parse *p)
{
#if HAVE_DECL_XML_GETCURRENTLINENUMBER64
	return (unsigned long)XML_GetCurrentLineNumber64(p->xml);
#else /* expat before 2.9 */
	return (unsigned long)XML_GetCurrentLineNumber(p->xml);
#endif
}

static void
stop_because(struct parse *p, const char *why)
{
	err_set(p->e, 0, "malloc_info's text %s (line %lu)", why, line_number(p));
	malloc_info_stop(p);
}

static void
stop_without_memory(struct parse *p)
{
	err_set(p->e, ENOMEM, "cannot keep what malloc_info says");
	malloc_info_stop(p);
}

static struct malloc_info_heap *
last_heap(struct parse *p)
{
	return &p->mi->heap.v[p->mi->heap.nr - 1];
}

/* ---- attributes ---- */

static const char *
attribute(const char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return "";
}

/* Return whether VALUE is WORD, ignoring blanks: 2.10 breaks the line inside its attributes. */
static bool
is_word(const char *value, const char *word)
{
	size_t len = strlen(word);

	value += strspn(value, " ");
	return strncmp(value, word, len) == 0 && value[len + strspn(value + len, " ")] == '\0';
}

/* Parse a number of an attribute.  A number beyond 64 bits becomes the maximum. */
static uint64_t
malloc_info_number(struct parse *p, const char **attributes, const char *name)
{
	const char *value = attribute(attributes, name);
	uint64_t n;
	char *end;

	value += strspn(value, " ");
	n = strtoull(value, &end, 10);
	if (!isdigit((unsigned char)value[0]) || end[strspn(end, " ")])
		stop_because(p, "has something else where a number belongs");
	return n;
}

/* ---- elements ---- */

static void
begin_heap(struct parse *p, const char **attributes)
{
	struct malloc_info_heap *h;
	uint64_t nr = malloc_info_number(p, attributes, "nr");

	if (p->has_failed)
		return;
	if (p->in_heap || p->mi->heap.nr >= MAX_HEAPS || nr > MAX_HEAPS) {
		stop_because(p, "has more heaps than can be");
		return;
	}
	h = array_add(&p->mi->heap);
	if (!h) {
		stop_without_memory(p);
		return;
	}
	h->nr = (unsigned int)nr;
	p->in_heap = true;
}

static void
add_size(struct parse *p, const char **attributes, bool is_unsorted)
{
	struct malloc_info_heap *h = last_heap(p);
	struct malloc_info_size *s;

	if (h->size.nr >= MAX_SIZES) {
		stop_because(p, "has more sizes in one heap than malloc has bins");
		return;
	}
	s = array_add(&h->size);
	if (!s) {
		stop_without_memory(p);
		return;
	}
	s->from_bytes = malloc_info_number(p, attributes, "from");
	s->to_bytes = malloc_info_number(p, attributes, "to");
	s->total_bytes = malloc_info_number(p, attributes, "total");
	s->count = malloc_info_number(p, attributes, "count");
	s->is_unsorted = is_unsorted;
	/*
	 * A fastbin's line contains its index, a bin's contains size words, with PREV_INUSE in
	 * them.
	 */
	s->is_fast = !is_unsorted && !(s->to_bytes & FLAG_BITS);
}

static void
add_heap_fields(struct parse *p, const char *element, const char **attributes)
{
	struct malloc_info_heap *h = last_heap(p);
	const char *type = attribute(attributes, "type");

	for (size_t i = 0; i < sizeof heap_field / sizeof *heap_field; i++)
		if (strcmp(heap_field[i].element, element) == 0 &&
			is_word(type, heap_field[i].type))
			*(uint64_t *)(void *)((char *)h + heap_field[i].offset) =
				malloc_info_number(p, attributes, heap_field[i].attribute);
	if (strcmp(element, "total") == 0 && is_word(type, "fast"))
		h->has_fast = true;
}

/* Read the end of the document: sums, which we compute ourselves, and the mmapped blocks. */
static void
malloc_info_add_total(struct parse *p, const char *element, const char **attributes)
{
	const char *type = attribute(attributes, "type");

	if (strcmp(element, "system") == 0 && is_word(type, "current")) {
		p->mi->has_total = true;
		p->mi->total_system_bytes = malloc_info_number(p, attributes, "size");
	}
	if (strcmp(element, "total") != 0 || !is_word(type, "mmap"))
		return;
	p->mi->has_mmap = true;
	p->mi->mmap_count = malloc_info_number(p, attributes, "count");
	p->mi->mmap_bytes = malloc_info_number(p, attributes, "size");
	if (p->mi->mmap_bytes > MAX_BYTES)
		stop_because(p, "says that more is mapped than an address space holds");
}

static void
begin_element(void *data, const char *name, const char **attributes)
{
	struct parse *p = data;

	if (p->depth == 0 && strcmp(name, "malloc") != 0)
		stop_because(p, "does not begin with <malloc>");
	else if (++p->depth > MAX_DEPTH)
		stop_because(p, "is nested too deeply");
	else if (strcmp(name, "heap") == 0)
		begin_heap(p, attributes);
	else if (!p->in_heap)
		malloc_info_add_total(p, name, attributes);
	else if (strcmp(name, "size") == 0)
		add_size(p, attributes, false);
	else if (strcmp(name, "unsorted") == 0)
		add_size(p, attributes, true);
	else
		add_heap_fields(p, name, attributes);
}

/* ---- the end of a heap ---- */

/*
 * Return whether COUNT chunks of FROM..TO bytes can make up this line's total, and fit into this
 * heap.
 */
static bool
is_possible(const struct malloc_info_size *s, uint64_t heap_bytes)
{
	uint64_t least, most;

	if (s->from_bytes > s->to_bytes || s->total_bytes > heap_bytes || !s->count)
		return false;
	if (__builtin_mul_overflow(s->from_bytes, s->count, &least))
		return false;
	if (__builtin_mul_overflow(s->to_bytes, s->count, &most))
		most = UINT64_MAX;
	return least <= s->total_bytes && s->total_bytes <= most;
}

/*
 * Remove the flag bits from a line; return the bytes they added.  All chunks of a line are assumed
 * to have the flags of its smallest.
 */
static uint64_t
strip_flags(struct malloc_info_size *s)
{
	uint64_t flags = s->is_fast ? 0 : (s->from_bytes & FLAG_BITS) * s->count;

	s->from_bytes &= ~FLAG_BITS;
	s->to_bytes &= ~FLAG_BITS;
	s->total_bytes -= flags;
	return flags;
}

/*
 * Check "rest": it must be the sum of the bins' lines, since 2.31 (BZ 24026) plus the top chunk.
 * If not, the unsorted line's counters were never initialised (BZ 16112, before 2.19), and rest
 * includes the same garbage: leave the line out and add up the others.
 */
static void
judge_rest(struct malloc_info *mi, struct malloc_info_heap *h, uint64_t heap_bytes)
{
	uint64_t count = 0, bytes = 0;
	size_t kept = 0;

	h->rest_flags = 0;
	for (size_t i = 0; i < h->size.nr; i++) {
		struct malloc_info_size s = h->size.v[i];

		if (!is_possible(&s, heap_bytes))
			continue;
		if (!s.is_fast) {
			count += s.count;
			bytes += s.total_bytes;
			if (bytes > heap_bytes) /* the sum of 1024 lines may overflow */
				bytes = heap_bytes + 1;
			h->rest_flags += strip_flags(&s);
		} else {
			strip_flags(&s);
		}
		h->size.v[kept++] = s;
	}
	if (kept == h->size.nr && h->rest_count == count && h->rest_bytes == bytes)
		return;
	if (kept == h->size.nr && h->rest_count == count + 1 && h->rest_bytes >= bytes &&
		h->rest_bytes <= heap_bytes) {
		mi->has_top_in_rest = true;
		return;
	}
	mi->is_unsorted_doubtful = true;
	h->size.nr = kept;
	h->rest_count = count;
	h->rest_bytes = bytes;
}

static void
end_heap(struct parse *p)
{
	struct malloc_info *mi = p->mi;
	struct malloc_info_heap *h = last_heap(p);
	uint64_t heap_bytes =
		h->system_bytes > h->max_system_bytes ? h->system_bytes : h->max_system_bytes;

	p->in_heap = false;
	if (heap_bytes > MAX_BYTES || h->aspace_bytes > MAX_BYTES ||
		h->mprotect_bytes > MAX_BYTES || h->fast_bytes > heap_bytes) {
		stop_because(p, "has a heap with impossible sizes");
		return;
	}
	judge_rest(mi, h, heap_bytes);
	mi->fast_bytes += h->fast_bytes;
	mi->rest_bytes += h->rest_bytes;
	mi->system_bytes += h->system_bytes;
	mi->max_system_bytes += h->max_system_bytes;
	if (h->rest_bytes > heap_bytes || mi->max_system_bytes > MAX_BYTES ||
		mi->system_bytes > MAX_BYTES)
		stop_because(p, "has more in its heaps than an address space holds");
}

static void
end_element(void *data, const char *name)
{
	struct parse *p = data;

	p->depth--;
	if (p->in_heap && strcmp(name, "heap") == 0)
		end_heap(p);
}

/*
 * Reject a DOCTYPE: glibc never writes one, and only there entities, which can grow without limit,
 * can be declared.
 */
static void
begin_doctype(void *data, const char *name, const char *system_id, const char *public_id,
	int has_internal_subset)
{
	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_internal_subset;
	stop_because(data, "has a DOCTYPE, which glibc never writes");
}

/* ---- the document ---- */

/*
 * Copy FROM without its <sizes> and </sizes> tags; returns the length.  The tags contain no data,
 * and glibc's sources of December 2025 wrote the closing one as an opening one (6c8af6a43c).  One
 * copy and one call of expat keep its work linear in the length.
 */
static size_t
copy_without_sizes_tags(char *to, const char *from, size_t len)
{
	static const char *const tag[] = { "<sizes>", "</sizes>" };
	const char *end = from + len;
	char *start = to;

	while (from < end) {
		const char *next = memchr(from + 1, '<', (size_t)(end - from - 1));
		size_t n = (size_t)((next ? next : end) - from);
		size_t skip = 0;

		for (size_t i = 0; i < 2; i++)
			if (n >= strlen(tag[i]) && memcmp(from, tag[i], strlen(tag[i])) == 0)
				skip = strlen(tag[i]);
		memcpy(to, from + skip, n - skip);
		to += n - skip;
		from += n;
	}
	return (size_t)(to - start);
}

static void
release_heap(struct malloc_info_heap *h)
{
	free(h->size.v);
}

/* Keep the complete heaps of a text that was cut off. */
static int
keep_whole_heaps(struct parse *p)
{
	struct malloc_info *mi = p->mi;

	if (p->in_heap)
		release_heap(&mi->heap.v[--mi->heap.nr]);
	if (!mi->heap.nr)
		return err_set(p->e, 0, "malloc_info's text ends before its first heap does");
	mi->is_cut = true;
	snprintf(mi->note, sizeof mi->note, "malloc_info's text ends early, after %zu heaps",
		mi->heap.nr);
	return 0;
}

static int
feed(struct parse *p, const char *xml, size_t len)
{
	void *buffer = XML_GetBuffer(p->xml, (int)len + 1); /* returns NULL for 0 bytes */
	enum XML_Status status;
	enum XML_Error error;

	if (!buffer)
		return err_set(p->e, ENOMEM, "cannot parse malloc_info's text");
	len = copy_without_sizes_tags(buffer, xml, len);
	status = XML_ParseBuffer(p->xml, (int)len, XML_TRUE);
	if (p->has_failed)
		return -1;
	if (status == XML_STATUS_OK)
		return p->mi->heap.nr ? 0
				      : err_set(p->e, 0, "malloc_info's text has no heap in it");
	error = XML_GetErrorCode(p->xml);
	if (error == XML_ERROR_NO_ELEMENTS || error == XML_ERROR_UNCLOSED_TOKEN ||
		error == XML_ERROR_PARTIAL_CHAR)
		return keep_whole_heaps(p);
	return err_set(p->e, error == XML_ERROR_NO_MEMORY ? ENOMEM : 0,
		"malloc_info's text is no XML: %s (line %lu)", XML_ErrorString(error),
		line_number(p));
}

int
malloc_info_parse(struct malloc_info *mi, const char *xml, size_t len, struct err *e)
{
	struct parse p = { .mi = mi, .e = e };
	int r;

	*mi = (struct malloc_info){ 0 };
	if (len > MAX_DOCUMENT_BYTES)
		return err_set(e, EFBIG, "malloc_info's text of %zu bytes is not read", len);
	p.xml = XML_ParserCreate("US-ASCII");
	if (!p.xml)
		return err_set(e, ENOMEM, "cannot parse malloc_info's text");
	XML_SetUserData(p.xml, &p);
	XML_SetElementHandler(p.xml, begin_element, end_element);
	XML_SetStartDoctypeDeclHandler(p.xml, begin_doctype);
	r = feed(&p, xml, len);
	XML_ParserFree(p.xml);
	if (r < 0)
		malloc_info_release(mi);
	return r;
}

void
malloc_info_release(struct malloc_info *mi)
{
	for (size_t i = 0; i < mi->heap.nr; i++)
		release_heap(&mi->heap.v[i]);
	free(mi->heap.v);
	*mi = (struct malloc_info){ 0 };
}

static uint64_t
free_bytes(const struct malloc_info_heap *h)
{
	return h->fast_bytes + h->rest_bytes - h->rest_flags;
}

uint64_t
malloc_info_in_use(const struct malloc_info_heap *h)
{
	return h->system_bytes > free_bytes(h) ? h->system_bytes - free_bytes(h) : 0;
}

uint64_t
malloc_info_top(const struct malloc_info_heap *h, bool has_top_in_rest)
{
	uint64_t binned = h->rest_flags;

	for (size_t i = 0; i < h->size.nr; i++)
		binned += h->size.v[i].is_fast ? 0 : h->size.v[i].total_bytes;
	return has_top_in_rest && h->rest_bytes > binned ? h->rest_bytes - binned : 0;
}

uint64_t
malloc_info_free_resident(const struct malloc_info_heap *h, uint64_t resident_bytes)
{
	uint64_t in_use = malloc_info_in_use(h);
	uint64_t least = resident_bytes > in_use ? resident_bytes - in_use : 0;

	return least < free_bytes(h) ? least : free_bytes(h);
}

/* ---- a document in a file ---- */

static const char document_begin[] = "<malloc version=";
static const char document_end[] = "</malloc>";

/* Return the next document in [AT, END), or NULL. */
static const char *
next_document(const char *at, const char *end)
{
	return at < end ? memmem(at, (size_t)(end - at), document_begin, strlen(document_begin))
			: NULL;
}

static size_t
count_newlines(const char *from, const char *to)
{
	size_t nr = 0;

	while (from < to && (from = memchr(from, '\n', (size_t)(to - from)))) {
		from++;
		nr++;
	}
	return nr;
}

int
malloc_info_find(struct text *ret, const char *name, const char *text, size_t len, struct err *e)
{
	const char *end = text + len, *begin = next_document(text, end), *next, *last;
	size_t nr_lines;

	if (!begin)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot read %s: it has no document of malloc_info()", name);
	nr_lines = count_newlines(text, begin);
	next = next_document(begin + 1, end);
	if (next)
		return err_set(e, 0,
			"cannot read %s: it has several documents of malloc_info(), in lines %zu and %zu; "
			"each belongs in a file of its own",
			name, nr_lines + 1, nr_lines + 1 + count_newlines(begin, next));
	last = memmem(begin, (size_t)(end - begin), document_end, strlen(document_end));
	if (last)
		end = last + strlen(document_end);
	ret->len = nr_lines + (size_t)(end - begin);
	ret->v = malloc(ret->len + 1);
	if (!ret->v) {
		ret->len = 0;
		return err_set(e, ENOMEM, "cannot read %s", name);
	}
	memset(ret->v, '\n', nr_lines);
	memcpy(ret->v + nr_lines, begin, (size_t)(end - begin));
	ret->v[ret->len] = '\0';
	return 0;
}
