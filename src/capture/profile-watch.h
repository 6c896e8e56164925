/*
 * profile-watch: writes the files that a program under a profile asks for while it runs.  It only
 * sets bits (struct wire_triggers), which are looked for here, and waits for nothing.
 */
#ifndef MEMDIAG_CAPTURE_PROFILE_WATCH_H
#define MEMDIAG_CAPTURE_PROFILE_WATCH_H

#include "capture/profile-file.h"
#include "ui/ui.h"

/* How often it is to be looked. */
#define PROFILE_WATCH_NS UINT64_C(20000000)

/* Stacks of large calls that were printed, each once. */
#define PROFILE_WATCH_STACKS 64

struct profile_watch {
	int fd; /* where the sites are */
	uint64_t offset_bytes;
	struct wire_sites *head;  /* of them, mapped */
	struct profile_file file; /* what all files have in common */
	const struct ui_options *ui;
	bool is_silent; /* stderr is for something else: large calls are counted only */
	/* private: */
	uint32_t nr_of_kind[WIRE_NR_TRIGGERS];
	uint32_t nr_large; /* seen so far */
	uint32_t stack[PROFILE_WATCH_STACKS], nr_stacks;
	uint64_t nr_not_printed;
};

/*
 * Write what was asked for since the last time; P as for profile_collect().  Files that were
 * written are said on stderr, unless -q was given, and so are large calls.  0, or -1 with E.
 */
int profile_watch_look(struct profile_watch *w, const struct process *p, struct err *e);

#endif
