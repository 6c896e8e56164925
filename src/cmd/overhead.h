/*
 * overhead: the options of the memory that a record takes, for all commands that begin one.
 */
#ifndef MEMDIAG_CMD_OVERHEAD_H
#define MEMDIAG_CMD_OVERHEAD_H

#include <stdbool.h>

#include "capture/capture.h"
#include "ui/option.h"

/* Its input is a struct overhead_options. */
extern const struct ui_syntax overhead_syntax;

/* The words of enum record_mode for record --mode and run --record, NULL at the end. */
extern const char *const record_mode_names[];

/*
 * The mode that WORD, one of these, names into *RET; where it names the live set as well, that is
 * into O.  False: there is no such mode.
 */
bool record_mode_parse(const char *word, struct overhead_options *o, enum record_mode *ret);

#endif
