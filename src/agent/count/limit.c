#include <config.h>

#include "agent/count/limit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "agent/base/family.h"
#include "agent/base/say.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/count/count.h"

/* The name of the process, without % since it goes into a format. */
static void
own_name(char name[16])
{
	sys_call(SYS_prctl, PR_GET_NAME, name);
	for (size_t i = 0; i < 15 && name[i]; i++)
		if (name[i] == '%' || (unsigned char)name[i] < ' ' || (unsigned char)name[i] > '~')
			name[i] = '?';
}

/*
 * Report the limit and the live bytes without the BYTES that did not fit.  AFTER is the
 * consequence.
 */
static void
say_limit(size_t bytes, const char *after)
{
	char text[256] = "[MEMTRACER] alloc memory:%u, allocated_memory: %u, memory_limit: %u, "
			 "Memory limit exceeded!",
	     name[16] = "";

	if (settings_is_memtracer) {
		say(strcat(text, after),
			(const uint64_t[]){
				bytes, count_live_bytes(), (uint64_t)segment->limit_bytes });
		return;
	}
	own_name(name);
	strcpy(text, "memdiag: ");
	strcat(strcat(text, name),
		" (%u): a call for %u bytes does not fit the limit of %u bytes, of which %u "
		"are in use");
	if (family_share() != INT64_MAX)
		strcat(text, " by this process");
	say(strcat(*after ? strcat(text, ".") : text, after),
		(const uint64_t[]){ (uint64_t)sys_call(SYS_getpid, 0), bytes,
			(uint64_t)segment->limit_bytes, count_live_bytes() });
}

static void
say_reached(size_t bytes)
{
	say_limit(bytes, "");
}

void
limit_passed(int64_t bytes)
{
	say_limit((size_t)bytes, " Going on.");
}

bool
limit_take(struct wire_thread *self, int64_t bytes)
{
	const enum count_answer answer = count_take_slowly(self, bytes);

	if (answer == COUNT_PASSED)
		limit_passed(bytes);
	return answer != COUNT_REFUSED;
}

static void
send(int sig)
{
	sys_call(SYS_tgkill, sys_call(SYS_getpid, 0), sys_call(SYS_gettid, 0), sig);
}

/*
 * End by the signal's default action, not by a handler of the program: the handler would run in the
 * middle of an allocation.
 */
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
 * A handler belongs to the program: its allocations count, and it may leave by longjmp().  So the
 * thread is not marked as inside a hook while the handler runs.
 */
static void
terminate(const struct wire_thread *self)
{
	const bool was_inside = self->is_inside || agent_self.is_inside;

	if (was_inside)
		agent_leave();
	sys_call(SYS_kill, sys_call(SYS_getpid, 0), SIGTERM);
	if (was_inside)
		agent_return();
}

/* musl and other libcs have another lock, or an unknown one. */
const char *gnu_get_libc_version(void) __attribute__((weak));

/*
 * True if any thread, this one included, is using F.  Its lock begins with a word that is 0 while
 * the lock is free (sysdeps/nptl/stdio-lock.h, 2.2 to 2.44). ftrylockfile() alone does not show
 * this, as it also succeeds in the owner.
 */
static bool
limit_is_in_use(FILE *f)
{
	return *(const volatile int *)f->_lock || ftrylockfile(f) != 0;
}

static bool
takes_output(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	const struct timespec patience = { .tv_sec = 1 };
	const uint64_t all = UINT64_MAX;

	return sys_call(SYS_ppoll, &p, 1, &patience, &all, sizeof all) == 1;
}

/*
 * Write the output that the program left in the buffer of stdout, which would otherwise be lost.
 * It is written only if that is safe: no thread, this one included, is using stdout, and stdout is
 * a file, not a function of the program.
 */
static void
flush_output(void)
{
	const uint64_t of_writing = UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1) |
		UINT64_C(1) << (SIGTTOU - 1);
	FILE *const f = gnu_get_libc_version ? stdout : NULL;
	int fd;

	if (!f || limit_is_in_use(f))
		return;
	/* The process is about to end with its own status. */
	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &of_writing, NULL, sizeof of_writing);
	fd = fileno_unlocked(f);
	if (fd >= 0 && takes_output(fd))
		fflush_unlocked(f);
}

void
limit_reached(struct wire_thread *self, size_t bytes)
{
	static bool is_sent;

	self->is_refused = 1;
	switch (segment->on_limit) {
	case WIRE_EXIT:
		/* Not exit(): its handlers may need memory or locks that this thread holds. */
		flush_output();
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
			terminate(self);
		}
		break;
	}
	errno = ENOMEM;
}
