/*
 * heap-bound PID: copy all of a process's brk memory in pieces of 1 MiB, and print how many
 * microseconds that took, how many bytes it was, and how many microseconds of processor time: what
 * a walk over every chunk cannot beat by much.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>

#define PIECE ((size_t)1 << 20)

static long long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* The line of [heap] in PID's maps. */
static int
find_heap(const char *pid, unsigned long *start, unsigned long *end)
{
	char path[64], line[512];
	FILE *f;
	int found = 0;

	snprintf(path, sizeof path, "/proc/%s/maps", pid);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof line, f))
		found = strstr(line, "[heap]") && sscanf(line, "%lx-%lx", start, end) == 2;
	if (f)
		fclose(f);
	return found;
}

static long long
cpu_us(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000LL + use.ru_utime.tv_usec +
		use.ru_stime.tv_usec;
}

int
main(int argc, char **argv)
{
	unsigned long start, end, sum = 0;
	char *buf = malloc(PIECE);
	long long before, cpu_before;

	if (argc < 2 || !buf || !find_heap(argv[1], &start, &end))
		return 1;
	memset(buf, 0, PIECE);
	before = now_us();
	cpu_before = cpu_us();
	for (; start < end; start += PIECE) {
		size_t size = end - start < PIECE ? end - start : PIECE;
		struct iovec local = { buf, size }, remote = { (void *)start, size };
		ssize_t n = process_vm_readv(atoi(argv[1]), &local, 1, &remote, 1, 0);

		sum += n > 0 ? (unsigned long)n : 0;
	}
	printf("%lld %lu %lld\n", now_us() - before, sum, cpu_us() - cpu_before);
	return 0;
}
