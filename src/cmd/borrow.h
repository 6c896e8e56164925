/*
 * borrow: the options of the commands that borrow a thread.
 */
#ifndef MEMDIAG_CMD_BORROW_H
#define MEMDIAG_CMD_BORROW_H

#include <argp.h>

#include "inject/inject.h"
#include "jemalloc/jemalloc.h"
#include "ui/ui.h"

/*
 * The argp children of such a command: ui_options_argp, whose input is a struct ui_options, and the
 * options --mode and --wait, whose input is a struct inject_options, zeroed.
 */
extern const struct argp_child borrow_children[];
extern const struct argp borrow_argp; /* the other one of them */

/* Set the mode named ARG.  False: it does not exist. */
bool borrow_mode(struct inject_options *o, const char *arg);

/* --malloc, whose input is an enum malloc_choice. */
extern const struct argp borrow_malloc_argp;
/* All three, with ui_several_argp. */
extern const struct argp_child borrow_several_malloc_children[];

/* Share out --timeout between the wait and the call, once all options are known. */
void borrow_limit(struct inject_options *inject, const struct ui_options *ui);

#endif
