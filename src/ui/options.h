/*
 * options: the options that commands share, and the values of options.
 */
#ifndef MEMDIAG_UI_OPTIONS_H
#define MEMDIAG_UI_OPTIONS_H

#include <stdbool.h>

#include "ui/option.h"
#include "ui/ui.h"

/*
 * The syntax of a command that looks at a process, or a child of it, with a struct ui_options,
 * zeroed, as its input.  It takes a bare word as the process, checks that there is one, and
 * provides --help, -h and --debug.
 */
extern const struct ui_syntax ui_options_syntax;
/* The same for a command that takes several processes, with --all; ui_is_several() says whether. */
extern const struct ui_syntax ui_several_syntax;
bool ui_is_several(const struct ui_options *o);
/* The same for a command without a target: without --pid, --timeout and a bare word. */
extern const struct ui_syntax ui_output_syntax;
/* The same for such a command that reads files: with --timeout.  See ui/limits.h. */
extern const struct ui_syntax ui_file_syntax;
/* --max-memory, besides one of these. */
extern const struct ui_syntax ui_memory_syntax;
/* The argument of an option of such a command that names a process; else argp exits. */
void ui_process_option(struct argp_state *state, struct ui_options *o, const char *arg);

#endif
