/*
 * agent: libmemdiag-agent.so, which lives inside a stranger's process, in front of its malloc.  It
 * counts every block and mapping, and holds a limit.  Its own world: no malloc, stdio, getenv or
 * errno between a hooked call and its return, and no lock across the real one.  Ready, or
 * transparent: on any trouble of ours the program gets plain malloc.
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
 * This header is about its life, which begins with the first call of a hook.
 */
#ifndef MEMDIAG_AGENT_HOOK_AGENT_H
#define MEMDIAG_AGENT_HOOK_AGENT_H

#include <stdbool.h>

#include "agent/base/compiler.h"
#include "agent/base/mode.h"
#include "agent/base/state.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* The agent is loaded, and the process was started with ENVP: get ready, if no hook has done so. */
void agent_begin(char **envp);

/* For a hook that cannot count at once: get ready.  NULL: do only what the real one does. */
struct wire_thread *agent_enter_slowly(void);

/* Whether calls are not ours to count, now and later: in a child that is not followed. */
static inline bool
agent_is_off(void)
{
	return agent_mode == AGENT_OFF && agent_has_started;
}

/*
 * A hook begins with this, and ends with agent_leave().  NULL: the call is not ours to count, do
 * what the real one does.
 */
static inline struct wire_thread *
agent_enter(void)
{
	struct wire_thread *self;

	/* First, as thread-local storage may not be there before it is true. */
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
