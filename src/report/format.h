/*
 * format: a format of reports is a row, at the end of the file that writes it; the list of them is
 * in src/cmd/formats.h.
 */
#ifndef MEMDIAG_REPORT_FORMAT_H
#define MEMDIAG_REPORT_FORMAT_H

#include "report/report.h"
#include "ui/ui.h"

struct report_format {
	const char *name;
	enum report_format_can {
		/* it is the profile itself with all stacks: nothing is added up, left out or cut */
		FORMAT_IS_PROFILE = 1,
		FORMAT_IS_BINARY = 2, /* it is not written to a terminal */
		FORMAT_NEEDS_BLOCKS =
			4, /* a profile of bytes alone, as of a trace, has no such form */
		FORMAT_TAKES_NAMES = 8,	  /* with --symbols-inside it has the names of functions */
		FORMAT_TAKES_BLOCKS = 16, /* with --addresses it has single blocks */
		FORMAT_TAKES_REPEATS =
			32,	      /* with --every several are written, one behind another */
		FORMAT_HAS_ROWS = 64, /* ROWS are its rows if --lines is not given; 0: all */
	} can;
	size_t rows;
	/* Write V, which is complete, to OUT.  0, or -1 with E. */
	int (*write)(const struct report_view *v, struct ui_output *out, struct err *e);
	const char *note; /* what --help of report says of it; NULL: nothing */
};

#endif
