/*
 * Match mappings of two documents by use and place: they have no names, and the kernel joins and
 * splits them.
 */
#include <config.h>

#include "account/growth-mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Name of the member that growth_mapping_name() reads. */
#define NAME "memdiag.name"

struct growth_mapping {
	uint64_t start, end;
	const char *part, *path; /* from ROW */
	json_t *row;		 /* borrowed */
	bool is_matched;
};

/* ---- the mappings of a document ---- */

static bool
address_in(json_t *row, const char *member, uint64_t *ret)
{
	const char *text = json_string_value(json_object_get(row, member));
	char *end;

	if (!text)
		return false;
	*ret = strtoull(text, &end, 16);
	return end != text && !*end;
}

static bool
take_row(struct growth_mapping *m, json_t *row)
{
	const char *part = json_string_value(json_object_get(row, "part"));
	const char *path = json_string_value(json_object_get(row, "path"));

	*m = (struct growth_mapping){ .part = part, .path = path ? path : "", .row = row };
	return part && address_in(row, "start", &m->start) && address_in(row, "end", &m->end);
}

static int
growth_mappings_by_start(const void *a, const void *b)
{
	const struct growth_mapping *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->end > y->end) - (x->end < y->end);
}

static int
by_end(const void *a, const void *b)
{
	const struct growth_mapping *x = a, *y = b;

	return x->end != y->end ? (x->end > y->end) - (x->end < y->end)
				: growth_mappings_by_start(a, b);
}

/* Store the NR rows of LIST in *RET, sorted by address; the caller frees it. */
static int
take_rows(json_t *list, struct growth_mapping **ret, size_t *ret_nr, struct err *e)
{
	const size_t nr = json_array_size(list);
	auto_free struct growth_mapping *v = malloc((nr + 1) * sizeof *v);

	if (!json_is_array(list))
		return err_set(e, 0, "it has no mappings");
	if (!v)
		return err_set(e, ENOMEM, "cannot compare");
	for (size_t i = 0; i < nr; i++)
		if (!take_row(&v[i], json_array_get(list, i)))
			return err_set(e, 0, "a row of its mappings has no address or class");
	qsort(v, nr, sizeof *v, growth_mappings_by_start);
	*ret = take_ptr(&v);
	*ret_nr = nr;
	return 0;
}

/* ---- matching ---- */

static int
set_name(const struct growth_mapping *from, json_t *row, const char *what, struct err *e)
{
	char part[64], path[4096];
	auto_free char *name = NULL;

	if (asprintf(&name, "%012" PRIx64 "-%012" PRIx64 "  %s%s%s%s", from->start, from->end,
		    text_printable(from->part, part, sizeof part), *from->path ? "  " : "",
		    text_printable(from->path, path, sizeof path), what) < 0) {
		name = NULL;
		return err_set(e, ENOMEM, "cannot compare");
	}
	return json_object_set_new(row, NAME, json_string(name)) < 0
		? err_set(e, ENOMEM, "cannot compare")
		: 0;
}

/* Give both the name of the later one. */
static int
growth_mappings_match(struct growth_mapping *was, struct growth_mapping *is, struct err *e)
{
	was->is_matched = is->is_matched = true;
	return set_name(is, was->row, "", e) < 0 || set_name(is, is->row, "", e) < 0 ? -1 : 0;
}

/*
 * Match unmatched pairs for which FITS is true.  Both lists are sorted by ORDER, which also selects
 * the one of two to skip if they do not fit.
 */
static int
match_all(struct growth_mapping *was, size_t nr_was, struct growth_mapping *is, size_t nr_is,
	bool (*fits)(const struct growth_mapping *a, const struct growth_mapping *b),
	int (*order)(const void *a, const void *b), struct err *e)
{
	size_t i = 0, k = 0;

	while (i < nr_was && k < nr_is) {
		if (was[i].is_matched) {
			i++;
		} else if (is[k].is_matched) {
			k++;
		} else if (fits(&was[i], &is[k]) && strcmp(was[i].part, is[k].part) == 0 &&
			strcmp(was[i].path, is[k].path) == 0) {
			if (growth_mappings_match(&was[i++], &is[k++], e) < 0)
				return -1;
		} else if (order(&was[i], &is[k]) < 0) {
			i++;
		} else {
			k++;
		}
	}
	return 0;
}

static bool
start_together(const struct growth_mapping *a, const struct growth_mapping *b)
{
	return a->start == b->start;
}

static bool
growth_mappings_end_together(const struct growth_mapping *a, const struct growth_mapping *b)
{
	return a->end == b->end;
}

static bool
growth_mappings_overlap(const struct growth_mapping *a, const struct growth_mapping *b)
{
	return a->start < b->end && b->start < a->end;
}

static int
name_rest(struct growth_mapping *v, size_t nr, const char *what, struct err *e)
{
	for (size_t i = 0; i < nr; i++)
		if (!v[i].is_matched && set_name(&v[i], v[i].row, what, e) < 0)
			return -1;
	return 0;
}

int
growth_match_mappings(json_t *was, json_t *is, struct err *e)
{
	auto_free struct growth_mapping *a = NULL, *b = NULL;
	size_t nr_a, nr_b;

	if (take_rows(was, &a, &nr_a, e) < 0 || take_rows(is, &b, &nr_b, e) < 0)
		return -1;
	/* A heap grows at its end; stacks, and areas from mmap(), grow at the start. */
	if (match_all(a, nr_a, b, nr_b, start_together, growth_mappings_by_start, e) < 0)
		return -1;
	qsort(a, nr_a, sizeof *a, by_end);
	qsort(b, nr_b, sizeof *b, by_end);
	if (match_all(a, nr_a, b, nr_b, growth_mappings_end_together, by_end, e) < 0 ||
		match_all(a, nr_a, b, nr_b, growth_mappings_overlap, by_end, e) < 0)
		return -1;
	return name_rest(a, nr_a, " (gone)", e) < 0 || name_rest(b, nr_b, " (new)", e) < 0 ? -1 : 0;
}

const char *
growth_mapping_name(json_t *row, char *buf, size_t size)
{
	const char *name = json_string_value(json_object_get(row, NAME));

	return name ? text_printable(name, buf, size) : NULL;
}
