/*
 * reporting: what the commands that write a profile share: its options, reading a file of any
 * format that has one, and writing it in any format.
 */
#ifndef MEMDIAG_CMD_REPORTING_H
#define MEMDIAG_CMD_REPORTING_H

#include "base/text.h"
#include "cmd/formats.h"
#include "profile/symbols.h"
#include "report/calls.h"
#include "report/report.h"
#include "ui/option.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct reporting {
	struct symbols_options symbols;
	struct calls_options calls;
	size_t limit;
	const struct report_format *format; /* NULL: not given */
	bool has_limit, objects, by_cum, symbols_inside;
	bool with_blocks; /* show blocks beside bytes, in text and JSON, if the profile has them */
};

#define REPORTING_BEGIN                                                                            \
	{                                                                                          \
		.limit = 30                                                                        \
	}

/* Options of all these but --format and --program; its input is a struct reporting. */
extern const struct ui_syntax reporting_syntax;

/*
 * Set what was not given, and refuse options that do not fit together: ERR_USAGE.  0, or -1 with E.
 */
int reporting_begin(struct reporting *o, const struct ui_options *ui, struct err *e);

/*
 * Read PATH whole into TEXT, and name it in *NAME for errors, if it is "-", standard input, or a
 * pipe, which can be read once.  The caller releases TEXT.  1: done, 0: it is neither, and nothing
 * was read, -1 with E.
 */
int reporting_read_pipe(struct text *text, const char **name, const char *path, struct err *e);

/*
 * Read the profile PATH ("-": standard input), or make one of the recording PATH, and name its
 * frames.  The caller frees *RET.  0, or -1 with E.
 */
int reporting_read(struct profile **ret, const char *path, const struct reporting *o,
	const struct ui_options *ui, struct err *e);

/* Add the warnings of P to W. */
void reporting_warn(struct warnings *w, const struct profile *p);

/*
 * Write V, whose c, limit, by_cum, symbols_inside and warnings are set by this, to OUT; W goes into
 * JSON.  0, or -1 with E.
 */
int reporting_write(struct report_view *v, const struct reporting *o, const struct warnings *w,
	struct ui_output *out, struct err *e);

#endif
