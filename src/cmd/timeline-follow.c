#include <config.h>

#include "cmd/timeline-follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/wait.h"
#include "os/claim.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "recording/follow.h"
#include "report/timeline-text.h"
#include "report/timeline.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/units.h"

/* Bounds of the time between checks for new data, which is one interval otherwise. */
#define LEAST_PERIOD_NS UINT64_C(100000000)
#define MOST_PERIOD_NS UINT64_C(1000000000)

/* A writer that could not begin another file retries after one second. */
#define LEFT_NS UINT64_C(2000000000)

struct following {
	const struct timeline_follow *w;
	struct ui_output *out; /* the terminal or file */
	FILE *text;	       /* text to be written there */
	struct warnings *warnings;
	struct follow *f;
	struct target *target; /* NULL: it has ended, too */
	struct ui_progress *progress;
	bool is_plot;
	bool has_head, is_cleared;
	uint64_t interval_ns; /* the last interval length shown */
	size_t nr_said;	      /* warnings already shown */
	uint64_t left_ns;     /* time since which it seems to have no writer; 0: it has one */
	enum capture_wait why;
};

static uint64_t
period_ns(const struct timeline_follow *w)
{
	if (w->interval_ns < LEAST_PERIOD_NS)
		return LEAST_PERIOD_NS;
	return w->interval_ns < MOST_PERIOD_NS ? w->interval_ns : MOST_PERIOD_NS;
}

/* ---- printing ---- */

static struct timeline_view
view_of(const struct following *g)
{
	return (struct timeline_view){ follow_history(g->f), g->w->recording, g->w->file, g->w->ui,
		g->out->rows };
}

static void
timeline_follow_print_line(
	const struct following *g, const struct history_interval *k, uint64_t time_ns)
{
	const struct timeline_view v = view_of(g);
	FILE *f = g->text;
	json_auto_t *line = NULL;

	switch (g->w->format) {
	case FOLLOW_FORMAT_CSV:
		timeline_print_csv_line(&v, k, time_ns, f);
		return;
	case FOLLOW_FORMAT_JSON:
		line = timeline_interval_json(&v, k, time_ns);
		json_dumpf(line, f, JSON_COMPACT);
		fputc('\n', f);
		return;
	case FOLLOW_FORMAT_TEXT:
		timeline_print_line(&v, k, time_ns, f);
	}
}

/* Warn if intervals became longer because the requested length would give too many. */
static void
note_length(struct following *g)
{
	const uint64_t from_ns = g->is_plot ? 0 : follow_interval_ns(g->f, 0);
	const struct history *h = follow_history(g->f);
	char from[32], length[32];

	if (h->interval_ns == g->interval_ns)
		return;
	g->interval_ns = h->interval_ns;
	profile_warn(g->w->recording->facts, false,
		"from %s on the intervals are %s: of shorter ones there would be too many",
		timeline_time(from_ns, TIMELINE_MOMENT_NS, from, sizeof from),
		ui_duration(h->interval_ns, length, sizeof length));
}

/* Print the intervals that have ended, and drop them.  Unknown intervals have no line. */
static void
print_lines(struct following *g)
{
	const struct history *h = follow_history(g->f);

	if (!g->has_head) {
		if (g->w->format == FOLLOW_FORMAT_CSV)
			timeline_print_csv_head(g->text);
		if (g->w->format == FOLLOW_FORMAT_TEXT)
			timeline_print_line_head(g->text);
	}
	g->has_head = true;
	note_length(g);
	for (size_t i = 0; i < h->intervals.nr; i++) {
		const struct history_interval *k = &h->intervals.v[i];

		if (k->max.live.bytes >= 0)
			timeline_follow_print_line(g, k, follow_interval_ns(g->f, i));
	}
	follow_drop(g->f);
}

static int
timeline_follow_draw(struct following *g, struct err *e)
{
	struct ui_output page;
	struct timeline_view v;

	/* The terminal may have another size now. */
	ui_output_measure(g->out);
	page = *g->out;
	page.f = g->text;
	v = view_of(g);
	if (follow_show(g->f, e) < 0)
		return -1;
	if (!v.h->intervals.nr)
		return 0;
	/* ECMA-48: clear the whole screen the first time, later overwrite it from the top. */
	fputs(g->is_cleared ? "\033[H\033[J" : "\033[2J\033[H", g->text);
	g->is_cleared = true;
	return timeline_print_text(&v, &page, e);
}

static int
print_new(struct following *g, bool has_all, struct err *e)
{
	if (!g->is_plot)
		print_lines(g);
	else if (has_all)
		return timeline_follow_draw(g, e);
	return 0;
}

/* Print new data.  HAS_ALL: everything available has been read.  Returns 0, or -1 with E. */
static int
timeline_follow_print(struct following *g, bool has_all, struct err *e)
{
	auto_free char *text = NULL;
	size_t len;
	int failed;
	const struct profile *facts;

	if (has_all && g->progress) {
		ui_progress_end(g->progress);
		g->progress = NULL;
	}
	g->text = open_memstream(&text, &len);
	if (!g->text)
		return err_set(e, ENOMEM, "cannot show the log");
	failed = print_new(g, has_all, e);
	if (fclose(g->text) != 0 && !failed)
		failed = err_set(e, ENOMEM, "cannot show the log");
	if (failed)
		return -1;
	if (capture_write(g->out->f, text, len) < len && !ferror(g->out->f))
		g->why = CAPTURE_WAIT_ASKED;
	/* Print warnings, unless on a terminal, where the next plot would hide them. */
	facts = g->w->recording->facts;
	while (!g->is_plot && g->nr_said < facts->warnings.nr)
		ui_note(g->w->ui, "%s", facts->warnings.v[g->nr_said++]);
	return 0;
}

/* ---- the end ---- */

/* True if the log seems to have no writer. */
static bool
is_left(struct following *g)
{
	if (!g->left_ns)
		g->left_ns = os_now_ns();
	return os_now_ns() - g->left_ns >= LEFT_NS &&
		(!g->target || !target_log_is_claimed(g->target));
}

/* Wait for more data, and check for the end.  Returns 1 at the end, else 0. */
static int
wait_for_more(struct following *g, enum follow_state state)
{
	if (state == FOLLOW_CLOSED || ferror(g->out->f) || g->why == CAPTURE_WAIT_ASKED)
		return 1;
	if (state != FOLLOW_LEFT)
		g->left_ns = 0;
	else if (is_left(g))
		return 1;
	g->why = capture_wait(g->target, state == FOLLOW_MORE ? 0 : period_ns(g->w));
	/* Its writer still has to write the rest. */
	if (g->why == CAPTURE_WAIT_ENDED)
		g->target = NULL;
	return g->why == CAPTURE_WAIT_ASKED;
}

static int
follow_all(struct following *g, enum follow_state *ret, struct err *e)
{
	do {
		if (follow_read(g->f, ret, e) < 0 ||
			timeline_follow_print(g, *ret != FOLLOW_MORE, e) < 0)
			return -1;
	} while (!wait_for_more(g, *ret));
	return 0;
}

/*
 * Finish the output.  The last interval ends with the log, unless memdiag was asked to end earlier.
 */
static int
timeline_follow_finish(struct following *g, enum follow_state state, struct err *e)
{
	const struct profile *facts = g->w->recording->facts;
	const bool is_over = g->why != CAPTURE_WAIT_ASKED && !ferror(g->out->f);

	follow_end(g->f, is_over && state == FOLLOW_LEFT);
	if (g->is_plot)
		note_length(g);
	if (is_over && !g->is_plot &&
		(follow_show(g->f, e) < 0 || timeline_follow_print(g, true, e) < 0))
		return -1;
	g->warnings->is_partial |= facts->is_partial;
	for (; g->nr_said < facts->warnings.nr; g->nr_said++)
		warnings_add(g->warnings, false, "%s", facts->warnings.v[g->nr_said]);
	return 0;
}

int
timeline_follow(const struct timeline_follow *w, struct ui_output *out, struct warnings *warnings,
	struct err *e)
{
	const char *term = getenv("TERM");
	auto_follow struct follow *f = NULL;
	struct following g = { .w = w,
		.out = out,
		.warnings = warnings,
		.target = w->target,
		.interval_ns = w->interval_ns,
		.is_plot = w->format == FOLLOW_FORMAT_TEXT && out->is_terminal && term &&
			strcmp(term, "dumb") != 0 };
	enum follow_state state = FOLLOW_MORE;
	int failed;

	capture_hold_signals();
	if (follow_new(&f, w->recording, w->interval_ns, e) < 0)
		return -1;
	g.f = f;
	if (g.is_plot)
		g.progress = ui_progress_begin(w->ui, "reading the log");
	failed = follow_all(&g, &state, e);
	ui_progress_end(g.progress);
	return failed ? -1 : timeline_follow_finish(&g, state, e);
}
