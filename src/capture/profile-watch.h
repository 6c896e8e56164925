/*
 * profile-watch: writes the files that a profiled program requests while it runs.  The program only
 * sets bits (struct wire_triggers), which are polled here, and waits for nothing.
 */
#ifndef MEMDIAG_CAPTURE_PROFILE_WATCH_H
#define MEMDIAG_CAPTURE_PROFILE_WATCH_H

#include "capture/profile-file.h"
#include "ui/ui.h"

/* Interval between calls of profile_watch_look(). */
#define PROFILE_WATCH_NS UINT64_C(20000000)

/* Stacks of large calls that are printed, each once. */
#define PROFILE_WATCH_STACKS 64

struct profile_watch {
	int fd; /* contains the sites */
	uint64_t offset_bytes;
	struct wire_sites *head;  /* of the sites, mapped */
	struct profile_file file; /* the common part of all files */
	const struct ui_options *ui;
	bool is_silent; /* stderr has another use: large calls are only counted */
	/* private: */
	uint32_t nr_of_kind[WIRE_NR_TRIGGERS];
	uint32_t nr_large; /* seen so far */
	uint32_t stack[PROFILE_WATCH_STACKS], nr_stacks;
	uint64_t nr_not_printed;
};

/*
 * Write what was requested since the last call; P as for profile_collect().  Reports written files
 * on stderr, unless -q was given, and large calls.  0, or -1 with E.
 */
int profile_watch_look(struct profile_watch *w, const struct process *p, struct err *e);

#endif
