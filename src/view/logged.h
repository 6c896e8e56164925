/*
 * logged: what is written of the log of a record, for people and as JSON.
 */
#ifndef MEMDIAG_VIEW_LOGGED_H
#define MEMDIAG_VIEW_LOGGED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "ui/ui.h"
#include "ui/warnings.h"
#include "wire/log.h"

struct logged {
	bool is_there;		     /* there is a log */
	bool is_open;		     /* events are appended to it */
	bool is_written;	     /* by the process that SAID names */
	bool is_cut;		     /* it was ended, and its writer did not write all of it */
	struct wire_log_writer said; /* not trusted, but for a NUL at the end of its text */
	bool has_rounds;	     /* its writer has made one */
	uint64_t round_age_ns;	     /* how long ago the last one was */
	uint64_t nr_dropped, dropped_bytes;
	uint64_t nr_missing; /* of one that is cut: events that are not in files, or more */
};

/* Print only which process writes it. */
void logged_print_writer(const struct logged *l, FILE *f);
void logged_print(const struct logged *l, const struct ui_options *opt, FILE *f);
/* Warn of a log that is cut, and of a writer that does not get on. */
void logged_warn(const struct logged *l, struct warnings *w);
json_t *logged_json(const struct logged *l);

#endif
