#include <config.h>

#include "ui/option.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "ui/exit.h"
#include "ui/units.h"

/* ---- numbers ---- */

struct option_unit {
	const char *name;
	double factor;
};

/*
 * Parse a decimal number, followed by the name of one of UNITS (NULL-terminated), into the base
 * unit.
 */
static bool
option_parse_with_unit(const char *text, const struct option_unit *units, uint64_t *ret)
{
	double value;
	char *end;

	/* strtod() also accepts blanks, signs, hexadecimal numbers and "inf". */
	if (tolower((unsigned char)text[strspn(text, "0123456789.")]) == 'x' ||
		!isdigit((unsigned char)text[0]))
		return false;
	value = strtod(text, &end);
	for (; units->name; units++)
		if (strcasecmp(end, units->name) == 0)
			break;
	if (!units->name || !(value * units->factor < 0x1p63))
		return false;
	*ret = (uint64_t)(value * units->factor);
	return true;
}

bool
ui_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct option_unit units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "K", 0x1p10 },
		{ "KB", 0x1p10 },
		{ "KiB", 0x1p10 },
		{ "M", 0x1p20 },
		{ "MB", 0x1p20 },
		{ "MiB", 0x1p20 },
		{ "G", 0x1p30 },
		{ "GB", 0x1p30 },
		{ "GiB", 0x1p30 },
		{ "T", 0x1p40 },
		{ "TB", 0x1p40 },
		{ "TiB", 0x1p40 },
		{ NULL, 0 },
	};

	return option_parse_with_unit(text, units, ret_bytes);
}

bool
ui_parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct option_unit units[] = {
		{ "", 1e9 },
		{ "s", 1e9 },
		{ "ms", 1e6 },
		{ "us", 1e3 },
		{ "m", 60e9 },
		{ "h", 3600e9 },
		{ NULL, 0 },
	};

	return option_parse_with_unit(text, units, ret_ns);
}

bool
ui_parse_address(const char *text, uint64_t *ret, const char **ret_end)
{
	char *end;

	/* strtoull() also accepts blanks and signs. */
	errno = 0;
	*ret = strtoull(text, &end, 16);
	*ret_end = end;
	return isxdigit((unsigned char)text[0]) && !errno;
}

static bool
option_parse_count(const char *text, uint64_t *ret)
{
	char *end;

	*ret = strtoul(text, &end, 10);
	return isdigit((unsigned char)text[0]) && !*end && *ret <= INT32_MAX;
}

static bool
option_parse_address(const char *text, uint64_t *ret)
{
	const char *end;

	return ui_parse_address(text, ret, &end) && !*end;
}

/* argp exits with UI_USAGE. */
void
ui_refuse(struct argp_state *state, const char *arg, const char *why)
{
	char shown[80];

	argp_error(state, "'%s' %s", text_printable(arg, shown, sizeof shown), why);
}

unsigned long
ui_parse_count(struct argp_state *state, const char *arg)
{
	uint64_t n;

	if (!option_parse_count(arg, &n))
		ui_refuse(state, arg, "is not a number");
	return n;
}

/* ---- kinds ---- */

/* Indexed by enum ui_option_kind. */
static const struct option_kind {
	const char *name; /* in the list of options */
	bool (*parse)(const char *text, uint64_t *ret);
	const char *wrong; /* as in a row */
	bool is_string;
} kinds[] = {
	[UI_HEADING] = { "heading", NULL, NULL, false },
	[UI_FLAG] = { "flag", NULL, NULL, false },
	[UI_VALUE] = { "flag", NULL, NULL, false },
	[UI_BITS] = { "flag", NULL, NULL, false },
	[UI_TIMES] = { "flag", NULL, NULL, false },
	[UI_NUMBER] = { "number", option_parse_count, "is not a number", false },
	[UI_SIZE] = { "size", ui_parse_size, "is not a size: say 512K, 64M or 2G", false },
	[UI_DURATION] = { "duration", ui_parse_duration,
		"is not a duration: say 500ms, 10s, 2m or 1h", false },
	[UI_WORD] = { "word", NULL, "is not ", false },
	[UI_ADDRESS] = { "address", option_parse_address,
		"is not an address: say 7f12345678 or 0x7f12345678", false },
	[UI_STRING] = { "string", NULL, NULL, true },
	[UI_FILE] = { "file", NULL, NULL, true },
	[UI_DIRECTORY] = { "directory", NULL, NULL, true },
	[UI_PROCESS] = { "process", NULL, NULL, false },
};

/* ---- words ---- */

/* Return word I of O; NULL after the last one. */
static const char *
ui_option_word(const struct ui_option *o, size_t i)
{
	return o->word ? o->word(i) : o->words ? o->words[i] : NULL;
}

int
ui_option_find_word(const struct ui_option *o, const char *arg)
{
	const char *word;

	for (size_t i = 0; (word = ui_option_word(o, i)); i++)
		if (strcmp(arg, word) == 0)
			return (int)i;
	return -1;
}

/* Write the words of O from FIRST on, as in "a, b (note) or c". */
static void
option_write_words(const struct ui_option *o, size_t first, FILE *f)
{
	const char *word, *note;

	for (size_t i = first; (word = ui_option_word(o, i)); i++) {
		note = o->note ? o->note(i) : NULL;
		fprintf(f, "%s%s%s%s%s",
			i == first			   ? ""
				: ui_option_word(o, i + 1) ? ", "
							   : " or ",
			word, note ? " (" : "", note ? note : "", note ? ")" : "");
	}
}

/* Write the replacement of MARK, of LEN bytes, in the help of O. */
static void
option_write_mark(const struct ui_option *o, const char *mark, size_t len, FILE *f)
{
	const struct ui_option also = { .word = o->also };

	if (strncmp(mark, "{also}", len) == 0)
		option_write_words(&also, 0, f);
	else
		option_write_words(o, strncmp(mark, "{words}", len) != 0, f);
}

/* Return the help of O with its words, which the caller frees; NULL without memory. */
static char *
option_help(const struct ui_option *o)
{
	const char *rest = o->help, *mark, *end;
	char *ret = NULL;
	size_t len;
	FILE *f = open_memstream(&ret, &len);

	if (!f)
		return NULL;
	while ((mark = strchr(rest, '{')) && (end = strchr(mark, '}'))) {
		fprintf(f, "%.*s", (int)(mark - rest), rest);
		option_write_mark(o, mark, (size_t)(end + 1 - mark), f);
		rest = end + 1;
	}
	fputs(rest, f);
	return fclose(f) == 0 ? ret : NULL;
}

static void
option_refuse_why(
	struct argp_state *state, const struct ui_option *o, const char *arg, const char *why)
{
	const size_t len = strlen(why);
	auto_free char *text = NULL;
	size_t size;
	FILE *f = NULL;

	if (len && why[len - 1] == ' ')
		f = open_memstream(&text, &size);
	if (f) {
		fputs(why, f);
		option_write_words(o, 0, f);
		fclose(f);
	}
	ui_refuse(state, arg, text ? text : why);
}

void
ui_option_refuse(struct argp_state *state, const struct ui_option *o, const char *arg)
{
	option_refuse_why(state, o, arg, o->wrong ? o->wrong : kinds[o->kind].wrong);
}

/* ---- storing a value ---- */

/* Store VALUE in the member, an integer of SIZE bytes. */
static void
option_store(char *input, size_t at, size_t size, uint64_t value)
{
	if (size == sizeof(uint64_t))
		memcpy(input + at, &value, size);
	else if (size == sizeof(uint32_t))
		memcpy(input + at, &(uint32_t){ (uint32_t)value }, size);
	else if (size == sizeof(bool))
		memcpy(input + at, &(bool){ value != 0 }, size);
}

static uint64_t
option_stored(const char *input, const struct ui_option *o)
{
	uint32_t ret = 0;

	if (o->size == sizeof ret)
		memcpy(&ret, input + o->at, sizeof ret);
	return ret;
}

/* Return the number in ARG, within the bounds of O; otherwise argp exits. */
static uint64_t
option_number(struct argp_state *state, const struct ui_option *o, const char *arg)
{
	uint64_t n = 0;

	if (!kinds[o->kind].parse(arg, &n))
		ui_option_refuse(state, o, arg);
	if (n < o->least || (o->most && n > o->most))
		option_refuse_why(state, o, arg,
			o->beyond	   ? o->beyond
				: o->wrong ? o->wrong
					   : kinds[o->kind].wrong);
	return n * (o->scale ? o->scale : 1);
}

/* Return the number to store for O with ARG; otherwise argp exits. */
static uint64_t
option_value(
	struct argp_state *state, const struct ui_option *o, const char *input, const char *arg)
{
	int word;

	switch (o->kind) {
	case UI_FLAG:
		return true;
	case UI_VALUE:
		return o->value;
	case UI_BITS:
		return option_stored(input, o) | o->value;
	case UI_TIMES:
		return option_stored(input, o) + 1;
	case UI_WORD:
		word = ui_option_find_word(o, arg);
		if (word < 0)
			ui_option_refuse(state, o, arg);
		return (uint64_t)word;
	default:
		return option_number(state, o, arg);
	}
}

static void
option_set(struct argp_state *state, const struct ui_option *o, char *input, char *arg)
{
	if (o->size && (arg || !o->arg)) {
		if (kinds[o->kind].is_string)
			memcpy(input + o->at, &arg, sizeof arg);
		else
			option_store(input, o->at, o->size, option_value(state, o, input, arg));
	}
	if (o->given)
		option_store(input, o->given - 1, sizeof(bool), true);
	if (o->set)
		o->set(state, o, input, arg);
}

/* ---- argp's tables ---- */

/* A syntax in argp's form, with its input. */
struct option_part {
	const struct ui_syntax *syntax;
	char *input;
	int first_key; /* of the rows without a letter: this plus their index */
	struct argp argp;
	struct argp_option *options;	  /* owned, and their texts */
	struct argp_child *argp_children; /* owned */
	struct option_part *children;	  /* owned */
	size_t nr_children;
};

/* Larger than letters, smaller than argp's own keys: argp-parse.c keeps 24 bits of a key. */
#define FIRST_KEY 0x1000

static size_t
option_count(const struct ui_syntax *s)
{
	size_t nr = 0;

	while (s->options && (s->options[nr].name || s->options[nr].help))
		nr++;
	return nr;
}

static void
option_part_release(struct option_part *p)
{
	for (size_t i = 0; i < p->nr_children; i++)
		option_part_release(&p->children[i]);
	for (size_t i = 0; p->options && i < option_count(p->syntax); i++)
		free((char *)(uintptr_t)p->options[i].doc);
	free(p->options);
	free(p->argp_children);
	free(p->children);
}
#define auto_option_part __attribute__((cleanup(option_part_release)))

static const struct ui_option *
option_of_key(const struct option_part *p, int key)
{
	const size_t nr = option_count(p->syntax);

	for (size_t i = 0; i < nr; i++)
		if (p->options[i].key == key && p->syntax->options[i].name)
			return &p->syntax->options[i];
	return NULL;
}

static bool
option_member_is_set(const char *input, const struct ui_member *m)
{
	for (size_t i = 0; i < m->size; i++)
		if (input[m->at + i])
			return true;
	return false;
}

static bool
option_breaks_rule(const char *input, const struct ui_rule *r)
{
	const bool a = option_member_is_set(input, &r->a), b = option_member_is_set(input, &r->b);

	return r->kind == UI_EXCLUDES ? a && b : r->kind == UI_NEEDS ? a && !b : !a && !b;
}

static void
option_begin(struct option_part *p, struct argp_state *state)
{
	const size_t nr = option_count(p->syntax);

	for (size_t i = 0; i < p->nr_children; i++)
		state->child_inputs[i] = &p->children[i];
	for (size_t i = 0; i < nr; i++)
		if (p->syntax->options[i].preset)
			option_store(p->input, p->syntax->options[i].at, p->syntax->options[i].size,
				p->syntax->options[i].preset);
	if (p->syntax->begin)
		p->syntax->begin(p->input);
}

static void
option_check(const struct option_part *p, struct argp_state *state)
{
	for (const struct ui_rule *r = p->syntax->rules; r && r->kind; r++)
		if (option_breaks_rule(p->input, r))
			argp_error(state, "%s", r->why);
	if (p->syntax->check)
		p->syntax->check(state, p->input);
}

static error_t
option_parse(int key, char *arg, struct argp_state *state)
{
	struct option_part *p = state->input;
	const struct ui_option *o;

	switch (key) {
	case ARGP_KEY_INIT:
		option_begin(p, state);
		return 0;
	case ARGP_KEY_ARG:
		return p->syntax->argument ? p->syntax->argument(state, p->input, arg)
					   : ARGP_ERR_UNKNOWN;
	case ARGP_KEY_END:
		option_check(p, state);
		return 0;
	case ARGP_KEY_SUCCESS:
		if (p->syntax->conclude)
			p->syntax->conclude(state, p->input);
		return 0;
	}
	o = option_of_key(p, key);
	if (!o)
		return ARGP_ERR_UNKNOWN;
	option_set(state, o, p->input, arg);
	return 0;
}

static bool
option_make_rows(struct option_part *p)
{
	const size_t nr = option_count(p->syntax);

	p->options = calloc(nr + 1, sizeof *p->options);
	for (size_t i = 0; p->options && i < nr; i++) {
		const struct ui_option *o = &p->syntax->options[i];

		p->options[i] = (struct argp_option){
			.name = o->name,
			.key = !o->name	    ? 0
				: o->letter ? o->letter
					    : p->first_key + (int)i,
			.arg = o->arg,
			.flags = (o->help ? 0 : OPTION_HIDDEN) |
				(o->may_lack_arg ? OPTION_ARG_OPTIONAL : 0),
			.doc = o->help ? option_help(o) : NULL,
			.group = o->group,
		};
		if (o->help && !p->options[i].doc)
			return false;
	}
	return p->options;
}

/* Convert S into P, which is zeroed; *KEY is the next unused key.  Return false without memory. */
static bool
option_make_part(struct option_part *p, const struct ui_syntax *s, void *input, int *key)
{
	size_t nr = 0;

	p->syntax = s;
	p->input = input;
	p->first_key = *key;
	*key += (int)option_count(s);
	while (s->children && s->children[nr].syntax)
		nr++;
	p->argp_children = calloc(nr + 1, sizeof *p->argp_children);
	p->children = calloc(nr + 1, sizeof *p->children);
	if (!option_make_rows(p) || !p->argp_children || !p->children)
		return false;
	for (; p->nr_children < nr; p->nr_children++) {
		const struct ui_child *c = &s->children[p->nr_children];

		if (!option_make_part(
			    &p->children[p->nr_children], c->syntax, p->input + c->at, key))
			return false;
		p->argp_children[p->nr_children].argp = &p->children[p->nr_children].argp;
	}
	p->argp = (struct argp){
		/* make_hol() in argp/argp-help.c (glibc 2.36) leaks one byte if no row exists */
		.options = option_count(s) ? p->options : NULL,
		.parser = option_parse,
		.args_doc = s->args_doc,
		.doc = s->doc,
		.children = p->argp_children,
	};
	return true;
}

/* Parse, with behaviour that cannot be configured in argp. */
static void
option_parse_all(const struct ui_syntax *syntax, int argc, char **argv, unsigned int flags,
	int *index, void *input)
{
	static const char format[] = "ARGP_HELP_FMT";
	const bool is_free = !getenv(format);
	auto_option_part struct option_part part = { .syntax = syntax };
	int key = FIRST_KEY;

	if (!option_make_part(&part, syntax, input, &key)) {
		fputs("memdiag: no memory\n", stderr);
		exit(UI_FAILED);
	}
	/*
	 * Letters of names follow the user's locale; numbers keep the format that scripts expect.
	 */
	setlocale(LC_CTYPE, "");
	/* argp adds to each help text a paragraph on arguments that no filter can remove. */
	if (is_free)
		setenv(format, "no-dup-args-note", 1);
	argp_parse(&part.argp, argc, argv, flags | ARGP_NO_HELP, index, &part);
	if (is_free) /* programs that memdiag starts inherit its original environment */
		unsetenv(format);
}

void
ui_parse(const struct ui_syntax *syntax, int argc, char **argv, void *input)
{
	option_parse_all(syntax, argc, argv, 0, NULL, input);
}

void
ui_parse_in_order(const struct ui_syntax *syntax, int argc, char **argv, void *input)
{
	option_parse_all(syntax, argc, argv, ARGP_IN_ORDER, NULL, input);
}

int
ui_parse_until_word(const struct ui_syntax *syntax, int argc, char **argv, void *input)
{
	int index = argc;

	/* No syntax accepts a word, so argp stops there and returns the index. */
	option_parse_all(syntax, argc, argv, ARGP_IN_ORDER, &index, input);
	return index;
}

/* ---- other uses of the rows ---- */

static bool
option_is_spelled(const struct ui_option *o, const char *spelled)
{
	if (!o->name || spelled[0] != '-')
		return false;
	return spelled[1] == '-' ? strcmp(spelled + 2, o->name) == 0
				 : o->letter && spelled[1] == o->letter && !spelled[2];
}

const struct ui_option *
ui_option_find(const struct ui_syntax *syntax, const char *spelled)
{
	const size_t nr = option_count(syntax);
	const struct ui_option *o = NULL;

	for (size_t i = 0; i < nr; i++)
		if (option_is_spelled(&syntax->options[i], spelled))
			return &syntax->options[i];
	for (const struct ui_child *c = syntax->children; !o && c && c->syntax; c++)
		o = ui_option_find(c->syntax, spelled);
	return o;
}

static void
option_list_row(const struct ui_option *o, FILE *f)
{
	const char *word;

	fprintf(f, "%s%s", kinds[o->kind].name, o->may_lack_arg ? "?" : "");
	for (size_t i = 0; o->arg && (word = ui_option_word(o, i)); i++)
		fprintf(f, " %s", word);
	for (size_t i = 0; o->also && (word = o->also(i)); i++)
		if (ui_option_find_word(o, word) < 0)
			fprintf(f, " %s", word);
	fputc('\n', f);
}

/* List the options of S whose spelling selects the same row in ROOT, which contains S. */
static void
option_list_part(const struct ui_syntax *root, const struct ui_syntax *s, FILE *f)
{
	const size_t nr = option_count(s);
	char spelled[64];

	for (size_t i = 0; i < nr; i++) {
		const struct ui_option *o = &s->options[i];

		if (!o->name || !o->help)
			continue;
		snprintf(spelled, sizeof spelled, "-%c", o->letter);
		if (o->letter && ui_option_find(root, spelled) == o) {
			fprintf(f, "%s ", spelled);
			option_list_row(o, f);
		}
		snprintf(spelled, sizeof spelled, "--%s", o->name);
		if (ui_option_find(root, spelled) == o) {
			fprintf(f, "%s ", spelled);
			option_list_row(o, f);
		}
	}
	for (const struct ui_child *c = s->children; c && c->syntax; c++)
		option_list_part(root, c->syntax, f);
}

void
ui_option_list(const struct ui_syntax *syntax, FILE *f)
{
	option_list_part(syntax, syntax, f);
}
