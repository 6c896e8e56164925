/*
 * live-names: the names of frames of a running process, for one profile of it after another: a
 * frame is looked up once, and the files with the names stay open.
 */
#ifndef MEMDIAG_AGENTDATA_LIVE_NAMES_H
#define MEMDIAG_AGENTDATA_LIVE_NAMES_H

#include "agentdata/live-files.h"
#include "glibc/process.h"
#include "profile/profile.h"
#include "profile/symbols.h"

/* Zeroed at first.  It must not be moved. */
struct live_names {
	struct profile *all; /* the frames of all profiles; owned; NULL: none yet */
	struct symbols *symbols;
	struct live_files live;
	struct symbols_files files;
};

/*
 * Name the frames of P, whose mappings were found, a profile of PROCESS; NULL if it has ended: new
 * frames get names from the files of their paths then.  Returns 0, or -1 with E.
 */
int live_names_find(
	struct live_names *n, struct profile *p, const struct process *process, struct err *e);
void live_names_release(struct live_names *n);
#define auto_live_names __attribute__((cleanup(live_names_release)))

#endif
