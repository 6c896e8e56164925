/* The rows of 'memdiag maps' as JSON, there and back. */
#include <config.h>

#include "cmd/maps-show.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "ui/ui.h"

static void
set_bytes(json_t *to, const char *key, uint64_t bytes)
{
	json_object_set_new(to, key, ui_json_number(bytes));
}

/* Numbers that could not be counted are null, not 0. */
static void
set_counted(json_t *to, const char *key, uint64_t bytes, bool is_known)
{
	json_object_set_new(to, key, is_known ? ui_json_number(bytes) : json_null());
}

static void
set_where(json_t *to, const struct leaf *l, const struct space *s)
{
	const struct region *r = &s->maps.region[l->region];

	json_object_set_new(to, "start", ui_json_address(l->start));
	json_object_set_new(to, "end", ui_json_address(l->end));
	json_object_set_new(to, "prot", ui_json_string(r->prot));
	json_object_set_new(to, "path", r->path ? ui_json_string(r->path) : json_null());
	json_object_set_new(to, "class", json_string(group_name(leaf_kind_group(l->kind))));
	json_object_set_new(to, "part", json_string(leaf_kind_name(l->kind)));
	json_object_set_new(to, "arena", l->arena < 0 ? json_null() : json_integer(l->arena));
	json_object_set_new(to, "tid", l->tid ? json_integer(l->tid) : json_null());
}

static json_t *
row_to_json(const struct row *r, const struct space *s)
{
	bool has_rss = s->rss_from != SPACE_RSS_NONE;
	json_t *row = json_object();

	json_object_set_new(row, "name", ui_json_string(r->name));
	set_bytes(row, "virt_bytes", r->virt_bytes);
	set_counted(row, "rss_bytes", r->rss_bytes, has_rss);
	set_counted(row, "swap_bytes", r->swap_bytes, has_rss);
	set_counted(row, "hugetlb_bytes", r->hugetlb_bytes, has_rss);
	set_counted(row, "thp_bytes", r->huge_bytes, has_rss);
	if (s->has_pss) {
		set_bytes(row, "pss_bytes", r->pss_bytes);
		set_bytes(row, "uss_bytes", r->uss_bytes);
	}
	if (r->has_unused)
		set_counted(row, "unused_stack_bytes", r->unused_bytes, rows_know_unused(s));
	set_bytes(row, "count", r->count);
	json_object_set_new(row, "confidence", json_string(confidence_name(r->confidence)));
	if (r->leaf)
		set_where(row, r->leaf, s);
	return row;
}

json_t *
rows_to_json(const struct rows *r, const struct row *const *order, const struct space *s)
{
	json_t *groups = json_array(), *parts = NULL;

	for (size_t i = 0; i < r->nr; i++) {
		json_t *row = row_to_json(order[i], s);

		if (order[i]->parent != NO_PARENT) {
			json_array_append_new(parts, row);
			continue;
		}
		if (i + 1 < r->nr && order[i + 1]->parent != NO_PARENT) {
			parts = json_array();
			json_object_set_new(row, "parts", parts);
		}
		json_array_append_new(groups, row);
	}
	return groups;
}

const struct growth_list maps_growth = {
	.member = "groups",
	.title = "GREW",
	.name = growth_name,
	.column = {
		{ "virt_bytes", "VIRT", false },
		{ "rss_bytes", "RSS", false },
		{ "swap_bytes", "SWAP", false },
		{ "hugetlb_bytes", "HUGETLB", true },
		{ "count", "COUNT", false },
	},
	.sort = 1,
};

/* ---- the document ---- */

static json_t *
totals_to_json(const struct space *s)
{
	const struct space_totals *t = &s->totals;
	bool has_rss = s->rss_from != SPACE_RSS_NONE;
	json_t *totals = json_object();

	set_bytes(totals, "virt_bytes", t->virt_bytes);
	set_bytes(totals, "rss_bytes", has_rss ? t->rss_bytes : s->after.vm_rss_bytes);
	set_bytes(totals, "swap_bytes", has_rss ? t->swap_bytes : s->after.vm_swap_bytes);
	set_bytes(totals, "hugetlb_bytes", has_rss ? t->hugetlb_bytes : s->after.hugetlb_bytes);
	set_counted(totals, "thp_bytes", t->huge_bytes, has_rss);
	set_bytes(totals, "page_tables_bytes", s->after.vm_pte_bytes);
	if (s->has_pss) {
		set_bytes(totals, "pss_bytes", t->pss_bytes);
		set_bytes(totals, "uss_bytes", t->uss_bytes);
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

/* Who serves malloc. */
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
		set_bytes(repeat, "virt_bytes", r->v[i].virt_bytes);
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
	json_auto_t *document = ui_json_new("maps", report->t);
	json_t *data = json_object_get(document, "data");

	json_object_set_new(data, "by", json_string(rows_by_names[report->by]));
	json_object_set_new(data, "rss_from", json_string(source_name(s->rss_from)));
	json_object_set_new(data, "totals", totals_to_json(s));
	json_object_set_new(data, "groups", json_array());
	json_object_set_new(data, report->by == BY_MAPPING ? "mappings" : "groups",
		rows_to_json(report->rows, report->order, s));
	if (report->since) {
		json_object_set_new(data, "changes", growth_to_json(report->growth));
		json_object_set(data, "since", json_object_get(report->since, "generated_at"));
	}
	json_object_set_new(data, "malloc", malloc_to_json(s->malloc_object));
	json_object_set_new(data, "repeats", repeats_to_json(report->repeats, s));
	json_object_set_new(data, "identities", identities_to_json(s));
	if (s->rss_error.kind)
		ui_json_warn(document, true, "%s", s->rss_error.msg);
	return ui_json_print(document, out, e);
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
			(json_int_t)s->vm_swap_bytes, "hugetlb_bytes",
			(json_int_t)s->hugetlb_bytes, "page_tables_bytes",
			(json_int_t)s->vm_pte_bytes));
	json_object_set_new(data, "groups", json_array());
	json_object_set_new(data, "identities", json_array());
	ui_json_warn(document, true, "%s", why->msg);
	return ui_json_print(document, out, e);
}
