/*
 * mode: how hooks count.
 */
#include <config.h>

#include "agent/base/mode.h"

#include <sys/mman.h>

#include "agent/base/real.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/sys.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* since Linux 4.14 */
#endif

#if defined __aarch64__
#define MOST_PAGE_BYTES 65536
#else
#define MOST_PAGE_BYTES 4096
#endif

/*
 * The variable has its own page.  Both processors are little-endian, so the lower half comes first.
 */
static union {
	enum agent_mode mode;
	struct {
		uint16_t counter, noting;
	} half;
	char page[MOST_PAGE_BYTES];
} mode_page __attribute__((aligned(MOST_PAGE_BYTES)));
extern enum agent_mode agent_mode __attribute__((alias("mode_page")));

/*
 * Reset agent_mode in each child until fork.c sets it again.  A child that the program makes by a
 * direct system call has the counters of its parent, and in such a child nothing sets the mode.
 * Before Linux 4.14, or if a filter forbids madvise(), such a child counts in its parent's
 * counters.
 */
void
mode_turn_off_in_children(void)
{
	sys_call(SYS_madvise, &mode_page, sizeof mode_page, MADV_WIPEONFORK);
}

/*
 * glibc's malloc calls no hooks, so it needs no guard, unless the agent patched the beginnings of
 * libc's functions (WIRE_LOADED).
 */
void
mode_choose(void)
{
	enum agent_mode counter = AGENT_QUICK_REQUESTED;

	if (!settings_is_counting)
		counter = real_has_headers ? AGENT_UNCOUNTED : AGENT_UNCOUNTED_GUARDED;
	else if (segment->way == WIRE_LOADED || !real_has_headers ||
		settings.limit_bytes != INT64_MAX)
		counter = AGENT_GUARDED;
	else if (settings.account == WIRE_USABLE)
		counter = AGENT_QUICK;
	__atomic_store_n(&mode_page.half.counter, (uint16_t)counter, __ATOMIC_RELAXED);
}

void
mode_note(enum wire_noting what)
{
	segment->noting = what;
	__atomic_store_n(&mode_page.half.noting, (uint16_t)what, __ATOMIC_RELAXED);
}
