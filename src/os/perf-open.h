/*
 * perf-open: the events of perf on every CPU, and the CPUs.
 */
#ifndef MEMDIAG_OS_PERF_OPEN_H
#define MEMDIAG_OS_PERF_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "os/perf-priv.h"
#include "os/perf.h"

struct perf_cpus {
	int *v; /* owned by the caller */
	size_t nr, room;
};

/*
 * Add the numbers of a list like "0-3,6"; stop at the first character that does not fit.  -1: no
 * memory.
 */
int perf_cpus_parse(struct perf_cpus *cpus, const char *list);

/* Return the attributes of an event of SOURCE, or of the event that has a CPU's buffer (NULL). */
struct perf_event_attr perf_attr_of(
	const struct perf_options *o, const struct perf_source *source, bool counts_lost);

/*
 * Open an event on processor CPU, which does not report yet: of SOURCE, or the one that has the
 * buffer (NULL).  Returns its descriptor, or -1 with errno.
 */
int perf_open_event(struct perf *p, const struct perf_source *source, int cpu);

/*
 * Open the event of SOURCE on CPU number AT of those that have a buffer, and direct it into that
 * buffer: store its descriptor, -1 before, in *RET_FD, and its number in *RET_ID.  0, or -1 with E:
 * the descriptor may be open then.
 */
int perf_open_source(struct perf *p, const struct perf_source *source, size_t at, int *ret_fd,
	uint64_t *ret_id, struct err *e);

/*
 * Add to P how many records of the event FD, which reports no longer, were lost, and how many
 * samples of SOURCE it has made.  NULL: it is the one that has the buffer, and makes none.
 */
void perf_event_finish(struct perf *p, int fd, const struct perf_source *source);

#endif
