/* check: the line of 'memdiag check', as a monitoring plugin prints it. */
#ifndef MEMDIAG_VIEW_CHECK_H
#define MEMDIAG_VIEW_CHECK_H

#include <stdio.h>

#include "diagnose/check.h"
#include "ui/ui.h"

/* Print "MEMDIAG STATE - TEXT | PERFDATA" of A. */
void check_print(FILE *f, const struct check_answer *a, const struct check_question *q);

/* Print "MEMDIAG UNKNOWN - TEXT", on one line whatever TEXT has. */
void check_print_unknown(FILE *f, const char *text);

#endif
