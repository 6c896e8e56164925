/* record-report: `memdiag record report`, the recorded blocks that are live now. */
#ifndef MEMDIAG_CMD_RECORD_REPORT_H
#define MEMDIAG_CMD_RECORD_REPORT_H

#include <stddef.h>

#include "base/err.h"
#include "ui/option.h"

struct recording;
struct ui_options;

extern const struct ui_syntax record_report_syntax;

/* Return the index of the word "report" in ARGV if it is the verb of `memdiag record`, else 0. */
int record_report_at(int argc, char **argv);

/*
 * Run the command; ARGV does not contain that word.  OPEN_LOG is as in struct report_work.  Returns
 * a UI_ status, or -1 with E.
 */
int record_report_run(int argc, char **argv,
	int (*open_log)(struct recording **ret, struct ui_options *ui, char *name, size_t size,
		struct err *e),
	struct err *e);

#endif
