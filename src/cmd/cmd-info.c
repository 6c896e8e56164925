#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/info.h"

/* More rows than that are asked for with -n. */
#define DEFAULT_ROWS 16
/* A question that threads of a server would notice is not asked. */
#define DEFAULT_MAX_LOCK_NS 10000000

/* ---- options ---- */

enum { KEY_ARENA = 0x3000, KEY_SORT, KEY_XML, KEY_CAPTURE, KEY_METHOD, KEY_MAX_LOCK };

static const struct argp_option options[] = {
	{ "arena", KEY_ARENA, "N", 0, "only arena N, with the sizes of its free chunks", 1 },
	{ "lines", 'n', "N", 0, "print at most N arenas; 0 is all of them (16)", 1 },
	{ "sort", KEY_SORT, "KEY", 0,
		"arenas by resident (default), nr, system, in-use, free or threads", 1 },
	{ "xml", KEY_XML, NULL, 0, "malloc_info's own document and nothing else", 1 },
	{ "method", KEY_METHOD, "METHOD", 0,
		"inject: the process calls malloc_info() itself; read: its heaps are read instead; auto: "
		"what --max-lock says (default)", 1 },
	{ "max-lock", KEY_MAX_LOCK, "DURATION", 0,
		"rather read than let malloc_info() lock an arena for longer; nor is the process stopped "
		"for longer at a time, to be read (10ms)", 1 },
	{ "capture", KEY_CAPTURE, "HOW", 0,
		"how the text is caught: stream, a private stream (default); fd2, what is written to "
		"standard error meanwhile", 2 },
	{ 0 },
};

static const char *const sort_name[] = {
	[INFO_BY_RESIDENT] = "resident",
	[INFO_BY_NR] = "nr",
	[INFO_BY_SYSTEM] = "system",
	[INFO_BY_IN_USE] = "in-use",
	[INFO_BY_FREE] = "free",
	[INFO_BY_THREADS] = "threads",
};
const char *const info_method_name[] = {
	[INFO_AUTO] = "auto",
	[INFO_INJECT] = "inject",
	[INFO_READ] = "read",
};
const char *const info_capture_name[] = {
	[INJECT_CAPTURE_STREAM] = "stream",
	[INJECT_CAPTURE_FD2] = "fd2",
};
#define NR(list) (sizeof(list) / sizeof *(list))

/* The index of ARG in LIST; else argp exits, saying WHY. */
static size_t
choose(struct argp_state *state, const char *arg, const char *const *list, size_t nr,
	const char *why)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(arg, list[i]) == 0)
			return i;
	ui_refuse(state, arg, why);
	return 0;
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	struct info_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		state->child_inputs[1] = &o->inject;
		return 0;
	case KEY_ARENA:
		o->arena = (long)ui_parse_count(state, arg);
		return 0;
	case 'n':
		o->max_rows = ui_parse_count(state, arg);
		return 0;
	case KEY_SORT:
		o->sort = (enum info_sort)choose(state, arg, sort_name, NR(sort_name),
			"is no key: say resident, nr, system, in-use, free or threads");
		return 0;
	case KEY_XML:
		o->xml = true;
		return 0;
	case KEY_METHOD:
		o->method = (enum info_method)choose(state, arg, info_method_name,
			NR(info_method_name), "is no method: say auto, inject or read");
		return 0;
	case KEY_MAX_LOCK:
		if (!ui_parse_duration(arg, &o->max_lock_ns))
			ui_refuse(state, arg, "is not a duration: say 500ms, 10s or 2m");
		return 0;
	case KEY_CAPTURE:
		o->inject.capture = (enum inject_capture)choose(state, arg, info_capture_name,
			NR(info_capture_name), "is no way to capture: say stream or fd2");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = borrow_children,
	.args_doc = "[PID]",
	.doc = "Where the memory of a process is, what malloc keeps in its arenas, and what to do "
	       "about it.\n"
	       "One idle thread is borrowed for about a millisecond to call malloc_info(); no other "
	       "thread stops. Where that would lock an arena for long, its heaps are read instead.\v"
	       "Examples:\n"
	       "  memdiag info --pid 1234\n"
	       "  memdiag info --pid 1234 --arena 3      the free chunks of one arena\n"
	       "  memdiag info --pid 1234 --json -o before.json\n"
	       "  memdiag info --pid 1234 --xml          what malloc_info() itself says\n\n"
	       "What malloc counts as free need not be resident, and what is resident and free need "
	       "not go back: 'at most' and 'at least' are meant.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- finding out ---- */

static void
info_release(struct info *info)
{
	warnings_release(&info->warnings);
	free(info->arena.v);
	malloc_info_release(&info->mi);
	heap_release(&info->heap);
	text_release(&info->xml);
	space_release(&info->space);
	malloc_target_release(&info->mt);
}

/* The memory that it speaks of. */
static int
look(struct info *info, struct err *e)
{
	const struct space_options all = {
		.objects = &info->mt.objects, .arenas = &info->mt.arenas };
	struct space *s = &info->space;
	struct err why;

	if (space_read(s, &info->mt.target, &all, e) < 0)
		return -1;
	if (s->rss_from == SPACE_RSS_NONE)
		warn(&info->warnings, true, "what is resident cannot be told: %s", s->rss_error.msg);
	if (s->arenas_error.kind)
		warn(&info->warnings, true, "arenas cannot be told: %s", s->arenas_error.msg);
	else if (arenas_find_threads(&s->arenas, &info->mt.target, &s->threads, &why) < 0)
		warn(&info->warnings, false, "which threads use which arena cannot be told: %s", why.msg);
	return 0;
}

/* What it means. */
static int
understand(struct info *info, const struct info_options *opt, struct err *e)
{
	const struct malloc_info *mi = &info->mi;

	if (malloc_info_parse(&info->mi, info->xml.v, info->xml.len, e) < 0)
		return -1;
	if (opt->arena >= (long)mi->heap.nr)
		return err_set_kind(e, ERR_USAGE, 0, "there is no arena %ld: they go from 0 to %zu",
			opt->arena, mi->heap.nr - 1);
	if (mi->is_cut && !info->report.is_cut)
		warn(&info->warnings, true, "%s", mi->note);
	if (mi->is_unsorted_doubtful)
		warn(&info->warnings, false,
			"this glibc does not count its unsorted chunks right (BZ 16112): they are left "
			"out, and in use is too high");
	else if (!mi->has_top_in_rest)
		warn(&info->warnings, false,
			"this glibc (before 2.31) does not count the top of an arena as free: in use "
			"is too high by it");
	if (look(info, e) < 0 || info_match_arenas(info, e) < 0)
		return -1;
	info_account(info);
	info_judge(info);
	return 0;
}

/* ---- printing ---- */

/* Raw for a program; for a terminal without the bytes that would drive it. */
static void
print_xml(const struct text *xml, const struct ui_output *out)
{
	char piece[1000], printable[4 * sizeof piece];

	if (!out->is_terminal) {
		fwrite(xml->v, 1, xml->len, out->f);
		return;
	}
	for (size_t at = 0, n; at < xml->len; at += n) {
		n = strcspn(xml->v + at, "\n");	/* or a NUL; the text ends with one */
		if (n > sizeof piece - 1)
			n = sizeof piece - 1;
		memcpy(piece, xml->v + at, n);
		piece[n] = '\0';
		fputs(text_printable(piece, printable, sizeof printable), out->f);
		if (xml->v[at + n] == '\n' || !xml->v[at + n]) {
			fputc('\n', out->f);
			n++;
		}
	}
}

static int
print(const struct info *info, const struct info_options *opt, struct ui_output *out, struct err *e)
{
	if (opt->ui.json && !opt->xml)
		return info_print_json(info, opt, out, e);
	if (!opt->xml)
		return info_print_text(info, opt, out, e);
	print_xml(&info->xml, out);
	return 0;
}

static int
run(int argc, char **argv, struct err *e)
{
	struct info_options opt = { .arena = -1, .max_rows = DEFAULT_ROWS,
		.max_lock_ns = DEFAULT_MAX_LOCK_NS };
	__attribute__((cleanup(info_release))) struct info info = { .mt = MALLOC_TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &opt);
	borrow_limit(&opt.inject, &opt.ui);
	if (ui_output_open(&out, &opt.ui, e) < 0 || info_ask(&info, &opt, e) < 0)
		return -1;
	if (!opt.xml && understand(&info, &opt, e) < 0)
		return -1;
	if (print(&info, &opt, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_tell(&info.warnings, &opt.ui);
	return info.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_info = {
	.name = "info",
	.summary = "where the memory is, malloc's arenas, what to do",
	.touch = CMD_BORROWS_THREAD,
	.run = run,
};
