/*
 * agent: the start of the agent.  The first call of a hook makes the agent ready, and the first
 * call in each thread gets a place for the thread.
 */
#include <config.h>

#include <sys/auxv.h>

#include "agent/hook/agent.h"
#include "agent/base/compiler.h"
#include "agent/base/early.h"
#include "agent/base/mode.h"
#include "agent/base/places.h"
#include "agent/base/real.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/base/thread.h"
#include "agent/count/count.h"
#include "agent/count/pages.h"
#include "agent/hook/fork.h"
#include "agent/note/profile.h"

static enum {
	NOT_YET,
	STARTING,
	STARTED,
} state;

/* The agent was loaded into a running process: see live.c. */
static bool is_live;

/*
 * Get ready, in the first call of a hook.  That is long before the agent's constructor: ld.so and
 * the constructors of other libraries call malloc.  The process has one thread then.
 */
static void
agent_start(char **envp)
{
	state = STARTING;
	if (!agent_is_static)
		agent_page_bytes = getauxval(AT_PAGESZ);
	if (is_live)
		pages_unlock();
	if (!real_find()) {
		settings_is_on = false;
	} else if (!is_live && !settings_read(envp)) {
		state = NOT_YET; /* until the constructor runs */
		return;
	}
	/* The program may free a block by a size that does not include the tail. */
	if (real_has_unhooked)
		settings.account = WIRE_USABLE;
	state = STARTED;
	agent_has_started = true;
	if (!settings_is_on)
		return;
	segment_open(is_live ? WIRE_LOADED : WIRE_PRELOADED);
	segment->has_unhooked = real_has_unhooked && !is_live;
	place_init();
	count_init();
	mode_turn_off_in_children();
	mode_choose();
	agent_self.is_inside = true; /* the next call may call malloc */
	fork_watch();
	if (!is_live && settings.profiles && profile_begin())
		mode_note(settings.records ? WIRE_NOTE_ALL : WIRE_NOTE_SAMPLES);
	agent_self.is_inside = false;
}

/*
 * True in a vfork child, which shares all data of the waiting parent thread but has another number.
 * A place with the child's number would later look abandoned and be given to another thread.  The
 * thread's descriptor still holds the parent's number.
 */
static bool
is_vfork_child(void)
{
	return !thread_knows_id && (uint32_t)sys_call(SYS_getpid, 0) != segment->pid;
}

SLOW struct wire_thread *
agent_enter_slowly(void)
{
	struct wire_thread *self;

	if (!early_is_over())
		return NULL;
	if (state == NOT_YET)
		agent_start(NULL);
	if (agent_mode == AGENT_OFF || agent_self.place || agent_self.is_inside)
		return NULL;
	if (!agent_self.has_none && !is_vfork_child()) {
		self = place_register();
		if (self) {
			agent_self.place = self;
			agent_set_inside(self, true);
			return self;
		}
		agent_self.has_none = true;
	}
	agent_self.is_inside = true;
	return place_shared();
}

void
agent_begin(char **envp)
{
	if (state != NOT_YET)
		return;
	is_live = agent_is_static || real_is_behind_libc();
	agent_start(envp);
}
