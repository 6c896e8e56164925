/* A counter that shows whether memdiag makes progress. */
#include <config.h>

#include "os/steps.h"

#include <stdatomic.h>

static atomic_ulong nr_steps;

void
os_step(void)
{
	atomic_fetch_add_explicit(&nr_steps, 1, memory_order_relaxed);
}

unsigned long
os_nr_steps(void)
{
	return nr_steps;
}
