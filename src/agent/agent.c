#include <config.h>

#include "agent/agent.h"
#include "agent/count.h"

enum agent_mode agent_mode;
__thread struct agent_self agent_self;

static enum {
	NOT_YET,
	STARTING,
	STARTED,
} state;

/* glibc's malloc calls no hooks, so it needs no guard. */
static enum agent_mode
best_mode(void)
{
	if (!real_has_headers || settings.limit_bytes != INT64_MAX)
		return AGENT_GUARDED;
	return settings.account == WIRE_USABLE ? AGENT_QUICK : AGENT_QUICK_REQUESTED;
}

/*
 * The first call of a hook does it, which is long before our constructor: ld.so and the
 * constructors of other libraries call malloc.  There is one thread then.
 */
static void
start(char **envp)
{
	state = STARTING;
	if (!real_find()) {
		settings.is_on = false;
	} else if (!settings_read(envp)) {
		state = NOT_YET;	/* until the constructor */
		return;
	}
	state = STARTED;
	if (!settings.is_on)
		return;
	segment_open();
	count_init();
	agent_mode = best_mode();
	agent_self.is_inside = true;	/* it may call malloc */
	segment_watch_forks();
	agent_self.is_inside = false;
}

SLOW struct wire_thread *
agent_enter_slowly(void)
{
	if (!early_is_over())
		return NULL;
	if (state == NOT_YET)
		start(NULL);
	if (agent_mode == AGENT_OFF || agent_self.is_inside)
		return NULL;
	if (!agent_self.place)
		agent_self.place = count_register();
	agent_self.is_inside = true;
	return agent_self.place;
}

static void __attribute__((constructor))
begin(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	if (state == NOT_YET)
		start(envp);
	if (agent_mode != AGENT_OFF && settings.prints)
		say_periodically();
}
