/*
 * coroutines: malloc on stacks that the program has made itself, while all is recorded.  It must
 * not ask the kernel for all mappings, nor rely on a stack that has changed since: on it code
 * without an unwind table has an address in the frame pointer where nothing is mapped any more.
 */
#include "count.h"

#include <ucontext.h>

#define NR 4
#define STACK_BYTES ((size_t)64 << 10)

static __thread ucontext_t outside, inside[NR];

static void *
map_stack(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(99);
	return at;
}

static void
make(ucontext_t *c, void *stack, size_t bytes, void (*run)(int), int arg)
{
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = bytes;
	c->uc_link = NULL;
	makecontext(c, (void (*)(void))run, 1, arg);
}

/* ---- what it reads ---- */

static void
allocate_for_ever(int i)
{
	for (;;) {
		take_and_free(300 + (size_t)i);
		swapcontext(&inside[i], &outside);
	}
}

static void
switch_often(int times)
{
	for (int n = 0; n < times; n++)
		for (int i = 0; i < NR; i++)
			swapcontext(&outside, &inside[i]);
}

/* What the process has read so far; this much may be of this function. */
#define OWN_BYTES 4096
static uint64_t
read_bytes(void)
{
	char line[512] = "";
	const int fd = open("/proc/self/io", O_RDONLY);
	const ssize_t n = read(fd, line, sizeof line - 1);
	unsigned long long bytes = 0;

	close(fd);
	if (n <= 0 || sscanf(line, "rchar: %llu", &bytes) != 1)
		exit(99);
	return bytes;
}

static void
test_reading(void)
{
	const int times = 1000;
	uint64_t before, bytes;

	for (int i = 0; i < NR; i++)
		make(&inside[i], map_stack(STACK_BYTES), STACK_BYTES, allocate_for_ever, i);
	switch_often(10);
	before = read_bytes();
	switch_often(times);
	bytes = read_bytes() - before;
	if (!ok(bytes < OWN_BYTES, "%d calls on other stacks read no file", times * NR))
		printf("#   %llu bytes\n", (unsigned long long)bytes);
}

/* ---- stacks that change ---- */

/* BARE(FP) calls allocate_once() with FP in the frame pointer, and has no table. */
static __attribute__((noinline, used)) void
allocate_once(void)
{
	take_and_free(1000);
}

#if defined __x86_64__
void bare(uintptr_t fp) __attribute__((visibility("hidden")));
void (*volatile bare_call)(void) = allocate_once;
__asm__(".text\n"
	".type bare, @function\n"
	"bare:	push %rbp\n"
	"	mov %rdi, %rbp\n"
	"	call *bare_call(%rip)\n"
	"	pop %rbp\n"
	"	ret\n"
	".size bare, . - bare\n");
#else
static void
bare(uintptr_t fp)
{
	(void)fp;
	allocate_once();
}
#endif

static uintptr_t bare_fp;

static void
allocate_bare(int i)
{
	bare(bare_fp);
	swapcontext(&inside[i], &outside);
}

#define LARGE_BYTES ((size_t)1 << 20)

/* The first stack that this thread allocates on has made room for a smaller one when it is back. */
static void *
change_stack(void *stack)
{
	bare_fp = 0;
	make(&inside[0], stack, LARGE_BYTES, allocate_bare, 0);
	swapcontext(&outside, &inside[0]);
	bare_fp = (uintptr_t)stack + LARGE_BYTES - 64;
	munmap((char *)stack + STACK_BYTES, LARGE_BYTES - STACK_BYTES);
	make(&inside[0], stack, STACK_BYTES, allocate_bare, 0);
	swapcontext(&outside, &inside[0]);
	bare_fp = (uintptr_t)stack + STACK_BYTES - 64 + 4096;
	make(&inside[0], stack, STACK_BYTES, allocate_bare, 0);
	swapcontext(&outside, &inside[0]);
	return stack;
}

static void
test_changes(void)
{
	char *stack = map_stack(LARGE_BYTES);
	pthread_t thread;
	void *ret = NULL;

	if (pthread_create(&thread, NULL, change_stack, stack) != 0)
		exit(99);
	pthread_join(thread, &ret);
	munmap(stack, STACK_BYTES);
	ok(ret != NULL, "a smaller stack is where a larger one was");
}

int
main(void)
{
	need_agent();
	test_reading();
	test_changes();
	return tap_end();
}
