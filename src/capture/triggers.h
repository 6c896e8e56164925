/*
 * triggers: the options that say when files of a profile are written while the program runs.
 */
#ifndef MEMDIAG_CAPTURE_TRIGGERS_H
#define MEMDIAG_CAPTURE_TRIGGERS_H

#include "ui/ui.h"
#include "wire/sites.h"

struct trigger_options {
	struct wire_triggers wanted;
	bool is_any; /* one of these was given */
};

/* Its input is a struct trigger_options. */
extern const struct ui_syntax triggers_syntax;

#endif
