/*
 * place: where a file is written, in a directory that another user may change all the time.  The
 * directory is looked up once and held, so what is decided about a name is done in that directory;
 * nothing that another user has put in the place of the file is followed.
 */
#ifndef MEMDIAG_OS_PLACE_H
#define MEMDIAG_OS_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

struct os_place {
	int dir_fd;		 /* the directory, by O_PATH */
	int held_fd;		 /* what has the name now, by O_PATH; -1: nothing */
	mode_t mode;		 /* of that; 0: nothing */
	bool is_open_file;	 /* it is not in the directory, but a descriptor's file in /proc */
	char name[NAME_MAX + 1]; /* in the directory */
};
#define OS_PLACE_NONE                                                                              \
	(struct os_place)                                                                          \
	{                                                                                          \
		.dir_fd = -1, .held_fd = -1                                                        \
	}

/*
 * Find the place of PATH, through symbolic links, but only those that root or the present user has
 * made.  0; or -1 with E, and RET as OS_PLACE_NONE.
 */
int os_place_find(struct os_place *ret, const char *path, struct err *e);
void os_place_release(struct os_place *p);
#define auto_place __attribute__((cleanup(os_place_release)))

/* Open what is there, which is no directory, for writing: a descriptor, or -1 with errno. */
int os_place_open(const struct os_place *p);

/*
 * Create a file with another name in P's directory, with MODE as of open(2); that name is put into
 * NAME.  Returns a descriptor, or -1 with errno.
 */
int os_place_create(const struct os_place *p, mode_t mode, char name[NAME_MAX + 1]);

/*
 * Give the file NAME of P's directory the name of P.  A file that has that name is replaced if
 * MAY_REPLACE, else errno is EEXIST.  0, or -1 with errno.
 */
int os_place_move(const struct os_place *p, const char *name, bool may_replace);

/* Remove the file NAME from P's directory.  0, or -1 with errno. */
int os_place_remove(const struct os_place *p, const char *name);

/*
 * Open the directory P, for reading and for os_create_at(); with MAKE it is made if it is missing.
 * It is not opened if it is a symbolic link.  Returns a descriptor, or -1 with errno.
 */
int os_place_open_dir(const struct os_place *p, bool make);

/* The absolute path of what descriptor FD of ours is, into BUF.  0, or -1 with errno. */
int os_path_of(int fd, char *buf, size_t size);

#endif
