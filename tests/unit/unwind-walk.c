/*
 * Walks of src/unwind: random calls of functions of many kinds, signals, coroutines, threads,
 * libraries that come and go. Each walk is compared with one that takes nothing over, a part of
 * them with _Unwind_Backtrace().
 */
#include <config.h>

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include "unwind-check.h"
#include "tap.h"
#include "unwind/objects.h"

#if __has_attribute(noclone)
#define NOINLINE __attribute__((noinline, noclone))
#else
#define NOINLINE __attribute__((noinline))
#endif

static __thread struct checker *checker;
static __thread uint64_t random_state, nr_oracle;

static uint64_t
random_below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* The stack of this thread, from where it is now. */
static struct unwind_bounds
own_stack(void)
{
	struct unwind_bounds b = { 0 };
	pthread_attr_t attr;
	size_t bytes;
	void *start;

	if (pthread_getattr_np(pthread_self(), &attr) == 0 &&
		pthread_attr_getstack(&attr, &start, &bytes) == 0)
		b = (struct unwind_bounds){ (uintptr_t)start, (uintptr_t)start + bytes };
	pthread_attr_destroy(&attr);
	return b;
}

/* ---- functions of many kinds, which call each other at random ---- */

static int visit(int depth);

static NOINLINE int
look(int depth)
{
	checker_walk(checker, random_below(nr_oracle) == 0);
	return depth;
}

static NOINLINE int
plain(int depth)
{
	return visit(depth) + 1;
}

static NOINLINE int
with_buffer(int depth)
{
	volatile char buffer[300];

	buffer[(unsigned int)depth % 300] = 1;
	return visit(depth) + buffer[(unsigned int)depth % 300];
}

static NOINLINE int
with_alloca(int depth)
{
	volatile char *buffer = alloca(16 + random_below(2000));

	*buffer = 1;
	return visit(depth) + *buffer;
}

/* Its stack is realigned. */
static NOINLINE int
aligned(int depth)
{
	volatile int __attribute__((aligned(64))) word[16];

	word[(unsigned int)depth % 16] = 1;
	return visit(depth) + word[(unsigned int)depth % 16];
}

static NOINLINE int
aligned_alloca(int depth)
{
	volatile int __attribute__((aligned(128))) word[32];
	volatile char *buffer = alloca(16 + random_below(200));

	*buffer = 1;
	word[(unsigned int)depth % 32] = 1;
	return visit(depth) + word[(unsigned int)depth % 32] + *buffer;
}

static NOINLINE int
tail(int depth)
{
	return visit(depth);
}

static NOINLINE int
many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	return visit(a) + b + c + d + e + f + g + h + i;
}

static NOINLINE int
with_arguments(int depth)
{
	return many_arguments(depth, 1, 2, 3, 4, 5, 6, 7, 8) + depth;
}

static int
compare(const void *a, const void *b)
{
	if (random_below(4) == 0)
		visit(*(const int *)a & 7);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE int
through_libc(int depth)
{
	int v[4] = { depth / 2, depth / 3, 1, 0 };

	qsort(v, 4, sizeof *v, compare);
	return v[0] + v[3];
}

static NOINLINE int
through_longjmp(int depth)
{
	jmp_buf here;

	if (setjmp(here) == 0) {
		visit(depth);
		longjmp(here, 1);
	}
	return look(depth);
}

static __thread jmp_buf *leap_to;

static NOINLINE __attribute__((noreturn)) void
leap(int depth)
{
	visit(depth);
	longjmp(*leap_to, 1);
}

/* The return address is behind its end, as leap() does not return. */
static NOINLINE void
ends_in_call(int depth)
{
	leap(depth);
}

static NOINLINE int
without_return(int depth)
{
	jmp_buf here, *outer = leap_to;

	leap_to = &here;
	if (setjmp(here) == 0)
		ends_in_call(depth);
	leap_to = outer;
	return look(depth);
}

#if defined __x86_64__
/* Its CFA is in rbx, as in ld.so's _dl_runtime_resolve(). */
int by_rbx(int depth);
__asm__(".text\n"
	".type by_rbx, @function\n"
	"by_rbx:\n"
	"	.cfi_startproc\n"
	"	pushq %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbx, -16\n"
	"	movq %rsp, %rbx\n"
	"	.cfi_def_cfa_register rbx\n"
	"	subq $40, %rsp\n"
	"	andq $-64, %rsp\n"
	"	call plain_for_asm\n"
	"	movq %rbx, %rsp\n"
	"	.cfi_def_cfa_register rsp\n"
	"	popq %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size by_rbx, . - by_rbx\n");
#endif

int plain_for_asm(int depth);
NOINLINE __attribute__((used)) int
plain_for_asm(int depth)
{
	return plain(depth);
}

static int (*const functions[])(int) = {
	plain,
	plain,
	with_buffer,
	with_alloca,
	aligned,
	aligned_alloca,
	tail,
	with_arguments,
	through_libc,
	through_longjmp,
	without_return,
#if defined __x86_64__
	by_rbx,
#endif
};

static NOINLINE int
visit(int depth)
{
	int sum = 0;

	if (depth <= 0)
		return look(depth);
	if (random_below(8) == 0)
		look(depth);
	for (uint64_t n = random_below(20) == 0 ? 3 : 1; n > 0; n--)
		sum += functions[random_below(sizeof functions / sizeof *functions)](
			depth - 1 - (int)random_below(2));
	return sum;
}

static bool
is_fine(const struct checker *c, const char *what)
{
	return ok(c->nr_walks && !c->nr_wrong,
		"%s: %" PRIu64 " walks, %" PRIu64 " frames, %" PRIu64 " taken over, %" PRIu64
		" compared; %" PRIu64 " complete, %" PRIu64 " cut, %" PRIu64 " broken",
		what, c->nr_walks, c->nr_frames, c->nr_taken_over, c->nr_compared, c->nr_complete,
		c->nr_cut, c->nr_broken);
}

static void
begin(struct checker *c, uint32_t max, uint64_t seed)
{
	if (!checker_init(c, max))
		abort();
	c->thread.own = own_stack();
	checker = c;
	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	nr_oracle = 40;
}

static void
end(struct checker *c)
{
	munmap(c->kept, unwind_stack_bytes(c->kept->max));
	munmap(c->whole, unwind_stack_bytes(c->whole->max));
	munmap(c->part, unwind_stack_bytes(c->part->max));
}

static void
test_calls(uint32_t max, int depth, int rounds)
{
	struct checker c;
	char what[64];

	begin(&c, max, max);
	c.disturb_every = 50;
	for (int i = 0; i < tap_share(rounds); i++)
		visit(depth);
	snprintf(what, sizeof what, "random calls, %u frames at most", max);
	is_fine(&c, what);
	if (max == 256) {
		ok(c.nr_complete == c.nr_walks, "all are complete");
		ok(c.nr_taken_over * 4 > c.nr_frames,
			"more than a quarter of the frames are taken over");
		ok(c.nr_again > 0, "%" PRIu64 " times it is one of some earlier stacks",
			c.nr_again);
		ok(c.nr_by_words > 0, "%" PRIu64 " times by its words", c.nr_by_words);
		if (c.nr_ways_learned)
			ok(c.nr_ways_gone > 0, "%" PRIu64 " walks from the end of a way",
				c.nr_ways_gone);
		else /* without optimisation, as for a sanitizer */
			skip("walks from the end of a way", "each function has a frame pointer");
		ok(c.nr_decisive > 0,
			"%" PRIu64 " of %" PRIu64 " words of the stack lead elsewhere when changed",
			c.nr_decisive, c.nr_disturbed);
	} else {
		ok(c.nr_cut > 0, "some are cut");
	}
	end(&c);
}

/* ---- deep recursion ---- */

static NOINLINE int
recurse(int depth)
{
	int r = 0;

	if (depth % 100 == 0)
		checker_walk(checker, depth % 1000 == 0);
	if (depth)
		r = recurse(depth - 1);
	if (depth % 100 == 50)
		checker_walk(checker, false);
	return r + 1;
}

static void
test_recursion(void)
{
	struct checker c;

	begin(&c, 128, 1);
	recurse(20000);
	is_fine(&c, "recursion 20,000 calls deep");
	ok(c.nr_cut > 0 && c.nr_complete > 0, "some are cut");
	end(&c);
}

/* ---- signals ---- */

static struct checker in_handler;
static char alternate[1 << 17];

static bool
find_alternate(void *arg, uintptr_t sp, struct unwind_bounds *ret)
{
	(void)arg;
	*ret = (struct unwind_bounds){ (uintptr_t)alternate,
		(uintptr_t)(alternate + sizeof alternate) };
	return sp - ret->start < sizeof alternate;
}

static void
handle(int signal)
{
	struct checker *saved = checker;

	(void)signal;
	checker = &in_handler;
	visit(3);
	checker = saved;
}

/*
 * SIGNALs come while it is at work, at any instruction. The handler's stack is another one if
 * ON_ALTERNATE.
 */
static void
test_signals(bool on_alternate, int nr)
{
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
	struct sigaction action = { .sa_handler = handle,
		.sa_flags = on_alternate ? SA_ONSTACK : 0 };
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { 0 };
	struct checker c;

	begin(&c, 256, on_alternate);
	checker_init(&in_handler, 256);
	in_handler.thread = c.thread;
	in_handler.thread.find = find_alternate;
	sigaltstack(&stack, NULL);
	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &often, NULL);
	while (in_handler.nr_walks < (uint64_t)tap_share(nr)) {
		visit(20);
		raise(SIGVTALRM);
	}
	setitimer(ITIMER_VIRTUAL, &never, NULL);
	is_fine(&c, "calls that signals interrupt");
	is_fine(&in_handler,
		on_alternate ? "handlers on their own stack" : "handlers on the same stack");
	ok(in_handler.nr_complete == in_handler.nr_walks, "all are complete");
	end(&in_handler);
	/* Where the bounds of the other stack are unknown, the walk ends at once. */
	in_handler.thread.find = NULL;
	end(&c);
}

/* ---- coroutines ---- */

static ucontext_t main_context, coroutine[3];
static char coroutine_stack[3][1 << 17];

static bool
find_coroutine(void *arg, uintptr_t sp, struct unwind_bounds *ret)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		if (sp - (uintptr_t)coroutine_stack[i] >= sizeof *coroutine_stack)
			continue;
		*ret = (struct unwind_bounds){ (uintptr_t)coroutine_stack[i],
			(uintptr_t)coroutine_stack[i + 1] };
		return true;
	}
	return false;
}

static void
run_coroutine(int i)
{
	for (;;) {
		visit(12);
		swapcontext(&coroutine[i], &main_context);
		look(1);
	}
}

static void
test_coroutines(bool is_known, int nr)
{
	struct checker c;

	begin(&c, 256, 7);
	c.thread.find = is_known ? find_coroutine : NULL;
	nr_oracle = 4;
	for (int i = 0; i < 3; i++) {
		getcontext(&coroutine[i]);
		coroutine[i].uc_stack.ss_sp = coroutine_stack[i];
		coroutine[i].uc_stack.ss_size = sizeof *coroutine_stack;
		makecontext(&coroutine[i], (void (*)(void))run_coroutine, 1, i);
	}
	for (int n = 0; n < nr; n++) {
		swapcontext(&main_context, &coroutine[random_below(3)]);
		visit(3);
	}
	is_fine(&c, is_known ? "coroutines" : "coroutines on stacks that are unknown");
	/* glibc's __start_context(), to which a coroutine returns, has no row in front of it. */
	ok(c.nr_broken > 0, "%s",
		is_known ? "they end at __start_context()" : "there they have no frames");
	end(&c);
}

/* ---- threads ---- */

static void *
run_thread(void *arg)
{
	struct checker *c = arg;

	begin(c, 256, (uintptr_t)arg);
	for (int i = 0; i < tap_share(200); i++)
		visit(25);
	end(c);
	return NULL;
}

static void
test_threads(void)
{
	pthread_t thread[4];
	struct checker c[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, run_thread, &c[i]) != 0)
			abort();
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		is_fine(&c[i], "a thread of four");
		ok(c[i].nr_complete == c[i].nr_walks, "all are complete");
	}
}

/* ---- libraries that come and go ---- */

typedef int back(int);
typedef int call(back *, int);

/*
 * Load PATH, call its function, from which walks are made, and unload it. False: it cannot be
 * loaded.
 */
static bool
come_and_go(const char *path, void **ret_function, bool is_noted)
{
	void *library = dlopen(path, RTLD_NOW);
	call *function = library ? (call *)(uintptr_t)dlsym(library, "call_back") : NULL;

	if (!function)
		return ok(false, "%s can be loaded: %s", path, dlerror());
	if (is_noted)
		unwind_note_objects();
	*ret_function = (void *)(uintptr_t)function;
	function(visit, 5);
	look(1);
	dlclose(library);
	look(1);
	return true;
}

/* Unless IS_ASKED, ld.so is not asked for objects, as it cannot be before glibc 2.35. */
static void
test_libraries(const char *directory, bool is_asked)
{
	static const char *const name[] = { "small", "large", "medium" };
	struct unwind_host host = check_host();
	void *function, *last = NULL;
	int nr_same_place = 0;
	struct checker c;
	char path[4200];
	uint64_t nr_broken;

	if (!is_asked)
		host.find_object = NULL;
	unwind_start(&host);
	begin(&c, 256, 3);
	nr_oracle = 2;
	for (int i = 0; i < tap_share(400); i++) {
		snprintf(path, sizeof path, "%s/unwind-%s.so", directory, name[i % 3]);
		if (!come_and_go(path, &function, !host.find_object))
			return;
		nr_same_place += function == last;
		last = function;
	}
	is_fine(&c, is_asked ? "libraries in turns" : "libraries in turns, noted");
	ok(c.nr_complete == c.nr_walks, "all are complete");
	printf("# %d times a function was where another library's had been\n", nr_same_place);
	nr_broken = c.nr_broken;
	for (int i = 0; i < 6 && !host.find_object; i++) {
		snprintf(path, sizeof path, "%s/unwind-%s.so", directory, name[i % 3]);
		come_and_go(path, &function, false);
	}
	if (!host.find_object) {
		is_fine(&c, "libraries that were not noted");
		ok(c.nr_broken > nr_broken, "stacks end at them");
	}
	end(&c);
	host = check_host();
	unwind_start(&host);
}

/* ---- code without a table ---- */

#if defined __x86_64__
static const unsigned char with_frame[] = {
	0x55,			/* push %rbp */
	0x48, 0x89, 0xe5,	/* mov %rsp, %rbp */
	0x48, 0x83, 0xec, 0x20, /* sub $32, %rsp */
	0x89, 0xf8,		/* mov %edi, %eax */
	0x89, 0xf7,		/* mov %esi, %edi */
	0xff, 0xd2,		/* call *%rdx */
	0xc9, 0xc3,		/* leave; ret */
}, without_frame[] = {
	0x55,			/* push %rbp */
	0x31, 0xed,		/* xor %ebp, %ebp */
	0x89, 0xf7, 0xff, 0xd2, /* mov %esi, %edi; call *%rdx */
	0x5d, 0xc3,		/* pop %rbp; ret */
};

static void
test_made_code(void)
{
	unsigned char *code = mmap(
		NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*framed)(int, int, int (*)(int)), (*unframed)(int, int, int (*)(int));
	uint64_t nr;
	struct checker c;

	if (code == MAP_FAILED) {
		skip("code made at run time", "no memory may be executed that can be written");
		return;
	}
	memcpy(code, with_frame, sizeof with_frame);
	memcpy(code + 4096, without_frame, sizeof without_frame);
	framed = (int (*)(int, int, int (*)(int)))(uintptr_t)code;
	unframed = (int (*)(int, int, int (*)(int)))(uintptr_t)(code + 4096);
	begin(&c, 256, 5);
	nr_oracle = UINT64_MAX; /* it knows no frame pointers */
	for (int i = 0; i < 200; i++)
		framed(1, 8, visit);
	is_fine(&c, "made code with frame pointers");
	ok(c.nr_complete == c.nr_walks, "all are complete");
	nr = c.nr_walks;
	for (int i = 0; i < 200; i++)
		unframed(1, 8, visit);
	is_fine(&c, "made code without");
	ok(c.nr_broken == c.nr_walks - nr && c.nr_broken > 0, "all end there");
	munmap(code, 8192);
	end(&c);
}
#endif

/* ---- frames on whose FP others depend, or not ---- */

#if defined __x86_64__
/*
 * leaves_fp(FN, DEPTH) calls FN(DEPTH) and does not touch FP.  Its two callers have frames of the
 * same size: the CFA of the first is computed from FP, in which the second has VALUE.
 */
int called_with_frame(int (*fn)(int), int depth, uint64_t value);
int called_with_value(int (*fn)(int), int depth, uint64_t value);
__asm__(".text\n"
	"leaves_fp:\n"
	"	.cfi_startproc\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	movq %rdi, %rax\n"
	"	movl %esi, %edi\n"
	"	call *%rax\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"called_with_frame:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	call leaves_fp\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"called_with_value:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	movq %rdx, %rbp\n"
	"	call leaves_fp\n"
	"	popq %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n");

static NOINLINE int
look_deeper(int depth)
{
	return depth ? look_deeper(depth - 1) + 1 : look(0);
}

/* The same inner frames are left at one place by both, with another FP each time. */
static void
test_fp(uint32_t max)
{
	struct checker c;

	begin(&c, max, 13);
	nr_oracle = 50;
	for (int i = 0; i < tap_share(20000); i++) {
		const uint64_t value = random_below(UINT64_MAX);

		(random_below(2) ? called_with_frame : called_with_value)(
			look_deeper, (int)random_below(4), value);
	}
	is_fine(&c, "frames that depend on FP, and not");
	ok(c.nr_taken_over > 0, "frames are taken over");
	end(&c);
}
#endif

/* ---- a stack that is damaged, or was never one ---- */

/* Nothing is read outside of the stack: there nothing may be read. */
static void
test_garbage(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *at = mmap(NULL, 6 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static void *const code[] = { (void *)(uintptr_t)visit, (void *)(uintptr_t)aligned,
		(void *)(uintptr_t)qsort, (void *)(uintptr_t)_Unwind_Backtrace,
		(void *)(uintptr_t)printf, (void *)(uintptr_t)raise };
	uint64_t *stack = (void *)(at + page), nr_frames = 0;
	struct unwind_regs regs = { 0 };
	struct checker c;

	mprotect(stack, 4 * page, PROT_READ | PROT_WRITE);
	begin(&c, 64, 11);
	c.thread.own = (struct unwind_bounds){ (uintptr_t)stack, (uintptr_t)stack + 4 * page };
	for (int i = 0; i < tap_share(100000); i++) {
		uint64_t *words = (uint64_t *)&regs;

		for (int n = 0; n < 20; n++) {
			const uint64_t any = random_below(4 * page), what = random_below(4);

			stack[any / 8] = what == 0 ? random_below(UINT64_MAX)
				: what == 1	   ? (uintptr_t)stack + random_below(5 * page)
					    : (uintptr_t)code[random_below(6)] + random_below(200);
		}
		for (size_t n = 0; n < offsetof(struct unwind_regs, from) / sizeof *words; n++)
			words[n] = (uintptr_t)stack + random_below(4 * page + 64) / 8 * 8;
		regs.pc = (uintptr_t)code[random_below(6)] + random_below(300);
		regs.sp = (uintptr_t)stack + random_below(4 * page) / 8 * 8;
		unwind_from_inside(&regs);
		regs.from.is_exact = random_below(2);
		unwind_walk(c.kept, &regs, &c.thread);
		nr_frames += c.kept->nr;
		c.nr_taken_over += c.kept->nr_same;
		checker_set_nodes(c.kept);
		unwind_stack_forget(c.whole);
		unwind_walk(c.whole, &regs, &c.thread);
		checker_set_nodes(c.whole);
		checker_compare_whole(&c, c.kept, "not as a walk that takes nothing over");
	}
	ok(!c.nr_wrong, "garbage as a stack: %" PRIu64 " frames, %" PRIu64 " taken over", nr_frames,
		c.nr_taken_over);
	end(&c);
	munmap(at, 6 * page);
}

/* After a wrong return address nothing is read: the stack may end there. */
static void
test_way(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t *at = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unwind_regs regs = { .pc = 1, .sp = (uintptr_t)at, .fp = 5 };
	struct unwind_way way = { .pc = 1, .nr = 3, .value = { 2, 3 }, .sp_at = 32 };

	mprotect(at, page, PROT_READ | PROT_WRITE);
	way.at[0] = (uint32_t)page - 8;
	way.at[1] = (uint32_t)page;
	way.at[2] = (uint32_t)page + 8;
	ok(!unwind_way_go(&way, &regs), "a way ends at a wrong return address");
	mprotect(at, 2 * page, PROT_READ | PROT_WRITE);
	at[page / 8 - 1] = 2;
	ok(!unwind_way_go(&way, &regs), "and at a later one");
	at[page / 8] = 3;
	at[page / 8 + 1] = 4;
	ok(unwind_way_go(&way, &regs) && regs.from.pc == 4 && regs.from.sp == regs.sp + 32 &&
			regs.from.fp == 5 && !regs.from.is_exact,
		"it leads to the frame outside");
	munmap(at, 2 * page);
}

int
main(int argc, char **argv)
{
	const struct unwind_host host = check_host();
	char directory[4096];

	(void)argc;
	snprintf(directory, sizeof directory, "%s", argv[0]);
	*strrchr(directory, '/') = '\0';
	ok(unwind_start(&host), "it starts");
	ok(unwind_generation() != 0, "rules are cached");
	test_calls(256, 40, 1000);
	test_calls(16, 40, 400);
	test_calls(1, 10, 100);
	test_recursion();
	test_signals(false, 20000);
	test_signals(true, 20000);
	test_coroutines(true, 400);
	test_coroutines(false, 100);
	test_threads();
	if (check_host().find_object)
		test_libraries(directory, true);
	test_libraries(directory, false);
#if defined __x86_64__
	test_made_code();
	for (uint32_t max = 1; max < 10; max++)
		test_fp(max);
	test_fp(256);
#endif
	test_garbage();
	test_way();
	return tap_end();
}
