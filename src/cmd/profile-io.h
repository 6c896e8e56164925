/*
 * profile-io: the shared part of all commands that write a profile: options, reading a file of any
 * supported format, and writing it in any format.
 */
#ifndef MEMDIAG_CMD_PROFILE_IO_H
#define MEMDIAG_CMD_PROFILE_IO_H

#include "base/text.h"
#include "cmd/formats.h"
#include "profile/symbols.h"
#include "report/calls.h"
#include "report/report.h"
#include "ui/option.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct profile_io_options {
	struct symbols_options symbols;
	struct calls_options calls;
	size_t limit;
	const struct report_format *format; /* NULL: not given */
	const char *source;		    /* directory of source files; NULL: not given */
	const char *peek;		    /* functions of format peek; NULL: not given */
	bool has_limit, objects, by_cum, symbols_inside;
	bool with_blocks; /* show blocks next to bytes, in text and JSON, if the profile has them */
};

#define PROFILE_IO_BEGIN                                                                           \
	{                                                                                          \
		.limit = 30                                                                        \
	}

/*
 * The options for all members except --format and --program; the input is a struct
 * profile_io_options.
 */
extern const struct ui_syntax profile_io_syntax;

/*
 * Set the defaults, and refuse options that do not fit together: ERR_USAGE.  Returns 0, or -1 with
 * E.
 */
int profile_io_begin(struct profile_io_options *o, const struct ui_options *ui, struct err *e);

/*
 * If PATH is "-" (standard input) or a pipe, which can be read only once, read all of it into TEXT
 * and set *NAME, for errors.  The caller releases TEXT.  Returns 1 if it was read, 0 if PATH is
 * another file, which is not read, -1 with E.
 */
int profile_io_read_pipe(struct text *text, const char **name, const char *path, struct err *e);

/*
 * Read the profile PATH ("-": standard input), or build one from the recording PATH, and find the
 * names of its frames.  The caller frees *RET.  Returns 0, or -1 with E.
 */
int profile_io_read(struct profile **ret, const char *path, const struct profile_io_options *o,
	const struct ui_options *ui, struct err *e);

/* Add the warnings of P to W. */
void profile_io_warn(struct warnings *w, const struct profile *p);

/*
 * Write V to OUT; W goes into JSON.  Sets c, limit, by_cum, symbols_inside and warnings of V.
 * Returns 0, or -1 with E.
 */
int profile_io_write(struct report_view *v, const struct profile_io_options *o,
	const struct warnings *w, struct ui_output *out, struct err *e);

#endif
