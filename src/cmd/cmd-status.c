#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "agentctl/family.h"
#include "agentdata/agent-segment.h"
#include "agentdata/sampler-memory.h"
#include "base/cleanup.h"
#include "capture/log-record.h"
#include "cmd/batch.h"
#include "cmd/command.h"
#include "glibc/process.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status.h"
#include "os/target.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/table.h"
#include "ui/ui.h"
#include "ui/units.h"
#include "ui/warnings.h"
#include "view/counters.h"
#include "view/family.h"
#include "view/log-state.h"
#include "wire/totals.h"
#include "wire/wire.h"

#define DEFAULT_ROWS 16

struct cmd_status_options {
	struct ui_options ui;
	unsigned long max_rows;
};

/* A thread with counters. */
struct cmd_status_row {
	const struct wire_thread *counters;
	int64_t bytes;
	pid_t tid; /* in memdiag's PID namespace; 0: the thread has ended */
	char name[64];
};

struct status {
	struct target target;
	struct agent_segment agent;
	struct wire_totals totals;
	struct sampler_memory sampler;
	struct log_state log; /* log of a record */
	struct warnings warnings;
	struct family family; /* empty if the process is alone */
	struct cmd_status_row *row;
	size_t nr;
};

/* ---- options ---- */

static const struct ui_option options[] = {
	{ "lines", 'n', "N", 1, "print at most N threads; 0 is all of them (16)", UI_NUMBER,
		UI_AT(struct cmd_status_options, max_rows) },
	{ 0 },
};

static const struct ui_child children[] = {
	{ &ui_several_syntax, offsetof(struct cmd_status_options, ui) },
	{ 0 },
};

static const struct ui_syntax cmd_status_syntax = {
	.options = options,
	.children = children,
	.args_doc = "[PID...]",
	.doc = "Print what the agent has counted in a process that was started with 'memdiag "
	       "run', passed to 'memdiag count start', or had the agent preloaded: bytes, blocks, "
	       "mappings, the peak, its limit, and the bytes of each thread.\vNothing is stopped and "
	       "nothing is changed in the process.\n\n"
	       "Examples:\n"
	       "  memdiag status --pid 1234\n"
	       "  memdiag status --pid 1234 --json\n"
	       "  memdiag status --pid worker --all\n\n"
	       "Each thread counts its own allocations and frees, so the bytes of a thread may be "
	       "negative; the sum of all is what is in use.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- collecting ---- */

static void
status_release(struct status *s)
{
	free(s->row);
	warnings_release(&s->warnings);
	family_release(&s->family);
	agent_segment_release(&s->agent);
	target_release(&s->target);
}

static int
read_counters(struct status *s, struct err *e)
{
	const struct target *t = &s->target;
	auto_process struct process p = { 0 };
	struct err why;

	if (process_read(&p, t, e) < 0 || agent_segment_read(&s->agent, &p, e) < 0)
		return -1;
	if (!s->agent.object_at.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) does not have memdiag's agent: there are no counters. "
			"Start it with 'memdiag run'; "
			"of a process as it is, 'memdiag info' shows what malloc has",
			t->pid, t->comm);
	if (s->agent.is_parents)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is a child of a process that the agent counts in, and is not counted itself: see 'memdiag run --follow-children'",
			t->pid, t->comm);
	if (!s->agent.segment)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) has memdiag's agent, which does not count: it was not asked to, or cannot stand in front of this malloc",
			t->pid, t->comm);
	wire_add_up(s->agent.segment, s->agent.nr_threads, &s->totals);
	/* Print the period with the counters; they do not depend on it. */
	if (sampler_memory_read(&s->sampler, &p, &s->agent, &why) < 0)
		warnings_add(
			&s->warnings, true, "cannot determine what the sampler takes: %s", why.msg);
	if (s->agent.sites_at.v)
		log_record_look(t, s->agent.sites_at, &s->log);
	log_state_warn(&s->log, &s->warnings);
	return family_find(&s->family, t, &p.objects, e);
}

/* ---- threads ---- */

/*
 * Return the thread of NR TIDS whose number in its own namespace, from INNER, is WANTED; 0 if not
 * found.  The agent stores those numbers.
 */
static pid_t
find_tid(const pid_t *tids, const pid_t *inner, size_t nr, uint32_t wanted)
{
	for (size_t i = 0; i < nr; i++)
		if ((uint32_t)inner[i] == wanted)
			return tids[i];
	return 0;
}

/* Return the thread whose stack contains the place with LIST; 0 if no thread does. */
static pid_t
find_owner(const raddr *lists, const pid_t *tids, size_t nr, uint64_t list)
{
	for (size_t i = 0; i < nr; i++)
		if (lists[i].v == list)
			return tids[i];
	return 0;
}

static raddr *
robust_lists(const struct target *t, const pid_t *tids, size_t nr)
{
	raddr *lists = calloc(nr ? nr : 1, sizeof *lists);

	for (size_t i = 0; lists && i < nr; i++)
		if (os_robust_list(t, tids[i], &lists[i]) < 0)
			lists[i] = (raddr){ 0 };
	return lists;
}

/* Return the threads' numbers in the innermost namespace. */
static pid_t *
inner_tids(const struct target *t, const pid_t *tids, size_t nr)
{
	pid_t *inner = calloc(nr ? nr : 1, sizeof *inner);
	struct os_status s;
	struct err e;
	bool is_inside = os_status(t, 0, &s, &e) == 0 && s.nr_pid_namespaces > 1;

	for (size_t i = 0; inner && i < nr; i++)
		inner[i] = is_inside && os_status(t, tids[i], &s, &e) == 0 ? s.inner_tid : tids[i];
	return inner;
}

static int
by_bytes(const void *a, const void *b)
{
	const struct cmd_status_row *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int
make_rows(struct status *s, struct err *e)
{
	const struct agent_segment *c = &s->agent;
	auto_free pid_t *tids = NULL, *inner = NULL;
	auto_free raddr *lists = NULL;
	size_t nr = 0;

	if (os_threads(&s->target, WIRE_MAX_THREADS, &tids, &nr, e) < 0)
		return -1;
	inner = inner_tids(&s->target, tids, nr);
	lists = robust_lists(&s->target, tids, nr);
	s->row = calloc(c->nr_threads ? c->nr_threads : 1, sizeof *s->row);
	if (!s->row || !inner || !lists)
		return err_set(e, ENOMEM, "cannot list the threads");
	for (uint32_t i = 0; i < c->nr_threads; i++) {
		struct cmd_status_row *r = &s->row[s->nr];
		const char *why;

		r->counters = &wire_threads(c->segment)[i];
		if (!r->counters->nr_allocated && !r->counters->live_bytes)
			continue;
		r->bytes = (int64_t)((uint64_t)r->counters->live_bytes -
			(uint64_t)r->counters->first_bytes);
		r->tid = r->counters->robust_list
			? find_owner(lists, tids, nr, r->counters->robust_list)
			: find_tid(tids, inner, nr, r->counters->tid);
		/*
		 * Name the row of place I.  Place 0 counts threads that found no place, and a
		 * parent's calls before a fork.
		 */
		why = i == 0 ? "(others, or before a fork)" : "(has ended)";
		if (r->tid)
			os_thread_name(&s->target, r->tid, r->name, sizeof r->name);
		else
			snprintf(r->name, sizeof r->name, "%s", why);
		s->nr++;
	}
	qsort(s->row, s->nr, sizeof *s->row, by_bytes);
	return 0;
}

/* ---- printing ---- */

static int
print_threads(const struct status *s, const struct cmd_status_options *opt, struct ui_output *out,
	struct err *e)
{
	auto_table struct ui_table *table = ui_table_new(out);
	size_t nr = opt->max_rows && opt->max_rows < s->nr ? opt->max_rows : s->nr;
	char tid[16], bytes[32], allocated[32], freed[32];

	if (!table || ui_table_column(table, "TID", true, e) < 0 ||
		ui_table_column(table, "HAS", true, e) < 0 ||
		ui_table_column(table, "ALLOCATED", true, e) < 0 ||
		ui_table_column(table, "FREED", true, e) < 0 ||
		ui_table_column(table, "THREAD", false, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		const struct cmd_status_row *r = &s->row[i];

		snprintf(tid, sizeof tid, r->tid ? "%d" : "-", r->tid);
		snprintf(allocated, sizeof allocated, "%" PRIu64, r->counters->nr_allocated);
		snprintf(freed, sizeof freed, "%" PRIu64, r->counters->nr_freed);
		if (r->bytes < 0)
			ui_size_change(&opt->ui, r->bytes, bytes, sizeof bytes);
		else
			ui_size(&opt->ui, (uint64_t)r->bytes, bytes, sizeof bytes);
		if (ui_table_add(table, e, tid, bytes, allocated, freed, r->name, NULL) < 0)
			return -1;
	}
	fputc('\n', out->f);
	if (ui_table_print(table, e) < 0)
		return -1;
	if (nr < s->nr)
		ui_print_more(out->f, s->nr - nr);
	return 0;
}

static int
print_text(const struct status *s, const struct cmd_status_options *opt, struct ui_output *out,
	struct err *e)
{
	fprintf(out->f, "%s %d\n", s->target.comm, (int)s->target.pid);
	counters_print(s->agent.segment, &s->totals, &opt->ui, out->f);
	counters_print_sampler(&s->sampler, &opt->ui, out->f);
	log_state_print(&s->log, &opt->ui, out->f);
	if (s->nr && print_threads(s, opt, out, e) < 0)
		return -1;
	if (s->family.nr < 2)
		return 0;
	fputc('\n', out->f);
	family_print_sum(&s->family, &opt->ui, out->f);
	return family_print(&s->family, &opt->ui, out, opt->max_rows, "-n 0", e);
}

static json_t *
cmd_status_row_to_json(const struct cmd_status_row *r)
{
	return json_pack("{s:o, s:o, s:I, s:I, s:I}", "tid",
		r->tid ? json_integer(r->tid) : json_null(), "name", ui_json_text(r->name), "bytes",
		(json_int_t)r->bytes, "blocks_allocated", (json_int_t)r->counters->nr_allocated,
		"blocks_freed", (json_int_t)r->counters->nr_freed);
}

/* Build the document, which the caller frees; NULL with E. */
static json_t *
status_to_json(const struct status *s, struct err *e)
{
	json_auto_t *document = ui_json_new("status", &s->target);
	json_t *data = json_object_get(document, "data"), *list = json_array();

	for (size_t i = 0; i < s->nr; i++)
		json_array_append_new(list, cmd_status_row_to_json(&s->row[i]));
	if (counters_to_json(s->agent.segment, &s->totals, data, e) < 0)
		return NULL;
	if (s->family.nr && family_to_json(&s->family, data, e) < 0)
		return NULL;
	if (json_object_set_new(data, "sampler", counters_sampler_to_json(&s->sampler)) < 0 ||
		json_object_set_new(data, "log", log_state_json(&s->log)) < 0 ||
		json_object_set_new(data, "threads", list) < 0) {
		err_set(e, ENOMEM, "cannot write JSON");
		return NULL;
	}
	warnings_to_json(&s->warnings, document);
	return json_incref(document);
}

static int
cmd_status_print_json(const struct status *s, struct ui_output *out, struct err *e)
{
	json_auto_t *document = status_to_json(s, e);

	return document ? ui_json_print(document, out, e) : -1;
}

static int
read_status(struct status *s, pid_t pid, struct err *e)
{
	if (target_open(&s->target, pid, e) < 0 || os_check_memory(&s->target, e) < 0 ||
		read_counters(s, e) < 0)
		return -1;
	return make_rows(s, e);
}

/* ---- several processes ---- */

static const struct batch_column columns[] = {
	{ "RSS", "process.rss_bytes", "rss_bytes", BATCH_BYTES },
	{ "HAS", "data.live_bytes", "live_bytes", BATCH_BYTES },
	{ "PEAK", "data.peak_bytes", "peak_bytes", BATCH_BYTES },
	{ "MAPPED", "data.mapped_bytes", "mapped_bytes", BATCH_BYTES },
	{ "BLOCKS", "data.blocks", "blocks", BATCH_COUNT },
	{ "ALLOCATED", "data.blocks_allocated", "blocks_allocated", BATCH_COUNT },
	{ "FREED", "data.blocks_freed", "blocks_freed", BATCH_COUNT },
	{ 0 },
};

static json_t *
status_of_one(pid_t pid, void *arg, struct err *e)
{
	const struct cmd_status_options *opt = arg;
	__attribute__((cleanup(status_release))) struct status s = { .target = TARGET_NONE };

	deadline_set(opt->ui.timeout_ns);
	return read_status(&s, pid, e) < 0 ? NULL : status_to_json(&s, e);
}

/* ---- the command ---- */

static int
cmd_status_run(int argc, char **argv, struct err *e)
{
	struct cmd_status_options opt = { .max_rows = DEFAULT_ROWS };
	__attribute__((cleanup(status_release))) struct status s = { .target = TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&cmd_status_syntax, argc, argv, &opt);
	deadline_set(opt.ui.timeout_ns);
	if (ui_is_several(&opt.ui)) {
		const struct batch what = { "status", "reading the counters", columns, opt.max_rows,
			status_of_one, &opt };

		return batch_run(&what, &opt.ui, e);
	}
	if (ui_find_process(&opt.ui, e) < 0 || ui_output_open(&out, &opt.ui, e) < 0 ||
		read_status(&s, opt.ui.pid, e) < 0)
		return -1;
	if ((opt.ui.json ? cmd_status_print_json(&s, &out, e) : print_text(&s, &opt, &out, e)) < 0)
		return -1;
	if (ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&s.warnings, &opt.ui);
	return s.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_status = {
	.name = "status",
	.summary = "what the agent has counted in a process",
	.touch = CMD_READS_TARGET,
	.syntax = &cmd_status_syntax,
	.run = cmd_status_run,
};
