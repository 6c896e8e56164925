/*
 * odd-tables: threads in functions whose unwind tables would mislead a reader: it would go round
 * without end, or beyond its arrays.  Each has a frame pointer, which leads to its caller.  Prints
 * a line for each, as nest does.  With an argument the first thread waits inside stdio.
 */
#include "tracee.h"

#include <stdatomic.h>
#include <sys/syscall.h>

/* clang makes no clones. */
#if __has_attribute(noclone)
#define KEPT static __attribute__((noinline, noclone, used))
#else
#define KEPT static __attribute__((noinline, used))
#endif
#define NOT_LAST __asm__ volatile("" ::: "memory")

#if defined __x86_64__
#define BODY " push %rbp\n mov %rsp,%rbp\n call *%rdi\n pop %rbp\n ret\n"
#define RETURN_ADDRESS "0x10"
#elif defined __aarch64__
#define BODY                                                                                       \
	" stp x29,x30,[sp,#-16]!\n mov x29,sp\n blr x0\n"                                          \
	" ldp x29,x30,[sp],#16\n ret\n"
#define RETURN_ADDRESS "0x1e"
#else
#error "which processor is this?"
#endif

/* A function NAME that calls its argument; a CIE of its own for SIMPLE. */
#define ODD(name, simple, tables)                                                                  \
	void name(void (*fn)(void));                                                               \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n"                 \
		" .cfi_startproc " simple "\n" tables BODY " .cfi_endproc\n"                       \
		".size " #name ",.-" #name "\n")

/* DW_CFA_def_cfa_expression: DW_OP_skip to itself. */
ODD(odd_loop, "", ".cfi_escape 0x0f,3, 0x2f,0xfd,0xff\n");
/* The same in DW_CFA_expression of the return address. */
ODD(odd_loop_of_register, "", ".cfi_escape 0x10," RETURN_ADDRESS ",3, 0x2f,0xfd,0xff\n");
/* DW_CFA_register: the return address is in register 0x7fffffff. */
ODD(odd_register, "", ".cfi_escape 0x09," RETURN_ADDRESS ",0xff,0xff,0xff,0xff,0x07\n");
/* The CIE says that a register has the return address which does not exist. */
ODD(odd_column, "simple", ".cfi_return_column 250\n.cfi_escape 0x0c,7,16\n");
/* No rule for the CFA. */
ODD(odd_empty, "simple", "");
/*
 * DW_CFA_remember_state, eight million times: each takes memory.  A hundred in one directive,
 * because clang takes 700 bytes and some microseconds for each directive.
 */
#define TEN(x) x "," x "," x "," x "," x "," x "," x "," x "," x "," x
ODD(odd_states, "", ".rept 80000\n.cfi_escape " TEN(TEN("0x0a")) "\n.endr\n");
/* DW_CFA_def_cfa_expression that takes more from its stack than there is. */
ODD(odd_underflow, "", ".cfi_escape 0x0f,4, 0x13,0x13,0x13,0x13\n");

static atomic_int nr_ready;

KEPT void
wait_in_syscall(void)
{
	for (;;)
		poll(NULL, 0, -1);
}

struct odd {
	const char *name;
	void (*call)(void (*fn)(void));
};

KEPT void *
run_odd(void *arg)
{
	const struct odd *odd = arg;

	tracee_use_malloc();
	tracee_say("stack %s %d wait_in_syscall %s run_odd", odd->name, (int)syscall(SYS_gettid),
		odd->name);
	nr_ready++;
	odd->call(wait_in_syscall);
	NOT_LAST;
	return NULL;
}

int
main(int argc, char **argv)
{
	static struct odd odd[] = { { "odd_loop", odd_loop },
		{ "odd_loop_of_register", odd_loop_of_register }, { "odd_register", odd_register },
		{ "odd_column", odd_column }, { "odd_empty", odd_empty },
		{ "odd_states", odd_states }, { "odd_underflow", odd_underflow } };
	const int nr = (int)(sizeof odd / sizeof *odd);
	char line[64];

	(void)argv;
	for (int i = 0; i < nr; i++)
		tracee_thread(run_odd, &odd[i]);
	while (nr_ready < nr)
		sched_yield();
	tracee_ready();
	if (argc == 1)
		return tracee_park();
	while (tracee_command_in_stdio(line, sizeof line))
		;
	return tracee_end();
}
