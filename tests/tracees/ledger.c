/*
 * ledger: a program that keeps account itself of all that it has from malloc and related functions,
 * in usable bytes, to compare what somebody else has counted with.  With the argument "far", what
 * is loaded later lies far from libc.  Commands:
 *	sum		answers "BYTES BLOCKS"
 *	mix N		N calls of all kinds, sizes and alignments
 *	crowd N		N threads that do the same, one after the other, and leave blocks to the
 *			rest
 *	throng N	N threads at once
 *	stacks N	N threads one after the other, each on a stack of the program's own, full of
 *			garbage
 *	busy N		N threads begin to, and go on; answers when each has done something
 *	remap N		N threads that have a mapping of a MiB each, and soon another instead; the
 *			same
 *	calm		they end
 *	small N		N blocks of 1000 bytes by malloc alone, at most 10000, and given back
 *	hand N		N times 100 blocks of 50000 bytes, which another thread gives back
 *	free		gives all back
 *	wait N		N threads that wait, and have never allocated
 *	doze N		N threads that wait, and have allocated before
 *	wake		they end
 *	tls N		N threads that free and allocate when their thread-local data are destroyed
 *	signals N	a handler that allocates, N times
 *	fibers N	coroutines on stacks of their own that allocate, N times
 *	jump N		longjmp() out of a function that has allocated, N times
 *	libs N FILE	dlopen() and dlclose(), N times
 *	deep N FILE	the same with RTLD_DEEPBIND, and its caller_use_malloc() is called
 *	stdio N		what libc itself allocates and frees, N times
 *	scratch N	libc's scratch buffers, which next to malloc call free() directly, N times;
 *			answers "none" where
 *			they cannot be called
 *	map N		N mappings made, moved, cut and given back but for one of a MiB each
 *	unmap [N]	these, too: the N oldest, else all
 *	fork		a child that allocates, frees and ends; then answers its status
 *	clone		the same with one that is made by the system call itself
 *	forks N		N forks, before which a handler waits for a lock whose holder allocates
 *	child		a child that stays until "unchild"; answers its PID
 *	says N FILE	the agent FILE says that it counts, or with 0 that it does not, whatever it
 *			does
 */
#include "tracee.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "segment.h"

#define BLOCKS 20000
#define MAX_BUSY 64
#define MAX_MAPPINGS 1000
#define MAX_THRONG 1000
#define STACK_BYTES 65536
#define MIB (UINT64_C(1) << 20)

static void *block[BLOCKS];
static pthread_mutex_t lock[BLOCKS]; /* of each */
static volatile bool is_calm;
static long nr_at_work; /* threads that have begun */
static void *mapping[MAX_MAPPINGS];
static long nr_mappings;

/* ---- all kinds of calls ---- */

static size_t
any_size(unsigned int *seed)
{
	unsigned int kind = (unsigned int)rand_r(seed) % 100;

	if (kind == 0)
		return 130000 + (size_t)rand_r(seed) % 400000; /* mappings of their own */
	if (kind < 10)
		return (size_t)rand_r(seed) % 30000;
	return (size_t)rand_r(seed) % 700;
}

/*
 * Aligned blocks are never so large as to have mappings of their own: malloc's statistics of these
 * do not contain the bytes left out in front of the block.
 */
static void *
new_block(unsigned int *seed)
{
	size_t size = any_size(seed);
	void *volatile p = NULL;

	switch (rand_r(seed) % 12) {
	case 0:
		return calloc(1 + size / 8, 8);
	case 1:
		return memalign(64, size % 100000);
	case 2:
		return aligned_alloc(32, (size % 100000 + 31) & ~(size_t)31);
	case 3:
		return posix_memalign((void **)&p, 4096, size % 9000) ? NULL : p;
	case 4:
		return valloc(size % 5000);
	case 5:
		return realloc(NULL, size);
	case 6:
		return reallocarray(NULL, 1 + size / 16, 16);
	case 7:
		return strdup("a string that libc copies, in a block that it asks for itself");
	default:
		return malloc(size);
	}
}

static volatile size_t too_many = SIZE_MAX / 2; /* so that no compiler sees it */

static void *
next_block(void *old, unsigned int *seed)
{
	void *p;

	switch (rand_r(seed) % 4) {
	case 0:
		p = realloc(old, 1 + any_size(seed));
		return p ? p : old;
	case 1:
		/* Fails, and must leave it alone. */
		p = reallocarray(old, too_many, 4);
		return p ? p : old;
	case 2:
		return realloc(old, 0); /* frees it */
	default:
		free(old);
		return NULL;
	}
}

static void
mix(long times, unsigned int seed)
{
	void *volatile refused; /* or the compiler leaves the call out, and has it succeed */

	while (times--) {
		size_t i = (size_t)rand_r(&seed) % BLOCKS;

		pthread_mutex_lock(&lock[i]);
		block[i] = block[i] ? next_block(block[i], &seed) : new_block(&seed);
		pthread_mutex_unlock(&lock[i]);
	}
	free(NULL);
	refused = malloc(too_many);
	if (refused)
		tracee_fail("too many");
}

static void *
mix_once(void *arg)
{
	mix(500, (unsigned int)(uintptr_t)arg);
	return NULL;
}

static void *
mix_little(void *arg)
{
	mix(20, (unsigned int)(uintptr_t)arg);
	return NULL;
}

static void
note_at_work(void)
{
	__atomic_add_fetch(&nr_at_work, 1, __ATOMIC_RELAXED);
}

static void *
mix_until_calm(void *arg)
{
	mix(100, (unsigned int)(uintptr_t)arg);
	note_at_work();
	for (unsigned int seed = (unsigned int)(uintptr_t)arg; !is_calm; seed++)
		mix(100, seed);
	return NULL;
}

static void
one_after_the_other(long nr, void *(*fn)(void *))
{
	static long seed = 1000;
	pthread_t thread;

	while (nr--) {
		if (pthread_create(&thread, NULL, fn, (void *)(uintptr_t)seed++))
			tracee_fail("pthread_create");
		pthread_join(thread, NULL);
	}
}

static void *
map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *
remap_until_calm(void *arg)
{
	void *now = map(MIB);

	note_at_work();
	while (!is_calm) {
		void *next = map(MIB);

		munmap(now, MIB);
		now = next;
		usleep(100);
	}
	munmap(now, MIB);
	return arg;
}

static void
all_at_once(long nr)
{
	static pthread_t thread[MAX_THRONG];

	if (nr > MAX_THRONG)
		nr = MAX_THRONG;
	for (long i = 0; i < nr; i++)
		if (pthread_create(&thread[i], NULL, mix_little, (void *)(uintptr_t)i))
			tracee_fail("pthread_create");
	while (nr--)
		pthread_join(thread[nr], NULL);
}

static void
on_own_stacks(long nr)
{
	char *stacks = mmap(NULL, (size_t)nr * STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	if (stacks == MAP_FAILED)
		tracee_fail("mmap");
	pthread_attr_init(&attr);
	for (long i = 0; i < nr; i++) {
		char *stack = stacks + (size_t)i * STACK_BYTES;

		memset(stack + STACK_BYTES - 8192, 0xff, 8192);
		if (pthread_attr_setstack(&attr, stack, STACK_BYTES) ||
			pthread_create(&thread, &attr, mix_little, (void *)(uintptr_t)i))
			tracee_fail("pthread_create");
		pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attr);
	munmap(stacks, (size_t)nr * STACK_BYTES);
}

static void
begin_or_end(long nr, void *(*fn)(void *))
{
	static pthread_t thread[MAX_BUSY];
	static long nr_busy;

	is_calm = !nr;
	for (; nr && nr_busy < nr && nr_busy < MAX_BUSY; nr_busy++)
		if (pthread_create(&thread[nr_busy], NULL, fn, (void *)(uintptr_t)nr_busy))
			tracee_fail("pthread_create");
	while (nr && __atomic_load_n(&nr_at_work, __ATOMIC_RELAXED) < nr_busy)
		usleep(1000);
	while (!nr && nr_busy)
		pthread_join(thread[--nr_busy], NULL);
	if (!nr)
		nr_at_work = 0;
}

static pthread_t waiting[MAX_BUSY];
static long nr_waiting;
static int wakes[2];
static pthread_barrier_t all_wait;

static void *
wait_in_read(void *has_allocated)
{
	char c;

	if (has_allocated)
		tracee_use_malloc();
	pthread_barrier_wait(&all_wait);
	while (read(wakes[0], &c, 1) < 0)
		;
	return NULL;
}

static void
let_wait(long nr, bool has_allocated)
{
	if (pipe(wakes) < 0 || nr > MAX_BUSY ||
		pthread_barrier_init(&all_wait, NULL, (unsigned int)nr + 1) != 0)
		tracee_fail("pipe");
	for (nr_waiting = 0; nr_waiting < nr; nr_waiting++)
		if (pthread_create(&waiting[nr_waiting], NULL, wait_in_read,
			    (void *)(uintptr_t)has_allocated))
			tracee_fail("pthread_create");
	pthread_barrier_wait(&all_wait);
}

static void
wake_all(void)
{
	close(wakes[1]);
	while (nr_waiting)
		pthread_join(waiting[--nr_waiting], NULL);
	close(wakes[0]);
}

static void
be_large_for_a_moment(long nr)
{
	static void *small[10000];

	for (long i = 0; i < nr && i < 10000; i++)
		small[i] = malloc(1000);
	for (long i = 0; i < nr && i < 10000; i++)
		free(small[i]);
}

static void *goods[100];
static pthread_barrier_t hand; /* of two */

static void *
give_back(void *times)
{
	for (long nr = (long)(uintptr_t)times; nr-- > 0;) {
		pthread_barrier_wait(&hand);
		for (size_t i = 0; i < 100; i++)
			free(goods[i]);
		pthread_barrier_wait(&hand);
	}
	return NULL;
}

static void
hand_over(long times)
{
	pthread_t thread;

	pthread_barrier_init(&hand, NULL, 2);
	pthread_create(&thread, NULL, give_back, (void *)(uintptr_t)times);
	while (times-- > 0) {
		for (size_t i = 0; i < 100; i++)
			goods[i] = malloc(50000);
		pthread_barrier_wait(&hand);
		pthread_barrier_wait(&hand);
	}
	pthread_join(thread, NULL);
}

static void
free_all(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		pthread_mutex_lock(&lock[i]);
		free(block[i]);
		block[i] = NULL;
		pthread_mutex_unlock(&lock[i]);
	}
}

/* ---- places where malloc is not expected ---- */

static pthread_key_t key;

static void
destroy(void *value)
{
	void *volatile p = malloc(333);

	free(value);
	free(p);
}

static void *
set_key(void *arg)
{
	pthread_setspecific(key, malloc(100));
	return arg;
}

static void
allocate_in_handler(int sig)
{
	void *volatile p = malloc((size_t)sig);

	free(p);
}

static void
raise_often(long nr)
{
	signal(SIGUSR1, allocate_in_handler);
	while (nr--)
		raise(SIGUSR1);
}

static ucontext_t home, fiber;
static void *fiber_block;

static void
allocate_in_fiber(void)
{
	for (;;) {
		fiber_block = malloc(500);
		swapcontext(&fiber, &home);
		free(fiber_block);
	}
}

static void
switch_often(long nr)
{
	static char stack[65536];

	if (!fiber_block) {
		getcontext(&fiber);
		fiber.uc_stack.ss_sp = stack;
		fiber.uc_stack.ss_size = sizeof stack;
		makecontext(&fiber, allocate_in_fiber, 0);
	}
	while (nr--)
		swapcontext(&home, &fiber);
}

static jmp_buf back;

static void __attribute__((noinline)) allocate_and_jump(void)
{
	void *volatile p = malloc(700);

	free(p);
	longjmp(back, 1);
}

static void
jump_often(volatile long nr)
{
	while (nr-- > 0)
		if (!setjmp(back))
			allocate_and_jump();
}

static void
load_often(long nr, const char *file, int flags, const char *function)
{
	while (nr--) {
		void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | flags);
		void (*call)(void) = NULL;

		if (library && function)
			call = (void (*)(void))dlsym(library, function);
		if (!library || (function && !call))
			tracee_fail(file);
		if (call)
			call();
		dlclose(library);
	}
}

static void
let_libc_allocate(long nr)
{
	while (nr--) {
		FILE *f = fopen("/dev/null", "w");
		char *text = NULL;
		size_t size;

		fprintf(f, "%d", 1);
		fclose(f);
		f = open_memstream(&text, &size);
		fprintf(f, "%5000d", 1);
		fclose(f);
		free(text);
		if (asprintf(&text, "%300d", 1) > 0)
			free(text);
	}
}

/* include/scratch_buffer.h (2.36).  Only in a static program what libc hides is there. */
struct scratch_buffer {
	void *data;
	size_t bytes;
	char space[1024] __attribute__((aligned(16)));
};
#if defined STATIC
extern bool __libc_scratch_buffer_set_array_size(struct scratch_buffer *b, size_t nr, size_t bytes)
	__attribute__((weak));
#else
static bool (*const __libc_scratch_buffer_set_array_size)(struct scratch_buffer *, size_t, size_t);
#endif

static bool
use_scratch(long nr)
{
	if (!__libc_scratch_buffer_set_array_size)
		return false;
	while (nr--) {
		struct scratch_buffer b = { b.space, sizeof b.space, "" };

		/* The second call frees what the first has allocated. */
		if (!__libc_scratch_buffer_set_array_size(&b, 100, 100) ||
			!__libc_scratch_buffer_set_array_size(&b, 200, 100))
			tracee_fail("scratch buffer");
		free(b.data);
	}
	return true;
}

/* ---- mappings ---- */

static void
map_often(long nr)
{
	for (long i = 0; i < nr && nr_mappings < MAX_MAPPINGS; i++) {
		char *p = map(3 * MIB);

		munmap(p + 2 * MIB, MIB);
		p = mremap(p, 2 * MIB, 4 * MIB, MREMAP_MAYMOVE);
		munmap(p + MIB, 3 * MIB);
		mapping[nr_mappings++] = p;
	}
}

static void
unmap_oldest(long nr)
{
	if (nr > nr_mappings)
		nr = nr_mappings;
	for (long i = 0; i < nr; i++)
		munmap(mapping[i], MIB);
	nr_mappings -= nr;
	memmove(mapping, mapping + nr, (size_t)nr_mappings * sizeof *mapping);
}

/* ---- children ---- */

static pid_t
clone_past_libc(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static int
fork_one(pid_t (*how)(void))
{
	pid_t pid = how();
	int status = -1;

	if (pid == 0) {
		mix(1000, 5);
		/* On the stacks that threads of its parent had. */
		one_after_the_other(2, mix_once);
		free_all();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool has_forked;

static void
lock_before_fork(void)
{
	pthread_mutex_lock(&fork_lock);
}

static void
unlock_after_fork(void)
{
	pthread_mutex_unlock(&fork_lock);
}

/* Large ones, so that what counts them is not always in a hurry. */
static void *
allocate_locked(void *arg)
{
	while (!has_forked) {
		void *volatile p[10];

		pthread_mutex_lock(&fork_lock);
		for (size_t i = 0; i < 10; i++)
			p[i] = malloc(100000);
		for (size_t i = 0; i < 10; i++)
			free(p[i]);
		pthread_mutex_unlock(&fork_lock);
		usleep(100); /* or it has the lock again before anybody else */
	}
	return arg;
}

static void
fork_often(long nr)
{
	pthread_t thread;

	has_forked = false;
	pthread_create(&thread, NULL, allocate_locked, NULL);
	while (nr-- > 0)
		fork_one(fork);
	has_forked = true;
	pthread_join(thread, NULL);
}

static int child_in = -1;

/* Ends when its end of the pipe is closed. */
static pid_t
keep_child(void)
{
	int fd[2];
	pid_t pid;
	char c;

	if (pipe(fd) < 0)
		tracee_fail("pipe");
	pid = fork();
	if (pid == 0) {
		close(fd[1]);
		mix(1000, 6);
		while (read(fd[0], &c, 1) < 0)
			;
		_exit(0);
	}
	close(fd[0]);
	child_in = fd[1];
	return pid;
}

/* ---- commands ---- */

static void
say_sum(void)
{
	size_t bytes = malloc_usable_size(fiber_block), nr = fiber_block != NULL;

	for (size_t i = 0; i < BLOCKS; i++) {
		pthread_mutex_lock(&lock[i]);
		bytes += malloc_usable_size(block[i]);
		nr += block[i] != NULL;
		pthread_mutex_unlock(&lock[i]);
	}
	tracee_say("%zu %zu", bytes, nr);
}

static void
answer(char *line)
{
	char word[32] = "", file[256] = "";
	long nr = 0;

	sscanf(line, "%31s %ld %255s", word, &nr, file);
	if (strcmp(word, "sum") == 0) {
		say_sum();
		return;
	}
	if (strcmp(word, "scratch") == 0) {
		tracee_say(use_scratch(nr) ? "done" : "none");
		return;
	}
	if (strcmp(word, "fork") == 0) {
		tracee_say("%d", fork_one(fork));
		return;
	}
	if (strcmp(word, "clone") == 0) {
		tracee_say("%d", fork_one(clone_past_libc));
		return;
	}
	if (strcmp(word, "child") == 0) {
		tracee_say("%d", (int)keep_child());
		return;
	}
	if (strcmp(word, "mix") == 0)
		mix(nr, (unsigned int)nr);
	else if (strcmp(word, "crowd") == 0)
		one_after_the_other(nr, mix_once);
	else if (strcmp(word, "throng") == 0)
		all_at_once(nr);
	else if (strcmp(word, "stacks") == 0)
		on_own_stacks(nr);
	else if (strcmp(word, "forks") == 0)
		fork_often(nr);
	else if (strcmp(word, "busy") == 0)
		begin_or_end(nr, mix_until_calm);
	else if (strcmp(word, "remap") == 0)
		begin_or_end(nr, remap_until_calm);
	else if (strcmp(word, "calm") == 0)
		begin_or_end(0, NULL);
	else if (strcmp(word, "wait") == 0)
		let_wait(nr, false);
	else if (strcmp(word, "doze") == 0)
		let_wait(nr, true);
	else if (strcmp(word, "wake") == 0)
		wake_all();
	else if (strcmp(word, "small") == 0)
		be_large_for_a_moment(nr);
	else if (strcmp(word, "hand") == 0)
		hand_over(nr);
	else if (strcmp(word, "free") == 0)
		free_all();
	else if (strcmp(word, "tls") == 0)
		one_after_the_other(nr, set_key);
	else if (strcmp(word, "signals") == 0)
		raise_often(nr);
	else if (strcmp(word, "fibers") == 0)
		switch_often(nr);
	else if (strcmp(word, "jump") == 0)
		jump_often(nr);
	else if (strcmp(word, "libs") == 0)
		load_often(nr, file, 0, NULL);
	else if (strcmp(word, "deep") == 0)
		load_often(nr, file, RTLD_DEEPBIND, "caller_use_malloc");
	else if (strcmp(word, "stdio") == 0)
		let_libc_allocate(nr);
	else if (strcmp(word, "map") == 0)
		map_often(nr);
	else if (strcmp(word, "unmap") == 0)
		unmap_oldest(nr ? nr : nr_mappings);
	else if (strcmp(word, "says") == 0)
		segment_of(file)->is_counting = nr != 0;
	else if (strcmp(word, "unchild") == 0)
		close(child_in);
	tracee_say("done");
}

/* Blocks that are allocated once, at the first use of something, are no part of the ledger. */
static void
warm_up(void)
{
	pthread_key_create(&key, destroy);
	one_after_the_other(1, set_key);
	let_libc_allocate(1);
	mix(1000, 1);
}

/* So much that no near jump leads across it. */
static void
reserve_below_libc(void)
{
	if (mmap(NULL, 3072 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
		MAP_FAILED)
		tracee_fail("mmap");
}

int
main(int argc, char **argv)
{
	char line[512];

	if (argc > 1 && strcmp(argv[1], "far") == 0)
		reserve_below_libc();
	/* Or the first large block that is freed is the last one with a mapping of its own. */
	mallopt(M_MMAP_THRESHOLD, 131072);
	for (size_t i = 0; i < BLOCKS; i++)
		pthread_mutex_init(&lock[i], NULL);
	warm_up();
	pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		answer(line);
	return tracee_end();
}
