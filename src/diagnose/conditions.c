#include <config.h>

#include "diagnose/conditions.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ui/option.h"

/* Thousandths of a percent in a whole. */
#define WHOLE 100000
#define DECIMALS 3
/* A larger percentage is an error of the user. */
#define MOST_PERCENT 1000000

__extension__ typedef unsigned __int128 wide;

static const struct {
	const char *name;
	enum metric_source source;
	bool is_bytes;
} metrics[NR_METRICS] = {
	[METRIC_RSS] = { "rss", METRIC_FROM_STATUS, true },
	[METRIC_SWAP] = { "swap", METRIC_FROM_STATUS, true },
	[METRIC_VIRT] = { "virt", METRIC_FROM_STATUS, true },
	[METRIC_THREADS] = { "threads", METRIC_FROM_STATUS, false },
	[METRIC_STACK] = { "stack", METRIC_FROM_MAPS, true },
	[METRIC_HEAP] = { "heap", METRIC_FROM_MAPS, true },
	[METRIC_EXE] = { "exe", METRIC_FROM_MAPS, true },
	[METRIC_SO] = { ".so", METRIC_FROM_MAPS, true },
	[METRIC_FILE] = { "file", METRIC_FROM_MAPS, true },
	[METRIC_SHM] = { "shm", METRIC_FROM_MAPS, true },
	[METRIC_ANON] = { "anon", METRIC_FROM_MAPS, true },
	[METRIC_ARENAS] = { "arenas", METRIC_FROM_MAPS, false },
	[METRIC_TRIMMABLE] = { "trimmable", METRIC_FROM_HEAP, true },
	[METRIC_STRANDED] = { "stranded", METRIC_FROM_HEAP, true },
	[METRIC_TOPS] = { "tops", METRIC_FROM_HEAP, true },
	[METRIC_IN_USE] = { "in-use", METRIC_FROM_HEAP, true },
};

static const char *const operators[] = {
	[CONDITION_OVER] = ">",
	[CONDITION_FROM] = ">=",
	[CONDITION_UNDER] = "<",
	[CONDITION_TO] = "<=",
};

const char *
metric_name(enum metric m)
{
	return metrics[m].name;
}

enum metric_source
metric_source(enum metric m)
{
	return metrics[m].source;
}

bool
metric_is_bytes(enum metric m)
{
	return metrics[m].is_bytes;
}

const char *
condition_whole_name(enum condition_whole whole)
{
	static const char *const names[NR_CONDITION_WHOLES] = { "", "limit", "rss", "ram" };

	return names[whole];
}

const char *
condition_operator(const struct condition *c)
{
	return operators[c->compare];
}

/* ---- parsing ---- */

/* The rest of a text that is parsed, and the room for a word of it. */
struct condition_reader {
	const char *text, *at;
	char word[64];
	struct err *e;
};

static int
condition_refuse(const struct condition_reader *r, const char *word, const char *why)
{
	char text[64], shown[64];

	return err_set_kind(r->e, ERR_USAGE, 0, "condition '%s': '%s' %s",
		text_abbreviate(r->text, text, sizeof text),
		text_abbreviate(word, shown, sizeof shown), why);
}

static void
condition_skip_blanks(struct condition_reader *r)
{
	while (*r->at == ' ' || *r->at == '\t')
		r->at++;
}

/* Take the next LEN bytes into r->word; false if they are too many. */
static bool
condition_take(struct condition_reader *r, size_t len)
{
	if (len >= sizeof r->word)
		return false;
	memcpy(r->word, r->at, len);
	r->word[len] = '\0';
	r->at += len;
	condition_skip_blanks(r);
	return true;
}

static int
condition_parse_metric(struct condition_reader *r, enum metric *ret)
{
	char why[200] = "is not a metric: there are";
	size_t len = strlen(why);

	condition_skip_blanks(r);
	if (condition_take(r, strcspn(r->at, " \t<>=!")))
		for (int m = 0; m < NR_METRICS; m++)
			if (strcmp(r->word, metrics[m].name) == 0) {
				*ret = (enum metric)m;
				return 0;
			}
	for (int m = 0; m < NR_METRICS; m++)
		len += (size_t)snprintf(
			why + len, sizeof why - len, "%s %s", m ? "," : "", metrics[m].name);
	return condition_refuse(r, r->word, why);
}

static int
condition_parse_operator(struct condition_reader *r, enum condition_compare *ret)
{
	if (condition_take(r, strspn(r->at, "<>=!")))
		for (int i = CONDITION_OVER; i <= CONDITION_TO; i++)
			if (strcmp(r->word, operators[i]) == 0) {
				*ret = (enum condition_compare)i;
				return 0;
			}
	return condition_refuse(r, r->word, "is not a comparison: there are >, >=, < and <=");
}

/* Parse TEXT, digits with at most DECIMALS after a point, into thousandths. */
static bool
condition_parse_decimal(const char *text, uint64_t *ret)
{
	uint64_t n = 0;
	int nr_digits = 0, nr_decimals = -1;

	for (; *text; text++) {
		if (*text == '.' && nr_digits && nr_decimals < 0) {
			nr_decimals = 0;
			continue;
		}
		if (!isdigit((unsigned char)*text) || nr_decimals == DECIMALS ||
			n > (uint64_t)MOST_PERCENT * 1000)
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
		nr_digits++;
		nr_decimals += nr_decimals >= 0;
	}
	if (!nr_digits || nr_decimals == 0)
		return false;
	for (int i = nr_decimals < 0 ? 0 : nr_decimals; i < DECIMALS; i++)
		n *= 10;
	*ret = n;
	return n <= (uint64_t)MOST_PERCENT * 1000;
}

static int
condition_parse_share(struct condition_reader *r, struct condition *c)
{
	const char *value = r->at;

	if (!metrics[c->metric].is_bytes)
		return condition_refuse(r, value, "is not a count, as in threads>100");
	if (!condition_take(r, strcspn(r->at, "%")) ||
		!condition_parse_decimal(r->word, &c->number))
		return condition_refuse(r, value, "is not a percentage: say 80%limit");
	r->at++;
	condition_skip_blanks(r);
	for (int i = CONDITION_OF_LIMIT; i < NR_CONDITION_WHOLES; i++)
		if (strcmp(r->at, condition_whole_name((enum condition_whole)i)) == 0) {
			c->whole = (enum condition_whole)i;
			return 0;
		}
	return condition_refuse(r, r->at, "is not limit, rss or ram, as in 80%limit");
}

static bool
condition_parse_count(const char *text, uint64_t *ret)
{
	return text[strspn(text, "0123456789")] == '\0' && ui_parse_size(text, ret);
}

int
condition_parse(struct condition *ret, const char *text, struct err *e)
{
	struct condition_reader r = { .text = text, .at = text, .e = e };
	struct condition c = { .whole = CONDITION_OF_NOTHING };

	if (condition_parse_metric(&r, &c.metric) < 0 ||
		condition_parse_operator(&r, &c.compare) < 0)
		return -1;
	if (strchr(r.at, '%')) {
		if (condition_parse_share(&r, &c) < 0)
			return -1;
	} else if (!metrics[c.metric].is_bytes) {
		if (!condition_parse_count(r.at, &c.number))
			return condition_refuse(&r, r.at, "is not a count, as in threads>100");
	} else if (!ui_parse_size(r.at, &c.number)) {
		return condition_refuse(&r, r.at, "is not a size: say 500M, 1.5G or 80%limit");
	}
	*ret = c;
	return 0;
}

/* ---- ranges ---- */

static uint64_t
condition_clip(wide n)
{
	return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

struct condition_range
condition_range(const struct condition *c, uint64_t whole_bytes)
{
	const wide part = c->whole ? (wide)c->number * whole_bytes : c->number;
	const wide of = c->whole ? WHOLE : 1, cut = part / of, up = (part + of - 1) / of;
	struct condition_range r = { .most = UINT64_MAX };

	switch (c->compare) {
	case CONDITION_OVER:
		r.most = condition_clip(cut);
		break;
	case CONDITION_FROM:
		r.is_empty = !up;
		r.most = up ? condition_clip(up - 1) : 0;
		break;
	case CONDITION_UNDER:
		r.is_empty = up > UINT64_MAX;
		r.least = condition_clip(up);
		break;
	case CONDITION_TO:
		r.is_empty = cut >= UINT64_MAX;
		r.least = condition_clip(cut + 1);
		break;
	}
	return r;
}

struct condition_range
condition_both(struct condition_range a, struct condition_range b)
{
	a.least = a.least > b.least ? a.least : b.least;
	a.most = a.most < b.most ? a.most : b.most;
	a.is_empty = a.is_empty || b.is_empty || a.least > a.most;
	return a;
}

uint64_t
condition_threshold(const struct condition *c, uint64_t whole_bytes)
{
	return c->whole ? condition_clip((wide)c->number * whole_bytes / WHOLE) : c->number;
}
