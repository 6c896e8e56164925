/*
 * place: the place to write a file, in a directory that another user may change at any time.  The
 * directory is looked up once and held, so decisions about a name apply to that directory; a link
 * that another user has put in the place of the file is not followed.
 */
#ifndef MEMDIAG_OS_PLACE_H
#define MEMDIAG_OS_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

struct os_place {
	int dir_fd;  /* the directory, by O_PATH */
	int held_fd; /* the file that has the name now, by O_PATH; -1: no file */
	mode_t mode; /* of that file; 0: no file */
	/* the file is not in the directory: it is a descriptor's file in /proc */
	bool is_open_file;
	char name[NAME_MAX + 1]; /* in the directory */
};
#define OS_PLACE_NONE                                                                              \
	(struct os_place)                                                                          \
	{                                                                                          \
		.dir_fd = -1, .held_fd = -1                                                        \
	}

/*
 * Find the place of PATH; follow only symbolic links that root or the present user has made.  0; or
 * -1 with E, and RET as OS_PLACE_NONE.
 */
int os_place_find(struct os_place *ret, const char *path, struct err *e);
void os_place_release(struct os_place *p);
#define auto_place __attribute__((cleanup(os_place_release)))

/*
 * Open the existing file, which must not be a directory, for writing: a descriptor, or -1 with
 * errno.
 */
int os_place_open(const struct os_place *p);

/*
 * Create a file with another name in P's directory, with MODE as of open(2); store that name in
 * NAME.  Returns a descriptor, or -1 with errno.
 */
int os_place_create(const struct os_place *p, mode_t mode, char name[NAME_MAX + 1]);

/*
 * Give the file NAME in P's directory the name of P.  An existing file is replaced if MAY_REPLACE,
 * else errno is EEXIST.  0, or -1 with errno.
 */
int os_place_move(const struct os_place *p, const char *name, bool may_replace);

/* Remove the file NAME from P's directory.  0, or -1 with errno. */
int os_place_remove(const struct os_place *p, const char *name);

/*
 * Open the directory P, for reading and for os_create_at(); if it is missing, create it with MAKE.
 * Fails if it is a symbolic link.  Returns a descriptor, or -1 with errno.
 */
int os_place_open_dir(const struct os_place *p, bool make);

/* Store the absolute path of our descriptor FD in BUF.  0, or -1 with errno. */
int os_path_of(int fd, char *buf, size_t size);

#endif
