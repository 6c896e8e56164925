/*
 * live: the hooks of a process that ran already.
 */
#ifndef MEMDIAG_AGENT_HOOK_LIVE_H
#define MEMDIAG_AGENT_HOOK_LIVE_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/*
 * The size of a page, which memdiag has written before the constructor runs in a program that has
 * no dynamic linker; else 0.
 */
size_t live_page_bytes(void);

#pragma GCC visibility pop

#endif
