#include <config.h>

#include "cmd/reporting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/self.h"
#include "os/stranger.h"
#include "profile/read.h"
#include "profile/write.h"
#include "recording/parts.h"
#include "recording/profiles.h"
#include "recording/recording-open.h"
#include "report/folded.h"

#define PAGE_ROWS 200

const char *const report_format_names[] = { "text", "tree", "json", "pprof", "heap", "folded",
	"flame", "html", "graph", "dot", NULL };

/* ---- options ---- */

enum {
	KEY_SYSROOT = 0x2100,
	KEY_SYMBOLS_INSIDE,
	KEY_BY,
	KEY_OBJECTS,
	KEY_CUM,
	KEY_FOCUS,
	KEY_IGNORE,
	KEY_HIDE,
	KEY_ALLOCATORS,
	KEY_VIEW,
};

static const struct argp_option options[] = {
	{ "sysroot", KEY_SYSROOT, "DIR", 0, "find libraries below DIR", 1 },
	{ "symbols-inside", KEY_SYMBOLS_INSIDE, NULL, 0,
		"with --format=heap: write names too, for machines without the programs", 2 },
	{ "lines", 'n', "N", 0, "at most N rows; 0 is all (30)", 2 },
	{ "by", KEY_BY, "WHAT", 0, "add up by function, line or object (function)", 3 },
	{ "objects", KEY_OBJECTS, NULL, 0, "add up blocks, not bytes", 3 },
	{ "cum", KEY_CUM, NULL, 0, "sort by CUM, not by FLAT", 3 },
	{ "focus", KEY_FOCUS, "REGEX", 0, "only stacks with a match", 3 },
	{ "ignore", KEY_IGNORE, "REGEX", 0, "only stacks without a match", 3 },
	{ "hide", KEY_HIDE, "REGEX", 0, "leave matches out of stacks", 3 },
	{ "allocators", KEY_ALLOCATORS, NULL, 0,
		"show malloc, functions that hand on what it returns, such as xmalloc() and those "
		"of std::, and the interpreter of Python, too",
		3 },
	{ "view", KEY_VIEW, "VIEW", 0,
		"show all functions, or python: those of Python alone, with what all others "
		"allocate for them (all)",
		3 },
	{ 0 },
};

static error_t
reporting_parse_option(int key, char *arg, struct argp_state *state)
{
	struct reporting *o = state->input;

	switch (key) {
	case KEY_SYSROOT:
		o->symbols.sysroot = arg;
		return 0;
	case KEY_SYMBOLS_INSIDE:
		o->symbols_inside = true;
		return 0;
	case 'n':
		o->limit = ui_parse_count(state, arg);
		o->has_limit = true;
		return 0;
	case KEY_BY:
		o->calls.by = (enum calls_by)ui_word_option(
			state, arg, calls_by_names, "is not function, line or object");
		return 0;
	case KEY_OBJECTS:
		o->objects = true;
		return 0;
	case KEY_CUM:
		o->by_cum = true;
		return 0;
	case KEY_FOCUS:
		o->calls.focus = arg;
		return 0;
	case KEY_IGNORE:
		o->calls.ignore = arg;
		return 0;
	case KEY_HIDE:
		o->calls.hide = arg;
		return 0;
	case KEY_ALLOCATORS:
		o->calls.has_allocators = true;
		return 0;
	case KEY_VIEW:
		o->calls.view = (enum calls_view)ui_word_option(
			state, arg, calls_view_names, "is not all or python");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp reporting_argp = { .options = options, .parser = reporting_parse_option };

/* Whether all that is written is the profile itself. */
static bool
is_conversion(const struct reporting *o)
{
	return o->format == FORMAT_PPROF || o->format == FORMAT_HEAP;
}

int
reporting_begin(struct reporting *o, const struct ui_options *ui, struct err *e)
{
	if (o->format < 0)
		o->format = ui->json ? FORMAT_JSON : FORMAT_TEXT;
	if (!o->has_limit && (o->format == FORMAT_JSON || o->format == FORMAT_HTML))
		o->limit = o->format == FORMAT_JSON ? 0 : PAGE_ROWS;
	if (is_conversion(o) && (o->calls.focus || o->calls.ignore || o->calls.hide))
		return err_set_kind(e, ERR_USAGE, 0,
			"--focus, --ignore and --hide do not work with --format=%s, which writes "
			"all stacks",
			report_format_names[o->format]);
	if (o->calls.view != CALLS_VIEW_ALL && o->calls.by == CALLS_BY_OBJECT)
		return err_set_kind(e, ERR_USAGE, 0,
			"--view=python does not work with --by=object: functions of Python are in "
			"no object");
	if (o->calls.view != CALLS_VIEW_ALL && is_conversion(o))
		return err_set_kind(e, ERR_USAGE, 0,
			"--view does not work with --format=%s, which writes all stacks",
			report_format_names[o->format]);
	if (o->symbols_inside && o->format != FORMAT_HEAP)
		return err_set_kind(
			e, ERR_USAGE, 0, "--symbols-inside is an option of --format=heap");
	return 0;
}

/* ---- reading ---- */

static int
read_recording(
	struct profile **ret, struct recording *r, const struct ui_options *ui, struct err *e)
{
	auto_history struct history h = { 0 };
	auto_progress struct ui_progress *progress = ui_progress_begin(ui, "reading the recording");

	(void)progress;
	return history_read(&h, r, NULL, e) < 0 ? -1 : history_profile(ret, &h, r, e);
}

/* Whether an open for a FIFO has failed because no FIFO is there. */
static bool
is_none(int error)
{
	return error == ENODEV || error == EISDIR || error == ENOENT || error == ENOTDIR;
}

int
reporting_read_pipe(struct text *text, const char **name, const char *path, struct err *e)
{
	bool is_input = strcmp(path, "-") == 0;
	auto_fd int fd = -1;

	*name = is_input ? "standard input" : path;
	if (!is_input)
		fd = os_open_at(AT_FDCWD, path, OS_PIPE);
	if (!is_input && fd < 0)
		return is_none(errno) ? 0 : err_set(e, errno, "cannot read '%s'", path);
	return os_read_whole(text, is_input ? STDIN_FILENO : fd, *name, e) < 0 ? -1 : 1;
}

static int
reporting_read_file(
	struct profile **ret, const char *path, const struct ui_options *ui, struct err *e)
{
	auto_text struct text text = { 0 };
	auto_recording struct recording *r = NULL;
	const char *name;
	int is_pipe = reporting_read_pipe(&text, &name, path, e), found;

	if (is_pipe < 0)
		return -1;
	found = is_pipe ? recording_parse(&r, name, text.v, text.len, e)
			: recording_open(&r, path, e);
	if (found)
		return found < 0 ? -1 : read_recording(ret, r, ui, e);
	return is_pipe ? profile_parse(ret, name, text.v, text.len, e) : profile_read(ret, path, e);
}

int
reporting_read(struct profile **ret, const char *path, const struct reporting *o,
	const struct ui_options *ui, struct err *e)
{
	return reporting_read_file(ret, path, ui, e) < 0 || symbols_find(*ret, &o->symbols, e) < 0
		? -1
		: 0;
}

void
reporting_warn(struct warnings *w, const struct profile *p)
{
	for (size_t i = 0; i < p->warnings.nr; i++)
		warnings_add(w, false, "%s", p->warnings.v[i]);
	w->is_partial |= p->is_partial;
}

/* ---- writing ---- */

static int
reporting_write_json(
	const struct report_view *v, const struct warnings *w, struct ui_output *out, struct err *e)
{
	json_auto_t *document = ui_json_new("report", NULL);

	if (report_to_json(v, json_object_get(document, "data"), e) < 0)
		return -1;
	warnings_to_json(w, document);
	return ui_json_print(document, out, e);
}

struct reporting_drawing {
	int from, to; /* descriptors */
};

/* In a child: become dot. */
static int
execute_dot(void *arg, struct err *e)
{
	const struct reporting_drawing *d = arg;

	if (dup2(d->from, STDIN_FILENO) < 0 || dup2(d->to, STDOUT_FILENO) < 0)
		return err_set(e, errno, "cannot run 'dot'");
	execlp("dot", "dot", "-Tsvg", (char *)NULL);
	if (errno == ENOENT)
		return err_set(e, 0,
			"cannot draw the graph of calls: 'dot' is not installed; install graphviz, "
			"or use --format=flame, which needs no other program");
	return err_set(e, errno, "cannot run 'dot'");
}

/* Have dot draw what is in FROM, to OUT. */
static int
run_dot(FILE *from, struct ui_output *out, struct err *e)
{
	struct reporting_drawing d = { fileno(from), fileno(out->f) };
	struct os_end end;

	if (os_run_child(execute_dot, &d, &end, e) < 0)
		return -1;
	return end.status ? err_set(e, 0, "cannot draw the graph of calls: 'dot' failed") : 0;
}

static int
write_graph(const struct report_view *v, struct ui_output *out, struct err *e)
{
	auto_file FILE *dot = tmpfile();

	if (!dot)
		return err_set(e, errno, "cannot keep the graph of calls");
	if (report_print_dot(v, dot, e) < 0)
		return -1;
	if (fflush(dot) || fseek(dot, 0, SEEK_SET) < 0)
		return err_set(e, errno, "cannot keep the graph of calls");
	return run_dot(dot, out, e);
}

/*
 * Add up the blocks of the bytes that O is about, if there are any, and point V to them.  0, or -1
 * with E.
 */
static int
add_blocks(struct report_view *v, const struct reporting *o, struct calls *c, struct err *e)
{
	static const char suffix[] = "_space";
	const char *name = v->p->types.v[o->calls.type].name;
	const size_t len = strlen(name), cut = sizeof suffix - 1;
	struct calls_options options = o->calls;
	char blocks[128];
	int type;

	if (!o->with_blocks || len <= cut || strcmp(name + len - cut, suffix) != 0)
		return 0;
	snprintf(blocks, sizeof blocks, "%.*s_objects", (int)(len - cut), name);
	type = profile_find_type(v->p, blocks);
	if (type < 0)
		return 0;
	options.type = (size_t)type;
	if (calls_make(c, v->p, &options, e) < 0)
		return -1;
	v->blocks = c;
	return 0;
}

int
reporting_write(struct report_view *v, const struct reporting *o, const struct warnings *w,
	struct ui_output *out, struct err *e)
{
	auto_calls struct calls c = { 0 }, blocks = { 0 };

	if (!is_conversion(o) &&
		(calls_make(&c, v->p, &o->calls, e) < 0 || add_blocks(v, o, &blocks, e) < 0))
		return -1;
	v->c = &c;
	v->limit = o->limit;
	v->by_cum = o->by_cum;
	switch (o->format) {
	case FORMAT_TREE:
		return report_print_tree(v, out, e);
	case FORMAT_JSON:
		return reporting_write_json(v, w, out, e);
	case FORMAT_PPROF:
		if (out->is_terminal)
			return err_set_kind(e, ERR_USAGE, 0,
				"will not write compressed data to a terminal; use -o FILE");
		return pprof_write(v->p, out->f, e);
	case FORMAT_HEAP:
		return heap_write(v->p, out->f, o->symbols_inside, e);
	case FORMAT_FOLDED:
		return folded_write(v->c, out->f, e);
	case FORMAT_FLAME:
		return report_print_flame(v, out, e);
	case FORMAT_HTML:
		return report_print_html(v, out, e);
	case FORMAT_GRAPH:
		return write_graph(v, out, e);
	case FORMAT_DOT:
		return report_print_dot(v, out->f, e);
	default:
		return report_print_table(v, out, e);
	}
}
