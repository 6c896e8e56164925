/*
 * agent-file: the agent that belongs to this memdiag.
 */
#ifndef MEMDIAG_AGENTCTL_AGENT_FILE_H
#define MEMDIAG_AGENTCTL_AGENT_FILE_H

#include <stddef.h>

#include "base/err.h"

/* Store the absolute path of libmemdiag-agent.so in BUF.  0, or -1 with E if it is not found. */
int agent_file_find(char *buf, size_t size, struct err *e);

#endif
