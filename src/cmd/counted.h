/*
 * counted: what the agent has counted in a process, for people and as JSON.
 */
#ifndef MEMDIAG_CMD_COUNTED_H
#define MEMDIAG_CMD_COUNTED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/os.h"
#include "ui/ui.h"
#include "wire/wire.h"

struct counted {
	struct wire_segment *segment;	/* owned; a copy, which nobody writes to */
	uint32_t nr_threads;		/* in it */
	struct wire_totals totals;
};

/*
 * Take over COPY, SIZE bytes from malloc() that are to be a segment.  0, or -1 with E (they are not,
 * or one of another version) and COPY is free.
 */
int counted_take(struct counted *c, void *copy, uint64_t size, struct err *e);
/*
 * Read that of a process.  ERR_UNSUPPORTED when it has no agent.
 */
int counted_read(struct counted *c, const struct target *t, struct err *e);
void counted_release(struct counted *c);
#define auto_counted __attribute__((cleanup(counted_release)))

/* The thread with number I; the bytes that it has since it came, of which others may have freed some. */
const struct wire_thread *counted_thread(const struct counted *c, uint32_t i);
int64_t counted_thread_bytes(const struct wire_thread *t);

/* The lines about all threads together. */
void counted_print(const struct counted *c, const struct ui_options *opt, FILE *f);
/* The same into the object DATA. */
int counted_to_json(const struct counted *c, json_t *data, struct err *e);

#endif
