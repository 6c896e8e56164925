/*
 * Lines of source files below a directory: which file is taken, which lines it has, and that no
 * name leads out of the directory.
 */
#include <config.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/source.h"
#include "tap.h"

static char dir[] = "/tmp/profile-source-XXXXXX";

static void
put(const char *name, const char *text, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	if (f) {
		fwrite(text, 1, size, f);
		fclose(f);
	}
}

static void
has(struct source_lines *s, const char *file, uint32_t line, const char *want)
{
	const char *got = source_line(s, file, line);

	if (!want)
		ok(!got, "%s has no line %u", file, line);
	else if (ok(got, "%s has a line %u", file, line))
		is_str(got, want, "  which is right");
}

/* Random files: each line is what a reader of its own finds. */
static void
test_random(struct source_lines *s)
{
	srandom(7);
	for (int i = 0; i < 200; i++) {
		char text[400], name[32], copy[400];
		size_t size = (size_t)random() % sizeof text;
		uint32_t line = 0;
		bool is_same = true;

		for (size_t k = 0; k < size; k++)
			text[k] = "\n\na b\rc"[random() % 7];
		snprintf(name, sizeof name, "random/%d.c", i);
		put(name, text, size);
		for (size_t k = 0; k < size;) {
			size_t n = 0;

			while (k + n < size && text[k + n] != '\n')
				n++;
			memcpy(copy, text + k, n);
			/* The end of a line is \n or \r\n. */
			copy[n && copy[n - 1] == '\r' && k + n < size ? n - 1 : n] = '\0';
			is_same &= source_line(s, name, ++line) &&
				strcmp(source_line(s, name, line), copy) == 0;
			k += n + 1;
		}
		if (!is_same || source_line(s, name, line + 1))
			ok(false, "random file %d", i);
	}
	ok(true, "200 random files");
}

/* ---- names made at random ---- */

#define NR_NAMES 12
#define MOST_PARTS 4
#define NAME_BYTES (MOST_PARTS * 3)

/* Files below the directory "names"; each has its name as its only line. */
static char names[NR_NAMES][NAME_BYTES];

/* Write a name with 1 to MOST_PARTS parts that often recur. */
static void
random_name(char name[NAME_BYTES])
{
	for (long i = random() % MOST_PARTS; i >= 0; i--, name += 3) {
		name[0] = "abc"[random() % 3];
		name[1] = "xy"[random() % 2];
		name[2] = i ? '/' : '\0';
	}
}

/* Make the file NAME and its directories; false if one of its parts is of the other kind. */
static bool
make_name(const char *name)
{
	char path[256], whole[sizeof dir + sizeof path];
	struct stat st;

	for (size_t i = 0; name[i]; i++) {
		if (name[i] != '/')
			continue;
		snprintf(whole, sizeof whole, "%s/names/%.*s", dir, (int)i, name);
		mkdir(whole, 0700);
	}
	snprintf(path, sizeof path, "names/%s", name);
	put(path, name, strlen(name));
	snprintf(whole, sizeof whole, "%s/%s", dir, path);
	return stat(whole, &st) == 0 && S_ISREG(st.st_mode);
}

/* Return the file that QUERY, without double slashes, should lead to; NULL: none. */
static const char *
wanted_of(const char *query)
{
	for (const char *at = query; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		for (size_t i = 0; i < NR_NAMES; i++)
			if (*names[i] && strcmp(names[i], at) == 0)
				return names[i];
	return NULL;
}

/* Random names lead to the file with the longest equal end. */
static void
test_names(void)
{
	struct source_lines s = { 0 };
	char path[256];
	size_t nr_found = 0;
	bool is_right = true;

	snprintf(path, sizeof path, "%s/names", dir);
	mkdir(path, 0700);
	s.directory = path;
	for (size_t i = 0; i < NR_NAMES; i++) {
		random_name(names[i]);
		if (!make_name(names[i]))
			*names[i] = '\0';
	}
	for (int i = 0; i < 2000; i++) {
		char query[NAME_BYTES], doubled[2 * NAME_BYTES];
		const char *want, *got;
		size_t len = 0;

		random_name(query);
		want = wanted_of(query);
		for (const char *c = query; *c; c++) {
			doubled[len++] = *c;
			if (*c == '/' && random() % 4 == 0)
				doubled[len++] = '/';
		}
		doubled[len] = '\0';
		got = source_line(&s, doubled, 1);
		if (!want != !got || (got && strcmp(got, want) != 0)) {
			printf("# %s leads to %s, not to %s\n", doubled, got ? got : "none",
				want ? want : "none");
			is_right = false;
		}
		nr_found += got != NULL;
	}
	ok(is_right, "2000 random names lead to the file with the longest equal end");
	ok(nr_found > 100 && nr_found < 1900, "  or to none");
	source_release(&s);
}

int
main(void)
{
	struct source_lines s = { 0 }, none = { 0 };
	char path[256], command[300];

	ok(mkdtemp(dir), "a directory");
	s.directory = dir;
	snprintf(path, sizeof path, "%s/src", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/random", dir);
	mkdir(path, 0700);
	put("a.c", "one\ntwo\r\n\nfour", 14);
	put("src/a.c", "other\n", 6);
	put("program", "a\0b\n", 4);
	has(&none, "a.c", 1, NULL);
	has(&s, "a.c", 1, "one");
	has(&s, "a.c", 2, "two");
	has(&s, "a.c", 3, "");
	has(&s, "a.c", 4, "four");
	has(&s, "a.c", 5, NULL);
	has(&s, "a.c", 0, NULL);
	has(&s, "/build/package-1.0/src/a.c", 1, "other");
	has(&s, "/build/package-1.0/lib/a.c", 1, "one");
	has(&s, "src//a.c", 1, "other");
	has(&s, "program", 1, NULL);
	has(&s, "src", 1, NULL);
	has(&s, "", 1, NULL);
	has(&s, "/", 1, NULL);
	has(&s, "missing.c", 1, NULL);
	has(&s, "/etc/passwd", 1, NULL);
	has(&s, "../../../../../etc/passwd", 1, NULL);
	has(&s, "src/../../../etc/passwd", 1, NULL);
	has(&s, "..", 1, NULL);
	has(&s, "/x/../a.c", 1, NULL);
	has(&s, "..x/a.c", 1, "one");
	snprintf(path, sizeof path, "%s/pipe.c", dir);
	ok(mkfifo(path, 0600) == 0, "a pipe, which would wait for a writer");
	has(&s, "pipe.c", 1, NULL);
	test_random(&s);
	test_names();
	source_release(&s);
	snprintf(command, sizeof command, "rm -r %s", dir);
	ok(system(command) == 0, "the directory is removed");
	return tap_end();
}
