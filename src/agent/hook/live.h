/* live: the hooks of a process that ran already. */
#ifndef MEMDIAG_AGENT_HOOK_LIVE_H
#define MEMDIAG_AGENT_HOOK_LIVE_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/*
 * The size of a page.  In a program without a dynamic linker, memdiag writes it before the
 * constructor runs; otherwise it is 0.
 */
size_t live_page_bytes(void);

#pragma GCC visibility pop

#endif
