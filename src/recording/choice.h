/*
 * choice: the blocks of a recording that are live at its end, chosen by age and size.
 *
 * Events give the site and the size of a block, but do not identify it.  A block is old if it was
 * allocated before the cut.  A free since the cut may be that of an old block or of a younger one
 * of the same site and size.  So the sums are bounds: CERTAIN blocks are old and live whichever
 * were freed, and no more than POSSIBLE are.
 */
#ifndef MEMDIAG_RECORDING_CHOICE_H
#define MEMDIAG_RECORDING_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/history.h"
#include "recording/recording.h"

struct history_choice {
	bool has_age;
	uint64_t age_ns;	       /* choose blocks that have lived for longer */
	uint64_t min_bytes, max_bytes; /* of a block; 0 and UINT64_MAX for any size */
};

struct history_chosen {
	struct {
		struct history_chosen_site {
			struct amount certain, possible;
		} * v; /* by site */
		size_t nr, room;
	} sites;
	struct amount certain, possible; /* of all sites */
	/* Live blocks of unknown size: they were live when the recording began. */
	struct amount unknown;
	uint64_t now_ns;   /* time of the end, since the recording began */
	bool is_of_memory; /* from a live set, which has no times, not from a recording */
};

/*
 * Read R, which H was read from, once more into CHOSEN, which must be zeroed.  Ages are those at
 * the end of the recording.  The caller releases CHOSEN in any case.  0, or -1 with E.
 */
int history_choose(struct history_chosen *chosen, const struct history *h, struct recording *r,
	const struct history_choice *choice, struct err *e);
void history_chosen_release(struct history_chosen *chosen);
#define auto_chosen __attribute__((cleanup(history_chosen_release)))

#endif
