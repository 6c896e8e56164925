/*
 * stranger: files that memdiag has not chosen itself: those that a target's maps, its memory or
 * /proc name, and a profile, a log or debug information; those in a directory of another user.
 *
 * To open a file can have effects before anybody can see what it is: a FIFO waits for a writer, a
 * watchdog begins to count, a tape rewinds, a terminal becomes that of memdiag's session.  So a
 * file is held first, which opens nothing (O_PATH); what is held is examined, and the same is
 * opened.  Names are looked up once: one that leads elsewhere by then changes nothing.
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
	OS_REGULAR = 1, /* it is not waited for a lease of it */
	OS_DIRECTORY = 2,
	OS_PIPE = 4,	/* a FIFO, which waits until it has a writer: only where a user names it */
	OS_NO_LINK = 8, /* the last part of the name is no symbolic link */
};

/*
 * Open file NAME, below the directory DIR_FD unless it is absolute (AT_FDCWD: the present one), for
 * reading.  WHAT is of enum os_stranger.  Returns a descriptor that is closed on exec, or -1 with
 * errno; EISDIR, ENODEV: it is not what is wanted, and was not opened.
 */
int os_open_at(int dir_fd, const char *name, unsigned int what);

/* As os_open_at(), of the file PATH, with an error that says why it "cannot be read". */
int os_open(const char *path, unsigned int what, struct err *e);

/* Open what HELD_FD, an O_PATH descriptor, holds; as os_open_at().  HELD_FD stays. */
int os_open_held(int held_fd, unsigned int what);

/*
 * A descriptor of what FD has now, for a library that maps files: a mapping raises SIGBUS where its
 * file has become shorter.  It is FD itself if only root or the present user can write to the file,
 * else a copy in memory, for which os_take_memory() is asked.  FD is taken over.  Returns -1 with
 * errno (ENOMEM), with FD closed.
 */
int os_keep_contents(int fd);

/*
 * Whether nobody but root and the present user can change what the absolute path PATH leads to: of
 * it and all directories on the way, links followed.  A file that is not there counts as theirs if
 * nobody else can make it.  So a library may open PATH by itself.
 */
bool os_path_is_trusted(const char *path);

/*
 * Read FD, which is the file NAME, to its end into TEXT, which must be zeroed or released. 0, or -1
 * with E: ENOMEM if it is larger than the memory that is left (os/ceiling.h).
 */
int os_read_whole(struct text *text, int fd, const char *name, struct err *e);

/*
 * Create file NAME below DIR_FD, which must not be there, not even as a symbolic link, for writing,
 * with access for its owner alone.  Returns a descriptor, closed on exec, or -1 with errno.
 */
int os_create_at(int dir_fd, const char *name);

#endif
