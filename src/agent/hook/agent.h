/*
 * agent: libmemdiag-agent.so, which runs inside another program's process, in front of its malloc.
 * It counts every block and mapping, and enforces a limit.  Between a hooked call and its return it
 * uses no malloc, stdio, getenv or errno, and it holds no lock across the real call.  If the agent
 * fails in any way it becomes transparent: the program gets plain malloc.
 *
 *	hook/	what the program calls: malloc, mmap, fork, exec and others; the events of
 *		these calls (event.h), and how the agent begins and ends
 *	count/	a job: how many bytes each thread has, and the limit
 *	note/	two jobs: samples, or a record of every block; their stacks, and files
 *	base/	what all of them need: settings, the segment with the counters, the real
 *		functions, system calls
 *
 * hook/ includes the others, and all include base/; count/ and note/ do not include each other.
 *
 * This header declares the start of the agent, which is in the first call of a hook.
 */
#ifndef MEMDIAG_AGENT_HOOK_AGENT_H
#define MEMDIAG_AGENT_HOOK_AGENT_H

#include <stdbool.h>

#include "agent/base/compiler.h"
#include "agent/base/mode.h"
#include "agent/base/state.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/*
 * The agent is loaded, and the process was started with ENVP: get ready unless a hook has already
 * done so.
 */
void agent_begin(char **envp);

/*
 * Get ready, for a hook that cannot count immediately.  NULL: the hook must only call the real
 * function.
 */
struct wire_thread *agent_enter_slowly(void);

/* True if the agent does not count calls, now or later: in a child that is not followed. */
static inline bool
agent_is_off(void)
{
	return agent_mode == AGENT_OFF && agent_has_started;
}

/*
 * Begin a hook, which ends with agent_leave().  NULL: the agent does not count this call, so the
 * hook must only call the real function.
 */
static inline struct wire_thread *
agent_enter(void)
{
	struct wire_thread *self;

	/* Checked first: thread-local storage may not exist before this is true. */
	if (UNLIKELY(agent_mode == AGENT_OFF))
		return agent_enter_slowly();
	self = agent_self.place;
	if (UNLIKELY(!self || self->is_inside))
		return agent_enter_slowly();
	agent_set_inside(self, true);
	return self;
}

#pragma GCC visibility pop

#endif
