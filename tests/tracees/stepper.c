/*
 * stepper: a thread that calls malloc in single steps.
 *
 *	step		it is interrupted behind malloc's second instruction, and stays in the
 *			handler -> inside
 *	deeper		the same behind these
 *	go		the handler returns, and so does malloc -> done
 *	marks FILE	FILE is the agent, which counts here.  Answers how many steps of calls were
 *			inside libc, and how often the agent's mark that the thread is in a hook was
 *			missing there or when what it counts changed
 */
#include "tracee.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <ucontext.h>

#include "segment.h"

#define FLAG_TRAP 0x100
#define FIRST_BYTES                                                                                \
	16 /* a hook leaves the first instruction in place, and overwrites some of the next */
#define DEEPER 32 /* here nothing is overwritten, and malloc has not done much */

static volatile bool is_deeper;

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
	static int nr_first;

	(void)sig, (void)info;
	if (pc > function && pc < function + FIRST_BYTES)
		nr_first++;
	else
		nr_first = 0;
	if (is_deeper ? pc < function + DEEPER || pc >= function + 2 * DEEPER : nr_first != 2)
		return;
	reg[REG_EFL] &= ~FLAG_TRAP;
	tracee_say("inside");
	await();
}

static inline void __attribute__((always_inline)) begin_steps(void)
{
	__asm__ volatile(
		"lea -128(%%rsp), %%rsp; pushf; orq %0, (%%rsp); popf; lea 128(%%rsp), %%rsp"
		:
		: "i"(FLAG_TRAP)
		: "memory", "cc");
}

static inline void __attribute__((always_inline)) end_steps(void)
{
	__asm__ volatile(
		"lea -128(%%rsp), %%rsp; pushf; andq %0, (%%rsp); popf; lea 128(%%rsp), %%rsp"
		:
		: "i"(~FLAG_TRAP)
		: "memory", "cc");
}

static void
on_trap(void (*handler)(int, siginfo_t *, void *))
{
	const struct sigaction action = { .sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_ONSTACK };

	if (sigaction(SIGTRAP, &action, NULL) < 0)
		tracee_fail("sigaction");
}

/*
 * Each signal frame lies where the one before did: what is left of an old one would look like one
 * in use.
 */
static void *
call_in_steps(void *arg)
{
	static char handlers[65536];
	const stack_t stack = { .ss_sp = handlers, .ss_size = sizeof handlers };

	if (sigaltstack(&stack, NULL) < 0)
		tracee_fail("sigaltstack");
	for (;;) {
		void *volatile block;

		await();
		begin_steps();
		block = malloc(100);
		free(block);
		tracee_say("done");
	}
	return arg;
}

/* ---- marks ---- */

static const struct wire_thread *place; /* the agent's of this thread */
static struct wire_thread was;		/* a step before */
static uint64_t libc_start, libc_end;	/* its code */
static unsigned long nr_inside, nr_missing;
static uint64_t entered_at; /* where libc was entered last */

static int
find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && function - start < p->p_memsz) {
			libc_start = start;
			libc_end = start + p->p_memsz;
			return 1;
		}
	}
	return 0;
}

static const struct wire_thread *
own_place(const char *agent)
{
	struct wire_segment *s = segment_of(agent);

	for (uint32_t i = 1; i < s->nr_threads; i++)
		if (wire_threads(s)[i].tid == (uint32_t)gettid())
			return &wire_threads(s)[i];
	tracee_fail("no place");
}

/* The first instructions of a function that is hooked, up to the jump, come before the mark. */
static void
look_at_mark(int sig, siginfo_t *info, void *context)
{
	uint64_t pc = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	bool is_in_libc = pc >= libc_start && pc < libc_end;

	(void)sig, (void)info;
	nr_inside += is_in_libc;
	if (is_in_libc && !entered_at)
		entered_at = pc;
	else if (!is_in_libc)
		entered_at = 0;
	if (!place->is_inside &&
		((is_in_libc && pc - entered_at >= FIRST_BYTES) ||
			place->live_bytes != was.live_bytes ||
			place->nr_allocated != was.nr_allocated || place->nr_freed != was.nr_freed))
		nr_missing++;
	was = *place;
}

/* From the heap, large ones with a mapping of their own, and what libc calls inside. */
static void
say_marks(const char *agent)
{
	void *volatile block[4];

	tracee_use_malloc(); /* the first call gives it its place */
	place = own_place(agent);
	dl_iterate_phdr(find_libc, NULL);
	nr_inside = nr_missing = 0;
	entered_at = 0;
	was = *place;
	on_trap(look_at_mark);
	begin_steps();
	block[0] = malloc(100);
	block[1] = malloc(1000000);
	block[2] = calloc(10, 100);
	block[3] = realloc(block[2], 100000);
	for (size_t i = 0; i < 4; i++)
		if (i != 2)
			free(block[i]);
	end_steps();
	on_trap(stepped);
	tracee_say("%lu %lu", nr_inside, nr_missing);
}

int
main(void)
{
	char line[512];

	function = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc");
	if (pipe(to_thread) < 0)
		tracee_fail("pipe");
	on_trap(stepped);
	tracee_thread(call_in_steps, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strncmp(line, "marks ", 6) == 0) {
			say_marks(line + 6);
			continue;
		}
		is_deeper = strcmp(line, "deeper") == 0;
		if (write(to_thread[1], "", 1) != 1)
			tracee_fail("write");
	}
	return tracee_end();
}
