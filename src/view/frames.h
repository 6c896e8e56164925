/*
 * frames: the frames of one stack, as text and JSON.
 */
#ifndef MEMDIAG_VIEW_FRAMES_H
#define MEMDIAG_VIEW_FRAMES_H

#include <jansson.h>
#include <stdio.h>

#include "capture/walked.h"
#include "report/profile.h"

/*
 * The frames of STACK of P, a line for each, and below them what END means unless the stack is
 * complete.
 */
void frames_print(const struct profile *p, uint32_t stack, const struct stacks_marks *marks,
	enum stacks_end end, FILE *f);
/*
 * The functions of the stack on one line, from frame FIRST on outwards; at most NR_COLUMNS of it,
 * if that is not 0.
 */
void frames_print_line(
	const struct profile *p, uint32_t stack, uint32_t first, int nr_columns, FILE *f);
/* The names of its functions, from the innermost on, and the places of those without a name. */
json_t *frames_names_json(const struct profile *p, uint32_t stack);
json_t *frames_json(const struct profile *p, uint32_t stack, const struct stacks_marks *marks);

#endif
