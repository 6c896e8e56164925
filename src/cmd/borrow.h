/*
 * borrow: the options of the commands that borrow a thread.
 */
#ifndef MEMDIAG_CMD_BORROW_H
#define MEMDIAG_CMD_BORROW_H

#include "inject/malloc.h"
#include "ui/option.h"
#include "ui/ui.h"

/* The options --thread and --wait; the input is a struct inject_options, zeroed. */
extern const struct ui_syntax borrow_syntax;

/* --malloc; the input is an enum malloc_choice. */
extern const struct ui_syntax borrow_malloc_syntax;

/* Divide --timeout between the wait and the call; call it when all options are parsed. */
void borrow_limit(struct inject_options *inject, const struct ui_options *ui);

#endif
