#include <config.h>

#include "view/family.h"

#include <errno.h>
#include <inttypes.h>

#include "ui/json.h"
#include "ui/table.h"
#include "ui/units.h"

static bool
family_has_limit(const struct family *f)
{
	return f->limit_bytes != INT64_MAX;
}

void
family_print_sum(const struct family *f, const struct ui_options *opt, FILE *to)
{
	fprintf(to, "%zu process%s, peak of all together at most %s", f->nr, f->nr == 1 ? "" : "es",
		UI_SIZE(opt, f->peak_bytes));
	if (family_has_limit(f))
		fprintf(to, ", limit for all %s", UI_SIZE(opt, (uint64_t)f->limit_bytes));
	if (f->nr_refused)
		fprintf(to, "; %" PRIu64 " call%s refused", f->nr_refused,
			f->nr_refused == 1 ? " was" : "s were");
	if (f->nr_lost)
		fprintf(to, "; %" PRIu64 " more are not listed", f->nr_lost);
	fputc('\n', to);
}

static int
family_add_row(struct ui_table *table, const struct family_member *m, const struct ui_options *opt,
	struct err *e)
{
	char pid[16], live[32], peak[32], blocks[32];

	snprintf(pid, sizeof pid, "%d", (int)m->pid);
	snprintf(blocks, sizeof blocks, "%" PRIu64, m->sum.nr_live);
	return ui_table_add(table, e, pid, ui_size(opt, m->sum.live_bytes, live, sizeof live),
		ui_size(opt, m->sum.peak_bytes, peak, sizeof peak), blocks,
		m->is_running ? "runs" : "ended", m->name, NULL);
}

int
family_print(const struct family *f, const struct ui_options *opt, struct ui_output *out,
	size_t max_rows, const char *option, struct err *e)
{
	auto_table struct ui_table *table = ui_table_new(out);
	const size_t nr = max_rows && max_rows < f->nr ? max_rows : f->nr;

	if (!table || ui_table_column(table, "PID", true, e) < 0 ||
		ui_table_column(table, "LIVE", true, e) < 0 ||
		ui_table_column(table, "PEAK", true, e) < 0 ||
		ui_table_column(table, "BLOCKS", true, e) < 0 ||
		ui_table_column(table, "STATE", false, e) < 0 ||
		ui_table_column(table, "PROGRAM", false, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++)
		if (family_add_row(table, &f->v[i], opt, e) < 0)
			return -1;
	if (ui_table_print(table, e) < 0)
		return -1;
	if (nr < f->nr)
		fprintf(out->f, "and %zu more with a lower peak; %s shows all\n", f->nr - nr,
			option);
	return 0;
}

static json_t *
member_json(const struct family_member *m)
{
	return json_pack("{s:i, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "pid", (int)m->pid,
		"program", ui_json_string(m->name), "is_running", m->is_running, "live_bytes",
		(json_int_t)m->sum.live_bytes, "mapped_bytes", (json_int_t)m->sum.mapped_bytes,
		"peak_bytes", (json_int_t)m->sum.peak_bytes, "blocks", (json_int_t)m->sum.nr_live,
		"blocks_allocated", (json_int_t)m->sum.nr_allocated, "blocks_freed",
		(json_int_t)m->sum.nr_freed, "refused", (json_int_t)m->nr_refused);
}

int
family_to_json(const struct family *f, json_t *data, struct err *e)
{
	json_t *list = json_array();
	json_t *family = json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:o}", "running",
		(json_int_t)f->nr_running, "live_bytes", (json_int_t)f->live_bytes,
		"peak_at_most_bytes", (json_int_t)f->peak_bytes, "limit_bytes",
		family_has_limit(f) ? json_integer((json_int_t)f->limit_bytes) : json_null(),
		"refused", (json_int_t)f->nr_refused, "not_listed", (json_int_t)f->nr_lost,
		"processes", list);

	for (size_t i = 0; i < f->nr; i++)
		json_array_append_new(list, member_json(&f->v[i]));
	return json_object_set_new(data, "family", family) < 0
		? err_set(e, ENOMEM, "cannot write JSON")
		: 0;
}
