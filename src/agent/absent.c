/*
 * absent: what a program that asks gets where there is no agent.  This is all of libmemdiag.so, which
 * such a program is linked with; the agent is preloaded in front of it, and has the same functions.
 */
#include "memdiag.h"

#include <stdint.h>

int
memdiag_is_counting(void)
{
	return 0;
}

size_t
memdiag_live_bytes(void)
{
	return 0;
}

size_t
memdiag_mapped_bytes(void)
{
	return 0;
}

size_t
memdiag_live_blocks(void)
{
	return 0;
}

size_t
memdiag_peak_bytes(void)
{
	return 0;
}

size_t
memdiag_limit_bytes(void)
{
	return SIZE_MAX;
}
