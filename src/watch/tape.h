/*
 * tape: samples as lines of JSON, and a file of them.
 */
#ifndef MEMDIAG_WATCH_TAPE_H
#define MEMDIAG_WATCH_TAPE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "os/os.h"
#include "watch/sample.h"

/* Return S, a sample of T, as a document of one line, or NULL: no memory. */
json_t *watch_sample_json(const struct watch_sample *s, const struct target *t);

/* A file of such lines. */
struct watch_tape {
	FILE *f;
	const char *path; /* borrowed */
	struct {
		uint64_t *v; /* where each sample begins in F, in bytes */
		size_t nr, room;
	} at;
	bool is_cut; /* the last line has no end, and is left out: a memdiag was killed */
};

/*
 * Open the file PATH, of which only the beginnings of lines are kept.  T must be zeroed.  0, or -1
 * with E: ERR_USAGE if it has no sample.
 */
int watch_tape_open(struct watch_tape *t, const char *path, struct err *e);

/*
 * Read sample NR of T into RET, which need not be initialised.  0, or -1 with E, which names the
 * line, if that is no sample.
 */
int watch_tape_read(struct watch_sample *ret, struct watch_tape *t, size_t nr, struct err *e);

void watch_tape_close(struct watch_tape *t);
#define auto_watch_tape __attribute__((cleanup(watch_tape_close)))

#endif
