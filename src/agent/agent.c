#include <config.h>

#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/count.h"
#include "agent/sys.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18	/* 4.14 */
#endif

#if defined __aarch64__
#define MOST_PAGE_BYTES 65536
#else
#define MOST_PAGE_BYTES 4096
#endif

/* Nothing else is on its page. */
static union {
	enum agent_mode mode;
	char page[MOST_PAGE_BYTES];
} mode_page __attribute__((aligned(MOST_PAGE_BYTES)));
extern enum agent_mode agent_mode __attribute__((alias("mode_page")));
size_t agent_page_bytes;
__thread struct agent_self agent_self;

static enum {
	NOT_YET,
	STARTING,
	STARTED,
} state;

/* Loaded into a process that ran already: see live.c. */
static bool is_live;

/*
 * In a child it is AGENT_OFF, whichever way that was made, until fork() calls segment_in_child().
 * Of a child that was made by the system call itself nobody tells us, and it has its parent's
 * counters.  Before 4.14, and under a filter, it counts there.
 */
static void
turn_off_in_children(void)
{
	sys_call(SYS_madvise, &mode_page, sizeof mode_page, MADV_WIPEONFORK);
}

/* glibc's malloc calls no hooks, so it needs no guard; but for those that its own beginning leads to. */
static enum agent_mode
best_mode(void)
{
	if (is_live || !real_has_headers || settings.limit_bytes != INT64_MAX)
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
	agent_page_bytes = live_page_bytes() ? live_page_bytes() : getauxval(AT_PAGESZ);
	if (!real_find()) {
		settings.is_on = false;
	} else if (!is_live && !settings_read(envp)) {
		state = NOT_YET;	/* until the constructor */
		return;
	}
	state = STARTED;
	if (!settings.is_on)
		return;
	segment_open(is_live ? WIRE_LOADED : WIRE_PRELOADED);
	count_init();
	turn_off_in_children();
	agent_mode = best_mode();
	agent_self.is_inside = true;	/* it may call malloc */
	segment_watch_forks();
	agent_self.is_inside = false;
}

/*
 * Who has all that the thread has that waits for it, but another number.  A place with that would be
 * taken for left, and given to another thread.
 */
static bool
is_vfork_child(void)
{
	return (uint32_t)sys_call(SYS_getpid, 0) != segment->pid;
}

SLOW struct wire_thread *
agent_enter_slowly(void)
{
	struct wire_thread *self;

	if (!early_is_over())
		return NULL;
	if (state == NOT_YET)
		start(NULL);
	if (agent_mode == AGENT_OFF || agent_self.place || agent_self.is_inside)
		return NULL;
	if (!agent_self.has_none && !is_vfork_child()) {
		self = count_register();
		if (self) {
			agent_self.place = self;
			agent_set_inside(self, true);
			return self;
		}
		agent_self.has_none = true;
	}
	agent_self.is_inside = true;
	return count_shared();
}

static void __attribute__((constructor))
begin(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	if (state == NOT_YET) {
		is_live = live_page_bytes() || real_is_behind_libc();
		start(envp);
	}
	if (agent_mode != AGENT_OFF && settings.prints)
		say_periodically();
}
