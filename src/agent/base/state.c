/* state: variables that all files of the agent may read. */
#include <config.h>

#include "agent/base/state.h"

#include "agent/base/thread.h"

size_t agent_page_bytes;
struct agent_code agent_libc;
__thread struct agent_self agent_self;
bool thread_knows_id, agent_has_started, agent_is_static;
