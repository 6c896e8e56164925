/* collect: the sites of a sampler as a profile, of which reports and files are made. */
#ifndef MEMDIAG_AGENTDATA_COLLECT_H
#define MEMDIAG_AGENTDATA_COLLECT_H

#include "agentdata/sites.h"
#include "glibc/process.h"
#include "profile/profile.h"

/*
 * Make a profile of C: blocks and bytes in use, allocated, at the peak, and temporary; mappings in
 * use and so far, always, so that profiles with and without can be compared.  PROCESS gives the
 * mappings, and the names of threads if it still runs; NULL if it has ended, and then C gives the
 * mappings.  The caller frees *RET.  0, or -1 with E.
 */
int profile_collect(struct profile **ret, const struct sites_copy *c, const struct process *process,
	struct err *e);
/*
 * As profile_collect(); for each site with a sample, STACK_OF[SITE] is set to the number of its
 * stack.
 */
int profile_collect_stacks(struct profile **ret, const struct sites_copy *c,
	const struct process *process, uint32_t *stack_of, struct err *e);

/*
 * Add a part of it: the code that PROCESS has mapped, unless P has it already; and the frame (*RET)
 * for blocks without room or, with IS_CUT, for a stack without a known frame.
 */
int profile_add_mappings(struct profile *p, const struct process *process, struct err *e);
/*
 * Add the code that contains the frames of C: from PROCESS or, if that is NULL, from C, and objects
 * that were unloaded.
 */
int profile_map(struct profile *p, const struct sites_copy *c, const struct process *process,
	struct err *e);
int profile_add_no_room(struct profile *p, bool is_cut, uint32_t *ret, struct err *e);
/* Add the frame at ADDRESS of C, which may be an interpreter's function, to P. */
int profile_add_site_frame(struct profile *p, const struct sites_copy *c, uint64_t address,
	uint32_t *ret, struct err *e);

#endif
