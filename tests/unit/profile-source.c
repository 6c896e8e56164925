/*
 * Lines of source files below a directory: which file is taken, which lines it has, and that no
 * name leads out of the directory.
 */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
	source_release(&s);
	snprintf(command, sizeof command, "rm -r %s", dir);
	ok(system(command) == 0, "the directory is removed");
	return tap_end();
}
