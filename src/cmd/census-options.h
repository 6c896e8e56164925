/* census-options: the options of the commands that take a census. */
#ifndef MEMDIAG_CMD_CENSUS_OPTIONS_H
#define MEMDIAG_CMD_CENSUS_OPTIONS_H

#include "ui/option.h"

/*
 * The syntax of a struct census_question, zeroed, for a child of a command: a process or a core
 * file, how long it may be stopped, and --max-memory.  census_question_begin() sets the defaults.
 */
extern const struct ui_syntax census_syntax;

struct census_question;

/* Set what Q has if an option is not given. */
void census_question_begin(struct census_question *q);

#endif
