/*
 * state: variables that all files of the agent may read.  This file includes no other file of the
 * agent.
 */
#ifndef MEMDIAG_AGENT_BASE_STATE_H
#define MEMDIAG_AGENT_BASE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/*
 * The agent's data of a thread.  The place holds its counters and also shows whether the thread is
 * in a hook, so that calls by the real malloc are not counted again.  All members are initially
 * zero: in a static program no code would initialise them otherwise.
 */
extern __thread struct agent_self {
	struct wire_thread *place; /* NULL before the first call, or if no place was free */
	bool has_none;		   /* all places were taken */
	bool is_inside;		   /* inside a hook, without a private place */
	bool is_forking;	   /* between the functions before and after a fork */
} agent_self __attribute__((tls_model("initial-exec")));

/* memdiag reads this flag when it has stopped the process. */
static inline void
agent_set_inside(struct wire_thread *place, bool is_inside)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&place->is_inside, is_inside, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Mark that the thread leaves its hook. */
static inline void
agent_leave(void)
{
	if (LIKELY(agent_self.place))
		agent_set_inside(agent_self.place, false);
	else
		agent_self.is_inside = false;
}

/* Mark that the thread is in its hook again. */
static inline void
agent_return(void)
{
	if (agent_self.place)
		agent_set_inside(agent_self.place, true);
	else
		agent_self.is_inside = true;
}

/*
 * The agent is ready, or cannot become ready.  From then on AGENT_OFF means that hooks only call
 * the real functions.
 */
extern bool agent_has_started;

/*
 * memdiag has put the agent into a program without a dynamic linker and has found the functions
 * that the hooks call.  No function of libc can be called by its name.
 */
extern bool agent_is_static;
extern size_t agent_page_bytes;

/*
 * The code of libc, which makes mappings for itself, not for the program.  In a static program
 * these are malloc and related functions, which call libc's functions elsewhere. memdiag writes
 * this range if the hooks also receive libc's calls to itself; otherwise it is unused.
 */
extern struct agent_code {
	uintptr_t start, bytes;
} agent_libc;

static inline bool
agent_is_libc(uintptr_t pc)
{
	return pc - agent_libc.start < agent_libc.bytes;
}

#pragma GCC visibility pop

#endif
