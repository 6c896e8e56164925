/*
 * scan: the exported processes and their memory, brought up to date for each answer.  It only
 * reads: no process is stopped, written to or signalled.
 */
#ifndef MEMDIAG_EXPORT_SCAN_H
#define MEMDIAG_EXPORT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "elf/image.h"
#include "export/facts.h"
#include "export/kinds.h"
#include "export/match.h"
#include "maps/maps.h"
#include "os/os.h"

struct os_running;

/* A process that was seen.  It keeps what it takes to read the process again in less time. */
struct export_process {
	pid_t pid;
	uint64_t start_ticks;
	struct export_facts facts;
	uint64_t limit_bytes; /* of its cgroup; 0: none */
	bool is_wanted;	      /* it meets the conditions */
	bool is_read;	      /* GROUP and SUMS are of the last update */
	char group[EXPORT_NAME_BYTES];
	struct export_sums sums;
	struct image_files *files; /* of the scan */
	struct target target;	   /* open if the process is wanted */
	struct space space;	   /* empty if it takes much memory */
};

/* The reasons why a process is missing from an answer although it still runs. */
enum export_error {
	EXPORT_ERROR_PERMISSION,
	EXPORT_ERROR_RESOURCES, /* no memory, no descriptors */
	EXPORT_ERROR_OTHER,
	NR_EXPORT_ERRORS,
};

/* As the value of the label "reason". */
const char *export_error_name(enum export_error reason);

struct export_scan {
	/* Set by the caller, and borrowed: */
	const struct export_matches *matches;
	const char *template; /* the name of a process's group, as of export_name() */
	size_t max_processes; /* of more, the largest are exported */
	/* The result: */
	struct {
		struct export_process **v; /* sorted by PID */
		size_t nr, room;
	} processes;
	struct image_files files;	      /* of all processes */
	size_t nr_left_out;		      /* wanted, but there were more than max_processes */
	uint64_t nr_errors[NR_EXPORT_ERRORS]; /* since the beginning */
	uint64_t nr_updates;
};

/*
 * Bring S up to date.  A process that ends meanwhile, or whose pages cannot be counted, has is_read
 * false.  0, or -1 with E if processes cannot be listed; S is then as it was.
 */
int export_scan_update(struct export_scan *s, struct err *e);

/*
 * Read P, whose is_read is true, once more if its space is empty.  0, or -1 with E.  The next
 * update empties it again.
 */
int export_process_read(struct export_process *p, struct err *e);
void export_scan_release(struct export_scan *s);

#endif
