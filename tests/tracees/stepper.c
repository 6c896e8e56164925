/*
 * stepper: a thread that can be in a signal handler which came in the middle of malloc's first bytes.
 *
 *	step	the thread calls malloc and is interrupted there	-> inside
 *	go	the handler returns, and so does malloc			-> done
 */
#include "tracee.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>

#define FLAG_TRAP 0x100
#define JUMP_BYTES 5	/* so much of a function a hook overwrites */

static uint64_t function;
static int to_thread[2];

static void
await(void)
{
	char c;

	if (read(to_thread[0], &c, 1) != 1)
		tracee_fail("read");
}

/* After each instruction, until it is the one that is wanted. */
static void
stepped(int sig, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)reg[REG_RIP];

	(void)sig, (void)info;
	if (pc <= function || pc >= function + JUMP_BYTES)
		return;
	reg[REG_EFL] &= ~FLAG_TRAP;
	tracee_say("inside");
	await();
}

static void *
call_in_steps(void *arg)
{
	for (;;) {
		void *volatile block;

		await();
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushf; orq %0, (%%rsp); popf; lea 128(%%rsp), %%rsp"
				 : : "i"(FLAG_TRAP) : "memory", "cc");
		block = malloc(100);
		free(block);
		tracee_say("done");
	}
	return arg;
}

int
main(void)
{
	struct sigaction action = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO };
	char line[64];

	function = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc");
	if (pipe(to_thread) < 0 || sigaction(SIGTRAP, &action, NULL) < 0)
		tracee_fail("pipe");
	tracee_thread(call_in_steps, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		if (write(to_thread[1], "", 1) != 1)
			tracee_fail("write");
	return tracee_end();
}
