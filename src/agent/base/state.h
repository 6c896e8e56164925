/*
 * state: what all files of the agent may read, below all of them.
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
 * The agent's data of a thread: the place of its counters, which also shows whether it is in a
 * hook, so that calls by the real malloc are not counted again.  All is zero at first: in a static
 * program no code would initialise it otherwise.
 */
extern __thread struct agent_self {
	struct wire_thread *place; /* NULL before the first call, or if it found none */
	bool has_none;		   /* all places were taken */
	bool is_inside;		   /* without a place of its own */
	bool is_forking;	   /* between the functions before and after a fork */
} agent_self __attribute__((tls_model("initial-exec")));

/* memdiag reads it when it has stopped the process. */
static inline void
agent_set_inside(struct wire_thread *place, bool is_inside)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&place->is_inside, is_inside, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The thread leaves the hook that it is in. */
static inline void
agent_leave(void)
{
	if (LIKELY(agent_self.place))
		agent_set_inside(agent_self.place, false);
	else
		agent_self.is_inside = false;
}

/* The thread enters it again. */
static inline void
agent_return(void)
{
	if (agent_self.place)
		agent_set_inside(agent_self.place, true);
	else
		agent_self.is_inside = true;
}

/*
 * It has got ready, or found that it cannot: from then on AGENT_OFF means to do what the real ones
 * do.
 */
extern bool agent_has_started;

/*
 * memdiag itself has put us into a program that has no dynamic linker, and has found what is behind
 * the hooks: nothing of libc can be called by its name.
 */
extern bool agent_is_static;
extern size_t agent_page_bytes;

/*
 * Code that maps for itself, and not for the program: libc's.  In a static program malloc and the
 * related functions that a program calls, which call others of libc that are elsewhere.  memdiag
 * writes it where the hooks are in front of libc's calls to itself; elsewhere it is not used.
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
