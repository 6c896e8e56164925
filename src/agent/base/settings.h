/* settings: what the environment asks for. */
#ifndef MEMDIAG_AGENT_BASE_SETTINGS_H
#define MEMDIAG_AGENT_BASE_SETTINGS_H

#include <stdbool.h>

#include "wire/settings.h"

#pragma GCC visibility push(hidden)

extern struct wire_settings settings;
extern bool settings_is_on;	   /* count or take samples; false: be transparent */
extern bool settings_is_counting;  /* false: only take samples */
extern bool settings_is_memtracer; /* follow MemTracer: the same lines and the same sum */

/*
 * Read the settings from the environment that the process was started with.  The kernel provides it
 * even before libc does; without /proc it comes from ENVP.  False if the environment is not known
 * yet.
 */
bool settings_read(char **envp);

#pragma GCC visibility pop

#endif
