#include <config.h>

#include "diagnose/suppressions.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "capture/block-stacks.h"
#include "os/stranger.h"
#include "ui/option.h"

/* ---- names ---- */

/*
 * Return whether S matches the pattern [P, END), in which "*" stands for any text; IS_OPEN: it may
 * be longer.  STAR is where to continue after any text at the beginning of S, or NULL.
 */
static bool
suppressions_glob(const char *p, const char *end, const char *star, bool is_open, const char *s)
{
	const char *back = s;

	while (*s) {
		if (p == end && is_open)
			return true;
		if (p < end && *p == '*') {
			star = ++p;
			back = s;
		} else if (p < end && *p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star;
			s = ++back;
		} else {
			return false;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

bool
suppression_matches(const char *template, const char *name)
{
	const bool is_begin = *template == '^';
	const char *p = template + is_begin, *end = p + strlen(p);
	const bool is_end = end > p && end[-1] == '$';

	return suppressions_glob(p, end - is_end, is_begin ? NULL : p, !is_end, name);
}

/* ---- the file ---- */

/* Fill RULE with the pattern of LINE, whose word has LEN bytes.  False if it is not valid. */
static bool
suppressions_parse_rule(struct suppression *rule, const char *line, size_t len)
{
	static const struct {
		const char *word;
		enum suppression_kind kind;
	} named[] = { { "leak", SUPPRESSION_LEAK }, { "type", SUPPRESSION_TYPE },
		{ "module", SUPPRESSION_MODULE } };
	const char *pattern = line + len + 1;

	if (len == strlen("size") && memcmp(line, "size", len) == 0) {
		rule->kind = SUPPRESSION_SIZE;
		return ui_parse_size(pattern, &rule->bytes);
	}
	if (len == strlen("shape") && memcmp(line, "shape", len) == 0) {
		rule->kind = SUPPRESSION_SHAPE;
		for (int i = 0; i < NR_CENSUS_SHAPES; i++) {
			rule->shape = (enum census_shape)i;
			if (strcmp(pattern, census_shape_name(rule->shape)) == 0)
				return true;
		}
		return false;
	}
	rule->name = pattern;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (len == strlen(named[i].word) && memcmp(line, named[i].word, len) == 0) {
			rule->kind = named[i].kind;
			return *pattern;
		}
	return false;
}

/* Add the rule in LINE, which has neither a comment nor blanks around it. */
static int
suppressions_add(
	struct suppressions *s, const char *line, unsigned int nr, const char *name, struct err *e)
{
	const size_t len = strcspn(line, ":");
	struct suppression *rule = array_add(&s->rule);
	char shown[80], file[200];

	if (!rule)
		return err_set(e, ENOMEM, "cannot keep the suppressions");
	rule->line = nr;
	rule->text = line;
	if (line[len] && suppressions_parse_rule(rule, line, len))
		return 0;
	err_set_kind(e, ERR_USAGE, 0, "'%s', line %u: '%s' is not a suppression",
		text_printable(name, file, sizeof file), nr,
		text_abbreviate(line, shown, sizeof shown));
	return err_hint(e,
		"a line is size:BYTES, shape:single, list, tree or ring, type:NAME, module:NAME or leak:NAME");
}

int
suppressions_parse(struct suppressions *s, struct text *text, const char *name, struct err *e)
{
	unsigned int nr = 0;
	char *next, file[200];

	s->text = *text;
	*text = (struct text){ .v = NULL };
	if (s->text.len && memchr(s->text.v, '\0', s->text.len))
		return err_set_kind(e, ERR_USAGE, 0, "'%s' is not a text file",
			text_printable(name, file, sizeof file));
	for (char *line = s->text.v; line; line = next) {
		char *end = line + strcspn(line, "\n");

		nr++;
		next = *end ? end + 1 : NULL;
		*end = '\0';
		line += strspn(line, " \t\r");
		while (end > line && isspace((unsigned char)end[-1]))
			*--end = '\0';
		if (*line && *line != '#' && suppressions_add(s, line, nr, name, e) < 0)
			return -1;
	}
	return 0;
}

int
suppressions_read(struct suppressions *s, const char *path, struct err *e)
{
	struct text text = { .v = NULL };
	auto_fd int fd = os_open(path, OS_REGULAR | OS_PIPE, e);

	if (fd < 0 || os_read_whole(&text, fd, path, e) < 0)
		return -1;
	return suppressions_parse(s, &text, path, e);
}

void
suppressions_release(struct suppressions *s)
{
	free(s->rule.v);
	text_release(&s->text);
	*s = (struct suppressions){ .all = { 0 } };
}

/* ---- the blocks ---- */

static bool
suppressions_has_name(const char *name, void *arg)
{
	return suppression_matches(arg, name);
}

/* The heads of a group, and their names. */
struct suppressions_heads {
	const struct census_group *group;
	const struct census_type *type; /* NULL: they have none */
	const char *type_name;		/* as in the source */
	const struct block_stacks *stacks;
};

static bool
suppressions_match_type(const struct suppression *rule, const struct suppressions_heads *heads)
{
	return heads->type &&
		(suppression_matches(rule->name, heads->type_name) ||
			suppression_matches(rule->name, heads->type->name));
}

static bool
suppressions_match_module(const struct suppression *rule, const struct suppressions_heads *heads)
{
	return heads->type && heads->type->path &&
		suppression_matches(rule->name, heads->type->path);
}

static bool
suppressions_match(const struct suppression *rule, const struct suppressions_heads *heads)
{
	const struct census_group *g = heads->group;

	switch (rule->kind) {
	case SUPPRESSION_SIZE:
		return g->head_bytes == rule->bytes;
	case SUPPRESSION_SHAPE:
		return g->shape == rule->shape;
	case SUPPRESSION_TYPE:
		return suppressions_match_type(rule, heads);
	case SUPPRESSION_MODULE:
		return suppressions_match_module(rule, heads);
	case SUPPRESSION_LEAK:
		return suppressions_match_type(rule, heads) ||
			suppressions_match_module(rule, heads) ||
			block_stacks_any(heads->stacks, g->label, suppressions_has_name,
				(void *)(uintptr_t)rule->name);
	}
	return false;
}

static void
suppressions_sum(struct census_sum *to, const struct census_sum *sum)
{
	to->blocks += sum->blocks;
	to->bytes += sum->bytes;
}

/* Return the first rule that has the group G, or the number of rules.  0, or -1 with E. */
static int
suppressions_find(const struct suppressions *s, const struct census_group *g,
	const struct suppression_names *names, size_t *ret, struct err *e)
{
	const struct census_type *type = g->type ? &names->types->type.v[g->type] : NULL;
	auto_free char *name = type ? names->type_name(type) : NULL;
	const struct suppressions_heads heads = { g, type, name, names->stacks };
	size_t k = 0;

	if (type && !name)
		return err_set(e, ENOMEM, "cannot apply the suppressions");
	while (k < s->rule.nr && !suppressions_match(&s->rule.v[k], &heads))
		k++;
	*ret = k;
	return 0;
}

int
suppressions_apply(struct suppressions *s, struct census_leaks *l,
	const struct suppression_names *names, struct err *e)
{
	size_t kept = 0;

	for (size_t i = 0; s->rule.nr && i < l->group.nr; i++) {
		const struct census_group g = l->group.v[i];
		size_t k = 0;

		if (suppressions_find(s, &g, names, &k, e) < 0)
			return -1;
		if (k == s->rule.nr) {
			l->group.v[kept++] = g;
			continue;
		}
		suppressions_sum(&s->rule.v[k].all, &g.all);
		suppressions_sum(&s->all, &g.all);
		l->all.blocks -= g.all.blocks;
		l->all.bytes -= g.all.bytes;
		l->heads -= g.heads;
	}
	if (s->rule.nr)
		l->group.nr = kept;
	return 0;
}
