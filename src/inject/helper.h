/*
 * helper: our thread in the target, which makes calls in place of a borrowed one.
 */
#ifndef MEMDIAG_INJECT_HELPER_H
#define MEMDIAG_INJECT_HELPER_H

#include <stdint.h>

#include "base/err.h"
#include "inject/job.h"
#include "inject/worker.h"

/* Have C map a workspace with room for BUFFER_BYTES; the undo list unmaps it. */
int workspace_map(struct worker *c, struct workspace *ws, uint64_t buffer_bytes,
	uint64_t deadline_ns, struct err *e);

#endif
