#include <config.h>

#include "cmd/report-work.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agentdata/agent-segment.h"
#include "agentdata/collect.h"
#include "agentdata/live-files.h"
#include "agentdata/sites.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "capture/wait.h"
#include "cmd/live-blocks.h"
#include "glibc/process.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "profile/write-heap.h"
#include "recording/parts.h"
#include "recording/profiles.h"
#include "recording/recording-open.h"
#include "report/report.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/limits.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/units.h"
#include "wire/wire.h"

/*
 * Words of --value, and the prefixes of the types they select; the last one is for chosen blocks
 * only.
 */
static const struct {
	const char *word, *prefix;
} values[] = {
	{ "in-use", "inuse" },
	{ "allocated", "alloc" },
	{ "peak", "peak" },
	{ "temporary", "temporary" },
	{ "mapped", "mapped" },
	{ "mapped-allocated", "mapped_alloc" },
	{ "possible", "possible" },
};

/* ---- options ---- */

static const char *
report_work_value(size_t i)
{
	return i < sizeof values / sizeof *values - 1 ? values[i].word : NULL;
}

void
report_work_set_format(
	struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	const struct report_format **format = (void *)((char *)input + row->at);
	/* without an argument the option itself is the word */
	const struct report_format *new = report_format_find(arg ? arg : row->words[0]);

	if (!new)
		ui_option_refuse(state, row, arg);
	if (*format && *format != new)
		argp_error(state, "two formats: one at a time");
	*format = new;
}

static const struct ui_option options[] = {
	{ "format", 0, "FORMAT", 2, "write {words}", UI_WORD,
		offsetof(struct report_work, io.format), .word = report_format_word,
		.note = report_format_note, .set = report_work_set_format,
		.wrong = "is not a format" },
	{ "open", 0, NULL, 2,
		"write a page (--format=html) to a temporary file, and open it with xdg-open",
		UI_FLAG, UI_AT(struct report_work, opens) },
	{ "value", 0, "VALUE", 3,
		"add up in-use, allocated, peak or temporary memory of malloc, mapped or "
		"mapped-allocated memory of mmap, or a type of the file (in-use)",
		UI_STRING, UI_AT(struct report_work, value), .word = report_work_value },
	{ 0 },
};

static const struct ui_child children[] = {
	{ &profile_io_syntax, offsetof(struct report_work, io) },
	{ &redaction_syntax, offsetof(struct report_work, redaction) },
	{ 0 },
};

const struct ui_syntax report_work_syntax = { .options = options, .children = children };

/* ---- the type of value ---- */

/* Return the type selected by --value, written to BUF if needed; the file's default otherwise. */
static const char *
type_name(const struct report_work *w, const struct profile *p, char *buf, size_t size)
{
	const char *shown = p->types.v[p->default_type].name, *prefix = w->value;
	const char *under = strrchr(shown, '_');

	for (size_t i = 0; prefix && i < sizeof values / sizeof *values; i++)
		if (strcmp(values[i].word, prefix) == 0) {
			snprintf(buf, size, "%s_%s", values[i].prefix,
				w->io.objects ? "objects" : "space");
			return buf;
		}
	if (prefix)
		snprintf(buf, size, "%s", prefix);
	else if (w->io.objects)
		/* "inuse_space"; some writers have plain "space" and "objects" */
		snprintf(buf, size, "%.*sobjects", under ? (int)(under + 1 - shown) : 0, shown);
	else
		snprintf(buf, size, "%s", shown);
	return buf;
}

static int
find_type(const struct report_work *w, const struct profile *p, size_t *ret, struct err *e)
{
	char name[128], shown[128], has[256] = "", one[64];
	int type = profile_find_type(p, type_name(w, p, name, sizeof name));

	if (w->has_choice && w->value && strcmp(w->value, "in-use") != 0 &&
		strcmp(w->value, "possible") != 0)
		return err_set_kind(e, ERR_USAGE, 0,
			"--value: of chosen blocks there are in-use and, by age, possible");

	if (type >= 0) {
		*ret = (size_t)type;
		return 0;
	}
	for (size_t i = 0; i < p->types.nr; i++) {
		size_t len = strlen(has);

		snprintf(has + len, sizeof has - len, "%s%s", i ? ", " : "",
			text_printable(p->types.v[i].name, one, sizeof one));
	}
	return err_set_kind(e, ERR_USAGE, 0, "'%s' has no values of type %s; it has %s", w->file,
		text_printable(name, shown, sizeof shown), has);
}

/* ---- reading ---- */

/* Copy the sites of P, which is a record if IS_RECORD. */
static int
read_sites(struct sites_copy *ret, const struct process *p, bool is_record,
	struct warnings *warn_to, struct err *e)
{
	auto_agent_segment struct agent_segment agent = { 0 };
	const struct target *t = p->target;

	if (!is_record)
		return sites_read_process(ret, p, e);
	if (agent_segment_read(&agent, p, e) < 0)
		return -1;
	if (!agent.sites_at.v || agent.is_parents) {
		err_set_kind(
			e, ERR_UNSUPPORTED, 0, "%d (%s) has not been recorded", t->pid, t->comm);
		return err_hint(e, "'memdiag record start -p %d' begins to", t->pid);
	}
	if (sites_read_target(ret, t, agent.sites_at, e) < 0)
		return -1;
	if (wire_capture_of(ret->head.period_bytes) == WIRE_PROFILE) {
		err_set_kind(e, ERR_UNSUPPORTED, 0, "what was noted last in %d (%s) is a profile",
			t->pid, t->comm);
		return err_hint(e, "'memdiag report --pid %d' shows it", t->pid);
	}
	if (agent.segment->noting != WIRE_NOTE_ALL)
		warnings_add(warn_to, false,
			"%d (%s) is not recorded any more: these numbers are from when it was stopped",
			t->pid, t->comm);
	return 0;
}

/* True if single blocks from the memory of the process are requested. */
static bool
wants_live_set(const struct report_work *w)
{
	return w->nr_addresses || (w->has_choice && !w->choice.has_age);
}

/* The other results for a process. */
struct process_report {
	struct profile *p;
	struct report_blocks addresses;
	struct history_chosen *chosen;
};

static int
read_live_set(
	struct live_set *s, const struct process *p, const struct sites_copy *sites, struct err *e)
{
	auto_agent_segment struct agent_segment agent = { 0 };

	if (agent_segment_read(&agent, p, e) < 0)
		return -1;
	if (!agent.segment || agent.segment->noting != WIRE_NOTE_ALL) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is not recorded any more: its blocks are no longer known one by one",
			(int)p->target->pid, p->target->comm);
		return err_hint(
			e, "'memdiag record report DIR' reads them from its log, if it had one");
	}
	return live_set_read(s, p, &agent, sites->nr_sites, e);
}

/* Make a profile of SITES, and find the addresses that W requests.  Returns 0, or -1 with E. */
static int
report_work_collect(struct process_report *ret, const struct report_work *w,
	struct sites_copy *sites, const struct process *p, struct err *e)
{
	auto_live_set struct live_set set = { .v = NULL };
	auto_free uint32_t *stack_of = malloc((sites->nr_sites + 1) * sizeof *stack_of);

	if (!stack_of)
		return err_set(e, ENOMEM, "cannot list blocks");
	memset(stack_of, 0xff, (sites->nr_sites + 1) * sizeof *stack_of);
	if (wants_live_set(w) && read_live_set(&set, p, sites, e) < 0)
		return -1;
	if (w->has_choice)
		live_blocks_choose(sites, &set, &w->choice, ret->chosen);
	/* Symbols take longer to find, and are not read from the process. */
	deadline_set(w->ui.files_timeout_ns);
	if (profile_collect_stacks(&ret->p, sites, p, stack_of, e) < 0 ||
		live_files_name(ret->p, p, &w->io.symbols, e) < 0)
		return -1;
	return !w->nr_addresses
		? 0
		: live_blocks_list(&ret->addresses, &set, sites, ret->p, stack_of, &w->choice,
			  w->io.calls.focus, w->io.calls.ignore, w->nr_addresses, e);
}

/* Read the sites of the process in W without stopping it; store its name and PID in NAME. */
static int
report_work_read_process(struct process_report *ret, struct report_work *w, char *name, size_t size,
	struct warnings *warn_to, struct err *e)
{
	auto_target struct target t = TARGET_NONE;
	auto_process struct process p = { .target = &t };
	auto_sites struct sites_copy sites = { .nr_nodes = 0 };

	deadline_set(w->ui.timeout_ns);
	if ((!w->ui.pid && ui_find_process(&w->ui, e) < 0) || target_open(&t, w->ui.pid, e) < 0 ||
		process_read(&p, &t, e) < 0 || read_sites(&sites, &p, w->is_record, warn_to, e) < 0)
		return -1;
	snprintf(name, size, "%s %d", t.comm, (int)t.pid);
	w->file = name;
	return report_work_collect(ret, w, &sites, &p, e);
}

static int
open_recording(
	struct recording **ret, struct report_work *w, char *name, size_t size, struct err *e)
{
	char shown[300];
	int found;

	if (!w->file) {
		deadline_set(w->ui.timeout_ns);
		if (w->open_log(ret, &w->ui, name, size, e) < 0)
			return err_hint(e, "Ages are in a log alone");
		w->file = name;
		deadline_set(w->ui.files_timeout_ns);
		return 0;
	}
	found = recording_open(ret, w->file, e);
	if (found)
		return found < 0 ? -1 : 0;
	err_set_kind(e, ERR_UNSUPPORTED, 0,
		"'%s' has sums of blocks, and neither ages nor single sizes",
		text_printable(w->file, shown, sizeof shown));
	return err_hint(
		e, "'memdiag record start --mode log-fast -o DIR' begins a log, which has them");
}

/* Warn of data missing in the log. */
static void
warn_of_choice(struct warnings *to, const struct report_work *w, const struct history_chosen *c)
{
	const struct amount more = amount_less(&c->possible, &c->certain);
	const bool is_any_size = w->choice.min_bytes == 0 && w->choice.max_bytes == UINT64_MAX;

	if (more.blocks)
		warnings_add(to, false,
			"%" PRId64
			" more blocks (%s) may be as old: of several blocks of one place "
			"and one size, the log does not say which one was freed; --value=possible "
			"has them",
			more.blocks, UI_SIZE(&w->ui, (uint64_t)more.bytes));
	if (c->unknown.blocks)
		warnings_add(to, !is_any_size,
			"%" PRId64 " blocks (%s) were in use when the log begins, and their single "
			"sizes are not known%s",
			c->unknown.blocks, UI_SIZE(&w->ui, (uint64_t)c->unknown.bytes),
			is_any_size ? "" : ": they are left out");
}

/* Read the chosen blocks of a log. */
static int
read_chosen(struct profile **ret, struct report_work *w, struct history_chosen *chosen, char *name,
	size_t size, struct warnings *warn_to, struct err *e)
{
	auto_recording struct recording *r = NULL;
	auto_history struct history h = { 0 };
	auto_progress struct ui_progress *progress = NULL;

	if (open_recording(&r, w, name, size, e) < 0)
		return -1;
	progress = ui_progress_begin(&w->ui, "reading the recording");
	(void)progress;
	if (history_read(&h, r, NULL, e) < 0 || history_choose(chosen, &h, r, &w->choice, e) < 0 ||
		history_chosen_profile(ret, chosen, r, e) < 0)
		return -1;
	warn_of_choice(warn_to, w, chosen);
	return symbols_find(*ret, &w->io.symbols, e);
}

/* Read the input of W.  The caller frees RET->p and RET->addresses.v, even on failure. */
static int
read_any(struct process_report *ret, struct report_work *w, char *name, size_t size,
	struct warnings *warn_to, struct err *e)
{
	if (w->has_choice && (w->file || w->choice.has_age))
		return read_chosen(&ret->p, w, ret->chosen, name, size, warn_to, e);
	return w->file ? profile_io_read(&ret->p, w->file, &w->io, &w->ui, e)
		       : report_work_read_process(ret, w, name, size, warn_to, e);
}

/* True if A and B may be two moments of one record; fields missing in a file do not count. */
static bool
is_same_record(const struct profile *a, const struct profile *b)
{
	return (!a->pid || !b->pid || a->pid == b->pid) &&
		(!a->time_ns || !b->time_ns || a->time_ns == b->time_ns);
}

static int
report_work_subtract(struct profile *p, const struct report_work *w, const char *type,
	struct warnings *warn_to, struct err *e)
{
	auto_profile struct profile *base = NULL;

	if (profile_io_read(&base, w->base, &w->io, &w->ui, e) < 0)
		return -1;
	profile_io_warn(warn_to, base);
	if (w->is_record && !is_same_record(p, base)) {
		err_set_kind(e, ERR_USAGE, 0,
			"'%s' is from another process, or from before the last start of the record",
			w->base);
		return err_hint(e, "'memdiag report NEW --base OLD' compares any two");
	}
	return profile_subtract(p, base, type, e) < 0
		? err_context(e, "cannot compare '%s' with '%s'", w->file, w->base)
		: 0;
}

/* ---- the command ---- */

/* Write P into OUT, which gets its final name when it is closed.  Do nothing if W does not save. */
static int
save(const struct profile *p, const struct report_work *w, struct ui_output *out, struct err *e)
{
	struct ui_options to = w->ui;

	if (!w->save)
		return 0;
	to.output = w->save;
	to.force |= w->base && strcmp(w->base, w->save) == 0;
	return ui_output_open(out, &to, e) < 0 ? -1 : heap_write(p, out->f, true, e);
}

/* Warn of missing samples: comments of a record that begin with a number report how many. */
static void
warn_of_missing(struct warnings *warn_to, const struct profile *p)
{
	char text[160];

	for (size_t i = 0; i < p->comments.nr; i++)
		if (isdigit((unsigned char)*p->comments.v[i]))
			warnings_add(warn_to, false, "%s",
				text_printable(p->comments.v[i], text, sizeof text));
}

/* A report before it is written. */
struct made_report {
	struct process_report read;
	struct warnings warnings;
	struct history_chosen chosen;
	struct redaction redaction;
	struct report_view v;
	char name[OS_COMM_BYTES + 16];
};

static void
made_report_release(struct made_report *m)
{
	profile_free(m->read.p);
	free(m->read.addresses.v);
	warnings_release(&m->warnings);
	warnings_release(&m->redaction.warnings);
	history_chosen_release(&m->chosen);
}
#define auto_made_report __attribute__((cleanup(made_report_release)))

/* Read the input of W, and write it to the file of --save.  The caller releases M in any case. */
static int
make_report(struct made_report *m, struct report_work *w, struct ui_output *saved, struct err *e)
{
	struct profile_io_options *r = &w->io;
	struct profile *p;

	m->read.chosen = &m->chosen;
	if (read_any(&m->read, w, m->name, sizeof m->name, &m->warnings, e) < 0)
		return -1;
	p = m->read.p;
	if (find_type(w, p, &r->calls.type, e) < 0)
		return -1;
	profile_io_warn(&m->warnings, p);
	if (w->is_record)
		warn_of_missing(&m->warnings, p);
	if (save(p, w, saved, e) < 0 ||
		(w->base &&
			report_work_subtract(
				p, w, p->types.v[r->calls.type].name, &m->warnings, e) < 0))
		return -1;
	m->v = (struct report_view){ .p = p,
		.ui = &w->ui,
		.file = w->file,
		.base = w->base,
		.choice = w->has_choice ? &w->choice : NULL,
		.chosen = &m->chosen,
		.addresses = w->nr_addresses ? &m->read.addresses : NULL };
	return redaction_apply(&m->redaction, &w->redaction, &m->read.p, &m->v, &m->warnings, e);
}

/* Write M to OUT.  Returns 0, or -1 with E. */
static int
write_made(struct report_work *w, struct made_report *m, struct ui_output *out, struct err *e)
{
	const bool is_redacted = w->redaction.is_wanted;

	return profile_io_write(
		&m->v, &w->io, is_redacted ? &m->redaction.warnings : &m->warnings, out, e);
}

static int
report_work_run_once(struct report_work *w, struct err *e)
{
	auto_made_report struct made_report m = { .read = { .p = NULL } };
	auto_output struct ui_output out = { 0 }, saved = { 0 };

	if (make_report(&m, w, &saved, e) < 0 || ui_output_open(&out, &w->ui, e) < 0 ||
		write_made(w, &m, &out, e) < 0 || ui_output_close(&out, e) < 0 ||
		(w->save && ui_output_close(&saved, e) < 0))
		return -1;
	warnings_print(&m.warnings, &w->ui);
	return m.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

/* ---- repeated reports ---- */

static void
print_time(FILE *f)
{
	char text[32] = "?";
	const time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof text, "%F %T", &tm);
	fprintf(f, "%s\n", text);
}

/* Write a report as text for OUT.  Returns 0, or -1 with E. */
static int
write_report(struct report_work *w, struct made_report *m, bool is_first, struct ui_output *out,
	char **ret, size_t *ret_len, struct err *e)
{
	struct ui_output page = *out;
	int failed;

	page.f = open_memstream(ret, ret_len);
	if (!page.f)
		return err_set(e, ENOMEM, "cannot write the report");
	page.has_lines = true;
	if (w->io.format == &report_format_text) {
		fputs(is_first ? "" : "\n", page.f);
		if (!m->v.has_no_time)
			print_time(page.f);
	}
	failed = write_made(w, m, &page, e);
	if (fclose(page.f) != 0 && !failed)
		failed = err_set(e, ENOMEM, "cannot write the report");
	return failed;
}

/*
 * Write one more report.  Returns 1 if the reader has closed the pipe or memdiag must end, -1 with
 * E.
 */
static int
report_again(struct report_work *w, bool is_first, bool *is_partial, struct ui_output *out,
	struct err *e)
{
	auto_made_report struct made_report m = { .read = { .p = NULL } };
	auto_free char *text = NULL;
	size_t len = 0;

	w->file = NULL;
	limits_set(&w->ui);
	if (make_report(&m, w, NULL, e) < 0 ||
		write_report(w, &m, is_first, out, &text, &len, e) < 0)
		return -1;
	deadline_set(DEADLINE_NEVER_NS); /* --timeout does not limit the wait */
	*is_partial |= m.warnings.is_partial;
	if (w->io.format == &report_format_text)
		warnings_print(&m.warnings, &w->ui);
	return capture_write(out->f, text, len) < len || ferror(out->f) ||
		!capture_has_reader(out->f);
}

/*
 * Return the time of the next report; a report that took longer than the interval delays the next
 * one.
 */
static uint64_t
next_ns(uint64_t last_ns, uint64_t every_ns)
{
	const uint64_t now_ns = os_now_ns();

	return last_ns + every_ns > now_ns ? last_ns + every_ns : now_ns;
}

/*
 * Wait until NEXT or END_NS (0: no end).  Return false if the end was reached or the wait ended
 * early.
 */
static bool
wait_for_next(struct target *t, uint64_t next, uint64_t end_ns)
{
	const uint64_t until_ns = end_ns && end_ns < next ? end_ns : next;
	const uint64_t now_ns = os_now_ns();

	return capture_wait(t, until_ns > now_ns ? until_ns - now_ns : 0) == CAPTURE_WAIT_OVER &&
		until_ns == next;
}

static int
report_until_end(struct report_work *w, struct target *t, bool *is_partial, struct ui_output *out,
	struct err *e)
{
	uint64_t at_ns = os_now_ns();
	const uint64_t end_ns = w->duration_ns ? at_ns + w->duration_ns : 0;
	int status;

	for (uint64_t nr = 0;; nr++) {
		status = report_again(w, nr == 0, is_partial, out, e);
		/* After the first report, the command ends when its process ends. */
		if (status < 0 && (nr == 0 || target_is_alive(t)))
			return -1;
		if (status != 0 || nr + 1 == w->nr_reports)
			return 0;
		at_ns = next_ns(at_ns, w->every_ns);
		if (!wait_for_next(t, at_ns, end_ns))
			return 0;
	}
}

static int
run_again(struct report_work *w, struct err *e)
{
	auto_target struct target t = TARGET_NONE;
	auto_output struct ui_output out = { 0 };
	bool is_partial = false;

	if (ui_find_process(&w->ui, e) < 0 || target_open(&t, w->ui.pid, e) < 0 ||
		ui_output_open(&out, &w->ui, e) < 0)
		return -1;
	capture_hold_signals();
	if (report_until_end(w, &t, &is_partial, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	return is_partial ? UI_PARTIAL : UI_DONE;
}

/* Refuse what cannot be redacted: ERR_USAGE. */
static int
check_redaction(const struct report_work *w, struct err *e)
{
	const struct calls_options *c = &w->io.calls;

	if (!w->redaction.is_wanted)
		return 0;
	if (c->focus || c->ignore || c->hide)
		return err_set_kind(e, ERR_USAGE, 0,
			"--focus, --ignore and --hide match names, which --redact removes");
	if (w->nr_addresses)
		return err_set_kind(
			e, ERR_USAGE, 0, "--addresses lists addresses, which --redact removes");
	if (w->io.source)
		return err_set_kind(
			e, ERR_USAGE, 0, "--source shows lines of code, which --redact removes");
	if (w->save)
		return err_set_kind(e, ERR_USAGE, 0,
			"--save writes all names, and --redact removes them: one at a time");
	return 0;
}

static int
run_begun(struct report_work *w, struct err *e)
{
	/* No reader can find the name of a hash. */
	w->io.symbols_inside |= w->redaction.is_wanted;
	return w->every_ns ? run_again(w, e) : report_work_run_once(w, e);
}

static int
run_opening(struct report_work *w, struct err *e)
{
	auto_open_page struct open_page page = { .path = NULL };
	int status;

	if (!w->opens)
		return run_begun(w, e);
	if (open_page_begin(&page, e) < 0)
		return -1;
	w->ui.output = page.path;
	w->ui.is_private = true;
	status = run_begun(w, e);
	if (status < 0)
		return -1;
	if (!w->ui.quiet)
		fprintf(stderr, "The page is %s\n", page.path);
	return open_page_show(&page, e) < 0 ? -1 : status;
}

/* Set the format of --open.  0, or -1 with E. */
static int
check_opening(struct report_work *w, struct err *e)
{
	if (!w->opens)
		return 0;
	if (w->ui.output || w->every_ns)
		return err_set_kind(e, ERR_USAGE, 0,
			"--open writes one page to a file of its own: --output and --every do not go with it");
	if (w->ui.json || (w->io.format && w->io.format != &report_format_html))
		return err_set_kind(e, ERR_USAGE, 0, "--open opens a page: --format=html");
	w->io.format = &report_format_html;
	return 0;
}

int
report_work_run(struct report_work *w, struct err *e)
{
	int status;

	limits_set(&w->ui);
	if (check_opening(w, e) < 0)
		return -1;
	if (profile_io_begin(&w->io, &w->ui, e) < 0)
		return -1;
	if (w->every_ns && !(w->io.format->can & FORMAT_TAKES_REPEATS))
		return err_set_kind(e, ERR_USAGE, 0,
			"--every writes text or, with --json, a document on each line");
	if (w->nr_addresses && !(w->io.format->can & FORMAT_TAKES_BLOCKS))
		return err_set_kind(e, ERR_USAGE, 0, "--addresses is for text and --json");
	if (check_redaction(w, e) < 0 || redaction_begin(&w->redaction, e) < 0)
		return -1;
	status = run_opening(w, e);
	redaction_release(&w->redaction);
	return status;
}
