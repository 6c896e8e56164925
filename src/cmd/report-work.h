/*
 * report-work: what `memdiag report` and `memdiag record report` do: read a profile from a file or
 * a process, subtract another one, and write it in any format.
 */
#ifndef MEMDIAG_CMD_REPORT_WORK_H
#define MEMDIAG_CMD_REPORT_WORK_H

#include "cmd/reporting.h"
#include "recording/choice.h"
#include "ui/option.h"
#include "ui/ui.h"

struct report_work {
	struct ui_options ui;
	struct reporting reporting;
	const char *file;  /* NULL: what the process of UI has noted */
	const char *base;  /* the profile to subtract; NULL: none */
	const char *value; /* --value; NULL: the type that the profile shows first */
	/*
	 * The profile is written to SAVE as well, after the report; NULL: it is not.  An existing
	 * file is replaced only if it is BASE, or with --force.
	 */
	const char *save;
	/* Report blocks of these ages and sizes alone, which the log of a record has. */
	struct history_choice choice;
	bool has_choice;
	/*
	 * Open the log of the process of UI, whose name goes to NAME.  The caller frees *RET.  0,
	 * or -1 with E.
	 */
	int (*open_log)(struct recording **ret, struct ui_options *ui, char *name, size_t size,
		struct err *e);
	size_t nr_addresses; /* list so many blocks of the process as well; 0: none */
	/*
	 * Report what the process of UI has again every EVERY_NS, until it ends, memdiag is asked
	 * to end, NR_REPORTS are written or DURATION_NS are over, if these are not 0.  0: once.
	 */
	uint64_t every_ns, nr_reports, duration_ns;
	bool is_record; /* a record is wanted, and BASE must be an earlier moment of the same one */
};

/* --format, --value, and those of reporting_syntax; its input is a struct report_work. */
extern const struct ui_syntax report_work_syntax;

/*
 * For a row of options: choose the format ARG, or without an argument the first word of ROW, in the
 * member of INPUT that ROW names.  argp exits if another one was chosen.
 */
void report_work_set_format(
	struct argp_state *state, const struct ui_option *row, void *input, char *arg);

/* Do what W says.  Returns a UI_ status, or -1 with E. */
int report_work_run(struct report_work *w, struct err *e);

#endif
