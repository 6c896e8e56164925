/*
 * settings: what the environment asks for.
 */
#ifndef MEMDIAG_AGENT_BASE_SETTINGS_H
#define MEMDIAG_AGENT_BASE_SETTINGS_H

#include <stdbool.h>

#include "wire/wire.h"

#pragma GCC visibility push(hidden)

extern struct wire_settings settings;
extern bool settings_is_on;	   /* count or take samples; false: be transparent */
extern bool settings_is_counting;  /* false: take samples alone */
extern bool settings_is_memtracer; /* MemTracer's contract: its lines, its sum */

/*
 * Read them from the environment the process was started with, which the kernel knows even before
 * libc does; where there is no /proc, from ENVP.  False: that is not known yet.
 */
bool settings_read(char **envp);

#pragma GCC visibility pop

#endif
