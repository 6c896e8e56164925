/*
 * trimmable [MIB [WORD]]: a program that has freed most of what it had, in two arenas.  WORD is
 * what makes trimming it less than it seems: "fork", there is a child that shares it; "mlock", it
 * is locked in memory; "mlock-half", only the main thread's half of it is.  "apart": what is mapped
 * next does not merge with libc's memory; "changing": a thread fills a heap and trims it, again and
 * again.
 *
 *	trim PAD	-> bytes that its own malloc_trim(PAD) took off its resident memory
 *	again		-> bytes that using as much memory once more put on it
 */
#include "tracee.h"

#include <fcntl.h>
#include <malloc.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)
#define BLOCK 1000
#define RUN 40 /* blocks freed or kept together: about ten pages */

static size_t nr_blocks;
static sem_t filled, never;

/*
 * Some blocks stay among those that are freed, and the end of the heap is free. glibc 2.43 makes a
 * thread's tcache at its first free() (malloc/malloc.c, tcache_free_init), which would put it at
 * the end.
 */
static void
fill(void)
{
	char **block;

	tracee_use_malloc();
	block = calloc(nr_blocks, sizeof *block);
	if (!block)
		tracee_fail("calloc");
	for (size_t i = 0; i < nr_blocks; i++) {
		block[i] = malloc(BLOCK);
		if (!block[i])
			tracee_fail("malloc");
		memset(block[i], 0x5a, BLOCK);
	}
	for (size_t i = 0; i < nr_blocks; i++)
		if (i / RUN % 4 != 0 || i > nr_blocks - nr_blocks / 8)
			free(block[i]);
	free(block);
}

static void *
fill_and_sleep(void *arg)
{
	fill();
	sem_post(&filled);
	while (sem_wait(&never) != 0)
		;
	return arg;
}

static void *
fill_and_trim(void *arg)
{
	for (;;) {
		fill();
		usleep(150000);
		malloc_trim(0);
		usleep(150000);
	}
	return arg;
}

/* No stdio, which would allocate. */
static long
resident_bytes(void)
{
	char text[2048], *at;
	int fd = open("/proc/self/smaps_rollup", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (n <= 0)
		tracee_fail("/proc/self/smaps_rollup");
	close(fd);
	text[n] = '\0';
	at = strstr(text, "\nRss:");
	return at ? strtol(at + 5, NULL, 10) * 1024 : 0;
}

static long
trim(size_t pad)
{
	long before = resident_bytes();

	malloc_trim(pad);
	return before - resident_bytes();
}

static long
use_again(void)
{
	long before = resident_bytes();

	fill();
	return resident_bytes() - before;
}

static pid_t
make_child(void)
{
	pid_t child = fork();

	if (child < 0)
		tracee_fail("fork");
	while (child == 0)
		pause();
	return child;
}

int
main(int argc, char **argv)
{
	const char *word = argc > 2 ? argv[2] : "";
	pid_t child = 0;
	char line[64];

	nr_blocks = (size_t)tracee_number(argc, argv, 1, 32) * MIB / 2 / BLOCK;
	/* Else the first of them to be freed would change how the next are mapped. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	/* The end of the heap is left for malloc_trim(). */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	sem_init(&filled, 0, 0);
	sem_init(&never, 0, 0);
	if (strcmp(word, "apart") == 0 &&
		mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		tracee_fail("mmap");
	resident_bytes();
	fill();
	if (strcmp(word, "mlock-half") == 0 && mlockall(MCL_CURRENT) < 0)
		tracee_fail("mlockall");
	tracee_thread(fill_and_sleep, NULL);
	sem_wait(&filled);
	if (strcmp(word, "mlock") == 0 && mlockall(MCL_CURRENT) < 0)
		tracee_fail("mlockall");
	if (strcmp(word, "fork") == 0)
		child = make_child();
	if (strcmp(word, "changing") == 0)
		tracee_thread(fill_and_trim, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%ld",
			strncmp(line, "trim ", 5) == 0 ? trim(strtoul(line + 5, NULL, 0))
						       : use_again());
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return tracee_end();
}
