/*
 * api [alone]: what a program can ask about what it has allocated so far, and what it can set.
 * With "alone" its children are not followed: there all is as without the agent.
 */
#include "count.h"

#define MIB ((size_t)1 << 20)

static void
try_so_far(void)
{
	size_t bytes = memdiag_allocated_bytes(), blocks = memdiag_allocated_blocks(), live;
	void *p;

	live = memdiag_live_bytes();
	for (int i = 0; i < 100; i++)
		take_and_free(1000);
	ok(memdiag_allocated_bytes() - bytes >= 100000, "what was freed was allocated before");
	is_u64(memdiag_allocated_blocks() - blocks, 100, "as so many blocks");
	ok(memdiag_live_bytes() == live, "and is not there any more");
	bytes = memdiag_allocated_bytes();
	p = malloc(1000);
	live = memdiag_live_bytes() - live;
	is_u64(memdiag_allocated_bytes() - bytes, live, "a block that stays");
	block = p = realloc(p, 3 * MIB);
	ok(memdiag_allocated_bytes() - bytes >= 3 * MIB, "grows");
	bytes = memdiag_allocated_bytes();
	block = p = realloc(p, 1000);
	ok(memdiag_allocated_bytes() == bytes, "and shrinks");
	free(p);
	p = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p, MIB);
	is_u64(memdiag_allocated_bytes() - bytes, MIB, "what was mapped is among it");
}

static void *
use_some(void *arg)
{
	size_t bytes = memdiag_thread_allocated_bytes(), freed = memdiag_thread_freed_bytes();
	size_t blocks = memdiag_thread_allocated_blocks();

	for (int i = 0; i < 10; i++)
		take_and_free(5000);
	block = malloc(5000);
	is_u64(memdiag_thread_allocated_blocks() - blocks, 11,
		"a thread knows how many blocks it got");
	ok(memdiag_thread_allocated_bytes() - bytes >= 55000, "and bytes");
	ok(memdiag_thread_freed_bytes() - freed >= 50000 &&
			memdiag_thread_freed_bytes() - freed < 55000,
		"and what it freed");
	return arg;
}

static void
try_thread(void)
{
	size_t bytes, blocks;
	pthread_t thread;

	take_and_free(1);
	bytes = memdiag_thread_allocated_bytes();
	blocks = memdiag_thread_allocated_blocks();
	pthread_create(&thread, NULL, use_some, NULL);
	pthread_join(thread, NULL);
	ok(memdiag_thread_allocated_bytes() - bytes < 5000 &&
			memdiag_thread_allocated_blocks() - blocks < 10,
		"another thread has its own numbers");
	free(block);
}

static void
try_peak(void)
{
	size_t live;

	take_and_free(10 * MIB);
	ok(memdiag_peak_bytes() >= 10 * MIB, "a peak");
	live = memdiag_live_bytes();
	memdiag_reset_peak();
	ok(memdiag_peak_bytes() >= live && memdiag_peak_bytes() < live + 100000, "is forgotten");
	take_and_free(3 * MIB);
	live = memdiag_live_bytes();
	ok(memdiag_peak_bytes() >= live + 3 * MIB && memdiag_peak_bytes() < live + 4 * MIB,
		"and another one is seen");
}

static void
try_limit(void)
{
	void *p;

	ok(memdiag_limit_bytes() == SIZE_MAX, "there is no limit");
	errno = 0;
	ok(memdiag_set_limit(0) == -1 && errno == EINVAL, "none of 0 bytes");
	ok(memdiag_set_limit(memdiag_live_bytes() + 2 * MIB) == 0, "one is set from inside");
	ok(memdiag_limit_bytes() < memdiag_live_bytes() + 3 * MIB, "and known");
	p = malloc(MIB);
	ok(p != NULL, "what fits is there");
	ok(is_enomem(2 * MIB), "what does not is refused");
	ok(mmap(NULL, 2 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
		"a mapping, too");
	ok(memdiag_set_limit(SIZE_MAX) == 0 && memdiag_limit_bytes() == SIZE_MAX,
		"it is taken away");
	block = malloc(2 * MIB);
	ok(block != NULL, "and all fits again");
	free(block);
	free(p);
}

/* Nothing that its parent has is the child's. */
static void
try_silent_child(void)
{
	pid_t pid;
	int status;

	block = malloc(MIB);
	pid = fork();
	if (pid == 0) {
		bool is_silent = !memdiag_is_counting() && !memdiag_live_bytes() &&
			!memdiag_peak_bytes() && !memdiag_live_blocks() &&
			!memdiag_mapped_bytes() && !memdiag_allocated_bytes() &&
			!memdiag_thread_allocated_bytes() && memdiag_limit_bytes() == SIZE_MAX &&
			memdiag_set_limit(MIB) == -1;

		_exit(!is_silent);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0,
		"a child that is not followed knows nothing");
	ok(memdiag_limit_bytes() == SIZE_MAX && memdiag_live_bytes() >= MIB, "its parent does");
	free(block);
}

int
main(int argc, char **argv)
{
	need_agent();
	if (is_told(argc, argv, "alone")) {
		try_silent_child();
		return tap_end();
	}
	try_so_far();
	try_thread();
	try_peak();
	try_limit();
	try_so_far();
	return tap_end();
}
