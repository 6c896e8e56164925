/* fork: separate counters for parent and child. */
#include <config.h>

#include "agent/hook/fork.h"

#include <errno.h>
#include <pthread.h>

#include "agent/base/compiler.h"
#include "agent/base/mode.h"
#include "agent/base/real.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/count/count.h"
#include "agent/note/notes.h"
#include "agent/note/profile.h"
#include "agent/note/sites.h"
#include "unwind/unwind.h"
#include "wire/wire.h"

/* The state that a forking thread needs after the fork. */
static __thread struct {
	struct agent_self self;
	enum agent_mode mode;	   /* the parent's mode; AGENT_OFF in the child */
	struct wire_segment *copy; /* copy of the counters; NULL if it was not made */
} forking;

/*
 * Copy the counters: the child first maps its parent's segment, in which the parent continues to
 * count.
 */
static void
copy_counters(void)
{
	bool has_lock = count_lock();

	forking.copy = segment_copy();
	if (has_lock)
		count_unlock();
}

static void
drop_copy(void)
{
	if (forking.copy)
		segment_drop_copy(forking.copy);
	forking.copy = NULL;
}

/*
 * Handlers of other objects that were registered earlier run between the agent's handlers and the
 * fork.  Their allocations are not counted: in the child they would count for the parent.  They may
 * also wait for a lock whose holder allocates, as fork() itself does for the locks of stdio and nss
 * (2.36, sysdeps/nptl/fork.h), so the agent holds no lock meanwhile.
 */
static void
before_fork(void)
{
	forking.self = agent_self;
	forking.mode = mode_of_counter();
	agent_self = (struct agent_self){ .is_inside = true, .is_forking = true };
	if (agent_mode != AGENT_OFF && settings.follows && !segment_is_copied_by_fork())
		copy_counters();
}

static void
fork_in_parent(void)
{
	drop_copy();
	agent_self = forking.self;
}

/* Begin a profile for the child: the mapped sites belong to the parent. */
static void
begin_profile(void)
{
	struct wire_sites *const parents = sites;

	sites = NULL;
	if (agent_mode == AGENT_OFF)
		return;
	segment->noting = WIRE_NOTE_NOTHING;
	if (!settings.profiles)
		notes_forget_parents(parents);
	else if (profile_begin_child(parents))
		mode_note(settings.records ? WIRE_NOTE_ALL : WIRE_NOTE_SAMPLES);
}

static void
fork_in_child(void)
{
	bool is_counted;

	count_forget_lock();
	settings.segment = NULL;
	agent_self = (struct agent_self){ .place = NULL };
	/* The counters of a silent parent belong to another process. */
	is_counted = settings.follows && forking.mode != AGENT_OFF && segment_part(forking.copy);
	agent_mode = is_counted ? forking.mode : AGENT_OFF;
	drop_copy();
	if (is_counted) {
		segment->pid = (uint32_t)sys_call(SYS_getpid, 0);
		segment->nr_refused = 0;
		segment->is_reported = 0;
		count_init_child();
	}
	notes_after_fork(forking.self.place, begin_profile);
}

/*
 * pthread_atfork() of glibc, of which each object has a copy, calls this function; musl has only
 * pthread_atfork().
 */
int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
	void *object) __attribute__((weak));
extern __typeof__(pthread_atfork) musl_atfork __asm__("pthread_atfork") __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* In a static program _Fork() is hooked; fork() calls it (2.34). */
void
fork_watch(void)
{
	if (agent_is_static)
		return;
	if (__register_atfork)
		__register_atfork(before_fork, fork_in_parent, fork_in_child, &__dso_handle);
	else if (musl_atfork)
		musl_atfork(before_fork, fork_in_parent, fork_in_child);
}

/*
 * Unlike fork(), _Fork() calls none of the functions that pthread_atfork() registered (2.34).  In a
 * process that ran already, fork() also calls this hook, after those functions.
 */
EXPORT pid_t _Fork(void);
EXPORT pid_t
_Fork(void)
{
	bool is_counted = agent_mode != AGENT_OFF && !agent_self.is_forking;
	pid_t pid;

	if (!real._Fork) {
		errno = ENOSYS;
		return -1;
	}
	if (is_counted)
		before_fork();
	pid = real._Fork();
	if (is_counted && pid == 0)
		fork_in_child();
	else if (is_counted)
		fork_in_parent();
	return pid;
}
