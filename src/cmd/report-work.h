/*
 * report-work: the work of `memdiag report` and `memdiag record report`: read a profile from a file
 * or a process, subtract another one, and write it in any format.
 */
#ifndef MEMDIAG_CMD_REPORT_WORK_H
#define MEMDIAG_CMD_REPORT_WORK_H

#include "cmd/open-page.h"
#include "cmd/profile-io.h"
#include "cmd/redaction.h"
#include "recording/choice.h"
#include "ui/option.h"
#include "ui/ui.h"

struct report_work {
	struct ui_options ui;
	struct profile_io_options io;
	struct redaction_options redaction;
	bool opens;	   /* write a page to a temporary file, and open it */
	const char *file;  /* NULL: read the process in UI */
	const char *base;  /* the profile to subtract; NULL: none is subtracted */
	const char *value; /* --value; NULL: the type that the profile shows by default */
	/*
	 * The profile is also written to SAVE, after the report; NULL: it is not saved.  An
	 * existing file is replaced only if it is BASE, or with --force.
	 */
	const char *save;
	/* Report only blocks of these ages and sizes; needs the log of a record. */
	struct history_choice choice;
	bool has_choice;
	/*
	 * Open the log of the process in UI; its name goes to NAME.  The caller frees *RET.
	 * Returns 0, or -1 with E.
	 */
	int (*open_log)(struct recording **ret, struct ui_options *ui, char *name, size_t size,
		struct err *e);
	size_t nr_addresses; /* also list this many blocks of the process; 0: no list */
	/*
	 * Repeat the report of the process in UI every EVERY_NS, until the process ends, memdiag is
	 * asked to end, NR_REPORTS are written or DURATION_NS have passed; each of the last two
	 * applies if not 0.  EVERY_NS is 0 for a single report.
	 */
	uint64_t every_ns, nr_reports, duration_ns;
	/* a record is required, and BASE must be an earlier moment of the same record */
	bool is_record;
};

/* --format, --value, and the options of profile_io_syntax; the input is a struct report_work. */
extern const struct ui_syntax report_work_syntax;

/*
 * For a row of options: store the format ARG, or without an argument the first word of ROW, in the
 * member of INPUT that ROW names. argp exits if another format was chosen.
 */
void report_work_set_format(
	struct argp_state *state, const struct ui_option *row, void *input, char *arg);

/* Do the work described by W.  Returns a UI_ status, or -1 with E. */
int report_work_run(struct report_work *w, struct err *e);

#endif
