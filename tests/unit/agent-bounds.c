/*
 * The bounds of stacks as the agent finds them, against /proc/self/maps as sscanf() reads it and
 * what pthread_getattr_np() says; with buffers of any size, so that lines are cut anywhere.
 *
 *	agent-bounds [FIRST-SEED [SEEDS]]
 */
#include <config.h>

#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tap.h"

#include "agent/note/bounds.c"

size_t agent_page_bytes = 4096; /* the least that processors have */
static unsigned int seed;

static size_t
some(size_t below)
{
	return (size_t)rand_r(&seed) % below;
}

/* ---- mappings ---- */

#define MAX_MAPPINGS 4096

struct mapping {
	uintptr_t start, end;
};

static struct mapping mapping[MAX_MAPPINGS];
static size_t nr_mappings;

static void
read_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[8192];

	nr_mappings = 0;
	while (f && nr_mappings < MAX_MAPPINGS && fgets(line, sizeof line, f)) {
		struct mapping *m = &mapping[nr_mappings];

		nr_mappings += sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &m->start, &m->end) == 2;
	}
	if (f)
		fclose(f);
}

static const struct mapping *
find_mapping(uintptr_t address)
{
	for (size_t i = 0; i < nr_mappings; i++)
		if (address >= mapping[i].start && address < mapping[i].end)
			return &mapping[i];
	return NULL;
}

/* Neighbours with other rights, so that the kernel keeps them apart; and holes. */
static void
map_some(char *at, size_t pages)
{
	static const int prot[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE };

	for (size_t i = 0; i < pages; i += 1 + some(4)) {
		char *page = at + i * 4096;

		if (some(3))
			mprotect(page, 4096, prot[some(3)]);
		else
			munmap(page, 4096);
	}
}

/* An address at a border, near it, or anywhere. */
static uintptr_t
some_address(void)
{
	const struct mapping *m = &mapping[some(nr_mappings)];
	const uintptr_t near[] = { m->start, m->end, m->end - 1, m->start - 1,
		m->start + some(100000), (uintptr_t)some(1 << 30) << 20, 0, UINTPTR_MAX };

	return near[some(8)];
}

static bool
agrees(uintptr_t address, size_t size)
{
	const struct mapping *m = find_mapping(address);
	struct bounds b = { 1, 2 };
	char buf[8192];
	const bool is_found = bounds_of_mapping(address, buf, size, &b);

	if (is_found == (m != NULL) &&
		(m ? b.start == m->start && b.end == m->end : b.start == 1 && b.end == 2))
		return true;
	printf("# %#" PRIxPTR " with a buffer of %zu: %d %#" PRIxPTR "-%#" PRIxPTR "\n", address,
		size, is_found, b.start, b.end);
	return false;
}

static void
test_mappings(void)
{
	const size_t pages = 600;
	char *at = mmap(NULL, pages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int nr_wrong = 0;

	if (at == MAP_FAILED)
		exit(99);
	map_some(at, pages);
	read_maps();
	for (int i = 0; i < tap_share(400); i++)
		nr_wrong += !agrees(some_address(), i % 4 ? 1 + some(8192) : 1 + some(40));
	is_u64((uint64_t)nr_wrong, 0, "mappings are found as they are, wherever a line is cut");
	munmap(at, pages * 4096);
}

/* ---- threads ---- */

struct asked {
	struct bounds found[2];
	struct mapping real;
	bool is_found[2], is_right;
	uintptr_t thread, sp;
};

static __attribute__((noinline)) void
ask(struct asked *a)
{
	char here, buf[512], *deeper = alloca(1 + (size_t)a->sp);
	pthread_attr_t attr;
	size_t bytes, guard;
	void *stack;

	*(volatile char *)deeper = 0;
	a->sp = (uintptr_t)(a->sp ? deeper : &here);
	a->thread = thread_stack();
	bounds_learn(buf, sizeof buf);
	for (int i = 0; i < 2; i++)
		a->is_found[i] = bounds_of_thread(a->sp, &a->found[i]);
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return;
	pthread_attr_getstack(&attr, &stack, &bytes);
	pthread_attr_getguardsize(&attr, &guard);
	pthread_attr_destroy(&attr);
	a->real = (struct mapping){ (uintptr_t)stack, (uintptr_t)stack + bytes };
	a->is_right = true;
}

static void *
work(void *arg)
{
	ask(arg);
	return NULL;
}

/*
 * Whether the bounds are right: all of it is the thread's stack, SP is in it, and nothing that it
 * has pushed is outside: the descriptor ends it.
 */
static bool
is_stack_of(const struct asked *a)
{
	for (int i = 0; i < 2; i++) {
		const struct bounds *b = &a->found[i];

		if (!a->is_found[i] || b->start < a->real.start || b->end > a->real.end ||
			a->sp < b->start || a->sp >= b->end || b->end != a->thread) {
			printf("# %d: %d %#" PRIxPTR "-%#" PRIxPTR ", really %#" PRIxPTR
			       "-%#" PRIxPTR ", sp %#" PRIxPTR "\n",
				i, a->is_found[i], b->start, b->end, a->real.start, a->real.end,
				a->sp);
			return false;
		}
	}
	return a->is_right;
}

/* A thread with a stack of some size, by pthread_create() or by the caller, and some guard. */
static bool
thread_agrees(void)
{
	static char own[1 << 20] __attribute__((aligned(4096)));
	struct asked a = { .sp = some(3) * 20000 };
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	if (some(5) == 0) {
		pthread_attr_setstack(&attr, own, sizeof own);
	} else {
		pthread_attr_setstacksize(&attr, (size_t)65536 << some(8));
		pthread_attr_setguardsize(&attr, 4096 * some(20));
	}
	if (pthread_create(&thread, &attr, work, &a) != 0)
		exit(99);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	return is_stack_of(&a);
}

static void
test_threads(void)
{
	int nr_wrong = 0;

	for (int i = 0; i < tap_share(200); i++)
		nr_wrong += !thread_agrees();
	is_u64((uint64_t)nr_wrong, 0, "the stack of a thread is where libc has put it");
}

/* ---- other stacks ---- */

static void
test_main_thread(void)
{
	struct bounds b;
	char buf[512], here;
	const struct mapping *m;

	bounds_begin((uintptr_t)&here, buf, sizeof buf);
	read_maps();
	m = find_mapping((uintptr_t)&here);
	ok(bounds_of_thread((uintptr_t)&here, &b) && b.start < m->start && b.end == m->end,
		"the stack of the first thread is what its mapping may become");
}

static ucontext_t back, there;
static bool is_threads, is_found;

static void
coroutine(void)
{
	char buf[512], here;
	struct bounds b;

	is_threads = bounds_of_thread((uintptr_t)&here, &b);
	is_found = bounds_of_other((uintptr_t)&here, buf, sizeof buf, &b) &&
		(uintptr_t)&here >= b.start && (uintptr_t)&here < b.end;
	swapcontext(&there, &back);
}

#define COROUTINE_BYTES 65536

static void *
run_coroutine(void *stack)
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = COROUTINE_BYTES;
	makecontext(&there, coroutine, 0);
	swapcontext(&back, &there);
	return NULL;
}

/* A stack of a program's own is none of the thread's, even where one mapping has both. */
static void
test_coroutine(void)
{
	const size_t bytes = 1 << 20;
	char *both = mmap(NULL, COROUTINE_BYTES + bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	if (both == MAP_FAILED)
		exit(99);
	run_coroutine(both);
	ok(!is_threads && is_found, "a coroutine is not on the stack of its thread");
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, both + COROUTINE_BYTES, bytes);
	if (pthread_create(&thread, &attr, run_coroutine, both) != 0)
		exit(99);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	ok(!is_threads && is_found, "nor is it where both stacks are one mapping");
	munmap(both, COROUTINE_BYTES + bytes);
}

int
main(int argc, char **argv)
{
	const unsigned int first = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	const unsigned int nr = argc > 2 ? (unsigned int)atoi(argv[2]) : 3;
	struct bounds b;
	char buf[64];

	test_main_thread();
	test_coroutine();
	for (seed = first; seed < first + nr; seed++) {
		unsigned int now = seed;

		printf("# seed %u\n", seed);
		test_mappings();
		test_threads();
		seed = now;
	}
	ok(!bounds_of_mapping(8, buf, sizeof buf, &b), "where nothing is mapped nothing is found");
	return tap_end();
}
