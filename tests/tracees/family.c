/*
 * family LEDGER SEED DEPTH: a random tree of processes, made with fork, vfork and exec,
 * posix_spawn, and exec in place; some are killed. Each program that runs adds a line to the file
 * LEDGER when it has allocated all it will: "PID BYTES BLOCKS", usable, of what it has allocated
 * itself. No tracee.
 *
 * family race MIB SECONDS LEDGER: a process that takes and gives back blocks up to so many MiB, for
 * so long, and notes in LEDGER (8 bytes, shared) what all of them have at each moment, and the most
 * of it (8 bytes more).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static unsigned int seed;

static unsigned int
below(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* ---- a tree ---- */

static size_t bytes;
static unsigned int blocks;

static void
allocate(void)
{
	for (unsigned int nr = below(200); nr; nr--) {
		char *block = malloc(below(10) ? below(5000) : below(3000000));

		bytes += malloc_usable_size(block);
		blocks++;
	}
}

static void
note(const char *ledger)
{
	char line[64];
	int fd = open(ledger, O_WRONLY | O_APPEND), n;

	n = snprintf(line, sizeof line, "%d %zu %u\n", (int)getpid(), bytes, blocks);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		_exit(99);
	close(fd);
}

static void
run_again(char **argv, unsigned int depth, bool in_place, bool by_spawn)
{
	char number[16], rest[16];
	char *args[] = { argv[0], argv[1], number, rest, NULL };
	pid_t pid;

	snprintf(number, sizeof number, "%u", below(1000000));
	snprintf(rest, sizeof rest, "%u", depth);
	if (in_place)
		execve("/proc/self/exe", args, environ);
	else if (by_spawn)
		posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ);
	else if (vfork() == 0) {
		execve("/proc/self/exe", args, environ);
		_exit(99);
	}
}

/* Start some others. True in one that is a copy of this process, and so has all that it has. */
static bool
start_others(char **argv, unsigned int depth)
{
	for (unsigned int nr = depth ? below(4) : 0; nr; nr--) {
		unsigned int way = below(3), another = below(1000000);

		if (way > 0) {
			run_again(argv, depth - 1, false, way == 1);
		} else if (fork() == 0) {
			seed = another;
			return true;
		}
	}
	return false;
}

static int
tree(char **argv, unsigned int depth)
{
	for (allocate(); start_others(argv, depth); allocate())
		depth--;
	note(argv[1]);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	if (depth && below(4) == 0)
		run_again(argv, depth - 1, true, false);
	if (below(3) == 0)
		raise(SIGKILL);
	_exit(0);
}

/* ---- a race ---- */

static void
account(int64_t *sum, int64_t change)
{
	int64_t now = __atomic_add_fetch(&sum[0], change, __ATOMIC_SEQ_CST), most;

	most = __atomic_load_n(&sum[1], __ATOMIC_RELAXED);
	while (now > most &&
		!__atomic_compare_exchange_n(
			&sum[1], &most, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* The ledger never exceeds the truth: noted after malloc(), and taken off before free(). */
static int
race(int mib, int seconds, const char *ledger)
{
	static void *block[256];
	int fd = open(ledger, O_RDWR);
	int64_t *sum = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	time_t end = time(NULL) + seconds;

	seed = (unsigned int)getpid();
	if (sum == MAP_FAILED || mib > 256)
		return 99;
	while (time(NULL) < end) {
		int i = (int)below((unsigned int)mib);

		if (block[i]) {
			account(sum, -(int64_t)malloc_usable_size(block[i]));
			free(block[i]);
			block[i] = NULL;
		} else if ((block[i] = malloc(1 << 20)) != NULL) {
			account(sum, (int64_t)malloc_usable_size(block[i]));
		}
	}
	for (int i = 0; i < mib; i++)
		if (block[i])
			account(sum, -(int64_t)malloc_usable_size(block[i]));
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "race") == 0)
		return race(atoi(argv[2]), atoi(argv[3]), argv[4]);
	if (argc != 4)
		return 64;
	seed = (unsigned int)atoi(argv[2]);
	return tree(argv, (unsigned int)atoi(argv[3]));
}
