/* Convert the rows of 'memdiag maps' to JSON and back. */
#include <config.h>

#include "view/maps-json.h"

#include "account/growth-lists.h"
#include "account/growth-mappings.h"
#include "account/sums.h"
#include "base/array.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "maps/identities.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/repeats.h"
#include "os/machine.h"
#include "ui/json.h"
#include "view/growth.h"
#include "view/maps-file.h"

#include <errno.h>
#include <string.h>

static void
maps_json_set_bytes(json_t *to, const char *key, uint64_t bytes)
{
	json_object_set_new_nocheck(to, key, ui_json_number(bytes));
}

/* Set the number, null if it could not be counted. */
static void
set_counted(json_t *to, const char *key, uint64_t bytes, bool is_known)
{
	json_object_set_new_nocheck(to, key, is_known ? ui_json_number(bytes) : json_null());
}

static void
set_where(
	json_t *to, const struct leaf *l, const struct space *s, const struct user_classes *classes)
{
	const struct region *r = &s->process->maps.region[l->region];
	const char *own = leaf_user_class(classes, s, l);

	json_object_set_new_nocheck(to, "start", ui_json_address(l->start));
	json_object_set_new_nocheck(to, "end", ui_json_address(l->end));
	json_object_set_new_nocheck(to, "prot", json_string(r->prot));
	json_object_set_new_nocheck(
		to, "path", r->path ? json_incref(json_object_get(to, "name")) : json_null());
	json_object_set_new_nocheck(to, "class",
		own ? ui_json_string(own)
		    : json_string_nocheck(group_name(leaf_kind_group(l->kind))));
	json_object_set_new_nocheck(to, "part", json_string_nocheck(leaf_kind_name(l->kind)));
	json_object_set_new_nocheck(
		to, "arena", l->arena < 0 ? json_null() : json_integer(l->arena));
	json_object_set_new_nocheck(to, "tid", l->tid ? json_integer(l->tid) : json_null());
}

static json_t *
maps_json_row_to_json(const struct row *r, const struct space *s)
{
	bool has_rss = s->rss_from != SPACE_RSS_NONE;
	bool has_swap = has_rss && space_knows(s, SMAPS_SWAP);
	bool has_hugetlb = has_rss && space_knows(s, SMAPS_PRIVATE_HUGETLB);
	json_t *row = json_object();

	json_object_set_new_nocheck(row, "name", ui_json_string(r->name));
	maps_json_set_bytes(row, "virt_bytes", r->sum.size_bytes);
	set_counted(row, "rss_bytes", r->sum.rss_bytes, has_rss);
	set_counted(row, "swap_bytes", r->sum.swap_bytes, has_swap);
	set_counted(row, "hugetlb_bytes", r->sum.hugetlb_bytes, has_hugetlb);
	for (int x = 0; x < NR_EXTRAS; x++)
		if (!extra_columns[x].is_of_smaps || s->has_pss)
			set_counted(row, extra_columns[x].member, r->sum.extra_bytes[x],
				extra_is_known(s, (enum extra)x));
	if (r->has_unused)
		set_counted(row, "unused_stack_bytes", r->unused_bytes, rows_know_unused(s));
	maps_json_set_bytes(row, "count", r->sum.nr);
	json_object_set_new_nocheck(
		row, "confidence", json_string_nocheck(confidence_name(r->confidence)));
	return row;
}

/* Return "groups" of the document. */
static json_t *
maps_json_rows(const struct rows *r, const struct row *const *order, const struct space *s)
{
	json_t *groups = json_array(), *parts = NULL;

	for (size_t i = 0; i < r->nr; i++) {
		json_t *row = maps_json_row_to_json(order[i], s);

		if (order[i]->parent != NO_PARENT) {
			json_array_append_new(parts, row);
			continue;
		}
		if (i + 1 < r->nr && order[i + 1]->parent != NO_PARENT) {
			parts = json_array();
			json_object_set_new_nocheck(row, "parts", parts);
		}
		json_array_append_new(groups, row);
	}
	return groups;
}

static json_t *
leaf_to_json(const struct maps_report *r, uint32_t nr)
{
	const struct row leaf = row_of_leaf(r->s, nr);
	json_t *row = maps_json_row_to_json(&leaf, r->s);

	set_where(row, leaf.leaf, r->s, &r->selection->own);
	return row;
}

/* Return "mappings" of the document, BY_MAPPING. */
static json_t *
maps_json_leaves(const struct maps_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->nr_leaves; i++)
		json_array_append_new(list, leaf_to_json(r, r->leaves[i]));
	return list;
}

/* State for writing rows one by one. */
struct writer {
	const struct maps_report *report;
	size_t next;
};

/*
 * Return the next group with its parts, or the next mapping; NULL after the last:
 * ui_json_print_with().
 */
static json_t *
next_row(void *arg)
{
	struct writer *w = arg;
	const struct maps_report *r = w->report;
	json_t *row, *parts = NULL;

	if (r->by == BY_MAPPING)
		return w->next == r->nr_leaves ? NULL : leaf_to_json(r, r->leaves[w->next++]);
	if (w->next == r->rows->nr)
		return NULL;
	row = maps_json_row_to_json(r->order[w->next++], r->s);
	for (; w->next < r->rows->nr && r->order[w->next]->parent != NO_PARENT; w->next++) {
		if (!parts)
			json_object_set_new(row, "parts", parts = json_array());
		json_array_append_new(parts, maps_json_row_to_json(r->order[w->next], r->s));
	}
	return row;
}

/* ---- the document ---- */

json_t *
selection_to_json(const struct selection *sel)
{
	json_t *filter = json_object(), *classes = json_array();

	if (selection_is_all(sel)) {
		json_decref(filter);
		json_decref(classes);
		return json_null();
	}
	for (size_t i = 0; i < sel->classes.nr; i++)
		json_array_append_new(classes, ui_json_string(sel->classes.v[i]));
	json_object_set_new(filter, "classes", classes);
	json_object_set_new(
		filter, "object", sel->object ? ui_json_string(sel->object) : json_null());
	json_object_set_new(
		filter, "start", sel->has_range ? ui_json_address(sel->start) : json_null());
	json_object_set_new(
		filter, "end", sel->has_range ? ui_json_address(sel->end) : json_null());
	return filter;
}

static json_t *
totals_to_json(const struct space *s)
{
	const struct space_totals *t = &s->totals;
	bool has_rss = s->rss_from != SPACE_RSS_NONE;
	/* Without page counts use the kernel's numbers, which a file does not have. */
	bool is_counted = has_rss || !s->file;
	json_t *totals = json_object();

	maps_json_set_bytes(totals, "virt_bytes", t->virt_bytes);
	set_counted(
		totals, "rss_bytes", has_rss ? t->rss_bytes : s->after.vm_rss_bytes, is_counted);
	set_counted(totals, "swap_bytes", has_rss ? t->swap_bytes : s->after.vm_swap_bytes,
		is_counted && space_knows(s, SMAPS_SWAP));
	set_counted(totals, "hugetlb_bytes", has_rss ? t->hugetlb_bytes : s->after.hugetlb_bytes,
		is_counted && space_knows(s, SMAPS_PRIVATE_HUGETLB));
	set_counted(totals, "thp_bytes", t->huge_bytes, s->has_huge);
	set_counted(totals, "page_tables_bytes", s->after.vm_pte_bytes, !s->file);
	maps_json_set_bytes(totals, "mappings", space_nr_mappings(s));
	set_counted(totals, "max_mappings", os_max_mappings(), !s->file && os_max_mappings());
	if (s->has_pss) {
		set_counted(totals, "pss_bytes", t->pss_bytes, extra_is_known(s, EXTRA_PSS));
		set_counted(totals, "uss_bytes", t->uss_bytes, extra_is_known(s, EXTRA_USS));
		set_counted(totals, "dirty_bytes", t->dirty_bytes, extra_is_known(s, EXTRA_DIRTY));
		set_counted(
			totals, "locked_bytes", t->locked_bytes, extra_is_known(s, EXTRA_LOCKED));
	}
	return totals;
}

static json_t *
identities_to_json(const struct space *s)
{
	struct identity id[NR_IDENTITIES];
	size_t nr = space_identities(s, id);
	json_t *identities = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(identities,
			json_pack("{s:s, s:I, s:I, s:I, s:s?}", "name", id[i].name, "ours_bytes",
				(json_int_t)id[i].ours_bytes, "kernel_bytes",
				(json_int_t)id[i].kernel_bytes, "difference_bytes",
				(json_int_t)(id[i].ours_bytes - id[i].kernel_bytes), "explained_by",
				id[i].explained_by));
	return identities;
}

/* Return the allocator that serves malloc. */
static json_t *
malloc_to_json(const struct object *o)
{
	const char *name = o ? object_allocator(o) : NULL;

	if (!o)
		return json_null();
	return json_pack("{s:s?, s:o}", "name", name, "path", ui_json_string(o->path));
}

static json_t *
repeats_to_json(const struct repeats *r, const struct space *s)
{
	json_t *repeats = json_array();

	for (size_t i = 0; i < r->nr; i++) {
		json_t *repeat = json_object();

		json_object_set_new(repeat, "path", ui_json_string(r->v[i].path));
		maps_json_set_bytes(repeat, "virt_bytes", r->v[i].virt_bytes);
		set_counted(repeat, "rss_bytes", r->v[i].rss_bytes, s->rss_from != SPACE_RSS_NONE);
		json_array_append_new(repeats, repeat);
	}
	return repeats;
}

static const char *
source_name(enum space_rss from)
{
	static const char *const names[] = { "auto", "scan", "pagemap", "smaps", "none" };

	return names[from];
}

int
maps_show_json(struct ui_output *out, const struct maps_report *report, struct err *e)
{
	const struct space *s = report->s;
	const struct row shown = row_of_all(s, report->selection);
	struct writer writer = { .report = report };
	json_auto_t *document = ui_json_new("maps", report->t);
	json_t *data = json_object_get(document, "data");

	if (s->file)
		json_object_set_new(data, "from", maps_file_json(s));
	json_object_set_new(data, "by", json_string(rows_by_names[report->by]));
	json_object_set_new(data, "rss_from", json_string(source_name(s->rss_from)));
	json_object_set_new(data, "totals", totals_to_json(s));
	json_object_set_new(data, "filter", selection_to_json(report->selection));
	json_object_set_new(data, "shown", maps_json_row_to_json(&shown, s));
	json_object_set_new(data, "groups", json_array());
	if (report->by == BY_MAPPING)
		json_object_set_new(data, "mappings", json_array());
	if (report->since) {
		json_object_set_new(data, "changes", growth_to_json(report->growth));
		json_object_set(data, "since", json_object_get(report->since, "generated_at"));
	}
	json_object_set_new(data, "malloc", malloc_to_json(s->malloc_object));
	json_object_set_new(data, "repeats", repeats_to_json(report->repeats, s));
	json_object_set_new(data, "identities", identities_to_json(s));
	if (report->warnings)
		warnings_to_json(report->warnings, document);
	else if (s->rss_error.kind)
		ui_json_warn(document, true, "%s", s->rss_error.msg);
	if (s->memory_error.kind)
		ui_json_warn(document, true, "%s", s->memory_error.msg);
	return ui_json_print_with(document, report->by == BY_MAPPING ? "mappings" : "groups",
		next_row, &writer, out, e);
}

int
maps_totals_json(struct ui_output *out, const struct target *t, const struct os_status *s,
	const struct err *why, struct err *e)
{
	json_auto_t *document = ui_json_new("maps", t);
	json_t *data = json_object_get(document, "data");

	json_object_set_new(data, "totals",
		json_pack("{s:I, s:I, s:I, s:I, s:I}", "virt_bytes", (json_int_t)s->vm_size_bytes,
			"rss_bytes", (json_int_t)s->vm_rss_bytes, "swap_bytes",
			(json_int_t)s->vm_swap_bytes, "hugetlb_bytes", (json_int_t)s->hugetlb_bytes,
			"page_tables_bytes", (json_int_t)s->vm_pte_bytes));
	json_object_set_new(data, "groups", json_array());
	json_object_set_new(data, "identities", json_array());
	ui_json_warn(document, true, "%s", why->msg);
	return ui_json_print(document, out, e);
}

/* ---- growth ---- */

/* Return the column of maps_growth that sorts the table. */
static size_t
growth_column_of(enum rows_sort sort)
{
	static const size_t column[] = { [SORT_VIRT] = 0,
		[SORT_RSS] = 1,
		[SORT_SWAP] = 2,
		[SORT_HUGETLB] = 3,
		[SORT_COUNT] = 4,
		[SORT_NAME] = GROWTH_BY_NAME,
		[SORT_ADDRESS] = 0 };

	return column[sort];
}

int
maps_compare(struct maps_report *report, json_t *old, struct growth *growth, struct err *e)
{
	const bool by_mapping = report->by == BY_MAPPING;
	const struct growth_list *list = by_mapping ? &mappings_growth : &maps_growth;
	json_auto_t *now = by_mapping ? maps_json_leaves(report)
				      : maps_json_rows(report->rows, report->order, report->s);
	json_t *then = json_object_get(json_object_get(old, "data"), list->member);

	if ((by_mapping && growth_match_mappings(then, now, e) < 0) ||
		growth_find(growth, list, then, now, e) < 0)
		return err_context(e, "the saved output");
	growth_sort(growth, growth_column_of(report->sort));
	report->growth = growth;
	report->since = old;
	return 0;
}
