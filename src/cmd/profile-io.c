#include <config.h>

#include "cmd/profile-io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/stranger.h"
#include "profile/read.h"
#include "recording/parts.h"
#include "recording/profiles.h"
#include "recording/recording-open.h"
#include "ui/progress.h"

/* ---- options ---- */

#define AT(member) UI_AT(struct profile_io_options, member)

static const struct ui_option options[] = {
	{ "sysroot", 0, "DIR", 1, "find libraries below DIR", UI_DIRECTORY, AT(symbols.sysroot) },
	{ "symbols-inside", 0, NULL, 2,
		"with --format=heap: write names too, for machines without the programs", UI_FLAG,
		AT(symbols_inside) },
	{ "source", 0, "DIR", 2,
		"with --format=html: show the lines of functions, from source files below DIR",
		UI_DIRECTORY, AT(source) },
	{ "peek", 0, "REGEX", 2,
		"show the callers and callees of the functions that match: the option of "
		"--format=peek, and a short form of it",
		UI_STRING, AT(peek) },
	{ "lines", 'n', "N", 2, "at most N rows; 0 is all (30)", UI_NUMBER, AT(limit),
		UI_GIVEN(struct profile_io_options, has_limit) },
	{ "by", 0, "WHAT", 3, "add up by {words} (function)", UI_WORD, AT(calls.by),
		.words = calls_by_names },
	{ "objects", 0, NULL, 3, "add up blocks, not bytes", UI_FLAG, AT(objects) },
	{ "cum", 0, NULL, 3, "sort by CUM, not by FLAT", UI_FLAG, AT(by_cum) },
	{ "focus", 0, "REGEX", 3, "only stacks with a match", UI_STRING, AT(calls.focus) },
	{ "ignore", 0, "REGEX", 3, "only stacks without a match", UI_STRING, AT(calls.ignore) },
	{ "hide", 0, "REGEX", 3, "leave matches out of stacks", UI_STRING, AT(calls.hide) },
	{ "allocators", 0, NULL, 3,
		"also show malloc, functions that pass on its memory, such as xmalloc() and those "
		"of std::, and the interpreter of Python",
		UI_FLAG, AT(calls.has_allocators) },
	{ "view", 0, "VIEW", 3,
		"show all functions, or python: those of Python alone, with what all others "
		"allocate for them (all)",
		UI_WORD, AT(calls.view), .words = calls_view_names },
	{ 0 },
};

const struct ui_syntax profile_io_syntax = { .options = options };

static bool
is_conversion(const struct profile_io_options *o)
{
	return o->format->can & FORMAT_IS_PROFILE;
}

int
profile_io_begin(struct profile_io_options *o, const struct ui_options *ui, struct err *e)
{
	if (o->peek && !o->format)
		o->format = &report_format_peek;
	if (o->peek && (o->format != &report_format_peek || ui->json))
		return err_set_kind(e, ERR_USAGE, 0, "--peek is an option of --format=peek");
	if (!o->format)
		o->format = ui->json ? &report_format_json : &report_format_text;
	if (o->source && o->format != &report_format_html)
		return err_set_kind(e, ERR_USAGE, 0, "--source is an option of --format=html");
	if (!o->has_limit && o->format->can & FORMAT_HAS_ROWS)
		o->limit = o->format->rows;
	if (is_conversion(o) && (o->calls.focus || o->calls.ignore || o->calls.hide))
		return err_set_kind(e, ERR_USAGE, 0,
			"--focus, --ignore and --hide do not work with --format=%s, which writes all stacks",
			o->format->name);
	if (o->calls.view != CALLS_VIEW_ALL && o->calls.by == CALLS_BY_OBJECT)
		return err_set_kind(e, ERR_USAGE, 0,
			"--view=python does not work with --by=object: functions of Python are in no object");
	if (o->calls.view != CALLS_VIEW_ALL && is_conversion(o))
		return err_set_kind(e, ERR_USAGE, 0,
			"--view does not work with --format=%s, which writes all stacks",
			o->format->name);
	if (o->symbols_inside && !(o->format->can & FORMAT_TAKES_NAMES))
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

/* True if opening for a FIFO failed because the FIFO does not exist. */
static bool
is_none(int error)
{
	return error == ENODEV || error == EISDIR || error == ENOENT || error == ENOTDIR;
}

int
profile_io_read_pipe(struct text *text, const char **name, const char *path, struct err *e)
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
profile_io_read_file(
	struct profile **ret, const char *path, const struct ui_options *ui, struct err *e)
{
	auto_text struct text text = { 0 };
	auto_recording struct recording *r = NULL;
	const char *name;
	int is_pipe = profile_io_read_pipe(&text, &name, path, e), found;

	if (is_pipe < 0)
		return -1;
	found = is_pipe ? recording_parse(&r, name, text.v, text.len, e)
			: recording_open(&r, path, e);
	if (found)
		return found < 0 ? -1 : read_recording(ret, r, ui, e);
	return is_pipe ? profile_parse(ret, name, text.v, text.len, e) : profile_read(ret, path, e);
}

int
profile_io_read(struct profile **ret, const char *path, const struct profile_io_options *o,
	const struct ui_options *ui, struct err *e)
{
	return profile_io_read_file(ret, path, ui, e) < 0 || symbols_find(*ret, &o->symbols, e) < 0
		? -1
		: 0;
}

void
profile_io_warn(struct warnings *w, const struct profile *p)
{
	for (size_t i = 0; i < p->warnings.nr; i++)
		warnings_add(w, false, "%s", p->warnings.v[i]);
	w->is_partial |= p->is_partial;
}

/* ---- writing ---- */

/*
 * Sum the blocks for the bytes that O selects, if the profile has them, and point V to them.
 * Returns 0, or -1 with E.
 */
static int
add_blocks(
	struct report_view *v, const struct profile_io_options *o, struct calls *c, struct err *e)
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
profile_io_write(struct report_view *v, const struct profile_io_options *o,
	const struct warnings *w, struct ui_output *out, struct err *e)
{
	auto_calls struct calls c = { 0 }, blocks = { 0 };

	if (!is_conversion(o) &&
		(calls_make(&c, v->p, &o->calls, e) < 0 || add_blocks(v, o, &blocks, e) < 0))
		return -1;
	v->c = &c;
	v->limit = o->limit;
	v->peek = o->peek;
	v->source = o->source;
	v->by_cum = o->by_cum;
	v->symbols_inside = o->symbols_inside;
	v->warnings = w;
	if (o->format->can & FORMAT_IS_BINARY && out->is_terminal)
		return err_set_kind(e, ERR_USAGE, 0,
			"will not write compressed data to a terminal; use -o FILE");
	return o->format->write(v, out, e);
}
