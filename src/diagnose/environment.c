#include <config.h>

#include "diagnose/environment.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define TUNABLES "GLIBC_TUNABLES"
#define PREFIX "glibc.malloc."
#define MAX_SETTING 128

/* The variables and tunables of elf/dl-tunables.list and malloc/malloc.c, 2.10 to 2.44. */
/* clang-format off */
static const char *const variable[] = {
	"MALLOC_ARENA_MAX", "MALLOC_ARENA_TEST", "MALLOC_CHECK_", "MALLOC_MMAP_MAX_",
	"MALLOC_MMAP_THRESHOLD_", "MALLOC_PERTURB_", "MALLOC_TOP_PAD_", "MALLOC_TRACE",
	"MALLOC_TRIM_THRESHOLD_", NULL,
};
/* clang-format on */
/* clang-format off */
static const char *const tunable[] = {
	"arena_max", "arena_test", "check", "hugetlb", "mmap_max", "mmap_threshold", "mxfast",
	"perturb", "tcache_count", "tcache_max", "tcache_unsorted_limit", "top_pad",
	"trim_threshold", NULL,
};
/* clang-format on */

static bool
environment_is_in(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/*
 * Copy the next entry of the list at *AT, which ends at END and uses SEPARATOR, into BUF of
 * MAX_SETTING bytes, and advance *AT past it.  Return false at the end.  A longer entry is
 * truncated.
 */
static bool
environment_next_entry(const char **at, const char *end, char separator, char *buf)
{
	const char *stop;
	size_t n;

	if (*at >= end)
		return false;
	stop = memchr(*at, separator, (size_t)(end - *at));
	if (!stop)
		stop = end;
	n = (size_t)(stop - *at);
	if (n > MAX_SETTING - 1)
		n = MAX_SETTING - 1;
	memcpy(buf, *at, n);
	buf[n] = '\0';
	*at = stop + 1;
	return true;
}

/* Parse as glibc does, with strtoul(): decimal, octal or hexadecimal. */
static bool
environment_is_number(const char *value, uint64_t *ret)
{
	char *end;

	*ret = strtoull(value, &end, 0);
	return isdigit((unsigned char)value[0]) && !*end;
}

/* ---- one setting at a time ---- */

struct environment_setting {
	char text[MAX_SETTING]; /* NAME=VALUE, unchanged */
	const char *name, *value;
	bool is_tunable;
};

static void
environment_split(struct environment_setting *s, char *work)
{
	char *equals = strchr(work, '=');

	if (equals)
		*equals = '\0';
	s->name = work;
	s->value = equals ? equals + 1 : "";
}

/*
 * Call FN for every variable, and for every tunable inside GLIBC_TUNABLES, until it returns true.
 */
static bool
each_setting(const char *env, size_t len,
	bool (*fn)(const struct environment_setting *s, void *arg), void *arg)
{
	const char *end = env ? env + len : NULL; /* NULL if unreadable */

	while (env < end) {
		const char *stop = memchr(env, '\0', (size_t)(end - env));
		const char *at = env + strlen(TUNABLES "=");
		struct environment_setting s = { 0 };
		char work[MAX_SETTING];

		if (!stop)
			stop = end;
		if ((size_t)(stop - env) > strlen(TUNABLES) &&
			strncmp(env, TUNABLES "=", strlen(TUNABLES "=")) == 0) {
			s.is_tunable = true;
			while (environment_next_entry(&at, stop, ':', s.text)) {
				environment_split(&s, strcpy(work, s.text));
				if (fn(&s, arg))
					return true;
			}
			env = stop + 1;
			continue;
		}
		environment_next_entry(&env, end, '\0', s.text);
		environment_split(&s, strcpy(work, s.text));
		if (fn(&s, arg))
			return true;
	}
	return false;
}

struct environment_found {
	char *buf;
	size_t size;
	uint64_t value;
	bool is_found;
};

static bool
is_bad(const struct environment_setting *s, void *arg)
{
	struct environment_found *f = arg;
	uint64_t n;

	if (s->is_tunable) {
		/* Include misspelt ones: "malloc.arena_max", "glibc.malloc.arenas_max". */
		if (!strstr(s->name, "malloc"))
			return false;
		if (strncmp(s->name, PREFIX, strlen(PREFIX)) == 0 &&
			environment_is_in(tunable, s->name + strlen(PREFIX)) &&
			environment_is_number(s->value, &n))
			return false;
	} else {
		if (strncmp(s->name, "MALLOC_", strlen("MALLOC_")) != 0)
			return false;
		if (environment_is_in(variable, s->name) &&
			(strcmp(s->name, "MALLOC_ARENA_MAX") != 0 ||
				environment_is_number(s->value, &n)))
			return false;
	}
	text_printable(s->text, f->buf, f->size);
	return true;
}

bool
environment_find_bad(const char *env, size_t len, char *buf, size_t size)
{
	struct environment_found f = { .buf = buf, .size = size };

	return each_setting(env, len, is_bad, &f);
}

/* The tunable is read last and overrides the variable (elf/dl-tunables.c). */
static bool
note_arena_max(const struct environment_setting *s, void *arg)
{
	const char *name = s->is_tunable ? PREFIX "arena_max" : "MALLOC_ARENA_MAX";
	struct environment_found *f = arg;
	uint64_t n;

	if (strcmp(s->name, name) != 0 || !environment_is_number(s->value, &n) || !n)
		return false;
	text_printable(s->text, f->buf, f->size);
	f->value = n;
	f->is_found = true;
	return s->is_tunable;
}

bool
environment_arena_max(const char *env, size_t len, uint64_t *ret, char *buf, size_t size)
{
	struct environment_found f = { .buf = buf, .size = size };

	each_setting(env, len, note_arena_max, &f);
	if (f.is_found)
		*ret = f.value;
	return f.is_found;
}
