/*
 * signal: at a limit of 20 MB the agent sends a SIGTERM, once (on-limit=signal), in the middle of a
 * call.  Its handler may allocate, and need not return.
 */
#include "count.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static void *volatile taken;
static size_t of_handler;

static void
on_signal(int sig)
{
	(void)sig;
	begin_count();
	taken = malloc(100);
	of_handler = memdiag_live_bytes() - count_before;
	siglongjmp(back, 1);
}

int
main(void)
{
	need_agent();
	signal(SIGTERM, on_signal);
	if (sigsetjmp(back, 1) == 0) {
		block = malloc(30000000);
		ok(false, "there was a signal");
		return tap_end();
	}
	is_u64(of_handler, malloc_usable_size(taken), "what its handler takes is counted");
	free(taken);
	counted(0, "and given back");
	taken = malloc(1000);
	counted((long)malloc_usable_size(taken), "and all after it");
	ok(is_enomem(30000000), "the limit is held");
	free(taken);
	counted(0, "all is given back");
	return tap_end();
}
