/*
 * manymaps N [FILE]: N mappings of one page each, every page in memory; of FILE, mapped N times
 * over, if there is one. manymaps N mixed FILE: large and small private memory, FILE, shared memory
 * and reserves in turns, a page or two of each in memory.  "grow MIB" adds executable memory;
 * "stall MS" maps and unmaps for MS milliseconds and answers the longest time one round took, in
 * microseconds.
 */
#include "tracee.h"

#include <fcntl.h>
#include <sys/mman.h>

#define PAGE 4096

/* Neighbours of different protection stay apart. */
static void
map_anonymous(long n)
{
	char *p = mmap(NULL, (size_t)n * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	for (long i = 0; i < n; i += 2)
		if (mprotect(p + i * PAGE, PAGE, PROT_READ) < 0)
			tracee_fail("mprotect");
}

static void
map_file(long n, const char *file)
{
	int fd = open(file, O_RDONLY);

	for (long i = 0; i < n; i++)
		if (mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0) == MAP_FAILED)
			tracee_fail("mmap");
	close(fd);
}

static char *
map(size_t size, int prot, int flags, int fd)
{
	char *p = mmap(NULL, size, prot, flags, fd, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	return p;
}

/* No two of a kind are neighbours, so the kernel merges none. */
static void
map_mixed(long n, const char *file)
{
	int fd = open(file, O_RDONLY);
	volatile char sum = 0;

	for (long i = 0; i < n; i++) {
		size_t size = PAGE * (1 + (size_t)(i * 7 % 100));
		char *p;

		switch (i % 4) {
		case 0:
			p = map(size + 128 * 1024, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);
			p[0] = p[size] = 1;
			break;
		case 1:
			p = map(PAGE, PROT_READ, i % 8 == 1 ? MAP_PRIVATE : MAP_SHARED, fd);
			sum = (char)(sum + p[0]);
			break;
		case 2:
			p = map(size, PROT_READ | PROT_WRITE,
				(i % 8 == 2 ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1);
			p[size - 1] = 1;
			break;
		default:
			map(size * 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		}
	}
	close(fd);
}

static void
stall(long ms)
{
	uint64_t start = tracee_now_ns(), now = start, longest = 0;

	while (now - start < (uint64_t)ms * 1000000) {
		uint64_t before = now;
		char *p = mmap(
			NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(p, PAGE);
		now = tracee_now_ns();
		if (now - before > longest)
			longest = now - before;
	}
	tracee_say("stall %lu us", (unsigned long)(longest / 1000));
}

static void
grow(size_t mib)
{
	if (mmap(NULL, mib << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
		tracee_fail("mmap");
	tracee_say("grown");
}

int
main(int argc, char **argv)
{
	long n = tracee_number(argc, argv, 1, 1000);
	char line[64];

	if (argc > 3)
		map_mixed(n, argv[3]);
	else if (argc > 2)
		map_file(n, argv[2]);
	else
		map_anonymous(n);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strncmp(line, "stall ", 6) == 0)
			stall(strtol(line + 6, NULL, 10));
		else if (strncmp(line, "grow ", 5) == 0)
			grow(strtoul(line + 5, NULL, 10));
		else
			tracee_say("what is '%s'?", line);
	}
	return tracee_end();
}
