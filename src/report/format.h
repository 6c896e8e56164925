/*
 * format: a report format is a row, defined at the end of the file that writes it; their list is in
 * src/cmd/formats.h.
 */
#ifndef MEMDIAG_REPORT_FORMAT_H
#define MEMDIAG_REPORT_FORMAT_H

#include "report/report.h"
#include "ui/ui.h"

struct report_format {
	const char *name;
	enum report_format_can {
		/* it is the profile itself with all stacks: nothing is added up, filtered or cut */
		FORMAT_IS_PROFILE = 1,
		FORMAT_IS_BINARY = 2, /* refused on a terminal */
		FORMAT_NEEDS_BLOCKS =
			4, /* unavailable for a profile of bytes only, such as a trace's */
		FORMAT_TAKES_NAMES = 8,	   /* contains function names with --symbols-inside */
		FORMAT_TAKES_BLOCKS = 16,  /* contains single blocks with --addresses */
		FORMAT_TAKES_REPEATS = 32, /* --every writes several, one after another */
		FORMAT_HAS_ROWS = 64,	   /* default of --lines is ROWS; 0: all */
		/* unavailable for a profile whose frames are not calls: retained's and maps's */
		FORMAT_NEEDS_CALLS = 128,
		/* its readers cut () and <> off names, with contents: unavailable for types */
		FORMAT_CUTS_NAMES = 256,
	} can;
	size_t rows;
	/* Write V, which is complete, to OUT.  Returns 0, or -1 with E. */
	int (*write)(const struct report_view *v, struct ui_output *out, struct err *e);
	const char *note; /* remark in report's --help; NULL: no remark */
};

#endif
