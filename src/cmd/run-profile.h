/*
 * run-profile: the profiles of a program that `memdiag run` starts, and of those that it starts.
 */
#ifndef MEMDIAG_CMD_RUN_PROFILE_H
#define MEMDIAG_CMD_RUN_PROFILE_H

#include <jansson.h>
#include <limits.h>

#include "cmd/overhead.h"
#include "cmd/triggers.h"
#include "ui/ui.h"
#include "view/profiled.h"
#include "wire/settings.h"

struct run_profile_options {
	bool is_wanted;
	struct overhead_options overhead; /* of a record */
	bool records;			  /* all blocks, and not samples: then the period is 0 */
	bool logs;			  /* and each event goes to files in the directory PREFIX */
	uint64_t period_bytes;
	const char *prefix; /* of the files' names; NULL: the default */
	bool symbols_inside;
	bool has_leak_check;
	uint64_t leak_bytes; /* that may be in use at the end */
	struct trigger_options triggers;
};

/* The status with which memdiag ends when more was in use; LeakSanitizer has it, too. */
#define RUN_LEAKS 23

extern const struct ui_syntax run_profile_syntax;
/* All options are known. */
void run_profile_conclude(struct run_profile_options *o);

struct run_profile {
	const struct run_profile_options *opt;
	struct ui_options ui; /* for what is said meanwhile */
	struct profiled own;  /* the last file of the program itself */
	uint32_t nr_written, nr_lost;
	struct run_slots *slots; /* private, owned */
	int fd;			 /* the sites of all programs; -1: none */
	char path[64];
	char dir[PATH_MAX]; /* of logs */
};

/* Make the file that the agents note in.  0, or -1 with E. */
int run_profile_begin(struct run_profile *p, struct err *e);
/* Add the words for it to the agent's settings. */
void run_profile_set(const struct run_profile *p, struct wire_settings *s);
/* While it runs this is to be called every so many nanoseconds, 0: never; ARG is P. */
uint64_t run_profile_tick_ns(const struct run_profile *p);
void run_profile_tick(void *arg);
/*
 * The program with the number PID has ended: write the files.  0, or -1 with E if one could not be
 * written, also meanwhile; the others are.
 */
int run_profile_write(struct run_profile *p, pid_t pid, struct err *e);
/* Whether more is in use at the end than may be. */
bool run_profile_leaks(const struct run_profile *p);
/* Say to F what was written, and what is in use at the end. */
void run_profile_print(const struct run_profile *p, FILE *f);
/* The same as a member of DATA.  0, or -1 with E. */
int run_profile_to_json(const struct run_profile *p, json_t *data, struct err *e);
void run_profile_release(struct run_profile *p);

#endif
