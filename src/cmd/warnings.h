/*
 * warnings: what a command has to say beside its answer, and whether that is only a part.
 */
#ifndef MEMDIAG_CMD_WARNINGS_H
#define MEMDIAG_CMD_WARNINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "ui/ui.h"

struct warnings {
	struct warning {
		char text[600];
	} *v;
	size_t nr, room;
	bool is_partial;	/* exit status 2 */
};

/* Add one; with IS_PARTIAL some of the answer is missing. */
void warn(struct warnings *w, bool is_partial, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* On stderr. */
void warnings_tell(const struct warnings *w, const struct ui_options *opt);
/* Into "warnings" and "partial". */
void warnings_add_to(const struct warnings *w, json_t *document);
void warnings_release(struct warnings *w);
#define auto_warnings __attribute__((cleanup(warnings_release)))

#endif
