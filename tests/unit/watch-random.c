/*
 * Random samples: growth and curves are computed again from all samples, files are read back, rows
 * are in order, and no line of a page is wider than the terminal or has a control character.
 */
#include <config.h>

#include <locale.h>
#include <unistd.h>
#include <wchar.h>

#include "base/text.h"
#include "cmd/watch-work.h"
#include "os/os.h"
#include "tests/unit/draw.h"
#include "tests/unit/tap.h"
#include "ui/json.h"
#include "watch/history.h"
#include "watch/page.h"
#include "watch/tape.h"

#define SEEDS 60
#define SAMPLES 200
#define SECOND UINT64_C(1000000000)

static const struct target nobody = { .pid = 77,
	.comm = "program",
	.proc_fd = -1,
	.task_fd = -1,
	.mem_fd = -1,
	.pagemap_fd = -1,
	.pidfd = -1 };

/* ---- random samples ---- */

static uint64_t
draw_bytes(void)
{
	return draw(4) ? draw(UINT64_C(1) << 36) : draw(3) * 4096;
}

/* Four of the longest parts below, and a number. */
#define NAME_BYTES 96

/* A name that can be anything that a process or a file chooses. */
static void
draw_name(char name[NAME_BYTES], unsigned int nr)
{
	static const char *const parts[] = { "heap", "\xe4\xb8\xad\xe6\x96\x87", "\033[2J",
		"\xff\xfe", "e\xcc\x81", "\xe2\x80\xae", "libc.so.6", "operator new<int>", " ",
		"%s%n", "\\", "\"" };
	char *to = name;

	for (unsigned int i = draw(5); i; i--)
		to = stpcpy(to, parts[draw(sizeof parts / sizeof *parts)]);
	snprintf(to, (size_t)(name + NAME_BYTES - to), "%u", nr);
}

static void
draw_table(struct watch_table *t, enum watch_view view)
{
	const unsigned int nr = draw(3) ? draw(12) : draw(100);
	unsigned int nr_roots = 0;
	struct err e;

	t->is_read = true;
	t->is_rough = draw(2);
	for (unsigned int i = 0; i < nr; i++) {
		const bool is_part = view == WATCH_CLASSES && nr_roots && draw(2);
		const int parent = is_part ? (int)draw(nr_roots) : WATCH_NO_PARENT;
		struct watch_row *r;
		char name[NAME_BYTES];

		/* Roots come first, so that their numbers are known. */
		if (!is_part && nr_roots != t->nr)
			continue;
		draw_name(name, i);
		r = watch_table_add(t, name, parent, &e);
		nr_roots += !is_part;
		for (int k = 0; k < WATCH_NUMBERS && watch_views[view].number[k].title; k++)
			r->number[k] = draw_bytes();
	}
}

static void
draw_sample(struct watch_sample *s, uint64_t time_ns)
{
	struct err e;

	*s = (struct watch_sample){ .time_ns = time_ns,
		.pid = nobody.pid,
		.virt_bytes = draw_bytes(),
		.rss_bytes = draw_bytes(),
		.swap_bytes = draw_bytes(),
		.peak_bytes = draw_bytes(),
		.nr_threads = draw(5),
		.nr_arenas = draw(3) };
	strcpy(s->comm, nobody.comm);
	if (draw(2)) {
		s->limit_bytes = 1 + draw_bytes();
		s->used_bytes = 1 + draw_bytes();
	}
	for (int view = 0; view < NR_WATCH_VIEWS; view++) {
		struct watch_table *t = &s->table[view];

		if (view != WATCH_CLASSES && !draw(3))
			continue;
		if (view != WATCH_CLASSES && !draw(4)) {
			t->why = strdup("no profile is running");
			continue;
		}
		draw_table(t, (enum watch_view)view);
		watch_table_finish(t, &e);
	}
}

/* ---- order ---- */

/* Whether T is as watch_table_finish() promises, by its definition. */
static bool
is_in_order(const struct watch_table *t)
{
	bool is_good = t->nr <= WATCH_MAX_ROWS;
	int root = -1;

	for (size_t i = 0; is_good && i < t->nr; i++) {
		const struct watch_row *r = &t->v[i], *before = i ? &t->v[i - 1] : NULL;

		if (r->parent == WATCH_NO_PARENT) {
			is_good = root < 0 || t->v[root].number[0] >= r->number[0];
			root = (int)i;
		} else {
			is_good = r->parent == root &&
				(before->parent != root || before->number[0] >= r->number[0]);
		}
	}
	return is_good;
}

/* ---- history ---- */

/* All that was added. */
static struct seen {
	uint64_t time_ns, rss_bytes;
} seen[SAMPLES];
static size_t nr_seen;

/* Whether GROWTH is that of a sample about a minute before the last one, or of the first. */
static bool
is_growth(int64_t growth)
{
	const struct seen *last = &seen[nr_seen - 1];
	uint64_t gap_ns = 0;

	for (size_t i = 1; i < nr_seen; i++)
		if (seen[i].time_ns - seen[i - 1].time_ns > gap_ns)
			gap_ns = seen[i].time_ns - seen[i - 1].time_ns;
	for (size_t i = 0; i < nr_seen; i++) {
		const uint64_t ns = last->time_ns - seen[i].time_ns;
		const double change = (double)last->rss_bytes - (double)seen[i].rss_bytes;
		const double want = change * 60 * (double)SECOND / (double)ns;

		if (ns < 2 * SECOND || (i && ns < 60 * SECOND) ||
			ns > 60 * SECOND + gap_ns + 2 * WATCH_KEEP_NS)
			continue;
		if (want - (double)growth < 2 && (double)growth - want < 2)
			return true;
	}
	return false;
}

static bool
has_right_points(const struct watch_history *h)
{
	uint64_t most = 0, shown = 0;

	for (size_t i = 0; i < nr_seen; i++)
		if (seen[i].rss_bytes > most)
			most = seen[i].rss_bytes;
	for (size_t i = 0; i < h->points.nr; i++) {
		if (h->points.v[i].bytes[0] > shown)
			shown = h->points.v[i].bytes[0];
		if (i && h->points.v[i].time_ns <= h->points.v[i - 1].time_ns)
			return false;
	}
	return h->points.nr <= WATCH_MAX_POINTS && shown == most &&
		h->points.v[h->points.nr - 1].time_ns == seen[nr_seen - 1].time_ns;
}

static bool
has_right_growth(const struct watch_history *h)
{
	const bool must_know = seen[nr_seen - 1].time_ns - seen[0].time_ns >= 2 * SECOND;
	int64_t growth;

	return watch_history_growth(h, &growth) ? is_growth(growth) : !must_know;
}

/* ---- the file ---- */

static bool
same_table(const struct watch_table *a, const struct watch_table *b, enum watch_view view)
{
	if (a->nr != b->nr || a->is_read != b->is_read || a->is_rough != b->is_rough ||
		a->nr_more != b->nr_more || !a->why != !b->why ||
		(a->why && strcmp(a->why, b->why) != 0))
		return false;
	for (size_t i = 0; i < a->nr; i++) {
		const struct watch_row *x = &a->v[i], *y;
		const char *parent = watch_parent(a, x);
		char name[512], of[512];

		if (parent)
			text_printable(parent, of, sizeof of);
		y = watch_table_find(
			b, text_printable(x->name, name, sizeof name), parent ? of : NULL);
		if (!y)
			return false;
		for (int k = 0; k < WATCH_NUMBERS && watch_views[view].number[k].title; k++)
			if (x->number[k] != y->number[k])
				return false;
	}
	return true;
}

static bool
same_sample(const struct watch_sample *a, const struct watch_sample *b)
{
	for (int view = 0; view < NR_WATCH_VIEWS; view++)
		if (!same_table(&a->table[view], &b->table[view], (enum watch_view)view))
			return false;
	return a->time_ns == b->time_ns && a->pid == b->pid && strcmp(a->comm, b->comm) == 0 &&
		a->virt_bytes == b->virt_bytes && a->rss_bytes == b->rss_bytes &&
		a->swap_bytes == b->swap_bytes && a->peak_bytes == b->peak_bytes &&
		a->limit_bytes == b->limit_bytes && a->used_bytes == b->used_bytes &&
		a->nr_threads == b->nr_threads && a->nr_arenas == b->nr_arenas &&
		a->nr_mappings == b->nr_mappings && a->stopped_ns == b->stopped_ns;
}

/* Whether S comes back from a file. */
static bool
comes_back(const struct watch_sample *s)
{
	char path[] = "/tmp/memdiag-watch.XXXXXX";
	const int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	json_auto_t *document = watch_sample_json(s, &nobody);
	auto_watch_tape struct watch_tape tape = { 0 };
	auto_watch_sample struct watch_sample back = { 0 };
	struct err e;
	bool is_good;

	json_dumpf(document, f, JSON_COMPACT);
	fputs("\n{\"schema\":\"mem", f); /* where memdiag was killed */
	fclose(f);
	is_good = watch_tape_open(&tape, path, &e) == 0 && tape.at.nr == 1 && tape.is_cut &&
		watch_tape_read(&back, &tape, 0, &e) == 0 && same_sample(s, &back);
	unlink(path);
	return is_good;
}

/* ---- pages ---- */

/* Whether LINE fits COLUMNS and has nothing that moves the cursor; UTF-8 only if IS_WIDE. */
static bool
is_line(const char *line, int columns, bool is_wide)
{
	wchar_t wide[2048];
	size_t nr;

	for (const char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || (!is_wide && *c & 0x80))
			return false;
	if (!is_wide)
		return strlen(line) <= (size_t)columns;
	nr = mbstowcs(wide, line, 2048);
	return nr < 2048 && wcswidth(wide, nr) >= 0 && wcswidth(wide, nr) <= columns;
}

/* Whether H is drawn within a random size. */
static bool
is_drawn(const struct watch_history *h, bool is_wide)
{
	const struct ui_options ui = { .bytes = draw(2) };
	struct watch_page page = { .view = (enum watch_view)draw(NR_WATCH_VIEWS),
		.order = (enum watch_order)draw(NR_WATCH_ORDERS),
		.is_reversed = draw(2),
		.curve = (int)draw(WATCH_CURVES),
		.has_help = !draw(6),
		.first = draw(3) ? 0 : draw(200),
		.state = "every 2.0 s",
		.note = draw(3) ? NULL : "a note" };
	auto_watch_lines struct watch_lines lines = { .columns = draw(2) ? 1 + (int)draw(30)
									 : 1 + (int)draw(250) };
	const int rows = draw(4) ? 1 + (int)draw(60) : 0;
	struct err e;
	bool is_good;

	is_good = watch_page_draw(&lines, &page, h, rows, &ui, &e) == 0 &&
		(!rows || lines.nr <= (size_t)rows);
	for (size_t i = 0; is_good && i < lines.nr; i++)
		is_good = is_line(lines.v[i].text, lines.columns, is_wide);
	if (!is_good)
		printf("# %d x %d: %zu lines\n", lines.columns, rows, lines.nr);
	return is_good;
}

/* ---- a run ---- */

static bool
run(uint64_t nr, bool is_wide)
{
	auto_watch_history struct watch_history h = { 0 };
	uint64_t time_ns = 1700000000 * SECOND, most_ns;
	const char *wrong = NULL;

	seed = nr * UINT64_C(0x9e3779b97f4a7c15);
	most_ns = SECOND / 2 << draw(7);
	nr_seen = 0;
	while (!wrong && nr_seen < SAMPLES) {
		auto_watch_sample struct watch_sample s = { 0 };
		struct err e;

		time_ns += 1 + draw(most_ns);
		draw_sample(&s, time_ns);
		seen[nr_seen++] = (struct seen){ time_ns, s.rss_bytes };
		for (int view = 0; view < NR_WATCH_VIEWS; view++)
			if (!is_in_order(&s.table[view]))
				wrong = "order";
		if (!wrong && nr_seen % 16 == 0 && !comes_back(&s))
			wrong = "file";
		if (!wrong && watch_history_add(&h, &s, &e) < 0)
			wrong = "add";
		if (!wrong && !has_right_points(&h))
			wrong = "points";
		if (!wrong && !has_right_growth(&h))
			wrong = "growth";
		if (!wrong && !is_drawn(&h, is_wide))
			wrong = "page";
	}
	if (wrong)
		printf("# seed %" PRIu64 ", sample %zu: %s\n", nr, nr_seen, wrong);
	return !wrong;
}

static bool
keeps_few_points(void)
{
	auto_watch_history struct watch_history h = { 0 };
	uint64_t most = 0, shown = 0, time_ns = SECOND;
	struct err e;

	seed = 1;
	for (int i = 0; i < 5 * WATCH_MAX_POINTS / 2; i++) {
		struct watch_sample s = { .time_ns = time_ns += SECOND / 10,
			.rss_bytes = draw_bytes() };

		if (s.rss_bytes > most)
			most = s.rss_bytes;
		if (watch_history_add(&h, &s, &e) < 0 || h.points.nr > WATCH_MAX_POINTS)
			return false;
	}
	for (size_t i = 0; i < h.points.nr; i++)
		if (h.points.v[i].bytes[0] > shown)
			shown = h.points.v[i].bytes[0];
	return shown == most && h.points.v[h.points.nr - 1].time_ns == time_ns &&
		h.kept.nr <= WATCH_GROWTH_NS / WATCH_KEEP_NS + 3;
}

static void
test_rest(void)
{
	const struct watch_work w = { .interval_ns = 100 };

	is_u64(watch_work_due_ns(&w, 1000, 1010), 1100, "a sample is due after the interval");
	is_u64(watch_work_due_ns(&w, 1000, 1020), 1100, "reading may take a fifth of it");
	is_u64(watch_work_due_ns(&w, 1000, 1050), 1250, "or the next one is due later");
}

int
main(void)
{
	bool is_wide = setlocale(LC_CTYPE, "C.UTF-8") != NULL;
	bool is_good = true;

	test_rest();
	ok(keeps_few_points(), "of many samples few points are kept, and the greatest value");
	if (is_wide) {
		for (uint64_t nr = 1; is_good && nr <= SEEDS; nr++)
			is_good = run(nr, true);
		ok(is_good, "random samples, in UTF-8");
	} else {
		skip("random samples, in UTF-8", "there is no such locale");
	}
	setlocale(LC_CTYPE, "C");
	for (uint64_t nr = 1; is_good && nr <= SEEDS; nr++)
		is_good = run(nr, false);
	ok(is_good, "random samples, in ASCII");
	return tap_end();
}
