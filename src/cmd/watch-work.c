#include <config.h>

#include "cmd/watch-work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "ui/deadline.h"
#include "ui/output.h"

/* Reading takes at most one part in so many of the time. */
#define READING_PART 5

/* Samples of a tape that are read for the graph when it is moved in, and for growth. */
#define SEEK_POINTS 512
#define SEEK_RECENT 64

/* ---- the file of --save ---- */

/* Open it; it has its name from the beginning. */
static int
open_save(struct watch_work *w, struct err *e)
{
	struct ui_options opt = w->o->ui;

	opt.output = w->o->save;
	opt.is_private = true;
	return ui_output_open(&w->save, &opt, e) < 0 ? -1 : ui_output_publish(&w->save, e);
}

static int
watch_work_save(struct watch_work *w, const struct watch_sample *s, struct err *e)
{
	json_auto_t *document = watch_sample_json(s, &w->reader.target);

	errno = document ? 0 : ENOMEM;
	if (document && json_dumpf(document, w->save.f, JSON_COMPACT) == 0 &&
		fputc('\n', w->save.f) != EOF && fflush(w->save.f) == 0)
		return 0;
	return err_set(e, errno, "cannot write %s", w->o->save);
}

/* ---- opening ---- */

int
watch_work_open(struct watch_work *w, const struct watch_options *o, struct err *e)
{
	*w = (struct watch_work){ .o = o,
		.interval_ns = o->interval_ns,
		.page = { .view = o->view, .order = o->order },
		.reader = { .target = TARGET_NONE, .max_stop_ns = o->max_stop_ns },
		.save = UI_OUTPUT_NONE };
	if (o->replay)
		return watch_tape_open(&w->tape, o->replay, e);
	if (watch_reader_open(&w->reader, o->ui.pid, e) < 0)
		return -1;
	return o->save ? open_save(w, e) : 0;
}

void
watch_work_close(struct watch_work *w)
{
	ui_output_release(&w->save);
	watch_history_release(&w->history);
	watch_tape_close(&w->tape);
	watch_reader_release(&w->reader);
}

/* ---- a sample ---- */

/* Read the tables that are shown or saved: in a file the user may look at any of them. */
static void
choose_views(struct watch_work *w)
{
	const unsigned int all = (1U << NR_WATCH_VIEWS) - 1;
	const unsigned int heap = WATCH_BIT(WATCH_HEAP);

	w->reader.views = w->o->save || w->o->ui.json ? all & ~heap : 0;
	w->reader.views |= WATCH_BIT(w->page.view);
	if (w->o->view == WATCH_HEAP || w->o->max_stop_ns)
		w->reader.views |= heap;
}

static int
step_process(struct watch_work *w, struct err *e)
{
	auto_watch_sample struct watch_sample s = { 0 };

	choose_views(w);
	if (watch_read(&s, &w->reader, e) < 0) {
		w->has_ended = e->kind == ERR_GONE && w->history.nr_samples;
		return w->has_ended ? 0 : -1;
	}
	if (w->o->save && watch_work_save(w, &s, e) < 0)
		return -1;
	return watch_history_add(&w->history, &s, e);
}

/* Add sample NR of the tape. */
static int
add_of_tape(struct watch_work *w, size_t nr, struct err *e)
{
	auto_watch_sample struct watch_sample s = { 0 };
	const struct watch_sample *last = watch_history_last(&w->history);

	if (watch_tape_read(&s, &w->tape, nr, e) < 0)
		return -1;
	if (last && s.time_ns <= last->time_ns)
		return err_set_kind(e, ERR_USAGE, 0,
			"%s, line %zu: not later than the sample before", w->tape.path, nr + 1);
	return watch_history_add(&w->history, &s, e);
}

int
watch_work_step(struct watch_work *w, struct err *e)
{
	if (!w->tape.f) {
		const int failed = step_process(w, e);

		/* It was for the first one. */
		deadline_set(DEADLINE_NEVER_NS);
		return failed;
	}
	if (w->next < w->tape.at.nr && add_of_tape(w, w->next++, e) < 0)
		return -1;
	w->has_ended = w->next == w->tape.at.nr;
	return 0;
}

uint64_t
watch_work_due_ns(const struct watch_work *w, uint64_t began_ns, uint64_t ended_ns)
{
	const uint64_t least_ns = (ended_ns - began_ns) * READING_PART;

	return began_ns + (least_ns > w->interval_ns ? least_ns : w->interval_ns);
}

int
watch_work_seek(struct watch_work *w, size_t nr, struct err *e)
{
	const size_t last = nr < w->tape.at.nr ? nr : w->tape.at.nr - 1;
	const size_t recent = last > SEEK_RECENT ? last - SEEK_RECENT : 0;
	const size_t step = recent / SEEK_POINTS + 1;

	watch_history_release(&w->history);
	for (size_t i = 0; i < recent; i += step)
		if (add_of_tape(w, i, e) < 0)
			return -1;
	for (size_t i = recent; i <= last; i++)
		if (add_of_tape(w, i, e) < 0)
			return -1;
	w->next = last + 1;
	w->has_ended = w->next == w->tape.at.nr;
	return 0;
}
