/*
 * Walk the stack of a child that waits at the end of known calls.
 */
#include <config.h>

#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/objects.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/target.h"
#include "stack/stack.h"
#include "tap.h"

static int ready_fd;

static void __attribute__((noinline)) wait_here(void)
{
	if (write(ready_fd, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/*
 * Calls that are not the last thing a function does, so that each keeps its frame; through
 * pointers, so that no compiler calls a copy; small, with any sanitizer.
 */
#define PLAIN __attribute__((no_sanitize("address", "undefined")))

static int PLAIN
inner(int n)
{
	volatile int keep = n;

	wait_here();
	return keep;
}

static int (*volatile call_inner)(int) = inner;

static int PLAIN
outer(int n)
{
	volatile int keep = n;

	return call_inner(keep) + keep;
}

static int (*volatile call_outer)(int) = outer;

static void
on_signal(int sig)
{
	call_outer(sig);
}

static void
by_signal(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

static void
by_call(void)
{
	call_outer(1);
}

/* call_naked(): calls wait_here() from code that no unwind table speaks of. */
void call_naked(void (*fn)(void));
#if defined __x86_64__
__asm__(".text\n.globl call_naked\n.type call_naked,@function\ncall_naked:\n"
	"	sub $8,%rsp\n	call *%rdi\n	add $8,%rsp\n	ret\n.size "
	"call_naked,.-call_naked\n");
#elif defined __aarch64__
__asm__(".text\n.globl call_naked\n.type call_naked,@function\ncall_naked:\n"
	"	str x30,[sp,#-16]!\n	blr x0\n	ldr x30,[sp],#16\n	ret\n"
	".size call_naked,.-call_naked\n");
#endif

static void
by_naked_call(void)
{
	call_naked(wait_here);
}

static pid_t
start(void (*how)(void))
{
	int fds[2];
	char c;
	pid_t pid;

	if (pipe(fds) < 0 || (pid = fork()) < 0)
		exit(99);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready_fd = fds[1];
		how();
		_exit(0);
	}
	if (read(fds[0], &c, 1) != 1)
		exit(99);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

struct walk {
	pid_t pid;
	struct stack *stack;
	struct err *e;
	bool is_done;
};

/* Stop its one thread, walk, let it go. */
static bool
stop_and_walk(pid_t pid, struct stack *ret, struct err *e)
{
	static char copy[65536];
	auto_target struct target t = TARGET_NONE;
	auto_regions struct regions m = { 0 };
	auto_objects struct objects o = { 0 };
	auto_walker struct walker *w = NULL;
	uint64_t regs[64];
	size_t size = sizeof regs;
	struct os_syscall s;
	struct os_stop stop;
	ssize_t n;

	if (target_open(&t, pid, e) < 0 || regions_read(&m, &t, e) < 0 ||
		objects_find(&o, &m, &t, NULL, NULL, e) < 0 || walker_new(&w, &t, &o, e) < 0)
		return false;
	do { /* "ready" is written just before it waits */
		if (os_thread_syscall(&t, pid, &s, e) < 0)
			return false;
	} while (s.is_running);
	if (os_seize(&t, pid, e) < 0 || os_interrupt(pid, e) < 0 ||
		os_wait(pid, os_now_ns() + 300000000000, &stop, e) < 0 ||
		os_get_regset(pid, NT_PRSTATUS, regs, &size, e) < 0)
		return false;
	n = os_read_some(&t, s.sp, copy, sizeof copy, e);
	if (n > 0)
		stack_walk(w, regs, s.sp, copy, (size_t)n, ret);
	os_detach(pid, 0, e);
	return n > 0;
}

static void
run_walk(void *arg)
{
	struct walk *w = arg;

	w->is_done = stop_and_walk(w->pid, w->stack, w->e);
}

static bool
walk(pid_t pid, struct stack *ret, struct err *e)
{
	struct walk w = { .pid = pid, .stack = ret, .e = e };

	return os_trace(run_walk, &w, e) == 0 && w.is_done;
}

/* The number of the first frame from FROM on that lies in FN, or -1. */
static int
frame_in(const struct stack *s, int from, int (*fn)(int))
{
	uint64_t start = (uintptr_t)fn;

	for (size_t i = (size_t)from; i < s->nr; i++)
		if (s->frame[i].pc.v > start && s->frame[i].pc.v < start + 64)
			return (int)i;
	return -1;
}

static void
test_one(void (*how)(void), const char *name, bool is_complete, bool has_signal)
{
	static struct stack s;
	struct err e = { 0 };
	pid_t pid = start(how);
	bool signal_seen = false;

	ok(walk(pid, &s, &e), "%s: walked, %zu frames %s", name, s.nr, e.msg);
	ok(s.is_complete == is_complete, "it is%s complete", is_complete ? "" : " not");
	for (size_t i = 0; i < s.nr; i++)
		signal_seen |= s.frame[i].is_signal;
	ok(signal_seen == has_signal, "a signal frame is%s seen", has_signal ? "" : " not");
	if (is_complete) {
		int at = frame_in(&s, 0, inner);

		ok(at > 0, "inner() is on the stack");
		ok(at > 0 && frame_in(&s, at, outer) == at + 1, "its caller is outer()");
		ok(s.nr > 1 && s.frame[0].sp.v < s.frame[s.nr - 1].sp.v, "callers lie higher");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_one(by_call, "plain calls", true, false);
	test_one(by_signal, "in a signal handler", true, true);
	test_one(by_naked_call, "a caller without an unwind table", false, false);
	return tap_end();
}
