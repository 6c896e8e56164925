#include <config.h>

#include "agent/note/heap-name.h"

#include <string.h>
#include <time.h>

#include "agent/base/sys.h"
#include "agent/note/sites.h"
#include "wire/settings.h"

#define DEFAULT_PREFIX "memdiag"
static char prefix[HEAP_NAME_BYTES - 128];

void
heap_name_set_prefix(const char *given)
{
	char name[sizeof prefix / 2] = DEFAULT_PREFIX;
	long n = 0;

	if (given && *given && *given != ';')
		wire_path(name, sizeof name, given);
	if (*name != '/')
		n = sys_call(SYS_getcwd, prefix, sizeof prefix / 2); /* including the NUL */
	if (n > 1 && prefix[n - 2] != '/')
		prefix[n - 1] = '/';
	else
		n = n > 0 ? n - 1 : 0;
	strcpy(prefix + n, name);
}

static void
heap_name_add_char(struct path_text *n, char c)
{
	if (n->len < sizeof n->text - 1)
		n->text[n->len++] = c;
	n->text[n->len] = '\0';
}

void
path_add_text(struct path_text *n, const char *text)
{
	for (; *text; text++)
		heap_name_add_char(n, *text);
}

void
path_add_number(struct path_text *n, uint64_t number, int width)
{
	uint64_t ten = 1;

	while (--width > 0 || number / ten >= 10)
		ten *= 10;
	for (; ten; ten /= 10)
		heap_name_add_char(n, (char)('0' + number / ten % 10));
}

/*
 * Append the date DAYS after 1970-01-01, by the civil calendar in eras of 400 years whose years
 * begin in March.
 */
static void
add_date(struct path_text *n, uint64_t days)
{
	const uint64_t since = days + 719468, era = since / 146097, of_era = since % 146097;
	const uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	const uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	const uint64_t month = (5 * of_year + 2) / 153;

	path_add_number(n, era * 400 + year + (month >= 10), 4);
	path_add_number(n, month < 10 ? month + 3 : month - 9, 2);
	path_add_number(n, of_year - (153 * month + 2) / 5 + 1, 2);
}

static void
add_time(struct path_text *n)
{
	struct timespec now = { 0 };
	uint64_t seconds;

	sys_call(SYS_clock_gettime, CLOCK_REALTIME, &now);
	seconds = (uint64_t)now.tv_sec;
	add_date(n, seconds / 86400);
	heap_name_add_char(n, 'T');
	path_add_number(n, seconds / 3600 % 24, 2);
	path_add_number(n, seconds / 60 % 60, 2);
	path_add_number(n, seconds % 60, 2);
	heap_name_add_char(n, 'Z');
}

void
heap_name_begin(struct path_text *n, uint32_t number)
{
	n->len = 0;
	path_add_text(n, prefix);
	heap_name_add_char(n, '.');
	path_add_number(n, sites->pid, 1);
	heap_name_add_char(n, '.');
	path_add_number(n, number, 1);
	heap_name_add_char(n, '.');
}

void
heap_name_of_part(struct path_text *n, uint32_t number)
{
	heap_name_begin(n, number);
	path_add_text(n, "part");
}

void
heap_name_of_whole(struct path_text *n, uint32_t number, char kind, uint32_t nr_of_kind)
{
	heap_name_begin(n, number);
	heap_name_add_char(n, kind);
	path_add_number(n, nr_of_kind, 1);
	heap_name_add_char(n, '.');
	add_time(n);
	path_add_text(n, HEAP_NAME_SUFFIX);
}
