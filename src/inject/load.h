/*
 * load: what the two ways to bring a library into a target share.
 *
 *	load.c		by the target's own dlopen()
 *	place.c		by memdiag itself, into a program that has no dynamic linker
 */
#ifndef MEMDIAG_INJECT_LOAD_H
#define MEMDIAG_INJECT_LOAD_H

#include "inject/inject-priv.h"

/* Where things lie in the page at ws->data; the first bytes are long_call_make()'s. */
#define LOAD_ZERO_OFFSET 1024
#define LOAD_RESULT_OFFSET 1032
#define LOAD_ERRNO_OFFSET 1040
#define LOAD_FD_OFFSET 1048
#define LOAD_PATH_OFFSET 1056
#define LOAD_PATH_BYTES (4096 - LOAD_PATH_OFFSET)

struct load {
	char *path;		/* ours, absolute */
	struct image *image;	/* of that file */
	char build_id[128];
	bool is_copied;		/* the target is given a copy in memory */
	struct inject_library *ret;
};

/*
 * Open the library PATH, and see whether IT has it already and whether it could be brought there.  Returns
 * 0, 1 if it is there (*RET says where), or -1 with E.  To be released in any case.
 */
int load_open(struct load *l, const struct inject_target *it, const char *path,
	struct inject_library *ret, struct err *e);
void load_release(struct load *l);
#define auto_load __attribute__((cleanup(load_release)))

/* Write the end of L's path, the name of its file, to where C's system calls find it. */
int load_write_name(const struct load *l, const struct carrier *c, raddr at, struct err *e);

/* Fill descriptor FD of the target, which is empty, with L's file. */
int load_fill(const struct load *l, const struct carrier *c, int fd, struct err *e);

/*
 * Have C map a page for itself and lay SIZE bytes of CODE there: *RET.  To unmap it is on the undo list, for
 * good.
 */
int load_map_code(const struct job *job, struct carrier *c, const unsigned char *code, size_t size,
	raddr *ret, struct err *e);

#endif
