/*
 * collect: what a sampler has noted, as a profile that reports and files are made of.
 */
#ifndef MEMDIAG_CAPTURE_COLLECT_H
#define MEMDIAG_CAPTURE_COLLECT_H

#include "agentctl/sites.h"
#include "glibc/process.h"
#include "profile/profile.h"

/*
 * Make a profile of C: blocks and bytes in use, allocated, at the peak, and temporary; mappings in
 * use and so far, always, so that profiles with and without can be compared.  PROCESS
 * says what is mapped, and names threads if it still runs; NULL: it has ended, and C knows what was
 * mapped.  *RET is the caller's to free.  0, or -1 with E.
 */
int profile_collect(struct profile **ret, const struct sites_copy *c, const struct process *process,
	struct err *e);
/* The same; STACK_OF[SITE] is set to the number of its stack, of each site with a sample. */
int profile_collect_stacks(struct profile **ret, const struct sites_copy *c,
	const struct process *process, uint32_t *stack_of, struct err *e);

/*
 * Parts of it: the code that PROCESS has mapped, less what P has already; and the frame (*RET) of
 * what found no room or, with IS_CUT, of a stack of which no frame is known.
 */
int profile_add_mappings(struct profile *p, const struct process *process, struct err *e);
/*
 * The code that frames of C are in: what PROCESS has mapped, or if that is NULL what C knows of it,
 * and objects that were unloaded.
 */
int profile_map(struct profile *p, const struct sites_copy *c, const struct process *process,
	struct err *e);
int profile_add_no_room(struct profile *p, bool is_cut, uint32_t *ret, struct err *e);
/* The frame at ADDRESS of C, which may be an interpreter's function, into P. */
int profile_add_site_frame(struct profile *p, const struct sites_copy *c, uint64_t address,
	uint32_t *ret, struct err *e);

#endif
