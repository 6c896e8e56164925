/*
 * trim: what memdiag trim finds out, between finding it out and printing it.
 */
#ifndef MEMDIAG_CMD_TRIM_H
#define MEMDIAG_CMD_TRIM_H

#include "cmd/malloc-target.h"
#include "cmd/warnings.h"
#include "heap/heap.h"

struct trim_options {
	struct ui_options ui;
	struct inject_options inject;
	bool dry_run;
	bool tops;		/* those of thread arenas as well */
	uint64_t pad_bytes;
	uint64_t max_lock_ns;	/* no arena may be locked for longer */
	uint64_t max_stop_ns;	/* nor the process stopped, to make a forecast */
	uint64_t recheck_ns;	/* look again after so long; 0: do not */
	size_t max_rows;	/* of arenas; 0: no limit */
};

/* What there is at one time. */
struct moment {
	uint64_t rss_bytes, swap_bytes;
	bool has_arenas;
	uint64_t arenas_bytes;	/* resident in arenas */
};

/* What malloc_trim() would do, in all arenas. */
struct forecast {
	struct heap heap;
	uint64_t rss_bytes, uss_bytes, swap_bytes;
	uint64_t lock_ns, longest_lock_ns;
	uint64_t nr_faults;	/* when all that went is used again */
	uint64_t mlocked_bytes, huge_bytes;
	uint64_t tops_bytes;	/* resident tops of thread arenas, which stay */
	size_t nr_approximate;
};

struct trim {
	struct malloc_target mt;
	struct moment before, after, later;
	/* with --dry-run, and for heaps that it might take long for */
	struct forecast forecast;
	/* without */
	struct inject_report report;
	struct heap_layout layout;	/* with --tops */
	size_t nr_tops;
	struct inject_discarded tops;
	uint64_t released_bytes;
	bool has_later;
	uint64_t came_back_bytes;
	struct warnings warnings;
};

/* trim-forecast.c: 0, or -1 with E */

/* Make T's forecast, with all that is to be said of it in the warnings. */
int trim_foresee(struct trim *t, const struct trim_options *opt, struct err *e);

/* ERR_NO_SAFE_POINT if T's trim would lock an arena for longer than it may. */
int trim_allow(struct trim *t, const struct trim_options *opt, struct err *e);

/* What is to be said of a forecast, where it holds. */
struct caveat {
	const char *id;
	uint64_t bytes;
	char text[400];
};

#define TRIM_CAVEATS 5

/* Fill RET and return how many there are. */
size_t trim_caveats(const struct trim *t, const struct trim_options *opt,
	struct caveat ret[TRIM_CAVEATS]);

/* trim-tops.c: give them back, as far as they are free and nobody holds their lock.  0, or -1. */
int trim_tops(struct trim *t, const struct trim_options *opt, struct err *e);

/* trim-print.c */
int trim_print_text(const struct trim *t, const struct trim_options *opt, struct ui_output *out,
	struct err *e);
/* What the second look found. */
void trim_print_later(const struct trim *t, const struct trim_options *opt, struct ui_output *out);
int trim_print_json(const struct trim *t, const struct trim_options *opt, struct ui_output *out,
	struct err *e);

#endif
