/*
 * options: the options that commands share, and the values of options.
 */
#ifndef MEMDIAG_UI_OPTIONS_H
#define MEMDIAG_UI_OPTIONS_H

#include <stdbool.h>

#include "ui/option.h"
#include "ui/ui.h"

/*
 * The syntax of a command for a process, or a child of it; the input is a struct ui_options,
 * zeroed.  It takes a bare word as the process, requires one, and provides --help, -h and --debug.
 */
extern const struct ui_syntax ui_options_syntax;
/*
 * The syntax of a command for several processes, with --all; ui_is_several() is true if several
 * were requested.
 */
extern const struct ui_syntax ui_several_syntax;
bool ui_is_several(const struct ui_options *o);
/* The syntax of a command without a target: without --pid, --timeout and a bare word. */
extern const struct ui_syntax ui_output_syntax;
/* The syntax of a command that reads files, without a target: with --timeout.  See ui/limits.h. */
extern const struct ui_syntax ui_file_syntax;
/* --max-memory, in addition to one of these. */
extern const struct ui_syntax ui_memory_syntax;
/* Take the argument of an option of such a command that names a process; otherwise argp exits. */
void ui_process_option(struct argp_state *state, struct ui_options *o, const char *arg);

#endif
