/*
 * stranger: files that memdiag has not chosen itself: those that a target's maps, its memory or
 * /proc name, and a profile, a log or debug information; those in a directory of another user.
 *
 * Opening a file can have effects before its type is known: a FIFO waits for a writer, a watchdog
 * begins to count, a tape rewinds, a terminal becomes that of memdiag's session.  So a file is
 * first held without opening it (O_PATH); the held file is examined, and the same file is opened.
 * Names are looked up once: a later change of the name has no effect.
 *
 * Rooms above os have no other way to open a file: scripts/check-layers.
 */
#ifndef MEMDIAG_OS_STRANGER_H
#define MEMDIAG_OS_STRANGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* Kinds of files that may be opened, and how the name is looked up. */
enum os_stranger {
	OS_REGULAR = 1, /* does not wait for a lease of it */
	OS_DIRECTORY = 2,
	OS_PIPE = 4,	/* a FIFO, which waits until it has a writer: only if a user names it */
	OS_NO_LINK = 8, /* the last part of the name must not be a symbolic link */
};

/*
 * Open file NAME, below the directory DIR_FD unless it is absolute (AT_FDCWD: the present one), for
 * reading.  WHAT is of enum os_stranger.  Returns a descriptor that is closed on exec, or -1 with
 * errno; EISDIR, ENODEV: the file is of another kind, and was not opened.
 */
int os_open_at(int dir_fd, const char *name, unsigned int what);

/* As os_open_at(), for the file PATH, with an error message: "cannot read ...". */
int os_open(const char *path, unsigned int what, struct err *e);

/* Open the file that HELD_FD, an O_PATH descriptor, holds; as os_open_at().  HELD_FD stays open. */
int os_open_held(int held_fd, unsigned int what);

/*
 * Return a descriptor of the present contents of FD, for a library that maps files: a mapping
 * raises SIGBUS if its file has become shorter.  It is FD itself if only root or the present user
 * can write to the file, else a copy in memory, for which os_take_memory() is asked.  FD is taken
 * over.  Returns -1 with errno (ENOMEM), with FD closed.
 */
int os_keep_contents(int fd);

/*
 * Return whether only root and the present user can change the file at the absolute path PATH: the
 * file itself and all directories on the way, with links followed.  A missing file counts as theirs
 * if no other user can create it.  So a library may open PATH by itself.
 */
bool os_path_is_trusted(const char *path);

/*
 * Read all of FD, which is the file NAME, into TEXT, which must be zeroed or released.  0, or -1
 * with E: ENOMEM if the file is larger than the memory that is left (os/ceiling.h).
 */
int os_read_whole(struct text *text, int fd, const char *name, struct err *e);

/*
 * Create file NAME below DIR_FD for writing, with access for its owner alone; it must not exist,
 * not even as a symbolic link.  Returns a descriptor, closed on exec, or -1 with errno.
 */
int os_create_at(int dir_fd, const char *name);

#endif
