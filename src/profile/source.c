#include <config.h>

#include "profile/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/stranger.h"

/* A larger file was not written by hand, and is not read. */
#define SOURCE_MAX_BYTES ((size_t)16 << 20)

struct source_file {
	char *name;
	struct text text; /* ends of lines are NULs; empty if it was not found */
	struct {
		uint32_t *v; /* where each line begins */
		size_t nr, room;
	} lines;
};

/* ---- finding ---- */

/* Return whether NAME has a part that leads out of a directory. */
static bool
leaves_directory(const char *name)
{
	for (const char *at = name; (at = strstr(at, "..")); at += 2)
		if ((at == name || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

/* Open NAME below DIRECTORY, with fewer and fewer of the first parts of its name; -1: not there. */
static int
source_open(const char *directory, const char *name)
{
	while (*name == '/')
		name++;
	while (*name && !leaves_directory(name)) {
		auto_free char *path = NULL;
		const char *slash;
		int fd;

		if (asprintf(&path, "%s/%s", directory, name) < 0) {
			path = NULL;
			return -1;
		}
		fd = os_open_at(AT_FDCWD, path, OS_REGULAR);
		slash = strchr(name, '/');
		if (fd >= 0 || !slash)
			return fd;
		for (name = slash; *name == '/'; name++)
			;
	}
	return -1;
}

/* Find the lines of F's text.  False: no memory. */
static bool
split_lines(struct source_file *f)
{
	for (size_t at = 0; at < f->text.len;) {
		char *end = memchr(f->text.v + at, '\n', f->text.len - at);
		uint32_t *line = array_add(&f->lines);

		if (!line)
			return false;
		*line = (uint32_t)at;
		if (!end)
			break;
		*end = '\0';
		if (end > f->text.v + at && end[-1] == '\r')
			end[-1] = '\0';
		at = (size_t)(end - f->text.v) + 1;
	}
	return true;
}

static void
file_release(struct source_file *f)
{
	free(f->name);
	text_release(&f->text);
	free(f->lines.v);
	*f = (struct source_file){ 0 };
}

/* Read the file NAME; without lines if it cannot be read. */
static struct source_file
file_read(const char *directory, const char *name)
{
	struct source_file f = { .name = strdup(name) };
	auto_fd int fd = source_open(directory, name);

	if (fd < 0 || text_read(&f.text, fd, SOURCE_MAX_BYTES) < 0 || !f.text.len)
		return f;
	/* Bytes that are not text, as of a program, have no lines. */
	if (memchr(f.text.v, '\0', f.text.len) || !split_lines(&f)) {
		text_release(&f.text);
		f.lines.nr = 0;
	}
	return f;
}

/* ---- the list ---- */

static int
by_name(const void *key, const void *file)
{
	return strcmp(key, ((const struct source_file *)file)->name);
}

/* Return the file NAME, which is read if it is a new one; NULL: no memory. */
static const struct source_file *
file_called(struct source_lines *s, const char *name)
{
	const struct source_file *known = s->files.nr
		? bsearch(name, s->files.v, s->files.nr, sizeof *s->files.v, by_name)
		: NULL;
	struct source_file f;
	size_t at;

	if (known)
		return known;
	f = file_read(s->directory, name);
	if (!f.name || !array_add(&s->files)) {
		file_release(&f);
		return NULL;
	}
	for (at = s->files.nr - 1; at && strcmp(s->files.v[at - 1].name, name) > 0; at--)
		s->files.v[at] = s->files.v[at - 1];
	s->files.v[at] = f;
	return &s->files.v[at];
}

const char *
source_line(struct source_lines *s, const char *file, uint32_t line)
{
	const struct source_file *f = s->directory && *file && line ? file_called(s, file) : NULL;

	return f && line <= f->lines.nr ? f->text.v + f->lines.v[line - 1] : NULL;
}

void
source_release(struct source_lines *s)
{
	for (size_t i = 0; i < s->files.nr; i++)
		file_release(&s->files.v[i]);
	free(s->files.v);
	s->files.v = NULL;
	s->files.nr = s->files.room = 0;
}
