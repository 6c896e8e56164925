/*
 * profile: a program that is sampled from its first call on, as its settings ask for: where that is
 * noted, and what is mapped meanwhile.
 */
#ifndef MEMDIAG_AGENT_NOTE_PROFILE_H
#define MEMDIAG_AGENT_NOTE_PROFILE_H

#include <stdbool.h>

#include "wire/sites.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* The agent has got ready: begin.  False: there is no memory, and that was said. */
bool profile_begin(void);
/* The same in a forked child, which is followed and has its PARENTS sites mapped, or NULL. */
bool profile_begin_child(struct wire_sites *parents);

/* Begin a record in memory of the process's own.  False: none, or as notes_begin(). */
bool profile_begin_record(void);

/* The program is about to end. */
void profile_leave(void);
/*
 * It is about to become another one: that is noted in its sites, as far as it has any, and its file
 * is written.  If it fails, profile_stay() takes both back; errno stays.
 */
struct profile_left {
	struct wire_sites *sites;
	bool has_file;
};
struct profile_left profile_leave_by_exec(void);
void profile_stay(struct profile_left left);

/* Whether a thread of the agent's is to call the next one many times a second. */
bool profile_is_to_look(void);
/* Write the files that were asked for since the last time, and print large calls. */
void profile_look(void);

#pragma GCC visibility pop

#endif
