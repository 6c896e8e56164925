/*
 * begin: what every program of memdiag does first.
 */
#ifndef MEMDIAG_UI_BEGIN_H
#define MEMDIAG_UI_BEGIN_H

#include "ui/exit.h"

/*
 * Refuse to run with rights that the user lacks, and prepare standard files and malloc.  Returns
 * UI_DONE, or the exit status with which the program must end; the reason was printed.
 */
enum ui_exit ui_begin(void);

#endif
