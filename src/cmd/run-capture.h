/* run-capture: the profiles of a program that `memdiag run` starts, and of its child programs. */
#ifndef MEMDIAG_CMD_RUN_CAPTURE_H
#define MEMDIAG_CMD_RUN_CAPTURE_H

#include <jansson.h>
#include <limits.h>

#include "cmd/overhead.h"
#include "cmd/triggers.h"
#include "ui/ui.h"
#include "view/capture-result.h"
#include "wire/settings.h"

struct run_capture_options {
	bool is_wanted;
	struct overhead_options overhead; /* for a record */
	/* record all blocks instead of samples: then the period is 0 */
	bool records;
	bool logs; /* write each event to files in the directory PREFIX */
	uint64_t period_bytes;
	const char *prefix; /* of the file names; NULL: the default */
	bool symbols_inside;
	bool has_leak_check;
	uint64_t leak_bytes; /* allowed to be in use at the end */
	struct trigger_options triggers;
};

/* Exit status of memdiag if more was in use; LeakSanitizer uses the same one. */
#define RUN_LEAKS 23

extern const struct ui_syntax run_capture_syntax;
/* Set the defaults, after all options are parsed. */
void run_capture_conclude(struct run_capture_options *o);

struct run_capture {
	const struct run_capture_options *opt;
	struct ui_options ui;	   /* for messages during the run */
	struct capture_result own; /* the last file of the program itself */
	uint32_t nr_written, nr_lost;
	struct run_slots *slots; /* private, owned */
	int fd;			 /* the sites of all programs; -1: not open */
	char path[64];
	char dir[PATH_MAX]; /* directory of the logs */
};

/* Create the file that the agents write to.  Returns 0, or -1 with E. */
int run_capture_begin(struct run_capture *p, struct err *e);
/* Add the words for the profile to the agent's settings. */
void run_capture_set(const struct run_capture *p, struct wire_settings *s);
/*
 * Call run_capture_tick() with P while the program runs, at this interval in nanoseconds; 0: never.
 */
uint64_t run_capture_tick_ns(const struct run_capture *p);
void run_capture_tick(void *arg);
/*
 * Write the files; the program PID has ended.  Returns 0, or -1 with E if one could not be written,
 * now or earlier; the others are written.
 */
int run_capture_write(struct run_capture *p, pid_t pid, struct err *e);
/* True if more than the allowed amount is in use at the end. */
bool run_capture_leaks(const struct run_capture *p);
/* Print to F the files written and the memory in use at the end. */
void run_capture_print(const struct run_capture *p, FILE *f);
/* Add the same results to DATA as a member.  Returns 0, or -1 with E. */
int run_capture_to_json(const struct run_capture *p, json_t *data, struct err *e);
void run_capture_release(struct run_capture *p);

#endif
