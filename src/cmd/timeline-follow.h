/*
 * timeline-follow: 'memdiag timeline --follow': a log is shown as it grows.
 */
#ifndef MEMDIAG_CMD_TIMELINE_FOLLOW_H
#define MEMDIAG_CMD_TIMELINE_FOLLOW_H

#include "recording/recording.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct target;

enum follow_format { FOLLOW_FORMAT_TEXT, FOLLOW_FORMAT_CSV, FOLLOW_FORMAT_JSON };

struct timeline_follow {
	struct recording *recording; /* of which nothing was read */
	struct target *target;	     /* whose log it is; NULL: not known */
	const char *file;
	const struct ui_options *ui;
	uint64_t interval_ns;
	enum follow_format format;
};

/*
 * Show W until its log is closed, nobody writes it any more, the reader of OUT has gone, or memdiag
 * is asked to end.  Text is the plot on a terminal, drawn anew each time, else a line for each
 * interval that has ended, as the other formats are.  What is missing is added to WARNINGS.  0, or
 * -1 with E.
 */
int timeline_follow(const struct timeline_follow *w, struct ui_output *out,
	struct warnings *warnings, struct err *e);

#endif
