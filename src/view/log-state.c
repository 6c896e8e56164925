#include <config.h>

#include "view/log-state.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "os/clock.h"
#include "os/ptrace.h"
#include "ui/json.h"
#include "ui/units.h"

void
log_state_print_writer(const struct log_state *l, FILE *f)
{
	char ago[32];

	if (!l->is_there)
		return;
	if (l->is_written && l->said.error)
		fprintf(f, "no file can be written at this moment: %s\n",
			strerror((int)l->said.error));
	if (l->is_written) {
		fprintf(f, "written  by process %" PRIu32, l->said.pid);
		if (l->has_rounds)
			fprintf(f, ", %s ago", ui_duration(l->round_age_ns, ago, sizeof ago));
		fprintf(f, "; at most %" PRIu32 " files stay\n", l->said.max_files);
	}
	if (!l->is_written && l->is_open)
		fputs("nobody writes the log any more; 'memdiag record start' begins again\n", f);
	if (!l->is_written && !l->is_open && l->said.error && !l->said.has_ended && !l->is_cut)
		fprintf(f, "the log has ended early: %s\n", strerror((int)l->said.error));
}

void
log_state_print(const struct log_state *l, const struct ui_options *opt, FILE *f)
{
	const struct wire_log_writer *w = &l->said;
	char shown[sizeof w->dir + 1];

	if (!l->is_there)
		return;
	fprintf(f, "log      %" PRIu64 " events, %s in %" PRIu32 " file%s in %s", w->nr_events,
		UI_SIZE(opt, w->file_bytes), w->nr_files, w->nr_files == 1 ? "" : "s",
		text_printable(w->dir, shown, sizeof shown));
	if (w->nr_removed)
		fprintf(f, ", of which %" PRIu32 " %s removed", w->nr_removed,
			w->nr_removed == 1 ? "was" : "were");
	fputc('\n', f);
	log_state_print_writer(l, f);
	if (l->nr_dropped)
		fprintf(f,
			"dropped  %" PRIu64 " events of %s, which found no room or came while a "
			"thread noted another: the log is not exact\n",
			l->nr_dropped, UI_SIZE(opt, l->dropped_bytes));
	if (w->nr_lost)
		fprintf(f,
			"lost     %" PRIu64 " events, as no file could be written: the log is not "
			"exact\n",
			w->nr_lost);
	if (w->nr_unmatched)
		fprintf(f,
			"unknown  %" PRIu64
			" frees, of blocks whose allocation is not in the log\n",
			w->nr_unmatched);
	if (w->nr_damaged)
		fprintf(f, "damaged  %" PRIu32 " places of the log\n", w->nr_damaged);
}

/* Format the time of the writer's last sign of life, in local time; false if it never gave one. */
static bool
last_round(const struct wire_log_writer *w, char *buf, size_t size)
{
	const uint64_t now_ns = os_now_ns();
	time_t seconds;
	struct tm tm;

	if (!w->round_ns || w->round_ns > now_ns)
		return false;
	seconds = (time_t)((os_real_ns() - (now_ns - w->round_ns)) / 1000000000);
	return localtime_r(&seconds, &tm) && strftime(buf, size, "%F %T", &tm);
}

/* A writer makes twenty rounds per second. */
#define SLOW_NS UINT64_C(5000000000)

void
log_state_warn(const struct log_state *l, struct warnings *w)
{
	char when[64];

	if (l->is_there && l->is_written && l->has_rounds && l->round_age_ns > SLOW_NS)
		warnings_add(w, false,
			"process %" PRIu32 " has not written the log for %s: it is stopped, or the "
			"disk or the processors are too slow",
			l->said.pid, ui_duration(l->round_age_ns, when, sizeof when));
	if (!l->is_cut)
		return;
	if (l->is_written)
		warnings_add(w, true,
			"process %" PRIu32 " does not end to write the log: it lacks up to %" PRIu64
			" events so far",
			l->said.pid, l->nr_missing);
	else if (last_round(&l->said, when, sizeof when))
		warnings_add(w, true,
			"the log ends early: its writer, process %" PRIu32
			", was ended after %s; up to %" PRIu64 " events are missing",
			l->said.pid, when, l->nr_missing);
	else
		warnings_add(w, true,
			"the log ends early: its writer was ended; up to %" PRIu64
			" events are missing",
			l->nr_missing);
}

json_t *
log_state_json(const struct log_state *l)
{
	const struct wire_log_writer *w = &l->said;

	if (!l->is_there)
		return json_null();
	return json_pack(
		"{s:b, s:b, s:b, s:o, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:I, s:I, s:I, s:I}",
		"is_open", l->is_open, "is_written", l->is_written, "is_cut", l->is_cut,
		"round_age_ns",
		l->has_rounds ? json_integer((json_int_t)l->round_age_ns) : json_null(), "missing",
		(json_int_t)l->nr_missing, "writer", (json_int_t)w->pid, "directory",
		ui_json_string(w->dir), "max_files", (json_int_t)w->max_files, "files",
		(json_int_t)w->nr_files, "files_removed", (json_int_t)w->nr_removed, "events",
		(json_int_t)w->nr_events, "raw_bytes", (json_int_t)w->raw_bytes, "file_bytes",
		(json_int_t)w->file_bytes, "dropped", (json_int_t)l->nr_dropped, "dropped_bytes",
		(json_int_t)l->dropped_bytes, "lost", (json_int_t)w->nr_lost, "unmatched",
		(json_int_t)w->nr_unmatched, "damaged", (json_int_t)w->nr_damaged, "error",
		(json_int_t)w->error);
}
