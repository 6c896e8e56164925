#include <config.h>

#include "cmd/watch-terminal.h"

#include <stdio.h>
#include <string.h>

#include "capture/wait.h"
#include "heap/heap.h"
#include "os/clock.h"
#include "ui/units.h"
#include "watch/terminal.h"

/* The longest wait for a key: signals and the end of the process are looked for in between. */
#define LOOK_MS 200
/* Parts of a tape that [ and ] move by. */
#define TAPE_PARTS 10
/* The key S stops the process for at most so long at a time. */
#define STOP_NS HEAP_DEFAULT_STOP_NS

struct screen {
	struct watch_work *w;
	struct watch_terminal t;
	uint64_t next_ns; /* when the next sample is due */
	bool is_paused, is_over;
	bool wants_stop; /* for the next sample, because of a key */
	char state[128], note[160];
};

/* ---- drawing ---- */

static void
describe(struct screen *s)
{
	const struct watch_work *w = s->w;
	char every[32];

	ui_duration(w->interval_ns, every, sizeof every);
	if (w->tape.f)
		snprintf(s->state, sizeof s->state, "sample %zu of %zu%s", w->next, w->tape.at.nr,
			s->is_paused ? ", paused" : "");
	else if (w->has_ended)
		snprintf(s->state, sizeof s->state, "has ended");
	else if (s->is_paused)
		snprintf(s->state, sizeof s->state, "paused");
	else
		snprintf(s->state, sizeof s->state, "every %s", every);
	s->w->page.state = s->state;
	s->w->page.note = s->note[0] ? s->note : NULL;
}

static int
draw(struct screen *s, struct err *e)
{
	auto_watch_lines struct watch_lines lines = { .columns = s->t.columns };

	describe(s);
	if (watch_page_draw(&lines, &s->w->page, &s->w->history, s->t.rows, &s->w->o->ui, e) < 0)
		return -1;
	watch_terminal_show(&s->t, &lines);
	return 0;
}

/* ---- samples ---- */

static bool
screen_is_live(const struct screen *s)
{
	return !s->w->tape.f && !s->w->has_ended;
}

/* Take the sample that is due now. */
static int
advance(struct screen *s, struct err *e)
{
	const uint64_t began_ns = os_now_ns();

	if (s->wants_stop)
		s->w->reader.max_stop_ns = s->w->o->max_stop_ns ? s->w->o->max_stop_ns : STOP_NS;
	if (watch_work_step(s->w, e) < 0)
		return -1;
	s->w->reader.max_stop_ns = s->w->o->max_stop_ns;
	s->note[0] = '\0';
	if (s->wants_stop && screen_is_live(s)) {
		char text[32];

		snprintf(s->note, sizeof s->note, "the process was stopped for %s",
			ui_duration(
				watch_history_last(&s->w->history)->stopped_ns, text, sizeof text));
	}
	s->wants_stop = false;
	s->next_ns = watch_work_due_ns(s->w, began_ns, os_now_ns());
	return 0;
}

/* Take a sample now, if a process is watched and still runs. */
static void
hurry(struct screen *s)
{
	if (screen_is_live(s))
		s->next_ns = 0;
}

/* ---- keys ---- */

static void
change_interval(struct screen *s, bool is_shorter)
{
	uint64_t *ns = &s->w->interval_ns;

	*ns = is_shorter ? *ns / 2 : *ns * 2;
	if (*ns < WATCH_LEAST_NS)
		*ns = WATCH_LEAST_NS;
	if (*ns > WATCH_MOST_NS)
		*ns = WATCH_MOST_NS;
	s->next_ns = 0;
}

/* Show another curve that is not always 0. */
static void
next_curve(struct screen *s)
{
	const struct watch_history *h = &s->w->history;
	const struct watch_point *last = &h->points.v[h->points.nr - 1];
	int curve = s->w->page.curve;

	do
		curve = (curve + 1) % WATCH_CURVES;
	while (curve && !last->bytes[curve]);
	s->w->page.curve = curve;
}

static void
choose_view(struct screen *s, enum watch_view view)
{
	struct watch_page *p = &s->w->page;

	p->view = view;
	p->first = 0;
	p->has_help = false;
	if (p->order < WATCH_NUMBERS && !watch_views[view].number[p->order].title)
		p->order = WATCH_BY_FIRST;
	if (!watch_history_last(&s->w->history)->table[view].is_read)
		hurry(s);
}

static void
change_order(struct screen *s, int by)
{
	struct watch_page *p = &s->w->page;

	do
		p->order = (enum watch_order)(
			((int)p->order + by + NR_WATCH_ORDERS) % NR_WATCH_ORDERS);
	while (p->order < WATCH_NUMBERS && !watch_views[p->view].number[p->order].title);
}

/* Ask for exact numbers of the free heap: only here is the process stopped. */
static void
ask_for_stop(struct screen *s)
{
	if (!screen_is_live(s))
		return;
	s->wants_stop = true;
	choose_view(s, WATCH_HEAP);
	hurry(s);
}

/* Move in the tape by BY samples. */
static int
move_in_tape(struct screen *s, int64_t by, struct err *e)
{
	const int64_t now = (int64_t)s->w->next - 1;

	if (!s->w->tape.f)
		return 0;
	s->is_paused = true;
	return watch_work_seek(s->w, now + by > 0 ? (size_t)(now + by) : 0, e);
}

static int
take_tape_key(struct screen *s, int key, struct err *e)
{
	const int64_t part = (int64_t)(s->w->tape.at.nr / TAPE_PARTS) + 1;

	switch (key) {
	case WATCH_KEY_LEFT:
		return move_in_tape(s, -1, e);
	case WATCH_KEY_RIGHT:
		return move_in_tape(s, 1, e);
	case '[':
		return move_in_tape(s, -part, e);
	case ']':
		return move_in_tape(s, part, e);
	default:
		return 0;
	}
}

static void
scroll_to(struct screen *s, int key)
{
	const size_t page = s->t.rows > 4 ? (size_t)s->t.rows / 2 : 2;
	size_t *first = &s->w->page.first;

	switch (key) {
	case WATCH_KEY_UP:
		*first -= *first > 0;
		break;
	case WATCH_KEY_DOWN:
		++*first;
		break;
	case WATCH_KEY_PAGE_UP:
		*first -= *first < page ? *first : page;
		break;
	case WATCH_KEY_PAGE_DOWN:
		*first += page;
		break;
	case WATCH_KEY_HOME:
		*first = 0;
		break;
	case WATCH_KEY_END:
		*first = WATCH_MAX_ROWS;
		break;
	}
}

static void
take_letter(struct screen *s, int key)
{
	switch (key) {
	case 'q':
	case WATCH_KEY_GONE:
		s->is_over = true;
		break;
	case '?':
		s->w->page.has_help = !s->w->page.has_help;
		break;
	case ' ':
		s->is_paused = !s->is_paused;
		break;
	case '+':
	case '-':
		change_interval(s, key == '+');
		break;
	case '<':
	case '>':
		change_order(s, key == '<' ? -1 : 1);
		break;
	case 'r':
		s->w->page.is_reversed = !s->w->page.is_reversed;
		break;
	case 'g':
		next_curve(s);
		break;
	case 'S':
		ask_for_stop(s);
		break;
	}
}

static int
take_key(struct screen *s, int key, struct err *e)
{
	for (int view = 0; view < NR_WATCH_VIEWS; view++)
		if (key == watch_views[view].key)
			choose_view(s, (enum watch_view)view);
	scroll_to(s, key);
	take_letter(s, key);
	return take_tape_key(s, key, e);
}

/* ---- the loop ---- */

/* Return whether a sample is due now. */
static bool
is_due(const struct screen *s)
{
	return !s->w->has_ended && os_now_ns() >= s->next_ns && (!s->is_paused || s->wants_stop);
}

/* Return how long to wait for a key, in milliseconds. */
static int
wait_ms(const struct screen *s)
{
	const uint64_t now_ns = os_now_ns();
	const uint64_t left_ms = s->next_ns > now_ns ? (s->next_ns - now_ns) / 1000000 + 1 : 0;

	return s->is_paused || s->w->has_ended || left_ms > LOOK_MS ? LOOK_MS : (int)left_ms;
}

static int
screen_run(struct screen *s, struct err *e)
{
	while (!s->is_over && capture_wait(NULL, 0) != CAPTURE_WAIT_ASKED) {
		const bool is_new = is_due(s);
		int key;

		if (is_new && (advance(s, e) < 0 || draw(s, e) < 0))
			return -1;
		key = watch_terminal_key(&s->t, wait_ms(s));
		if (key != WATCH_KEY_NONE && (take_key(s, key, e) < 0 || draw(s, e) < 0))
			return -1;
	}
	return 0;
}

int
watch_on_terminal(struct watch_work *w, struct err *e)
{
	struct screen s = { .w = w };
	int failed;

	capture_hold_signals();
	/* An error of the first reading is printed where the user looks for it. */
	if (advance(&s, e) < 0 || watch_terminal_open(&s.t, e) < 0)
		return -1;
	failed = draw(&s, e) < 0 || screen_run(&s, e) < 0;
	watch_terminal_close(&s.t);
	return failed ? -1 : 0;
}
