#include <config.h>

#include "agent/hook/recording.h"

#include <errno.h>

#include "agent/base/mode.h"
#include "agent/base/real.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/hook/agent.h"
#include "agent/note/notes.h"
#include "agent/note/profile.h"
#include "wire/wire.h"

/* The recording half of agent_mode. */
static enum wire_noting
noting(void)
{
	return (enum wire_noting)(agent_mode >> 16);
}

bool
recording_is_on(void)
{
	return agent_mode != AGENT_OFF && noting() == WIRE_NOTE_ALL;
}

/*
 * 0 if an agent can record, whose hooks the program calls by name, so that they follow the mode;
 * else an errno.  Only memdiag may end an agent that it has brought into a running process.
 */
static int
recording_check(void)
{
	if (agent_mode == AGENT_OFF)
		return ENOSYS;
	if (segment->way == WIRE_LOADED || !real_has_headers)
		return ENOTSUP;
	return noting() == WIRE_NOTE_SAMPLES ? EBUSY : 0;
}

/* The calls of this thread are not recorded while this function runs. */
static int
agent_recording_start(void)
{
	const int failed = recording_check();

	if (failed || recording_is_on())
		return failed;
	/*
	 * A profile that memdiag run or the environment requested belongs to a file that is still
	 * to be written.
	 */
	if (settings.profiles && sites)
		return EBUSY;
	if (!profile_begin_record())
		return ENOMEM;
	mode_note(WIRE_NOTE_ALL);
	return 0;
}

static int
agent_recording_stop(void)
{
	const int failed = recording_check();

	if (failed || !recording_is_on())
		return failed;
	mode_note(WIRE_NOTE_NOTHING);
	return notes_end() ? 0 : EAGAIN;
}

/* Call WHAT while no other thread calls this function, outside of all hooks. */
static int
alone(int (*what)(void))
{
	int failed;

	if (!agent_enter())
		return agent_is_off() ? ENOSYS : EAGAIN;
	if (!notes_claim()) {
		agent_leave();
		return EAGAIN;
	}
	failed = what();
	notes_unclaim();
	agent_leave();
	return failed;
}

int
recording_start(void)
{
	return alone(agent_recording_start);
}

int
recording_stop(void)
{
	return alone(agent_recording_stop);
}
