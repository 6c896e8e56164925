#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/deadline.h"
#include "cmd/heap-show.h"
#include "ui/ui.h"
#include "verdict/verdict.h"

#define DEFAULT_ROWS 16
#define ALL_VIEWS (2 * HEAP_MMAPPED - 1)
/* Threads whose arena is looked up when nothing else is known: each costs a read. */
#define MAX_THREADS 4096

/* ---- options ---- */

struct options {
	struct ui_options ui;
	struct heap_options heap;
	unsigned int views;
	size_t limit;
	bool xml;
	const char *core, *sysroot;
};

enum { KEY_XML = 0x3000, KEY_CORE, KEY_SYSROOT, KEY_MAX_STOP, KEY_NO_STOP, KEY_BINS_ONLY,
	KEY_VIEW = 0x4000 };

static const struct argp_option options[] = {
	{ "arenas", KEY_VIEW + HEAP_ARENAS, NULL, 0, "each arena in a line", 1 },
	{ "pages", KEY_VIEW + HEAP_PAGES, NULL, 0, "the pages of each arena, by use", 1 },
	{ "histogram", KEY_VIEW + HEAP_HISTOGRAM, NULL, 0, "chunks in use and free, by size", 1 },
	{ "free", KEY_VIEW + HEAP_FREE, NULL, 0, "the largest free chunks", 1 },
	{ "pins", KEY_VIEW + HEAP_PINS, NULL, 0,
		"the chunk that keeps a heap from shrinking, and what is free below it", 1 },
	{ "threads", KEY_VIEW + HEAP_THREADS, NULL, 0,
		"each thread: its arena, and what it has freed and keeps", 1 },
	{ "mmapped", KEY_VIEW + HEAP_MMAPPED, NULL, 0,
		"the largest blocks that have a mapping of their own", 1 },
	{ "lines", 'n', "N", 0, "at most N lines in each table; 0 is all of them (16)", 1 },
	{ "xml", KEY_XML, NULL, 0, "the document that malloc_info() would write, nothing else", 1 },
	{ NULL, 0, NULL, 0, "How it is read:", 2 },
	{ "max-stop-ms", KEY_MAX_STOP, "N", 0,
		"stop the process for at most N milliseconds at a time (200)", 2 },
	{ "no-stop", KEY_NO_STOP, NULL, 0, "do not stop it: what changes meanwhile is approximate",
		2 },
	{ "bins-only", KEY_BINS_ONLY, NULL, 0,
		"only malloc's lists of free chunks, for heaps too large to be walked", 2 },
	{ "core", KEY_CORE, "FILE", 0, "read a core file instead of a process", 2 },
	{ "sysroot", KEY_SYSROOT, "DIR", 0,
		"look below DIR for the program and the libraries that the core names", 2 },
	{ 0 },
};

static void
check(struct argp_state *state, const struct options *o)
{
	if (o->core && o->ui.pid)
		argp_error(state, "a core file or a process, not both");
	if (o->sysroot && !o->core)
		argp_error(state, "--sysroot is for --core");
	if (!o->core && !o->ui.pid)
		argp_error(state, "which process? use --pid PID, or --core FILE");
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		return 0;
	case 'n':
		o->limit = ui_parse_count(state, arg);
		return 0;
	case KEY_XML:
		o->xml = true;
		return 0;
	case KEY_MAX_STOP:
		o->heap.max_stop_ns = ui_parse_count(state, arg) * UINT64_C(1000000);
		return 0;
	case KEY_NO_STOP:
		o->heap.max_stop_ns = 0;
		return 0;
	case KEY_BINS_ONLY:
		o->heap.bins_only = true;
		return 0;
	case KEY_CORE:
		o->core = arg;
		return 0;
	case KEY_SYSROOT:
		o->sysroot = arg;
		return 0;
	case ARGP_KEY_END:
		check(state, o);
		return 0;
	}
	if (key <= KEY_VIEW || key > KEY_VIEW + ALL_VIEWS)
		return ARGP_ERR_UNKNOWN;
	o->views |= (unsigned int)(key - KEY_VIEW);
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = ui_options_children,
	.args_doc = "[PID]",
	.doc = "What is in the heaps of glibc's malloc: in use, cached, free; and of what is free, "
	       "what malloc_trim() would give back and what it cannot.\n"
	       "Memory is read, nothing runs in the process. It is stopped while it is read, for a "
	       "bounded time.\v"
	       "Examples:\n"
	       "  memdiag heap --pid 1234\n"
	       "  memdiag heap --pid 1234 --arenas --threads\n"
	       "  memdiag heap --pid 1234 --no-stop     may be approximate\n"
	       "  memdiag heap --pid 1234 --json -o monday.json\n"
	       "  memdiag heap --core core.1234 --pins\n\n"
	       "An arena is exact: all threads stood still and nobody held its lock; consistent: "
	       "all checks passed; or approximate. If any is approximate the exit status is 2.\n\n"
	       UI_EXIT_STATUS_HELP,
};

/* ---- finding out ---- */

/* What is read, and what it is read from. */
struct seen {
	struct target target;
	struct maps maps;
	struct objects objects;
	struct heap heap;
	struct arenas arenas;	/* only if the layout is unknown */
	bool is_unknown;
	struct heap_mmapped mmapped;
	struct os_status status;
	bool has_status;
	struct verdict verdict[VERDICT_MAX];
	size_t nr_verdicts;
	struct warnings warnings;
};

static void
seen_release(struct seen *s)
{
	warnings_release(&s->warnings);
	heap_mmapped_release(&s->mmapped);
	arenas_release(&s->arenas);
	heap_release(&s->heap);
	objects_release(&s->objects);
	maps_release(&s->maps);
	target_release(&s->target);
}

static int
open_target(struct seen *s, const struct options *o, struct err *e)
{
	if (o->core)
		return target_open_core(&s->target, o->core, o->sysroot, e);
	return target_open(&s->target, o->ui.pid, e);
}

/* The file that the program's malloc is in, made printable into BUF, if that is not libc. */
static bool
other_malloc(const struct seen *s, char *buf, size_t size)
{
	const struct object *o = objects_malloc(&s->objects, &s->target);

	if (!o || o->is_libc)
		return false;
	text_printable(o->path, buf, size);
	return true;
}

/* A program can bring its own malloc, and libc's is then used by few ... */
static void
warn_of_other_malloc(struct seen *s)
{
	char path[256];

	if (other_malloc(s, path, sizeof path))
		warn(&s->warnings, true,
			"the program's malloc is not glibc's but that of %s: this is only what "
			"lies in glibc's beside it", path);
}

/* ... or by nobody. */
static int
refuse(const struct seen *s, struct err *e)
{
	char path[256];

	if (e->kind == ERR_UNSUPPORTED && other_malloc(s, path, sizeof path))
		err_hint(e, "Its malloc is that of %s; 'memdiag maps' works here", path);
	return -1;
}

/* The arenas may be told where what is in them cannot. */
static int
read_headers(struct seen *s, struct err *e)
{
	auto_threads struct threads threads = { 0 };
	struct err why = *e, ignored;

	if (why.kind != ERR_UNSUPPORTED ||
		arenas_find(&s->arenas, &s->target, &s->maps, &s->objects, NULL, &ignored) < 0)
		return refuse(s, e);
	/* Without it the threads of each are not told. */
	if (threads_list(&threads, &s->target, MAX_THREADS, &ignored) == 0)
		arenas_find_threads(&s->arenas, &s->target, &threads, &ignored);
	s->is_unknown = true;
	warn(&s->warnings, true, "%s", why.msg);
	return 0;
}

/* dlmopen() and LD_AUDIT bring one; an arena that nobody has can be of its malloc. */
static const struct object *
second_libc(const struct seen *s)
{
	for (size_t i = 0; i < s->objects.nr; i++) {
		const struct object *o = &s->objects.v[i];

		if (o->is_libc && !raddr_in(s->heap.arena.v[0].addr, o->start, o->end))
			return o;
	}
	return NULL;
}

static void
warn_of_lacking_arenas(struct seen *s)
{
	const struct heap *h = &s->heap;
	const struct object *libc = second_libc(s);
	char path[256], bytes[32];

	if (!h->is_ring_closed)
		warn(&s->warnings, true,
			"malloc's list of arenas is damaged: there may be more than are shown");
	if (libc)
		warn(&s->warnings, false,
			"a second libc is loaded, %s: what its malloc has is not counted here",
			text_printable(libc->path, path, sizeof path));
	if (h->strays.nr)
		warn(&s->warnings, true,
			"heaps of malloc that none of these arenas has: %zu, of %s; %s",
			h->strays.nr, text_bytes(h->strays.bytes, bytes, sizeof bytes),
			libc ? "they are the second libc's, or memory is damaged"
			     : "memory is damaged");
}

static void
warn_of_gaps(struct seen *s, const struct options *o)
{
	const struct heap *h = &s->heap;
	struct heap_totals t;

	heap_totals(&t, h);
	if (t.nr_approximate)
		warn(&s->warnings, true, "approximate: %zu of %zu arenas; --arenas says why",
			t.nr_approximate, h->arena.nr);
	if (!t.has_pages)
		warn(&s->warnings, true, "what is resident cannot be told");
	if (h->is_resident_least)
		warn(&s->warnings, false,
			"the core file has no holes: what was resident is at least what is said");
	if (t.nr_by_lists && !o->heap.bins_only)
		warn(&s->warnings, true,
			"of %zu of %zu arenas only the lists of free chunks were read",
			t.nr_by_lists, h->arena.nr);
	if (!h->layout.mp.v)
		warn(&s->warnings, true,
			"malloc's settings were not found: the large blocks are not counted");
}

static void
warn_of_core(struct seen *s)
{
	struct os_core_facts f;

	if (os_core_facts(&s->target, &f) && f.missing_bytes)
		warn(&s->warnings, true,
			"the core file is cut short: %" PRIu64 " bytes are missing",
			f.missing_bytes);
}

/*
 * The rest of the address space: the large blocks are there, and the heaps are weighed against it,
 * but for a core file, which does not tell all of it.
 */
static int
look_around(struct seen *s, struct err *e)
{
	const struct space_options known = { .objects = &s->objects };
	auto_verdict_facts struct verdict_facts f = { 0 };
	auto_space struct space space = { 0 };
	struct err why;
	bool has_space = space_read(&space, &s->target, &known, &why) == 0;

	if (!has_space)
		debug("%s", why.msg);
	if (heap_mmapped_find(&s->mmapped, &s->target, &s->heap.layout, has_space ? &space : NULL,
		    e) < 0)
		return -1;
	verdict_facts_gather(&f, &s->target, has_space && !s->target.core ? &space : NULL, &s->heap);
	s->nr_verdicts = verdict_judge(&f, s->verdict);
	return 0;
}

static int
look(struct seen *s, const struct options *o, struct err *e)
{
	struct err ignored;

	if (open_target(s, o, e) < 0 || maps_read(&s->maps, &s->target, e) < 0 ||
		objects_find(&s->objects, &s->maps, &s->target, NULL, e) < 0)
		return -1;
	s->has_status = !o->core && os_status(&s->target, 0, &s->status, &ignored) == 0;
	warn_of_other_malloc(s);
	warn_of_core(s);
	if (heap_read(&s->heap, &s->target, &s->maps, &s->objects, &o->heap, e) < 0)
		return read_headers(s, e);
	warn_of_lacking_arenas(s);
	warn_of_gaps(s, o);
	return o->xml ? 0 : look_around(s, e);
}

/* ---- printing ---- */

static int
print_xml(const struct seen *s, struct ui_output *out, struct err *e)
{
	auto_text struct text xml = { 0 };

	if (s->is_unknown)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s",
			s->warnings.v[s->warnings.nr - 1].text);
	if (heap_write_xml(&s->heap, &xml, e) < 0)
		return -1;
	fwrite(xml.v, 1, xml.len, out->f);
	return 0;
}

static int
print(const struct seen *s, const struct options *o, struct ui_output *out, struct err *e)
{
	struct heap_report report = {
		.t = &s->target,
		.core = o->core,
		.status = s->has_status ? &s->status : NULL,
		.h = &s->heap,
		.mmapped = &s->mmapped,
		.arenas = s->is_unknown ? &s->arenas : NULL,
		.views = o->views,
		.limit = o->limit,
		.verdict = s->verdict,
		.nr_verdicts = s->nr_verdicts,
		.warnings = &s->warnings,
	};

	if (o->xml)
		return print_xml(s, out, e);
	if (o->ui.json)
		return heap_show_json(out, &report, e);
	return heap_show_text(out, &o->ui, &report, e);
}

static int
run(int argc, char **argv, struct err *e)
{
	struct options o = {
		.ui.pid_optional = true,
		.heap = { .max_stop_ns = HEAP_DEFAULT_STOP_NS, .want_uss = true },
		.limit = DEFAULT_ROWS,
	};
	__attribute__((cleanup(seen_release))) struct seen s = { .target = TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &o);
	deadline_set(o.ui.timeout_ns);
	if (ui_output_open(&out, &o.ui, e) < 0 || look(&s, &o, e) < 0 ||
		print(&s, &o, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_tell(&s.warnings, &o.ui);
	return s.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_heap = {
	.name = "heap",
	.summary = "read malloc's heaps: in use, free, what a trim would give back",
	.touch = CMD_STOPS_TARGET,
	.run = run,
};
