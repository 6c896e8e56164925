#include <config.h>

#include "export/match.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "ui/option.h"

static const char *const export_words[NR_EXPORT_WORDS] = {
	[EXPORT_COMM] = "comm",
	[EXPORT_EXE] = "exe",
	[EXPORT_UNIT] = "unit",
	[EXPORT_CGROUP] = "cgroup",
	[EXPORT_CONTAINER] = "container",
	[EXPORT_POD] = "pod",
};

/* Return the word called by the N bytes at NAME, or NR_EXPORT_WORDS. */
static enum export_word
find_word(const char *name, size_t n)
{
	enum export_word w = 0;

	while (w < NR_EXPORT_WORDS &&
		(strlen(export_words[w]) != n || memcmp(export_words[w], name, n) != 0))
		w++;
	return w;
}

/* Return what F has of W, "" if it is unknown. */
static const char *
fact_of(const struct export_facts *f, enum export_word w)
{
	const char *const facts[NR_EXPORT_WORDS] = { f->comm, f->exe, f->unit, f->cgroup,
		f->container, f->pod };

	return facts[w] ? facts[w] : "";
}

/* ---- conditions ---- */

static void
match_release(struct export_match *m)
{
	for (size_t i = 0; i < NR_EXPORT_WORDS; i++)
		free(m->pattern[i]);
	*m = (struct export_match){ 0 };
}

/* Parse one condition into M.  NULL, or what is wrong. */
static const char *
parse_condition(struct export_match *m, const char *condition)
{
	const char *equals = strchr(condition, '=');
	const size_t n = equals ? (size_t)(equals - condition) : 0;
	const enum export_word w = find_word(condition, n);

	if (!equals || !equals[1])
		return "is not KEY=VALUE";
	if (n == strlen("min-rss") && memcmp(condition, "min-rss", n) == 0)
		return ui_parse_size(equals + 1, &m->min_rss_bytes)
			? NULL
			: "has a min-rss that is not a size such as 256M";
	if (w == NR_EXPORT_WORDS)
		return "has an unknown key: there are comm, exe, unit, cgroup, container, pod and min-rss";
	if (m->pattern[w])
		return "has a key twice";
	m->pattern[w] = strdup(equals + 1);
	return m->pattern[w] ? NULL : "cannot be kept: no memory";
}

const char *
export_match_add(struct export_matches *m, const char *text)
{
	auto_free char *copy = strdup(text);
	struct export_match new = { 0 }, *added;
	const char *wrong = copy ? *copy ? NULL : "is empty" : "cannot be kept: no memory";
	char *rest = copy;

	while (!wrong && rest)
		wrong = parse_condition(&new, strsep(&rest, ","));
	added = wrong ? NULL : array_add(m);
	if (!added) {
		match_release(&new);
		return wrong ? wrong : "cannot be kept: no memory";
	}
	*added = new;
	return NULL;
}

void
export_matches_release(struct export_matches *m)
{
	for (size_t i = 0; i < m->nr; i++)
		match_release(&m->v[i]);
	free(m->v);
	*m = (struct export_matches){ 0 };
}

static bool
is_match(const struct export_match *m, const struct export_facts *f)
{
	if (f->rss_bytes < m->min_rss_bytes)
		return false;
	for (enum export_word w = 0; w < NR_EXPORT_WORDS; w++) {
		const char *pattern = m->pattern[w], *fact = fact_of(f, w);

		if (pattern && fnmatch(pattern, fact, 0) != 0 &&
			(w != EXPORT_EXE || fnmatch(pattern, basename(fact), 0) != 0))
			return false;
	}
	return true;
}

bool
export_matches_take(const struct export_matches *m, const struct export_facts *f)
{
	for (size_t i = 0; i < m->nr; i++)
		if (is_match(&m->v[i], f))
			return true;
	return false;
}

/* ---- names ---- */

/*
 * Find the next word of a name at *AT, and move *AT after it: the N bytes of text before it at
 * *RET_TEXT, and *RET, NR_EXPORT_WORDS at the end.  False if a word is unknown or not closed.
 */
static bool
take_name_word(const char **at, const char **ret_text, size_t *ret_n, enum export_word *ret)
{
	const char *open = strchrnul(*at, '{'), *close = strchr(open, '}');

	*ret_text = *at;
	*ret_n = (size_t)(open - *at);
	*ret = NR_EXPORT_WORDS;
	*at = open;
	if (!*open)
		return true;
	if (close)
		*ret = find_word(open + 1, (size_t)(close - open - 1));
	*at = *ret < NR_EXPORT_WORDS ? close + 1 : open;
	return *ret < NR_EXPORT_WORDS;
}

const char *
export_name_check(const char *template)
{
	const char *at = template, *text;
	enum export_word w;
	size_t n;

	if (!*template)
		return "is empty";
	while (*at)
		if (!take_name_word(&at, &text, &n, &w))
			return "has a word in braces that is unknown: there are {comm}, {exe}, {unit}, {cgroup}, {container} and {pod}";
	return NULL;
}

/* Append N bytes at S to BUF, cut to fit. */
static void
name_append(char buf[static EXPORT_NAME_BYTES], const char *s, size_t n)
{
	const size_t used = strlen(buf), room = EXPORT_NAME_BYTES - 1 - used;

	if (n > room)
		n = room;
	memcpy(buf + used, s, n);
	buf[used + n] = '\0';
}

const char *
export_name(const char *template, const struct export_facts *f, char buf[static EXPORT_NAME_BYTES])
{
	char raw[EXPORT_NAME_BYTES] = "";
	enum export_word w;
	const char *at = template, *text;
	size_t n;

	while (*at && take_name_word(&at, &text, &n, &w)) {
		const char *fact = w < NR_EXPORT_WORDS ? fact_of(f, w) : "";

		if (w == EXPORT_EXE)
			fact = basename(fact);
		if (w < NR_EXPORT_WORDS && !*fact)
			fact = f->comm;
		name_append(raw, text, n);
		name_append(raw, fact, strlen(fact));
	}
	if (!*raw)
		name_append(raw, "?", 1);
	return text_printable(raw, buf, EXPORT_NAME_BYTES);
}
