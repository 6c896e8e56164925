#include <config.h>

#include <errno.h>
#include <signal.h>

#include "agent/agent.h"
#include "agent/count.h"
#include "agent/sys.h"

uint64_t
agent_counted_bytes(void)
{
	struct wire_totals sum;

	wire_add_up(segment, segment->nr_threads, &sum);
	return sum.live_bytes + (uint64_t)segment->base_bytes;
}

static void
say_reached(size_t bytes)
{
	SAY("[MEMTRACER] alloc memory:%u, allocated_memory: %u, memory_limit: %u, "
	    "Memory limit exceeded!",
		bytes, agent_counted_bytes(), (uint64_t)segment->limit_bytes);
}

void
limit_passed(size_t bytes)
{
	SAY("[MEMTRACER] alloc memory:%u, allocated_memory: %u, memory_limit: %u, "
	    "Memory limit exceeded! Going on.",
		bytes, agent_counted_bytes(), (uint64_t)segment->limit_bytes);
}

static void
send(int sig)
{
	sys_call(SYS_tgkill, sys_call(SYS_getpid, 0), sys_call(SYS_gettid, 0), sig);
}

/* By no handler of the program's: it would run in the middle of an allocation. */
static void
dump_core(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} plain = { SIG_DFL, 0, NULL, 0 };
	const uint64_t only = UINT64_C(1) << (SIGABRT - 1);

	sys_call(SYS_rt_sigaction, SIGABRT, &plain, NULL, sizeof plain.mask);
	sys_call(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, NULL, sizeof only);
	send(SIGABRT);
}

/*
 * A handler is the program's: what it allocates counts, and it may leave by longjmp().  So we are not
 * in a hook meanwhile.
 */
static void
terminate(void)
{
	agent_leave();
	sys_call(SYS_kill, sys_call(SYS_getpid, 0), SIGTERM);
	agent_enter();
}

void
limit_reached(struct wire_thread *self, size_t bytes)
{
	static bool is_sent;

	self->is_refused = 1;
	switch (segment->on_limit) {
	case WIRE_EXIT:
		/* Not exit(): what it runs may want memory, and locks that we stand in. */
		say_reached(bytes);
		for (;;)
			sys_call(SYS_exit_group, 255);
	case WIRE_ABORT:
		say_reached(bytes);
		dump_core();
		break;
	case WIRE_SIGNAL:
		if (!__atomic_exchange_n(&is_sent, true, __ATOMIC_RELAXED)) {
			say_reached(bytes);
			terminate();
		}
		break;
	}
	errno = ENOMEM;
}
