/*
 * begin: the constructor and the destructor. ld.so calls the constructor when the agent is loaded;
 * in a program without a dynamic linker memdiag calls it.  Often a hook was called before and has
 * made the agent ready.
 */
#include <config.h>

#include <stdlib.h>
#include <unistd.h>

#include "agent/base/compiler.h"
#include "agent/base/mode.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/hook/agent.h"
#include "agent/hook/live.h"
#include "agent/hook/periodic.h"
#include "agent/note/mapped.h"
#include "agent/note/profile.h"

static void __attribute__((constructor)) agent_begin_now(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	if (live_page_bytes()) {
		agent_is_static = true;
		agent_page_bytes = live_page_bytes();
	}
	agent_begin(envp);
	mapped_note();
	if (agent_mode != AGENT_OFF)
		periodic_start();
}

static void __attribute__((destructor)) begin_end(void)
{
	profile_leave();
}

/* _exit() skips the functions that exit() calls.  The child of a vfork() also ends by it. */
EXPORT _Noreturn void
_exit(int status)
{
	profile_leave();
	for (;;)
		sys_call(SYS_exit_group, status);
}

ALSO(_Exit, _exit);
