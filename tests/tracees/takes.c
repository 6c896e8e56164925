/*
 * takes: allocate on command, at places that are known.
 *
 *	take N		-> "done" with a block of N bytes more, from taker()
 *	drop		-> "done" when all blocks are freed
 *	large N		-> "done" when a block of N bytes was allocated by large_taker() and freed
 *	fork N		-> "done" when a child has allocated N bytes and ended
 */
#include "tracee.h"

#include <sys/wait.h>

#define MAX_BLOCKS 1000

static void *block[MAX_BLOCKS];
static int nr_blocks;

static __attribute__((noinline)) void *
taker(size_t size)
{
	void *volatile at = malloc(size);

	if (!at)
		tracee_fail("malloc");
	return at;
}

static __attribute__((noinline)) void *
large_taker(size_t size)
{
	void *volatile at = calloc(1, size);

	if (!at)
		tracee_fail("calloc");
	return at;
}

static void
in_child(size_t size)
{
	const pid_t pid = fork();

	if (pid == 0) {
		taker(size);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		tracee_fail("fork");
}

int
main(void)
{
	char line[128];
	size_t size;

	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (sscanf(line, "take %zu", &size) == 1 && nr_blocks < MAX_BLOCKS)
			block[nr_blocks++] = taker(size);
		else if (sscanf(line, "large %zu", &size) == 1)
			free(large_taker(size));
		else if (sscanf(line, "fork %zu", &size) == 1)
			in_child(size);
		else if (strcmp(line, "drop") == 0)
			while (nr_blocks)
				free(block[--nr_blocks]);
		tracee_say("done");
	}
	return tracee_end();
}
