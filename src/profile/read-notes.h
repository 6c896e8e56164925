/*
 * read-notes: the comments of a .heap file that the agent or memdiag wrote.
 */
#ifndef MEMDIAG_PROFILE_READ_NOTES_H
#define MEMDIAG_PROFILE_READ_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile-priv.h"
#include "profile/profile.h"

/* memdiag's own lines in a .heap file, which begin with "# " and "#+ ". */
struct heap_notes {
	bool is_ours, has_end;
	struct {
		uint32_t *v; /* thread_1 of each thread in its list */
		size_t nr, room;
	} threads;
};
int heap_note(struct profile *p, struct heap_notes *notes, const struct lines *l, struct err *e);
/* Read the sample and the values from a line "#+ THREAD SIZE VALUE...". */
int heap_detail(const struct profile *p, const struct heap_notes *notes, const struct lines *l,
	struct profile_sample *ret, int64_t *values, struct err *e);

#endif
