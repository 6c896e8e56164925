/*
 * coroutine [other]: main waits on a small stack inside other memory, as coroutines and green
 * threads do, with a little room left.  Below that stack lies data of the program.  With "other" a
 * thread waits on a stack of its own.  (Linked with -z now: to bind a symbol takes more than that
 * room.)
 *
 *	check	-> "intact", or how many bytes of that data have changed
 */
#include "tracee.h"

#include <alloca.h>
#include <poll.h>
#include <ucontext.h>

#define STACK_BYTES 16384
#define ROOM_BYTES 1536
#define PATTERN 0x5a

static struct {
	unsigned char data[65536];
	char stack[STACK_BYTES] __attribute__((aligned(64)));
} memory;
static ucontext_t outside, inside;
static char line[64];
static bool has_line;

/* Wait for commands with ROOM_BYTES left of the small stack; they are obeyed outside. */
static void __attribute__((noinline)) wait_inside(void)
{
	do {
		has_line = tracee_command(line, sizeof line);
		swapcontext(&inside, &outside);
	} while (has_line);
}

static void
go_deep(void)
{
	char *here = __builtin_frame_address(0);
	volatile char *used = alloca((size_t)(here - memory.stack) - ROOM_BYTES);

	used[0] = 1;
	wait_inside();
}

static void
check(void)
{
	int nr_changed = 0;

	for (size_t i = 0; i < sizeof memory.data; i++)
		nr_changed += memory.data[i] != PATTERN;
	if (nr_changed)
		tracee_say("%d bytes have changed", nr_changed);
	else
		tracee_say("intact");
}

static void *
wait_for_ever(void *arg)
{
	tracee_use_malloc();
	for (;;)
		poll(NULL, 0, -1);
	return arg;
}

int
main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		tracee_thread(wait_for_ever, NULL);
	memset(memory.data, PATTERN, sizeof memory.data);
	getcontext(&inside);
	inside.uc_stack.ss_sp = memory.stack;
	inside.uc_stack.ss_size = sizeof memory.stack;
	inside.uc_link = &outside;
	makecontext(&inside, go_deep, 0);
	tracee_ready();
	for (swapcontext(&outside, &inside); has_line; swapcontext(&outside, &inside))
		check();
	return tracee_end();
}
