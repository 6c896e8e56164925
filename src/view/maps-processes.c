/* 'memdiag maps' for several processes. */
#include <config.h>

#include "view/maps-processes.h"

#include <errno.h>

#include "os/machine.h"
#include "ui/json.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/maps-json.h"
#include "view/maps-text.h"

/* JSON names. */
static const char *const part_names[NR_PROCESS_PARTS] = {
	[PART_STACK] = "stack_rss_bytes",
	[PART_HEAP] = "heap_rss_bytes",
	[PART_FILES] = "files_rss_bytes",
	[PART_ANON] = "anon_rss_bytes",
	[PART_SHM] = "shm_rss_bytes",
};

/* ---- text ---- */

static int
maps_processes_add_columns(struct ui_table *table, unsigned int extras, struct err *e)
{
	static const char *const titles[] = { "VIRT", "RSS", "SWAP", "STACK", "HEAP", ".SO+FILES",
		"ANON", "SHM" };

	if (ui_table_column(table, "PID", true, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (ui_table_column(table, titles[i], true, e) < 0)
			return -1;
	for (int x = 0; x < NR_EXTRAS; x++)
		if (extras & 1U << x && ui_table_column(table, extra_columns[x].title, true, e) < 0)
			return -1;
	if (ui_table_column(table, "MAPPINGS", true, e) < 0)
		return -1;
	return ui_table_column(table, "NAME", false, e);
}

static int
maps_processes_size_cell(struct ui_table *table, const struct ui_options *ui, uint64_t bytes,
	bool is_known, struct err *e)
{
	return ui_table_cell(table, is_known ? UI_SIZE(ui, bytes) : "?", e);
}

static int
maps_processes_add_row(struct ui_table *table, const struct ui_options *ui,
	const struct process_sum *sum, unsigned int extras, struct err *e)
{
	char pid[24] = "", mappings[24] = "?";

	if (sum->pid)
		snprintf(pid, sizeof pid, "%d", (int)sum->pid);
	if (ui_table_row(table, e) < 0 || ui_table_cell(table, pid, e) < 0 ||
		maps_processes_size_cell(table, ui, sum->virt_bytes, true, e) < 0 ||
		maps_processes_size_cell(table, ui, sum->rss_bytes, true, e) < 0 ||
		maps_processes_size_cell(table, ui, sum->swap_bytes, true, e) < 0)
		return -1;
	for (int part = 0; part < NR_PROCESS_PARTS; part++)
		if (maps_processes_size_cell(table, ui, sum->part_bytes[part], sum->has_parts, e) <
			0)
			return -1;
	for (int x = 0; x < NR_EXTRAS; x++)
		if (extras & 1U << x &&
			maps_processes_size_cell(
				table, ui, sum->extra_bytes[x], sum->has_extra[x], e) < 0)
			return -1;
	if (sum->nr_mappings)
		snprintf(mappings, sizeof mappings, "%" PRIu64, sum->nr_mappings);
	return ui_table_cell(table, mappings, e) < 0 ? -1 : ui_table_cell(table, sum->name, e);
}

int
maps_processes_text(struct ui_output *out, const struct ui_options *ui,
	const struct process_sums *sums, const struct selection *selection, unsigned int extras,
	size_t limit, struct err *e)
{
	const struct process_sum total = process_sums_total(sums);
	auto_table struct ui_table *table = ui_table_new(out);
	const size_t shown = limit && limit < sums->nr ? limit : sums->nr;

	if (!table)
		return err_set(e, ENOMEM, "cannot make a table");
	maps_selection_text(out->f, selection);
	if (maps_processes_add_columns(table, extras, e) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (maps_processes_add_row(table, ui, &sums->v[i], extras, e) < 0)
			return -1;
	if (maps_processes_add_row(table, ui, &total, extras, e) < 0 ||
		ui_table_print(table, e) < 0)
		return -1;
	ui_print_more(out->f, sums->nr - shown);
	fprintf(out->f,
		"STACK to SHM are resident. The total RSS counts a shared page once for each "
		"process; %s.\n",
		extras & 1U << EXTRA_PSS ? "the total PSS does not" : "PSS (--pss) does not");
	if (os_max_mappings())
		fprintf(out->f, "Each process may have %" PRIu64 " mappings (vm.max_map_count).\n",
			os_max_mappings());
	return 0;
}

/* ---- JSON ---- */

static void
maps_processes_set_bytes(json_t *to, const char *key, uint64_t bytes, bool is_known)
{
	json_object_set_new_nocheck(to, key, is_known ? ui_json_number(bytes) : json_null());
}

static json_t *
sum_to_json(const struct process_sum *sum, bool has_pss)
{
	json_t *row = json_object();

	if (sum->pid) {
		json_object_set_new(row, "pid", json_integer(sum->pid));
		json_object_set_new(row, "name", ui_json_text(sum->name));
	}
	maps_processes_set_bytes(row, "virt_bytes", sum->virt_bytes, true);
	maps_processes_set_bytes(row, "rss_bytes", sum->rss_bytes, true);
	maps_processes_set_bytes(row, "swap_bytes", sum->swap_bytes, true);
	maps_processes_set_bytes(row, "hugetlb_bytes", sum->hugetlb_bytes, true);
	for (int part = 0; part < NR_PROCESS_PARTS; part++)
		maps_processes_set_bytes(
			row, part_names[part], sum->part_bytes[part], sum->has_parts);
	for (int x = 0; x < NR_EXTRAS; x++)
		if (!extra_columns[x].is_of_smaps || has_pss)
			maps_processes_set_bytes(row, extra_columns[x].member, sum->extra_bytes[x],
				sum->has_extra[x]);
	maps_processes_set_bytes(row, "mappings", sum->nr_mappings, sum->nr_mappings);
	if (sum->pid)
		maps_processes_set_bytes(row, "max_mappings", os_max_mappings(), os_max_mappings());
	return row;
}

int
maps_processes_json(struct ui_output *out, const struct process_sums *sums,
	const struct selection *selection, bool has_pss, const struct warnings *warnings,
	struct err *e)
{
	json_auto_t *document = ui_json_new("maps", NULL);
	json_t *data = json_object_get(document, "data"), *processes = json_array();
	const struct process_sum total = process_sums_total(sums);

	for (size_t i = 0; i < sums->nr; i++)
		json_array_append_new(processes, sum_to_json(&sums->v[i], has_pss));
	json_object_set_new(data, "by", json_string("process"));
	json_object_set_new(data, "filter", selection_to_json(selection));
	json_object_set_new(data, "totals", sum_to_json(&total, has_pss));
	if (json_object_set_new(data, "processes", processes) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	warnings_to_json(warnings, document);
	return ui_json_print(document, out, e);
}
