#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/command.h"
#include "cmd/growth.h"
#include "cmd/maps-show.h"
#include "cmd/warnings.h"
#include "ui/ui.h"

#define DEFAULT_ROWS 16
#define NR_LISTS 4

/* ---- what is compared ---- */

/* An arena by its address, which stays; its number changes when others are made. */
static const char *
arena_name(json_t *row, char *buf, size_t size)
{
	const char *address = json_string_value(json_object_get(row, "address"));
	json_t *index = json_object_get(row, "index");
	char printable[64];

	if (json_is_true(json_object_get(row, "main")))
		snprintf(buf, size, "main arena");
	else if (address)
		snprintf(buf, size, "arena %s",
			text_printable(address, printable, sizeof printable));
	else if (json_is_integer(index))
		snprintf(buf, size, "arena %" JSON_INTEGER_FORMAT, json_integer_value(index));
	else
		return NULL;
	return buf;
}

/* "free_trimmable" as "free trimmable". */
static const char *
kind_name(json_t *row, char *buf, size_t size)
{
	const char *kind = json_string_value(json_object_get(row, "kind"));

	if (!kind)
		return NULL;
	text_printable(kind, buf, size);
	for (char *p = buf; *p; p++)
		if (*p == '_')
			*p = ' ';
	return buf;
}

static const char *
size_name(json_t *row, char *buf, size_t size)
{
	json_t *from = json_object_get(row, "from_bytes"), *to = json_object_get(row, "to_bytes");
	char a[32], b[32];

	if (!json_is_integer(from))
		return NULL;
	text_bytes((uint64_t)json_integer_value(from), a, sizeof a);
	if (!json_is_integer(to))
		snprintf(buf, size, "%s and more", a);
	else
		snprintf(buf, size, "%s to %s", a,
			text_bytes((uint64_t)json_integer_value(to), b, sizeof b));
	return buf;
}

static const char *
mmapped_name(json_t *row, char *buf, size_t size)
{
	(void)row;
	snprintf(buf, size, "blocks with a mapping of their own");
	return buf;
}

static const struct growth_list accounting = {
	.member = "accounting",
	.title = "RESIDENT, FOR WHAT",
	.name = kind_name,
	.column = { { "bytes", "RSS", false } },
};

static const struct growth_list mmapped = {
	.member = "mmapped",
	.title = "LARGE BLOCKS",
	.name = mmapped_name,
	.column = { { "bytes", "SIZE", false }, { "count", "COUNT", false } },
};

static const struct growth_list info_arenas = {
	.member = "arenas",
	.title = "ARENA",
	.name = arena_name,
	.column = {
		{ "system_bytes", "SYSTEM", false },
		{ "in_use_bytes", "IN USE", false },
		{ "fast_bytes", "FAST", true },
		{ "rest_bytes", "REST", false },
		{ "resident_bytes", "RESIDENT", false },
	},
	.sort = 4,
};

static const struct growth_list heap_arenas = {
	.member = "arenas",
	.title = "ARENA",
	.name = arena_name,
	.column = {
		{ "system_bytes", "SYSTEM", false },
		{ "in_use_bytes", "IN USE", false },
		{ "cached_bytes", "CACHED", false },
		{ "stranded_bytes", "STRANDED", false },
		{ "top_bytes", "TOP", false },
		{ "resident_bytes", "RESIDENT", false },
	},
	.sort = 5,
};

static const struct growth_list heap_sizes = {
	.member = "sizes",
	.title = "CHUNKS OF",
	.name = size_name,
	.column = {
		{ "in_use_bytes", "IN USE", false },
		{ "in_use_chunks", "CHUNKS", false },
		{ "free_bytes", "FREE", false },
	},
};

/* The lists of a command's output, for those that can be compared. */
static const struct comparable {
	const char *command;
	const struct growth_list *list[NR_LISTS];
} comparables[] = {
	{ "info", { &accounting, &mmapped, &info_arenas } },
	{ "maps", { &maps_growth } },
	{ "heap", { &accounting, &mmapped, &heap_arenas, &heap_sizes } },
};

/* ---- options ---- */

struct options {
	struct ui_options ui;
	size_t limit;
	const char *file[2];
};

static const struct argp_option options[] = {
	{ "lines", 'n', "N", 0, "at most N lines in each table; 0 is all of them (16)", 1 },
	{ 0 },
};

static void
add_file(struct argp_state *state, struct options *o, const char *arg)
{
	if (o->file[1])
		argp_error(state, "more than two files");
	o->file[o->file[0] != NULL] = arg;
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
	case ARGP_KEY_ARG:
		add_file(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->file[1])
			argp_error(state, "which two files? They are what --json wrote");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = ui_output_children,
	.args_doc = "BEFORE AFTER",
	.doc = "What grew between two outputs of info, maps or heap that were saved with --json.\v"
	       "Examples:\n"
	       "  memdiag info 1234 --json -o monday.json\n"
	       "  memdiag info 1234 --json -o tuesday.json\n"
	       "  memdiag diff monday.json tuesday.json\n\n"
	       "What grew most comes first. Lines in which no size changed are left out.\n\n"
	       UI_EXIT_STATUS_HELP,
};

/* ---- comparing ---- */

struct pair {
	json_t *was, *is;	/* owned */
	const struct comparable *what;
	struct warnings warnings;
};

static void
pair_release(struct pair *p)
{
	json_decref(p->was);
	json_decref(p->is);
	warnings_release(&p->warnings);
}

static const struct comparable *
comparable_of(const char *command)
{
	for (size_t i = 0; i < sizeof comparables / sizeof *comparables; i++)
		if (strcmp(comparables[i].command, command) == 0)
			return &comparables[i];
	return NULL;
}

static int
check_kind(struct pair *p, const struct options *o, struct err *e)
{
	const char *was = saved_command(p->was), *is = saved_command(p->is);

	if (strcmp(was, is) != 0)
		return err_set(e, 0, "%s is of 'memdiag %s', %s of 'memdiag %s': only two of the "
			"same kind can be compared", o->file[0], was, o->file[1], is);
	p->what = comparable_of(is);
	if (!p->what)
		return err_set(e, 0, "what 'memdiag %s' writes cannot be compared, only that of "
			"info, maps and heap", is);
	return 0;
}

static json_t *
data_of(json_t *document, const char *member)
{
	return json_object_get(json_object_get(document, "data"), member);
}

/* maps can be added up by several things, and by mapping there are no names. */
static int
check_by(struct pair *p, struct err *e)
{
	const char *was = json_string_value(data_of(p->was, "by"));
	const char *is = json_string_value(data_of(p->is, "by"));
	char a[32], b[32];

	if (p->what->list[0] != &maps_growth || (was && is && strcmp(was, is) == 0 &&
		strcmp(is, rows_by_names[BY_MAPPING]) != 0))
		return 0;
	return err_set(e, 0, "they are added up by %s and by %s, and cannot be compared",
		text_printable(was ? was : "nothing", a, sizeof a),
		text_printable(is ? is : "nothing", b, sizeof b));
}

static void
check_target(struct pair *p, const struct options *o)
{
	json_t *document[2] = { p->was, p->is };
	char a[96], b[96];

	if (!saved_is_same_target(p->was, p->is))
		warn(&p->warnings, false, "they are of two processes: %s and %s",
			saved_target(p->was, a, sizeof a), saved_target(p->is, b, sizeof b));
	for (int i = 0; i < 2; i++)
		if (json_is_true(json_object_get(document[i], "partial")))
			warn(&p->warnings, true, "%s is partial: some of it is missing",
				o->file[i]);
}

/* All lists that both have into G, which has room for NR_LISTS.  Those it lacks are left empty. */
static int
compare(struct growth g[NR_LISTS], struct pair *p, const struct options *o, struct err *e)
{
	size_t nr = 0;

	for (size_t i = 0; i < NR_LISTS && p->what->list[i]; i++) {
		const struct growth_list *list = p->what->list[i];
		json_t *was = data_of(p->was, list->member), *is = data_of(p->is, list->member);

		if (!was || !is) {
			warn(&p->warnings, true, "%s has no %s: that is not compared",
				o->file[was != NULL], list->member);
			continue;
		}
		if (growth_find(&g[i], list, was, is, e) < 0)
			return err_context(e, "comparing %s with %s", o->file[0], o->file[1]);
		nr++;
	}
	if (!nr)
		return err_set(e, 0, "%s and %s have nothing that can be compared", o->file[0],
			o->file[1]);
	return 0;
}

/* ---- showing ---- */

static const char *
when(json_t *document, char *buf, size_t size)
{
	const char *at = json_string_value(json_object_get(document, "generated_at"));

	return text_printable(at ? at : "?", buf, size);
}

static int
show_text(const struct pair *p, const struct growth g[NR_LISTS], const struct options *o,
	struct ui_output *out, struct err *e)
{
	char target[96], was[32], is[32];
	bool is_any = false;

	fprintf(out->f, "%s  memdiag %s  %s to %s\n", saved_target(p->is, target, sizeof target),
		p->what->command, when(p->was, was, sizeof was), when(p->is, is, sizeof is));
	for (size_t i = 0; i < NR_LISTS; i++) {
		if (!g[i].list || !growth_is_any(&g[i]))
			continue;
		is_any = true;
		fputc('\n', out->f);
		if (growth_print(&g[i], out, &o->ui, o->limit, e) < 0)
			return -1;
	}
	if (!is_any)
		fputs("Nothing changed.\n", out->f);
	return 0;
}

static int
show_json(const struct pair *p, const struct growth g[NR_LISTS], struct ui_output *out,
	struct err *e)
{
	json_auto_t *document = ui_json_new("diff", NULL);
	json_t *data = json_object_get(document, "data"), *changes = json_object();

	json_object_set(document, "target", json_object_get(p->is, "target"));
	json_object_set_new(data, "compared", json_string(p->what->command));
	json_object_set(data, "since", json_object_get(p->was, "generated_at"));
	json_object_set(data, "until", json_object_get(p->is, "generated_at"));
	json_object_set_new(data, "same_process",
		json_boolean(saved_is_same_target(p->was, p->is)));
	json_object_set_new(data, "changes", changes);
	for (size_t i = 0; i < NR_LISTS; i++)
		if (g[i].list)
			json_object_set_new(changes, g[i].list->member, growth_to_json(&g[i]));
	warnings_add_to(&p->warnings, document);
	return ui_json_print(document, out, e);
}

static void
release(struct growth (*g)[NR_LISTS])
{
	for (size_t i = 0; i < NR_LISTS; i++)
		growth_release(&(*g)[i]);
}

static int
run(int argc, char **argv, struct err *e)
{
	struct options o = { .limit = DEFAULT_ROWS };
	__attribute__((cleanup(pair_release))) struct pair p = { 0 };
	__attribute__((cleanup(release))) struct growth g[NR_LISTS] = { 0 };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &o);
	if (saved_read(&p.was, o.file[0], e) < 0 || saved_read(&p.is, o.file[1], e) < 0 ||
		check_kind(&p, &o, e) < 0 || check_by(&p, e) < 0 || compare(g, &p, &o, e) < 0)
		return -1;
	check_target(&p, &o);
	if (ui_output_open(&out, &o.ui, e) < 0 ||
		(o.ui.json ? show_json(&p, g, &out, e) : show_text(&p, g, &o, &out, e)) < 0 ||
		ui_output_close(&out, e) < 0)
		return -1;
	warnings_tell(&p.warnings, &o.ui);
	return p.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "what grew between two saved --json outputs",
	.touch = CMD_TOUCHES_NOTHING,
	.run = run,
};
