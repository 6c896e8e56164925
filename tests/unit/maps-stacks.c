/*
 * The stacks of a child's threads, against what its own pthread_getattr_np() says.
 */
#include <config.h>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "maps/stacks.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "tap.h"

#define KIB 1024
#define DATA_BYTES ((size_t)2 << 20)

static pthread_barrier_t barrier;

/* The behaviour of a thread after it has reported its stack. */
enum behaviour { PARK, SPIN, END };
/* Threads that were made, besides the main one. */
#define NR_THREADS 10

/* Enough that it takes pages below the one with struct pthread. */
static _Thread_local char tls[12 * KIB];

static int
find_stacks(struct view *v, bool want_sp, struct thread_stacks *ret)
{
	auto_threads struct threads threads = { 0 };

	if (threads_list(&threads, &v->t, SIZE_MAX, &v->e) < 0)
		return -1;
	return thread_stacks_find(ret, &v->t, &v->p.maps, &v->p.objects, &threads, want_sp, &v->e);
}

static void *
tell_stack(void *arg)
{
	const volatile enum behaviour *behaviour = arg; /* or clang drops the endless loops */
	pthread_attr_t attr;
	size_t size, guard;
	void *low;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_getguardsize(&attr, &guard);
	tls[0] = 1;
	printf("thread %d %p %p %zu %d %p\n", *behaviour == END ? 0 : gettid(), low,
		(void *)((char *)low + size), guard, *behaviour, (void *)tls);
	fflush(stdout);
	pthread_barrier_wait(&barrier);
	while (*behaviour == SPIN)
		;
	while (*behaviour == PARK)
		pause();
	return NULL;
}

static pthread_t
start_thread(const pthread_attr_t *attr, const enum behaviour *behaviour)
{
	pthread_t thread;

	if (pthread_create(&thread, attr, tell_stack, (void *)behaviour) != 0)
		abort();
	return thread;
}

/* The kernel clears the number in struct pthread as the thread ends. */
static void
wait_ended(pthread_t thread)
{
	clockid_t clock;

	while (pthread_getcpuclockid(thread, &clock) == 0)
		sched_yield();
}

/* Threads with a default stack, a small one, one with a large guard, one made by the program. */
static void
run_threads(void *arg)
{
	static const enum behaviour park = PARK, spin = SPIN, end = END;
	pthread_attr_t small, guarded, own, merged[2];
	char *memory =
		mmap(NULL, 512 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t ended[3];

	(void)arg;
	/* A reserve, as runtimes make: stacks lie right below it, and libc's words lead into it. */
	mmap(NULL, (size_t)1 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * KIB);
	pthread_attr_init(&guarded);
	pthread_attr_setguardsize(&guarded, 256 * KIB);
	pthread_attr_init(&own);
	/* In the middle of memory that is used for something else, too. */
	pthread_attr_setstack(&own, (char *)malloc(1024 * KIB) + 100 * KIB, 256 * KIB);
	/* Without a mapping between them, as all stacks are since 2.42. */
	for (int i = 0; i < 2; i++) {
		pthread_attr_init(&merged[i]);
		pthread_attr_setstack(&merged[i], memory + i * 256 * KIB, 256 * KIB);
		start_thread(&merged[i], &park);
	}
	start_thread(NULL, &park);
	start_thread(NULL, &spin);
	start_thread(&small, &spin);
	start_thread(&guarded, &park);
	start_thread(&own, &park);
	ended[0] = start_thread(NULL, &end);
	ended[1] = start_thread(&small, &end);
	ended[2] = start_thread(NULL, &end);
	pthread_barrier_wait(&barrier);
	pthread_join(ended[0], NULL);
	pthread_join(ended[1], NULL);
	wait_ended(ended[2]); /* and never join it */
	child_ready();
}

/* A thread that libc knows nothing of: SP is all there is to go by. */
static int
park_raw(void *arg)
{
	for (;;)
		syscall(CHILD_PAUSE_NR, NULL, 0, NULL, NULL, 0);
	return arg != NULL;
}

static void
run_raw_thread(void *arg)
{
	/*
	 * Its stack, data of the program, and the stack of a pthread: all one mapping but for the
	 * guard.
	 */
	char *memory = mmap(NULL, 132 * KIB + DATA_BYTES + 256 * KIB, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const enum behaviour park = PARK;
	pthread_attr_t own;

	(void)arg;
	mprotect(memory + 4 * KIB, 128 * KIB + DATA_BYTES + 256 * KIB, PROT_READ | PROT_WRITE);
	memset(memory + 132 * KIB, 1, DATA_BYTES);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_attr_init(&own);
	pthread_attr_setstack(&own, memory + 132 * KIB + DATA_BYTES, 256 * KIB);
	start_thread(&own, &park);
	pthread_barrier_wait(&barrier);
	printf("raw %d %p\n",
		clone(park_raw, memory + 132 * KIB,
			CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL),
		memory);
	child_ready();
}

/* As many as the child reported. */
static void
wait_all_parked(const struct target *t, const char *line)
{
	int tid, behaviour;

	for (; (line = strstr(line, "thread ")); line++)
		if (sscanf(line, "thread %d %*s %*s %*s %d", &tid, &behaviour) == 2 &&
			behaviour == PARK)
			view_wait_paused(t, tid);
}

static const struct thread_stack *
stack_ending_at(const struct thread_stacks *s, uint64_t end)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->v[i].end.v == end)
			return &s->v[i];
	return NULL;
}

/* One "thread TID LOW HIGH GUARD BEHAVIOUR TLS" of the child against ours. */
static void
same_stack(const struct thread_stacks *s, const char *line)
{
	uint64_t low, high, guard, tls_at;
	int tid, behaviour;
	const struct thread_stack *stack;

	if (!ok(sscanf(line, "thread %d %" SCNx64 " %" SCNx64 " %" SCNu64 " %d %" SCNx64, &tid,
			&low, &high, &guard, &behaviour, &tls_at) == 6,
		    "the child reported a stack"))
		return;
	stack = stack_ending_at(s, high);
	if (!ok(stack, "there is a stack that ends where this one does"))
		return;
	is_u64((uint64_t)stack->tid, (uint64_t)tid,
		tid ? "with its TID" : "kept though its thread has ended");
	is_u64(stack->start.v + stack->guard_bytes, low, "it starts behind the guard");
	is_u64(stack->guard_bytes, guard, "the guard is as large");
	ok(!stack->is_guess, "that is no guess");
	ok(stack->tls.v <= tls_at && tls_at - stack->tls.v <= 8 * KIB && tls_at < high,
		"TLS is at the high end");
	if (behaviour == PARK)
		ok(raddr_in(stack->sp, raddr_add(stack->start, stack->guard_bytes), stack->end),
			"a parked thread's stack pointer is known");
	else
		is_u64(stack->sp.v, 0, "no stack pointer for one that runs or has ended");
}

static bool
is_in_order(const struct thread_stacks *s)
{
	for (size_t i = 1; i < s->nr; i++)
		if (s->v[i - 1].end.v > s->v[i].start.v)
			return false;
	return true;
}

static void
test_threads(void)
{
	struct child c = child_start(run_threads, NULL);
	auto_thread_stacks struct thread_stacks s = { 0 };
	const char *line = c.said;
	size_t nr = 0, nr_main = 0;
	uint64_t present;
	struct view v;

	if (!view_take(&v, c.pid))
		return;
	wait_all_parked(&v.t, c.said);
	while (!view_is_blocked(&v.t, c.pid))
		os_sleep_ns(100000);
	present = view_count_present(&v);
	if (!ok(find_stacks(&v, true, &s) == 0, "stacks are found"))
		return;
	is_u64(view_count_present(&v), present, "looking made no page present");
	for (; (line = strstr(line, "thread ")); line++, nr++)
		same_stack(&s, line);
	for (size_t i = 0; i < s.nr; i++) {
		const struct region *r = regions_find(&v.p.maps, s.v[i].start);

		if (s.v[i].is_main)
			nr_main += s.v[i].tid == c.pid && r && strcmp(r->path, "[stack]") == 0;
	}
	ok(is_in_order(&s), "stacks are sorted and do not overlap");
	is_u64(nr_main, 1, "the main thread has [stack]");
	is_u64(nr, NR_THREADS, "the child reported all");
	is_u64(s.nr, nr + 1, "and there are no more");
	view_release(&v);
	ok(child_end(&c), "the child lives on");
}

/* Look for the stacks with WORD at AT: whatever comes of it, it ends and makes sense. */
static bool
survives(struct view *v, uint64_t at, uint64_t word)
{
	auto_thread_stacks struct thread_stacks s = { 0 };
	uint64_t before;
	bool is_fine;

	if (os_read(&v->t, (raddr){ at }, &before, sizeof before, &v->e) < 0 ||
		!view_write(&v->t, (raddr){ at }, &word, sizeof word))
		return false;
	is_fine = find_stacks(v, false, &s) == 0 && is_in_order(&s);
	return view_write(&v->t, (raddr){ at }, &before, sizeof before) && is_fine;
}

/*
 * Damage every word of libc's own part of STACK, in every way that could lead astray; or with a
 * share of the ways, which differ from one word to the next.
 */
static void
test_damaged_stack(struct view *v, const struct thread_stack *stack)
{
	uint64_t size = stack->end.v - stack->start.v;
	const uint64_t bad[] = { 0, 1, UINT64_MAX, UINT64_C(0x4141414141414141), 2 * size,
		stack->start.v - size, stack->tls.v };
	const size_t nr_bad = sizeof bad / sizeof *bad, nr_ways = nr_bad + 1;
	const size_t step = nr_ways / (size_t)tap_share((int)nr_ways);
	bool all_fine = true;

	for (uint64_t at = stack->tls.v; at + sizeof at <= stack->end.v; at += sizeof at)
		for (size_t i = at / sizeof at % step; i < nr_ways; i += step)
			all_fine &= survives(v, at, i < nr_bad ? bad[i] : at);
	ok(all_fine, "damage in the stack of %d leads nowhere", stack->tid);
}

static void
test_damage(void)
{
	struct child c = child_start(run_threads, NULL);
	auto_thread_stacks struct thread_stacks s = { 0 }, after = { 0 };
	const struct thread_stack *kept = NULL, *parked = NULL;
	struct view v;

	if (!view_take(&v, c.pid))
		return;
	wait_all_parked(&v.t, c.said);
	if (!ok(find_stacks(&v, true, &s) == 0, "stacks are found"))
		return;
	for (size_t i = 0; i < s.nr; i++) {
		if (!s.v[i].tid)
			kept = &s.v[i];
		else if (s.v[i].sp.v && !s.v[i].is_main)
			parked = &s.v[i];
	}
	if (ok(kept && parked, "of ended and of parked threads")) {
		test_damaged_stack(&v, kept);
		test_damaged_stack(&v, parked);
	}
	ok(find_stacks(&v, false, &after) == 0 && after.nr == s.nr, "all is well after");
	view_release(&v);
	ok(child_end(&c), "the child lives on");
}

static void
test_raw_thread(void)
{
	struct child c = child_start(run_raw_thread, NULL);
	auto_thread_stacks struct thread_stacks s = { 0 };
	const struct thread_stack *stack;
	uint64_t low = 0;
	struct view v;
	int tid = 0;

	if (!ok(strstr(c.said, "raw ") &&
			    sscanf(strstr(c.said, "raw "), "raw %d %" SCNx64, &tid, &low) == 2,
		    "a thread made by clone()") ||
		!view_take(&v, c.pid))
		return;
	view_wait_paused(&v.t, tid);
	wait_all_parked(&v.t, c.said);
	ok(find_stacks(&v, true, &s) == 0, "stacks are found");
	stack = stack_ending_at(&s, low + 132 * KIB);
	if (ok(stack, "it has a stack")) {
		is_u64((uint64_t)stack->tid, (uint64_t)tid, "with its TID");
		is_u64(stack->start.v, low, "the guard included");
		is_u64(stack->guard_bytes, 4 * KIB, "which is a page");
		ok(stack->is_guess, "that is a guess");
	}
	same_stack(&s, strstr(c.said, "thread "));
	view_release(&v);
	ok(child_end(&c), "the child lives on");
}

int
main(void)
{
	alarm(300);
	if (skip_if_sanitized("the threads of a child"))
		return tap_end();
	test_threads();
	test_raw_thread();
	test_damage();
	return tap_end();
}
