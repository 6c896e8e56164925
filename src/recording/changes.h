/*
 * changes: what was live at many moments of a recording, as the differences between them.
 */
#ifndef MEMDIAG_RECORDING_CHANGES_H
#define MEMDIAG_RECORDING_CHANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/history.h"
#include "recording/recording.h"

/* A moment: a local maximum, the greatest of several intervals. */
struct history_step {
	uint64_t at_ns;
	int64_t live_bytes;   /* of all sites */
	int64_t rss_bytes;    /* the greatest of the intervals; 0: not measured in them */
	int64_t mapped_bytes; /* likewise; -1: unknown */
	size_t end;	      /* its changes end before this one */
};

/* The difference of a site's live blocks from the moment before. */
struct history_change {
	uint32_t site;
	struct amount more;
};

struct history_changes {
	struct {
		struct history_step *v; /* in order of time */
		size_t nr, room;
	} steps;
	struct {
		struct history_change *v; /* those of a moment by site */
		size_t nr, room;
	} changes;
};

/*
 * Read R, from which H was made, once more: at most MOST moments, fewer if there are fewer
 * intervals or so many sites that the moments would take much memory.  Mappings are left out.  The
 * caller releases RET in any case.  0, or -1 with E.
 */
int history_changes_read(struct history_changes *ret, const struct history *h, struct recording *r,
	size_t most, struct err *e);
void history_changes_release(struct history_changes *c);
#define auto_changes __attribute__((cleanup(history_changes_release)))

#endif
