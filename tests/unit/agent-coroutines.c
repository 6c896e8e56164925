/*
 * Stacks that a program makes itself, as the agent walks them, against walks between the bounds
 * that /proc/self/maps has at that moment: random sequences of coroutines that are made, resumed
 * and dropped, whose stacks are unmapped, protected, and mapped again in other sizes beside each
 * other; with functions that have no unwind table and leave anything in the frame pointer, and
 * signals that are handled on another stack.
 *
 *	agent-coroutines [FIRST-SEED [SEEDS]]
 */
#include <config.h>

#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "seeds.h"
#include "unwind-check.h"

#include "agent/note/bounds.c"

size_t agent_page_bytes = 4096; /* the least that processors have */

/* ---- the walks ---- */

#define MAX_FRAMES 128
#define NR_COPIES 8

static struct unwind_stack *kept, *whole, *copy[NR_COPIES];
static struct unwind_words words[NR_COPIES];
static struct bounds_pages pages;
static char text[4096];
static struct unwind_thread checked, oracle;
static uint64_t nr_walks, nr_taken_over, nr_by_words, nr_guessed, nr_wrong;

static bool
find_checked(void *arg, uintptr_t sp, struct unwind_bounds *ret)
{
	struct bounds b;

	(void)arg;
	if (!bounds_of_other(sp, text, sizeof text, &b))
		return false;
	*ret = (struct unwind_bounds){ b.start, b.end };
	return true;
}

static bool
may_read(void *arg, uintptr_t at)
{
	return bounds_may_read(arg, at);
}

static bool
find_mapping(void *arg, uintptr_t sp, struct unwind_bounds *ret)
{
	struct bounds b;

	(void)arg;
	if (!bounds_of_mapping(sp, text, sizeof text, &b))
		return false;
	*ret = (struct unwind_bounds){ b.start, b.end };
	return true;
}

static void
complain(const char *what, const struct unwind_stack *got)
{
	if (nr_wrong++)
		return;
	printf("# %s: %u frames, end %d; %u, end %d\n", what, got->nr, got->end, whole->nr,
		whole->end);
	for (uint32_t i = 0; i < got->nr || i < whole->nr; i++) {
		const struct unwind_frame none = { 0 };
		const struct unwind_frame *a = i < got->nr ? &got->frame[got->nr - 1 - i] : &none;
		const struct unwind_frame *b =
			i < whole->nr ? &whole->frame[whole->nr - 1 - i] : &none;

		printf("#  %#" PRIxPTR " sp %#" PRIxPTR ", %#" PRIxPTR " sp %#" PRIxPTR "\n", a->pc,
			a->sp, b->pc, b->sp);
	}
}

/*
 * Whether S is what the oracle has found.  Where that ends as the frame pointer leads out of the
 * mapping, S may have gone on.
 */
static bool
has_whole(const struct unwind_stack *s)
{
	bool is_same = whole->end == UNWIND_BROKEN ? s->nr >= whole->nr
						   : s->nr == whole->nr && s->end == whole->end;

	for (uint32_t i = 1; is_same && i <= whole->nr; i++)
		is_same = s->frame[s->nr - i].pc == whole->frame[whole->nr - i].pc &&
			s->frame[s->nr - i].sp == whole->frame[whole->nr - i].sp;
	return is_same;
}

/* As stack.c looks for recent stacks. */
static void
compare_copies(const struct unwind_regs *regs)
{
	const uint64_t next = nr_walks / 3 % NR_COPIES;

	for (int i = 0; i < NR_COPIES; i++) {
		const bool has_words = unwind_has_words(&words[i], regs, &checked);

		nr_by_words += has_words;
		if ((has_words || unwind_is_same(copy[i], regs, &checked)) && !has_whole(copy[i]))
			complain("an earlier stack", copy[i]);
	}
	unwind_stack_copy(copy[next], kept);
	unwind_note_words(kept, &words[next]);
}

static __attribute__((noinline)) void
look(void)
{
	struct unwind_regs regs;

	unwind_capture(&regs);
	pages.nr = 0;
	bounds_of_thread(regs.sp, (struct bounds *)&checked.own);
	oracle.own = checked.own;
	unwind_stack_forget(whole);
	unwind_walk(whole, &regs, &oracle);
	unwind_walk(kept, &regs, &checked);
	nr_walks++;
	nr_taken_over += kept->nr_same;
	for (uint32_t i = 0; i < kept->nr; i++)
		nr_guessed += !(kept->frame[i].how & UNWIND_OF_TABLE);
	if (!has_whole(kept))
		complain("a walk", kept);
	compare_copies(&regs);
}

/* ---- stacks ---- */

#define NR_SLOTS 16
#define SLOT_PAGES 16
#define PAGE ((size_t)4096)
#define REGION_BYTES (NR_SLOTS * SLOT_PAGES * PAGE)

static char *region;
static struct slot {
	char *start, *end; /* of the stack; NULL: none is there */
	ucontext_t context;
} slot[NR_SLOTS];
static struct slot *running; /* NULL: the first stack */
static ucontext_t outside;

/* What code without a table may have in the frame pointer. */
static uintptr_t
some_fp(void)
{
	char here;
	const uintptr_t sp = (uintptr_t)&here & -(uintptr_t)8;
	const uintptr_t value[] = { 0, sp + 8 * some(64), sp + 8 * some(SLOT_PAGES * PAGE / 8),
		(uintptr_t)region + 8 * some(REGION_BYTES / 8), sp - 8 * some(1000), sp + some(64),
		(uintptr_t)&some_fp, UINTPTR_MAX - 7 };

	return value[some(8)];
}

/* BARE(F, FP) calls F, and has no table. */
#if defined __x86_64__
void bare(void (*f)(void), uintptr_t fp) __attribute__((visibility("hidden")));
__asm__(".text\n"
	".type bare, @function\n"
	"bare:	push %rbp\n"
	"	mov %rsi, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n"
	".size bare, . - bare\n");
#else
static void
bare(void (*f)(void), uintptr_t fp)
{
	(void)fp;
	f();
}
#endif

static void work(void);
static int depth;

/* To the one that has resumed this coroutine; it may never come back. */
static void
yield(void)
{
	struct slot *const s = running;
	const int was = depth;

	if (!s)
		return;
	swapcontext(&s->context, &outside);
	depth = was;
}

static __attribute__((noinline)) void
with_room(void)
{
	volatile char *room = alloca(16 + some(1500));

	*room = 1;
	work();
	*room = 2;
}

static void
handle(int signal)
{
	(void)signal;
	look();
}

static __attribute__((noinline)) void
work(void)
{
	static void (*const call[])(void) = { work, with_room, with_room, work, look, look, yield };

	if (depth == 6) {
		look();
		return;
	}
	depth++;
	for (uint64_t n = 1 + some(2); n--;) {
		const uint64_t how = some(10);

		if (how < 2)
			bare(call[some(7)], some_fp());
		else if (how < 3)
			raise(SIGUSR1);
		else
			call[some(7)]();
	}
	depth--;
}

static void
run(void)
{
	for (;;) {
		depth = 0;
		work();
		yield();
	}
}

/* ---- what becomes of them ---- */

#if defined __SANITIZE_ADDRESS__
void __asan_unpoison_memory_region(const volatile void *, size_t);
#else
#define __asan_unpoison_memory_region(at, bytes) ((void)(at), (void)(bytes))
#endif

/* Map [AT, AT + BYTES) with PROT, in place of what was there. */
static void
map_over(char *at, size_t bytes, int prot)
{
	if (bytes &&
		mmap(at, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		exit(99);
}

/* What code may mistake for frames: addresses of stacks and of code. */
static void
fill(char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uintptr_t); i++)
		((uintptr_t *)(void *)at)[i] = some(2) ? some_fp() : (uintptr_t)&work + some(40);
}

static void
drop(struct slot *s)
{
	char *const at = region + (s - slot) * (ptrdiff_t)(SLOT_PAGES * PAGE);

	s->start = NULL;
	if (some(3))
		map_over(at, SLOT_PAGES * PAGE, PROT_NONE);
	else if (some(2))
		munmap(at, SLOT_PAGES * PAGE);
}

static void
make(struct slot *s)
{
	char *const at = region + (s - slot) * (ptrdiff_t)(SLOT_PAGES * PAGE);
	const size_t first = some(SLOT_PAGES - 7), end = first + 8 + some(SLOT_PAGES - first - 7);
	const size_t left_bytes = (SLOT_PAGES - end) * PAGE;

	drop(s);
	s->start = at + first * PAGE;
	s->end = at + end * PAGE;
	map_over(s->start, (size_t)(s->end - s->start), PROT_READ | PROT_WRITE);
	__asan_unpoison_memory_region(s->start, (size_t)(s->end - s->start));
	if (some(2)) {
		map_over(s->end, left_bytes, PROT_READ | PROT_WRITE);
		fill(s->end, left_bytes);
		mprotect(s->end, left_bytes, some(2) ? PROT_READ : PROT_READ | PROT_WRITE);
	}
	getcontext(&s->context);
	s->context.uc_stack.ss_sp = s->start;
	s->context.uc_stack.ss_size = (size_t)(s->end - s->start) - 16 * some(20);
	s->context.uc_link = NULL;
	makecontext(&s->context, run, 0);
}

static void
resume(struct slot *s)
{
	running = s;
	swapcontext(&outside, &s->context);
	running = NULL;
	depth = 0;
}

static void
try_seed(uint64_t seed)
{
	state = seed;
	for (int i = tap_share(2000); i--;) {
		struct slot *s = &slot[some(NR_SLOTS)];

		if (!s->start || !some(6))
			make(s);
		else if (!some(8))
			drop(s);
		if (s->start)
			resume(s);
		if (!some(4))
			work();
	}
	for (int i = 0; i < NR_SLOTS; i++)
		drop(&slot[i]);
}

/* ---- what can be read ---- */

/* As /proc/self/maps has it. */
static bool
is_readable(uintptr_t at)
{
	FILE *f = fopen("/proc/self/maps", "r");
	uintptr_t start, end;
	char line[8192], right = '-';

	while (f && fgets(line, sizeof line, f) &&
		(sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c", &start, &end, &right) != 3 ||
			at >= end))
		;
	if (f)
		fclose(f);
	return at >= start && at < end && right == 'r';
}

static void
test_reading(void)
{
	static const int prot[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE, PROT_EXEC };
	struct bounds_pages p = { 0 };
	int nr_different = 0;

	for (size_t i = 0; i < 64; i++)
		map_over(region + i * PAGE, PAGE, prot[some(3)]);
	for (int i = 0; i < tap_share(400); i++) {
		const uintptr_t at = (uintptr_t)region + some(64 * PAGE);

		nr_different += bounds_may_read(&p, at) != (is_readable(at) && is_readable(at + 7));
	}
	is_u64((uint64_t)nr_different, 0, "what can be read is what the kernel lists as such");
}

int
main(int argc, char **argv)
{
	const struct seeds seeds = seeds_of(argc, argv, 8);
	const struct unwind_host host = check_host();
	const stack_t stack = { .ss_sp = check_map(65536), .ss_size = 65536 };
	const struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	region = mmap(NULL, REGION_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	kept = check_map(unwind_stack_bytes(MAX_FRAMES));
	whole = check_map(unwind_stack_bytes(MAX_FRAMES));
	if (region == MAP_FAILED || !kept || !whole || !unwind_start(&host) ||
		sigaltstack(&stack, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		return 99;
	unwind_stack_init(kept, MAX_FRAMES);
	unwind_stack_init(whole, MAX_FRAMES);
	for (int i = 0; i < NR_COPIES; i++)
		if (!(copy[i] = check_map(unwind_copy_bytes(MAX_FRAMES))))
			return 99;
	bounds_begin((uintptr_t)argv[0], text, sizeof text);
	checked =
		(struct unwind_thread){ .find = find_checked, .may_read = may_read, .arg = &pages };
	oracle.find = find_mapping;
	state = 1;
	ok(bounds_may_read(&pages, (uintptr_t)text) && !bounds_may_read(&pages, 8),
		"the kernel says what can be read");
	test_reading();
	for (unsigned long seed = seeds.first; seed < seeds.first + seeds.nr; seed++) {
		const uint64_t before = nr_wrong;

		try_seed(seed);
		if (nr_wrong != before)
			printf("# seed %lu: %" PRIu64 " wrong\n", seed, nr_wrong - before);
	}
	is_u64(nr_wrong, 0, "stacks of coroutines are those that a walk in their mappings finds");
	printf("# %" PRIu64 " walks, %" PRIu64 " frames taken over, %" PRIu64
	       " stacks by their words, %" PRIu64 " guessed frames\n",
		nr_walks, nr_taken_over, nr_by_words, nr_guessed);
	ok(nr_walks > 1000 && nr_taken_over > 1000 && nr_by_words && nr_guessed,
		"there were enough of all kinds");
	return tap_end();
}
