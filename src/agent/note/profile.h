/*
 * profile: a program that is sampled from its first call on, as its settings request: the place for
 * the sites and the text of the mapped files.
 */
#ifndef MEMDIAG_AGENT_NOTE_PROFILE_H
#define MEMDIAG_AGENT_NOTE_PROFILE_H

#include <stdbool.h>

#include "wire/sites.h"

#pragma GCC visibility push(hidden)

/* Begin when the agent is ready.  False if no memory is available; that was reported. */
bool profile_begin(void);
/* Begin in a forked child that is followed and has its PARENTS sites mapped, or NULL. */
bool profile_begin_child(struct wire_sites *parents);

/* Begin a record in private memory.  False on failure, as for notes_begin(). */
bool profile_begin_record(void);

/* The program is about to end. */
void profile_leave(void);
/*
 * The program is about to execute another one: note that in its sites, if any, and write its file.
 * If exec() fails, profile_stay() reverts both and keeps errno.
 */
struct profile_left {
	struct wire_sites *sites;
	bool has_file;
};
struct profile_left profile_leave_by_exec(void);
void profile_stay(struct profile_left left);

/* True if a thread of the agent must call profile_look() many times a second. */
bool profile_is_to_look(void);
/* Write the files that were requested since the last call, and print large calls. */
void profile_look(void);

#pragma GCC visibility pop

#endif
