/* The text output of 'memdiag heap'. */
#include <config.h>

#include "view/heap-text.h"

#include "account/totals.h"
#include "base/cleanup.h"
#include "glibc/arenas.h"
#include "heap/arena.h"
#include "heap/heap.h"
#include "heap/walk.h"
#include "maps/maps.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/checks.h"
#include "view/verdicts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

/* The mark before an approximate number. */
#define ROUGH "~"

struct heap_text_shower {
	struct ui_output *out;
	const struct ui_options *ui;
	const struct heap_report *r;
	const struct heap *h;
	struct heap_totals totals;
	struct ui_table *table; /* the table being built */
	struct err *e;
};

/* ---- cells and tables ---- */

/* Format BYTES in the user's unit, after the mark if IS_ROUGH. */
static const char *
amount(const struct heap_text_shower *sh, uint64_t bytes, bool is_rough, char *buf, size_t size)
{
	return ui_mark(UI_SIZE(sh->ui, bytes), is_rough, buf, size);
}
#define AMOUNT(sh, bytes, is_rough) amount((sh), (bytes), (is_rough), (char[40]){ 0 }, 40)

static const char *
heap_text_number(uint64_t n, bool is_rough, char *buf, size_t size)
{
	snprintf(buf, size, "%s%" PRIu64, is_rough ? ROUGH : "", n);
	return buf;
}
#define NUMBER(n, is_rough) heap_text_number((n), (is_rough), (char[24]){ 0 }, 24)

static const char *
address(raddr a, char *buf, size_t size)
{
	snprintf(buf, size, PRIraddr, a.v);
	return buf;
}
#define ADDRESS(a) address((a), (char[24]){ 0 }, 24)

/*
 * Begin a table; the arguments are the names of its columns, then NULL.  A '<' before a name marks
 * a text column.
 */
static int __attribute__((sentinel)) heap_text_begin(struct heap_text_shower *sh, ...)
{
	const char *name;
	int r = 0;
	va_list ap;

	sh->table = ui_table_new(sh->out);
	if (!sh->table)
		return err_set(sh->e, ENOMEM, "cannot make a table");
	va_start(ap, sh);
	while (r == 0 && (name = va_arg(ap, const char *)))
		r = ui_table_column(sh->table, name + (*name == '<'), *name != '<', sh->e);
	va_end(ap);
	return r;
}

/* Print the table, and the number of rows not shown (ALL - SHOWN); or NONE if it has no rows. */
static int
heap_text_end(struct heap_text_shower *sh, size_t shown, size_t all, const char *none)
{
	fputc('\n', sh->out->f);
	if (!all)
		fprintf(sh->out->f, "%s\n", none);
	else if (ui_table_print(sh->table, sh->e) < 0)
		return -1;
	ui_print_more(sh->out->f, all - shown);
	return 0;
}

static size_t
shown_of(const struct heap_text_shower *sh, size_t all)
{
	return sh->r->limit && sh->r->limit < all ? sh->r->limit : all;
}

/*
 * Return pointers to the NR elements of V, sorted by COMPARE, which the caller frees; NULL with E.
 */
static const void **
heap_text_sorted(struct heap_text_shower *sh, const void *v, size_t nr, size_t size,
	int (*compare)(const void *a, const void *b))
{
	const void **p = malloc((nr + 1) * sizeof *p);

	if (!p) {
		err_set(sh->e, ENOMEM, "cannot sort");
		return NULL;
	}
	for (size_t i = 0; i < nr; i++)
		p[i] = (const char *)v + i * size;
	qsort(p, nr, sizeof *p, compare);
	return p;
}

static int
heap_text_descending(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

/* ---- the summary ---- */

static const char *
heap_text_plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void
heap_text_print_header(const struct heap_text_shower *sh)
{
	const struct os_status *s = sh->r->status;
	const struct target *t = sh->r->t;
	char file[256];
	FILE *f = sh->out->f;

	fprintf(f, "%s %d (glibc", t->comm, (int)t->pid);
	if (*sh->h->layout.era)
		fprintf(f, " %s", sh->h->layout.era);
	fputc(')', f);
	if (s)
		fprintf(f, "  RSS %s  swap %s  VIRT %s", UI_SIZE(sh->ui, s->vm_rss_bytes),
			UI_SIZE(sh->ui, s->vm_swap_bytes), UI_SIZE(sh->ui, s->vm_size_bytes));
	if (sh->r->core)
		fprintf(f, "  core %s", text_printable(sh->r->core, file, sizeof file));
	fputc('\n', f);
}

/* Print a line: a label, an amount, a bar of SHARE, and a remark. */
static void __attribute__((format(printf, 5, 6))) line(const struct heap_text_shower *sh,
	const char *what, uint64_t bytes, double share, const char *fmt, ...)
{
	int more = sh->out->columns - 80, width = more > 30 ? 30 : more > 0 ? more : 0;
	char note[128], bar[64], text[300];
	va_list ap;
	int n;

	va_start(ap, fmt);
	vsnprintf(note, sizeof note, fmt, ap);
	va_end(ap);
	n = snprintf(text, sizeof text, "  %-22s %14s  %-*s%s%s", what,
		AMOUNT(sh, bytes, sh->totals.nr_approximate), width,
		ui_bar(share, width, bar, sizeof bar), width ? "  " : "", note);
	while (n > 0 && text[n - 1] == ' ')
		n--;
	fprintf(sh->out->f, "%.*s\n", n, text);
}

static void
print_resident(const struct heap_text_shower *sh)
{
	static const char *const what[NR_HEAP_ACCOUNTS] = {
		[HEAP_IN_USE] = "in use",
		[HEAP_TRIMMABLE] = "free, trimmable",
		[HEAP_STRANDED] = "free, stranded",
		[HEAP_TOPS] = "free, thread tops",
		[HEAP_MAIN_TOP] = "free, main top",
		[HEAP_BEHIND] = "behind heaps",
		[HEAP_KEPT] = "cached, headers",
	};
	const struct heap_totals *t = &sh->totals;
	char note[NR_HEAP_ACCOUNTS][128] = {
		[HEAP_STRANDED] = "on pages that are in use in part",
		[HEAP_TOPS] = "of thread arenas; trim leaves them",
		[HEAP_MAIN_TOP] = "not where brk ends; trim leaves it",
		[HEAP_BEHIND] = "locked, so it stayed when heaps shrank",
		[HEAP_KEPT] = "kept by threads, and malloc's own",
	};

	snprintf(note[HEAP_TRIMMABLE], sizeof note[0], "in %zu arena%s; see memdiag trim",
		t->nr_trimmable, heap_text_plural(t->nr_trimmable));
	fprintf(sh->out->f, "Resident in %zu arena%s%s:\n", sh->h->arena.nr,
		heap_text_plural(sh->h->arena.nr), sh->h->is_resident_least ? ", at least" : "");
	for (int i = 0; i < NR_HEAP_ACCOUNTS; i++) {
		/* usually zero */
		if ((i == HEAP_MAIN_TOP || i == HEAP_BEHIND) && !t->account_bytes[i])
			continue;
		line(sh, what[i], t->account_bytes[i],
			t->resident_bytes ? (double)t->account_bytes[i] / (double)t->resident_bytes
					  : 0,
			"%s", t->account_bytes[i] ? note[i] : "");
	}
	/* malloc does not count what remains after its heaps. */
	line(sh, "together", t->resident_bytes, 0, "of %s that the arenas have",
		UI_SIZE(sh->ui,
			t->system_bytes - t->foreign_bytes + t->page_bytes[HEAP_PAGE_BEHIND]));
	fputs("Not resident there:\n", sh->out->f);
	line(sh, "swapped", t->swapped_bytes, 0, "%s", "");
	line(sh, "free, given back", t->page_bytes[HEAP_PAGE_RETURNED], 0, "%s",
		"or never used; malloc still counts it as free");
	line(sh, "reserved", t->page_bytes[HEAP_PAGE_RESERVED], 0, "%s",
		"addresses for later, no memory");
}

/* Print the summary; if resident pages are unknown, use malloc's own account. */
static void
heap_text_print_account(const struct heap_text_shower *sh)
{
	const struct heap_totals *t = &sh->totals;

	fprintf(sh->out->f, "In %zu arena%s, resident or not:\n", sh->h->arena.nr,
		heap_text_plural(sh->h->arena.nr));
	line(sh, "in use", t->in_use_bytes, 0, "%s", "");
	if (sh->h->knows_caches)
		line(sh, "cached", t->cached_bytes, 0, "%s",
			"freed, kept by threads for themselves");
	line(sh, "free", t->free_bytes, 0, "%s", "");
	line(sh, "tops", t->top_bytes, 0, "%s", "free, at the ends of heaps");
	line(sh, "together", t->system_bytes - t->foreign_bytes, 0, "%s", "with headers");
}

/* Return the number of large blocks found; "" if all were found. */
static const char *
found_text(const struct heap_text_shower *sh, const struct heap_mmapped *m, char *buf, size_t size)
{
	*buf = '\0';
	if (!m->is_listed)
		snprintf(buf, size, "; memdiag could not search for them");
	else if (m->has_account && !heap_mmapped_agrees(m))
		snprintf(buf, size, "; found %zu of %" PRIu64 ", %s of %s", m->chunk.nr,
			m->account.count, UI_SIZE(sh->ui, m->bytes),
			UI_SIZE(sh->ui, m->account.bytes));
	return buf;
}

/* Print malloc's account of large blocks; without it, the chunks found, which may be incomplete. */
static void
print_mmapped(const struct heap_text_shower *sh)
{
	const struct heap_mmapped *m = sh->r->mmapped;
	bool is_counted = m->has_account, is_known = is_counted || m->is_listed;
	bool rough = !heap_mmapped_agrees(m);
	const struct heap_totals *t = &sh->totals;
	char found[128];

	fprintf(sh->out->f, "Outside the arenas:\n  %-22s %14s  %s with mappings of their own%s\n",
		"large blocks",
		is_known ? AMOUNT(sh, is_counted ? m->account.bytes : m->bytes, !is_counted) : "?",
		is_known ? NUMBER(is_counted ? m->account.count : m->chunk.nr, !is_counted) : "?",
		found_text(sh, m, found, sizeof found));
	if (m->has_pages && m->chunk.nr)
		fprintf(sh->out->f, "  %-22s %14s%s\n", "resident",
			AMOUNT(sh, m->resident_bytes, rough),
			sh->h->is_resident_least ? "  at least" : "");
	if (t->foreign_bytes) /* rare */
		fprintf(sh->out->f,
			"  %-22s %14s  the program's own, between parts of the heap; malloc counts it\n",
			"taken with sbrk()",
			AMOUNT(sh, t->has_pages ? t->foreign_resident_bytes : t->foreign_bytes,
				false));
}

static void
print_unknown_caches(const struct heap_text_shower *sh)
{
	if (!sh->h->knows_caches)
		fputs("What threads have cached is not known: it counts as in use.\n", sh->out->f);
	else if (sh->h->nr_unknown_caches)
		fprintf(sh->out->f, "What %zu thread%s cached is not known: it counts as in use.\n",
			sh->h->nr_unknown_caches,
			sh->h->nr_unknown_caches == 1 ? " has" : "s have");
}

/* True if a printed number may have the mark. */
static bool
has_rough(const struct heap_text_shower *sh)
{
	const struct heap_mmapped *m = sh->r->mmapped;
	bool rough = m->is_listed && (!m->has_account || (m->chunk.nr && !heap_mmapped_agrees(m)));

	for (size_t i = 0; i < sh->h->arena.nr; i++)
		rough |= heap_arena_is_rough(&sh->h->arena.v[i]);
	return rough;
}

/* Print the accuracy of the numbers, and the cost for the target. */
static void
print_certainty(const struct heap_text_shower *sh)
{
	const struct heap *h = sh->h;
	size_t nr[HEAP_EXACT + 1] = { 0 };
	const char *comma = "";
	char longest[32];
	FILE *f = sh->out->f;

	for (size_t i = 0; i < h->arena.nr; i++)
		nr[h->arena.v[i].certainty]++;
	fputs("\nArenas:", f);
	for (int c = HEAP_EXACT; c >= HEAP_APPROXIMATE; c--)
		if (nr[c]) {
			fprintf(f, "%s %zu %s", comma, nr[c],
				heap_certainty_name((enum heap_certainty)c));
			comma = ",";
		}
	if (sh->r->core)
		fputs(". Read from a core file.\n", f);
	else if (h->nr_stops)
		fprintf(f, ". The process was stopped %u time%s, for %s at most.\n", h->nr_stops,
			heap_text_plural(h->nr_stops),
			ui_duration(h->longest_stop_ns, longest, sizeof longest));
	else
		fputs(". The process was not stopped.\n", f);
	print_unknown_caches(sh);
	if (has_rough(sh))
		fputs(UI_ROUGH_LEGEND, f);
	if (sh->ui->verbose)
		fprintf(f, "Layout found by %s; %" PRIu64 " chunks, %s read.\n", h->layout.found_by,
			h->nr_chunks, UI_SIZE(sh->ui, h->read_bytes));
}

/* ---- the tables ---- */

static int
by_resident(const void *x, const void *y)
{
	const struct heap_arena *a = *(const struct heap_arena *const *)x;
	const struct heap_arena *b = *(const struct heap_arena *const *)y;
	int order = heap_text_descending(a->resident_bytes, b->resident_bytes);

	if (!order)
		order = heap_text_descending(a->system_bytes, b->system_bytes);
	return order ? order : a->nr < b->nr ? -1 : a->nr > b->nr;
}

static int
arena_row(struct heap_text_shower *sh, const struct heap_arena *a)
{
	bool rough = heap_arena_is_rough(a);
	int threads = heap_arena_threads(sh->h, a);
	char share[16];

	snprintf(share, sizeof share, "%s%.0f %%", rough ? ROUGH : "",
		heap_arena_fragmentation(a) * 100);
	return ui_table_add(sh->table, sh->e, NUMBER(a->nr, rough),
		threads < 0 ? "?" : NUMBER((uint64_t)threads, false),
		AMOUNT(sh, a->system_bytes, rough), AMOUNT(sh, a->max_system_bytes, rough),
		AMOUNT(sh, heap_arena_in_use(a), rough),
		sh->h->knows_caches ? AMOUNT(sh, a->cached.bytes, rough) : "?",
		AMOUNT(sh, a->page_bytes[HEAP_PAGE_TRIMMABLE], rough),
		AMOUNT(sh, a->stranded_bytes, rough),
		AMOUNT(sh, a->page_bytes[HEAP_PAGE_TOP], rough),
		AMOUNT(sh, a->page_bytes[HEAP_PAGE_RETURNED], rough), NUMBER(a->segment.nr, false),
		share, heap_certainty_name(a->certainty), NULL);
}

static int
show_arenas(struct heap_text_shower *sh)
{
	size_t nr = sh->h->arena.nr, shown = shown_of(sh, nr);
	auto_free const void **order =
		heap_text_sorted(sh, sh->h->arena.v, nr, sizeof *sh->h->arena.v, by_resident);

	if (!order ||
		heap_text_begin(sh, "ARENA", "THREADS", "SYSTEM", "PEAK", "IN USE", "CACHED",
			"TRIMMABLE", "STRANDED", "TOP", "RETURNED", "HEAPS", "FRAG", "<CERTAINTY",
			NULL) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (arena_row(sh, order[i]) < 0)
			return -1;
	if (heap_text_end(sh, shown, nr, "No arena.") < 0)
		return -1;
	for (size_t i = 0; i < shown; i++) {
		const struct heap_arena *a = order[i];

		if (*a->why)
			fprintf(sh->out->f, "arena %u: %s\n", a->nr, a->why);
	}
	return 0;
}

static int
show_pages(struct heap_text_shower *sh)
{
	size_t nr = sh->h->arena.nr, shown = shown_of(sh, nr);
	auto_free const void **order =
		heap_text_sorted(sh, sh->h->arena.v, nr, sizeof *sh->h->arena.v, by_resident);

	if (!order ||
		heap_text_begin(sh, "ARENA", "LIVE", "MIXED", "TRIMMABLE", "CACHED", "TOP",
			"BEHIND", "RETURNED", "RESERVED", NULL) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++) {
		const struct heap_arena *a = order[i];

		if (ui_table_row(sh->table, sh->e) < 0 ||
			ui_table_cell(sh->table, NUMBER(a->nr, heap_arena_is_rough(a)), sh->e) < 0)
			return -1;
		for (int c = 0; c < NR_HEAP_PAGE_CLASSES; c++)
			if (ui_table_cell(sh->table,
				    a->has_pages
					    ? AMOUNT(sh, a->page_bytes[c], heap_arena_is_rough(a))
					    : "?",
				    sh->e) < 0)
				return -1;
	}
	return heap_text_end(sh, shown, nr, "No arena.");
}

static int
show_histogram(struct heap_text_shower *sh)
{
	bool rough = sh->totals.nr_approximate, has_used = !sh->totals.nr_by_lists;
	size_t nr = 0;

	if (heap_text_begin(sh, "CHUNKS FROM", "TO", "IN USE", "BYTES", "FREE", "BYTES", NULL) < 0)
		return -1;
	for (unsigned int c = 0; c < HEAP_NR_SIZES; c++) {
		struct heap_sum used, free;

		heap_size_sums(sh->h, c, &used, &free);
		if (!used.count && !free.count)
			continue;
		nr++;
		if (ui_table_add(sh->table, sh->e, UI_SIZE(sh->ui, heap_size_from(c)),
			    c + 1 < HEAP_NR_SIZES ? UI_SIZE(sh->ui, heap_size_from(c + 1) - 1) : "",
			    has_used ? NUMBER(used.count, rough) : "?",
			    has_used ? AMOUNT(sh, used.bytes, rough) : "?",
			    NUMBER(free.count, rough), AMOUNT(sh, free.bytes, rough), NULL) < 0)
			return -1;
	}
	if (heap_text_end(sh, nr, nr, "No chunk.") < 0)
		return -1;
	if (sh->totals.cached_bytes)
		fprintf(sh->out->f, "In use, as malloc counts: with %s that threads keep.\n",
			AMOUNT(sh, sh->totals.cached_bytes, rough));
	return 0;
}

/* A chunk and its arena. */
struct found_chunk {
	const struct heap_arena *arena;
	struct heap_chunk chunk;
};

static int
by_chunk_size(const void *x, const void *y)
{
	const struct found_chunk *a = x, *b = y;
	int order = heap_text_descending(a->chunk.bytes, b->chunk.bytes);

	return order ? order : a->chunk.addr.v < b->chunk.addr.v ? -1 : 1;
}

static int
show_free(struct heap_text_shower *sh)
{
	const struct heap *h = sh->h;
	auto_free struct found_chunk *v = malloc((h->arena.nr * HEAP_NR_LARGEST + 1) * sizeof *v);
	size_t nr = 0, shown;

	if (!v)
		return err_set(sh->e, ENOMEM, "cannot list free chunks");
	for (size_t i = 0; i < h->arena.nr; i++)
		for (int k = 0; k < HEAP_NR_LARGEST && h->arena.v[i].largest[k].bytes; k++)
			v[nr++] = (struct found_chunk){ &h->arena.v[i], h->arena.v[i].largest[k] };
	qsort(v, nr, sizeof *v, by_chunk_size);
	shown = shown_of(sh, nr);
	if (heap_text_begin(sh, "FREE CHUNK", "SIZE", "ARENA", NULL) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (ui_table_add(sh->table, sh->e, ADDRESS(v[i].chunk.addr),
			    AMOUNT(sh, v[i].chunk.bytes, heap_arena_is_rough(v[i].arena)),
			    NUMBER(v[i].arena->nr, false), NULL) < 0)
			return -1;
	return heap_text_end(sh, shown, nr, "No chunk is free.");
}

static int
by_cached(const void *x, const void *y)
{
	const struct heap_thread *a = *(const struct heap_thread *const *)x;
	const struct heap_thread *b = *(const struct heap_thread *const *)y;
	int order = heap_text_descending(a->cached.bytes, b->cached.bytes);

	return order ? order : a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int
thread_row(struct heap_text_shower *sh, const struct heap_thread *t)
{
	const struct heap_arena *a = heap_arena_at(sh->h, t->arena);
	bool rough = a && heap_arena_is_rough(a);
	char name[64] = "?";

	if (t->tid)
		os_thread_name(sh->r->t, t->tid, name, sizeof name);
	return ui_table_add(sh->table, sh->e, t->tid ? NUMBER((uint64_t)t->tid, false) : "?",
		a ? NUMBER(a->nr, false) : "-",
		sh->h->knows_caches ? NUMBER(t->cached.count, rough) : "?",
		sh->h->knows_caches ? AMOUNT(sh, t->cached.bytes, rough) : "?", name, NULL);
}

static int
show_threads(struct heap_text_shower *sh)
{
	size_t nr = sh->h->thread.nr, shown = shown_of(sh, nr);
	auto_free const void **order =
		heap_text_sorted(sh, sh->h->thread.v, nr, sizeof *sh->h->thread.v, by_cached);

	if (!nr) {
		fputs("\nWhich arena each thread uses, and what it has cached, is unknown.\n",
			sh->out->f);
		return 0;
	}
	if (!order || heap_text_begin(sh, "THREAD", "ARENA", "CACHED", "BYTES", "<NAME", NULL) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (thread_row(sh, order[i]) < 0)
			return -1;
	if (heap_text_end(sh, shown, nr, "No thread.") < 0)
		return -1;
	if (sh->h->nr_looks > 1)
		fprintf(sh->out->f,
			"Threads are as in the last of %u looks, arenas as in the last that was "
			"needed for each: what they have cached need not add up.\n",
			sh->h->nr_looks);
	return 0;
}

/* A heap and its arena. */
struct found_segment {
	const struct heap_arena *arena;
	const struct heap_segment *segment;
};

static int
by_below(const void *x, const void *y)
{
	const struct heap_segment *a = ((const struct found_segment *)x)->segment;
	const struct heap_segment *b = ((const struct found_segment *)y)->segment;
	int order = heap_text_descending(a->below_bytes, b->below_bytes);

	return order ? order : a->start.v < b->start.v ? -1 : 1;
}

static int
pin_row(struct heap_text_shower *sh, const struct found_segment *f)
{
	const struct heap_segment *s = f->segment;
	bool rough = heap_arena_is_rough(f->arena);

	return ui_table_add(sh->table, sh->e, ADDRESS(s->start), NUMBER(f->arena->nr, false),
		AMOUNT(sh, s->end.v - s->start.v, false), AMOUNT(sh, s->in_use.bytes, rough),
		AMOUNT(sh, s->free.bytes, rough), AMOUNT(sh, s->below_bytes, rough),
		ADDRESS(s->last_in_use.addr), AMOUNT(sh, s->last_in_use.bytes, rough), NULL);
}

/* Explain that the free lists do not show what is in use at the end of a heap. */
static int
print_unknown_pins(const struct heap_text_shower *sh)
{
	if (sh->totals.nr_by_lists)
		fprintf(sh->out->f,
			"%sWhat keeps the heaps of %zu of %zu arenas from shrinking is not known: "
			"only their lists of\nfree chunks were read.\n",
			sh->totals.nr_by_lists == sh->h->arena.nr ? "\n" : "",
			sh->totals.nr_by_lists, sh->h->arena.nr);
	return 0;
}

/* List heaps by the free space directly below the chunk that keeps them from shrinking. */
static int
show_pins(struct heap_text_shower *sh)
{
	const struct heap *h = sh->h;
	auto_free struct found_segment *v = NULL;
	size_t nr = 0, room = 0, shown;

	for (size_t i = 0; i < h->arena.nr; i++)
		room += h->arena.v[i].segment.nr;
	v = malloc((room + 1) * sizeof *v);
	if (!v)
		return err_set(sh->e, ENOMEM, "cannot list the heaps");
	for (size_t i = 0; i < h->arena.nr; i++)
		for (size_t k = 0; k < h->arena.v[i].segment.nr; k++)
			if (h->arena.v[i].segment.v[k].last_in_use.bytes)
				v[nr++] = (struct found_segment){ &h->arena.v[i],
					&h->arena.v[i].segment.v[k] };
	qsort(v, nr, sizeof *v, by_below);
	shown = shown_of(sh, nr);
	if (sh->totals.nr_by_lists == h->arena.nr)
		return print_unknown_pins(sh);
	if (heap_text_begin(sh, "HEAP", "ARENA", "SIZE", "IN USE", "FREE", "FREE BELOW",
		    "LAST CHUNK", "ITS SIZE", NULL) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (pin_row(sh, &v[i]) < 0)
			return -1;
	return heap_text_end(sh, shown, nr, "No heap has a chunk in use.") < 0
		? -1
		: print_unknown_pins(sh);
}

/* List the largest blocks that malloc mapped individually. */
static int
show_mmapped(struct heap_text_shower *sh)
{
	const struct heap_mmapped *m = sh->r->mmapped;
	size_t shown = shown_of(sh, m->chunk.nr);

	if (heap_text_begin(sh, "MAPPED BLOCK", "SIZE", "RESIDENT", "SWAPPED", NULL) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++) {
		const struct leaf *c = &m->chunk.v[i];

		if (ui_table_add(sh->table, sh->e, ADDRESS(c->start),
			    AMOUNT(sh, c->end.v - c->start.v, false),
			    m->has_pages ? AMOUNT(sh, c->rss_bytes, false) : "?",
			    m->has_pages ? AMOUNT(sh, c->swap_bytes, false) : "?", NULL) < 0)
			return -1;
	}
	if (heap_text_end(sh, shown, m->chunk.nr, "No block with a mapping of its own was found.") <
		0)
		return -1;
	if (m->has_account && !heap_mmapped_agrees(m))
		fprintf(sh->out->f,
			"malloc counts %" PRIu64
			" of %s in all: the others lie behind memory that the "
			"program mapped itself,\nor they came or went meanwhile.\n",
			m->account.count, UI_SIZE(sh->ui, m->account.bytes));
	return 0;
}

/* ---- an unknown malloc ---- */

static int
show_headers(struct heap_text_shower *sh)
{
	const struct arenas *as = sh->r->arenas;
	size_t shown = shown_of(sh, as->nr);

	fprintf(sh->out->f,
		"memdiag does not know the layout of this malloc. This is all that it can show:\n"
		"where its %zu arena%s, and how large the heaps of threads are.\n",
		as->nr, as->nr == 1 ? " is" : "s are");
	if (heap_text_begin(sh, "ARENA", "ADDRESS", "HEAPS", "SIZE", "THREADS", NULL) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++) {
		const struct arena *a = &as->v[i];
		uint64_t bytes = 0;

		for (size_t k = 0; k < a->nr_heaps; k++)
			bytes += a->heap[k].size_bytes;
		if (ui_table_add(sh->table, sh->e, NUMBER(i, false), ADDRESS(a->addr),
			    a->is_main ? "brk" : NUMBER(a->nr_heaps, false),
			    a->is_main ? "?" : AMOUNT(sh, bytes, false), NUMBER(a->nr_tids, false),
			    NULL) < 0)
			return -1;
	}
	return heap_text_end(sh, shown, as->nr, "No arena.");
}

/* ---- the whole output ---- */

static const struct {
	enum heap_view view;
	int (*show)(struct heap_text_shower *sh);
} views[] = {
	{ HEAP_ARENAS, show_arenas },
	{ HEAP_PAGES, show_pages },
	{ HEAP_HISTOGRAM, show_histogram },
	{ HEAP_FREE, show_free },
	{ HEAP_PINS, show_pins },
	{ HEAP_THREADS, show_threads },
	{ HEAP_MMAPPED, show_mmapped },
};

static int
heap_text_show(struct heap_text_shower *sh, int (*fn)(struct heap_text_shower *sh))
{
	int r = fn(sh);

	ui_table_free(take_ptr(&sh->table));
	return r;
}

int
heap_show_text(struct ui_output *out, const struct ui_options *ui, const struct heap_report *report,
	struct err *e)
{
	struct heap_text_shower sh = { .out = out, .ui = ui, .r = report, .h = report->h, .e = e };

	heap_text_print_header(&sh);
	if (report->arenas)
		return heap_text_show(&sh, show_headers);
	heap_totals(&sh.totals, report->h);
	if (sh.totals.has_pages)
		print_resident(&sh);
	else
		heap_text_print_account(&sh);
	print_mmapped(&sh);
	print_certainty(&sh);
	checks_print(sh.r->checks, sh.out->f);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (report->views & views[i].view && heap_text_show(&sh, views[i].show) < 0)
			return -1;
	/* Print "Nothing to do" only if the numbers are certain. */
	if (report->nr_verdicts || (sh.totals.has_pages && !sh.totals.nr_approximate))
		verdicts_print(out, report->verdict, report->nr_verdicts);
	return 0;
}
