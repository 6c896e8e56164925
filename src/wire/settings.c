/*
 * memdiag's settings for an agent, as text in the environment.  The agent reads it before libc is
 * usable, so this file only calls functions of string.h that the agent defines.
 */
#include <config.h>

#include "wire/settings.h"

#include <stddef.h>
#include <string.h>

#include "wire/totals.h"

/* The words in the order in which they are written. */
static const struct word {
	char name[20];
	enum kind {
		NUMBER,	  /* uint64_t */
		SIZE,	  /* a NUMBER with an optional suffix K, M or G; 0: not written */
		LIMIT,	  /* int64_t; INT64_MAX: unlimited, and not written */
		INTERVAL, /* a NUMBER; also sets prints */
		NAME,	  /* unsigned int: one of names[] */
		FLAG,	  /* bool; has no value */
		PATH,	  /* up to a ';' */
		REST,	  /* a path up to the end of the text, so that it may contain a ';' */
	} kind;
	size_t at; /* offset in struct wire_settings */
	const char *const *names;
} words[] = {
	{ "pid", NUMBER, offsetof(struct wire_settings, pid), NULL },
	{ "account", NAME, offsetof(struct wire_settings, account), wire_account_names },
	{ "segment", PATH, offsetof(struct wire_settings, segment), NULL },
	{ "family", PATH, offsetof(struct wire_settings, family), NULL },
	{ "limit", LIMIT, offsetof(struct wire_settings, limit_bytes), NULL },
	{ "on-limit", NAME, offsetof(struct wire_settings, on_limit), wire_on_limit_names },
	{ "interval", INTERVAL, offsetof(struct wire_settings, interval_ms), NULL },
	{ "follow", FLAG, offsetof(struct wire_settings, follows), NULL },
	{ "count", FLAG, offsetof(struct wire_settings, counts), NULL },
	{ "profile", FLAG, offsetof(struct wire_settings, profiles), NULL },
	{ "record", FLAG, offsetof(struct wire_settings, records), NULL },
	{ "log", SIZE, offsetof(struct wire_settings, log_blocks), NULL },
	{ "live-set", NAME, offsetof(struct wire_settings, live_set), wire_live_set_names },
	{ "max-overhead", SIZE, offsetof(struct wire_settings, max_bytes), NULL },
	{ "rate", SIZE, offsetof(struct wire_settings, rate_bytes), NULL },
	{ "sites", PATH, offsetof(struct wire_settings, sites), NULL },
	{ "profile-prefix", PATH, offsetof(struct wire_settings, prefix), NULL },
	{ "profile-interval", SIZE, offsetof(struct wire_settings, dump_interval_bytes), NULL },
	{ "high-water", FLAG, offsetof(struct wire_settings, high_water), NULL },
	{ "above", SIZE, offsetof(struct wire_settings, above_bytes), NULL },
	{ "threshold", SIZE, offsetof(struct wire_settings, threshold_bytes), NULL },
	{ "file", REST, offsetof(struct wire_settings, file), NULL },
};
#define NR_WORDS (sizeof words / sizeof *words)

/* ---- reading ---- */

bool
wire_number(const char *text, char end, uint64_t *ret)
{
	uint64_t n = 0;

	if (*text == end || !*text)
		return false;
	for (; *text && *text != end; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return false;
	}
	*ret = n;
	return true;
}

static size_t
settings_length(const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] != ';')
		n++;
	return n;
}

/* As wire_number(), with an optional suffix for 1024, 1024² or 1024³ bytes. */
static bool
read_size(const char *text, size_t len, uint64_t *ret)
{
	static const char units[] = "KMG";
	const char *unit = len ? strchr(units, text[len - 1]) : NULL;
	uint64_t n;

	if (!unit || !*unit)
		return wire_number(text, ';', ret);
	if (strchr(text, *unit) != text + len - 1 || !wire_number(text, *unit, &n) ||
		n > UINT64_MAX >> 10 * (unit - units + 1))
		return false;
	*ret = n << 10 * (unit - units + 1);
	return true;
}

int64_t
wire_limit(uint64_t n)
{
	return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

void
wire_path(char *buf, size_t size, const char *path)
{
	const size_t n = settings_length(path) < size ? settings_length(path) : size - 1;

	memcpy(buf, path, n);
	buf[n] = '\0';
}

/* True if the N bytes at TEXT are NAME. */
static bool
settings_is_name(const char *text, size_t n, const char *name)
{
	return strlen(name) == n && strncmp(text, name, n) == 0;
}

/* Set the word W to VALUE.  An invalid value is ignored. */
static void
settings_set(struct wire_settings *s, const struct word *w, const char *value)
{
	void *at = (char *)s + w->at;
	uint64_t n;

	switch (w->kind) {
	case NUMBER:
		wire_number(value, ';', at);
		break;
	case SIZE:
		read_size(value, settings_length(value), at);
		break;
	case LIMIT:
		if (wire_number(value, ';', &n))
			*(int64_t *)at = wire_limit(n);
		break;
	case INTERVAL:
		s->prints = wire_number(value, ';', at);
		break;
	case NAME:
		for (unsigned int i = 0; w->names[i]; i++)
			if (settings_is_name(value, settings_length(value), w->names[i]))
				*(unsigned int *)at = i;
		break;
	case FLAG:
		*(bool *)at = true;
		break;
	case PATH:
	case REST:
		*(const char **)at = value;
		break;
	}
}

/* The word at the beginning of TEXT, and its value; NULL for an unknown word of a later memdiag. */
static const struct word *
settings_find_word(const char *text, const char **ret_value)
{
	const char *equals = strchr(text, '=');
	const size_t n = settings_length(text);
	const size_t n_name = equals && equals < text + n ? (size_t)(equals - text) : n;

	*ret_value = text + n_name + (n_name < n);
	for (size_t i = 0; i < NR_WORDS; i++)
		if (settings_is_name(text, n_name, words[i].name))
			return &words[i];
	return NULL;
}

void
wire_settings_read(struct wire_settings *s, const char *text)
{
	while (*text) {
		const char *value;
		const struct word *w = settings_find_word(text, &value);

		if (w)
			settings_set(s, w, value);
		if (w && w->kind == REST)
			return;
		text += settings_length(text);
		text += *text == ';';
	}
}

/* ---- writing ---- */

struct settings_out {
	char *text;
	size_t len, size;
};

static void
settings_add(struct settings_out *o, const char *text)
{
	for (; *text; text++, o->len++)
		if (o->len < o->size)
			o->text[o->len] = *text;
}

static void
settings_add_number(struct settings_out *o, uint64_t n)
{
	char digits[21], *at = digits + sizeof digits - 1;

	*at = '\0';
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	settings_add(o, at);
}

/* True if the word W must be written, since it differs from the agent's default. */
static bool
settings_is_set(const struct wire_settings *s, const struct word *w)
{
	const void *at = (const char *)s + w->at;

	switch (w->kind) {
	case NUMBER:
	case SIZE:
		return *(const uint64_t *)at;
	case LIMIT:
		return *(const int64_t *)at != INT64_MAX;
	case INTERVAL:
		return s->prints;
	case NAME:
		return *(const unsigned int *)at;
	case FLAG:
		return *(const bool *)at;
	case PATH:
	case REST:
		return *(const char *const *)at;
	}
	return false;
}

static void
add_word(struct settings_out *o, const struct wire_settings *s, const struct word *w)
{
	const void *at = (const char *)s + w->at;

	settings_add(o, o->len ? ";" : "");
	settings_add(o, w->name);
	settings_add(o, w->kind == FLAG ? "" : "=");
	if (w->kind == NAME)
		settings_add(o, w->names[*(const unsigned int *)at]);
	else if (w->kind == PATH || w->kind == REST)
		settings_add(o, *(const char *const *)at);
	else if (w->kind != FLAG)
		settings_add_number(o, *(const uint64_t *)at);
}

bool
wire_settings_write(const struct wire_settings *s, char *buf, size_t size)
{
	struct settings_out o = { .text = buf, .size = size };

	for (size_t i = 0; i < NR_WORDS; i++)
		if (settings_is_set(s, &words[i]))
			add_word(&o, s, &words[i]);
	if (o.len >= size)
		return false;
	buf[o.len] = '\0';
	return true;
}
