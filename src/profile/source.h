/*
 * source: lines of the source files of a profile, from a directory that the user names.  The names
 * of files come from the profile, which may be a stranger's: no file outside that directory is
 * opened unless a symbolic link in it leads there.
 */
#ifndef MEMDIAG_PROFILE_SOURCE_H
#define MEMDIAG_PROFILE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct source_file;

struct source_lines {
	const char *directory; /* borrowed; NULL: no lines are known */
	struct {
		struct source_file *v;
		size_t nr, room;
	} files; /* sorted by name */
};

/*
 * Return line LINE (from 1) of FILE, as in debug information, without its end; NULL if it is not
 * there.  FILE is the one below the directory with as many of the last parts of its name as
 * possible.  The result is owned by S.
 */
const char *source_line(struct source_lines *s, const char *file, uint32_t line);

void source_release(struct source_lines *s);
#define auto_source __attribute__((cleanup(source_release)))

#endif
