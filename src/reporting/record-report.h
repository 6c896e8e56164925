/*
 * record-report: `memdiag record report`, what is live now of what was recorded.
 */
#ifndef MEMDIAG_REPORTING_RECORD_REPORT_H
#define MEMDIAG_REPORTING_RECORD_REPORT_H

#include "base/err.h"

/* The index of the word "report" in ARGV if that is the verb of `memdiag record`, else 0. */
int record_report_at(int argc, char **argv);

/* Do it; ARGV is without that word.  Returns a UI_ status, or -1 with E. */
int record_report_run(int argc, char **argv, struct err *e);

#endif
