/* live-blocks: single blocks of a record's live set, chosen by size and stack. */
#ifndef MEMDIAG_CMD_LIVE_BLOCKS_H
#define MEMDIAG_CMD_LIVE_BLOCKS_H

#include "agentdata/live-set.h"
#include "agentdata/sites.h"
#include "recording/choice.h"
#include "report/report.h"

/*
 * Restrict the sites C to blocks of S of the chosen sizes, both as allocated and in use; CHOSEN
 * gets their sums.
 */
void live_blocks_choose(struct sites_copy *c, const struct live_set *s,
	const struct history_choice *choice, struct history_chosen *chosen);

/*
 * List the MOST largest blocks of S of these sizes whose stacks in P match FOCUS and do not match
 * IGNORE (extended regular expressions or NULL).  STACK_OF has the stack of each site.  The caller
 * frees RET->v.  Returns 0, or -1 with E.
 */
int live_blocks_list(struct report_blocks *ret, const struct live_set *s,
	const struct sites_copy *c, const struct profile *p, const uint32_t *stack_of,
	const struct history_choice *choice, const char *focus, const char *ignore, size_t most,
	struct err *e);

#endif
