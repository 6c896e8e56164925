/*
 * triggers: the options that say when files of a profile are written while the program runs.
 */
#ifndef MEMDIAG_CMD_TRIGGERS_H
#define MEMDIAG_CMD_TRIGGERS_H

#include "capture/capture.h"
#include "ui/option.h"

/* Its input is a struct trigger_options. */
extern const struct ui_syntax triggers_syntax;

#endif
