/*
 * nest: threads that stand in known functions, each in another way.  It prints a line for each,
 * "stack KIND TID FUNCTION...": the functions of this program on its stack, the innermost first.
 */
#include "tracee.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* clang makes no clones. */
#if __has_attribute(noclone)
#define KEPT static __attribute__((noinline, noclone, used))
#else
#define KEPT static __attribute__((noinline, used))
#endif
/* A call that is not the last thing a function does, so that it keeps its frame. */
#define NOT_LAST __asm__ volatile("" ::: "memory")
#define DEEP 700

static atomic_int nr_ready;
static atomic_long spins;
static volatile bool goes_on = true;

static void
tell(const char *kind, const char *functions)
{
	tracee_say("stack %s %d %s", kind, (int)syscall(SYS_gettid), functions);
	nr_ready++;
}

/* ---- where they end ---- */

KEPT void
wait_in_syscall(void)
{
	while (goes_on)
		poll(NULL, 0, -1);
}

KEPT void
spin_here(void)
{
	while (goes_on)
		spins++;
}

/* ---- plain calls ---- */

KEPT void
nest_c(void (*end)(void))
{
	end();
	NOT_LAST;
}

static inline __attribute__((always_inline)) void
inlined_part(void (*end)(void))
{
	nest_c(end);
	NOT_LAST;
}

KEPT void
nest_b(void (*end)(void))
{
	inlined_part(end);
	NOT_LAST;
}

KEPT void
nest_a(void (*end)(void))
{
	nest_b(end);
	NOT_LAST;
}

KEPT void *
run_parked(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	tell("parked", "wait_in_syscall nest_c nest_b nest_a run_parked");
	nest_a(wait_in_syscall);
	return NULL;
}

KEPT void *
run_spinning(void *arg)
{
	tell("spinning", "spin_here nest_c nest_b nest_a run_spinning");
	nest_a(spin_here);
	return arg;
}

KEPT void
recurse(int n)
{
	volatile char room[500];

	room[0] = (char)n;
	if (n)
		recurse(n - 1);
	else
		wait_in_syscall();
	room[1] = room[0];
}

/* Its functions are too many for a line. */
KEPT void *
run_deep(void *arg)
{
	tell("deep", "wait_in_syscall recurse*700 run_deep");
	recurse(DEEP - 1);
	return arg;
}

/* ---- signals ---- */

KEPT void
on_signal(int sig)
{
	(void)sig;
	nest_c(wait_in_syscall);
	NOT_LAST;
}

KEPT void
interrupted_here(void)
{
	raise(SIGUSR1);
	NOT_LAST;
}

KEPT void *
run_in_handler(void *arg)
{
	tell("handler", "wait_in_syscall nest_c on_signal interrupted_here run_in_handler");
	interrupted_here();
	return arg;
}

KEPT void *
run_on_other_stack(void *arg)
{
	stack_t other = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	tell("altstack", "wait_in_syscall nest_c on_signal interrupted_here run_on_other_stack");
	interrupted_here();
	return arg;
}

/* ---- without unwind tables ---- */

/* Calls its argument, with a frame pointer, from code that no unwind table has. */
void call_without_table(void (*fn)(void));
#if defined __x86_64__
#define CODE "\x55\x48\x89\xe5\xff\xd7\x5d\xc3"
__asm__(".text\n.globl call_without_table\n.type call_without_table,@function\n"
	"call_without_table:\n"
	"	push %rbp\n	mov %rsp,%rbp\n	call *%rdi\n	pop %rbp\n	ret\n"
	".size call_without_table,.-call_without_table\n");
#elif defined __aarch64__
#define CODE "\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\x00\x00\x3f\xd6\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6"
__asm__(".text\n.globl call_without_table\n.type call_without_table,@function\n"
	"call_without_table:\n"
	"	stp x29,x30,[sp,#-16]!\n	mov x29,sp\n	blr x0\n"
	"	ldp x29,x30,[sp],#16\n	ret\n"
	".size call_without_table,.-call_without_table\n");
#else
#error "which processor is this?"
#endif

KEPT void *
run_without_table(void *arg)
{
	tell("no-table", "wait_in_syscall call_without_table run_without_table");
	call_without_table(wait_in_syscall);
	return arg;
}

/* The same, made at run time. */
KEPT void *
run_made_code(void *arg)
{
	char *code = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*made)(void (*)(void));

	memcpy(code, CODE, sizeof CODE - 1);
	__builtin___clear_cache(code, code + sizeof CODE);
	memcpy(&made, &code, sizeof made);
	tracee_say("made at %p", (void *)code);
	tell("made", "wait_in_syscall run_made_code");
	made(wait_in_syscall);
	return arg;
}

/* ---- the process ---- */

static void *
run_and_end(void *arg)
{
	return arg;
}

/* Threads that come and go, until the process ends. */
static void *
run_storm(void *arg)
{
	for (;;) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run_and_end, NULL) == 0)
			pthread_join(thread, NULL);
	}
	return arg;
}

static void
start(void *(*run)(void *), void *arg)
{
	const int before = nr_ready;

	tracee_thread(run, arg);
	while (nr_ready == before)
		sched_yield();
}

static void
answer(const char *command)
{
	if (strcmp(command, "storm") == 0) {
		tracee_thread(run_storm, NULL);
		tracee_say("a storm");
	} else if (strcmp(command, "spins") == 0) {
		tracee_say("%ld spins", (long)spins);
	} else {
		tracee_say("what is '%s'?", command);
	}
}

/* The first argument is the name of the parked threads, the second one their number. */
int
main(int argc, char **argv)
{
	static char usual[] = "worker";
	char *name = argc > 1 ? argv[1] : usual, line[64];
	const long nr = tracee_number(argc, argv, 2, 3);

	signal(SIGUSR1, on_signal);
	for (long i = 0; i < nr; i++)
		start(run_parked, name);
	start(run_deep, NULL);
	start(run_in_handler, NULL);
	start(run_without_table, NULL);
	start(run_made_code, NULL);
	start(run_on_other_stack, NULL);
	if (argc > 3)
		start(run_spinning, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		answer(line);
	return tracee_end();
}
