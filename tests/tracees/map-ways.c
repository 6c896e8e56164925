/*
 * map-ways: ask for memory in ways of which a tracer must say the right thing.  Each command is one
 * function, whose name is on the stack, and is answered with "done" or numbers.
 *
 * malloc BYTES, arena   -> malloc() maps BYTES in asks_malloc(); or an arena, in a new thread
 * thread                -> pthread_create() maps a stack, in makes_thread()
 * named BYTES           -> mmap() in functions of ours whose names contain malloc
 * shmat BYTES, shmdt    -> a System V segment
 * deep DEPTH            -> mmap() of 3 pages below so many frames, each of more than 256 bytes
 * fork, vfork           -> a child maps 5 MiB in maps_in_child(), or executes this program, which
 *                          does as after "exec"; "reap" ends these children
 * late                  -> a child of vfork() maps 4 MiB in maps_in_child(), and executes this
 *                          program
 * before, exec          -> maps 6 MiB in maps_before_exec(); executes this program, which maps
 *                          7 MiB in maps_after_exec(), and 9 MiB by sbrk() in breaks_after_exec()
 * storm N, jit N        -> maps and unmaps memory N times; jit: such as code may be in
 * vmas N                -> makes N mappings more
 * touch SEED N          -> "A B C D": touches N new pages, so many of them in touches_a() ...
 * discard N             -> touches 2 N pages in touches_and_keeps(), and gives N back
 * huge N                -> N huge pages touched, 0 if there are none, in touches_huge()
 * read FILE             -> the pages of FILE, each read in reads_file(), from disk if it can be
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)

/* clang makes no clones, and keeps functions apart that are the same. */
#if __has_attribute(noclone)
#define NOINLINE __attribute__((noinline, noclone, no_icf))
#else
#define NOINLINE __attribute__((noinline))
#endif
/* Not the last call of a function, which would leave no frame of it. */
#define STAY() __asm__ volatile("" ::: "memory")

static size_t page;
static const char *self;

static char *
checked(void *at)
{
	if (at == MAP_FAILED)
		tracee_fail("mmap");
	return at;
}

static char *
map(size_t bytes, int prot)
{
	return checked(mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

/* A function that maps, and has no other use. */
#define MAPS(name)                                                                                 \
	static NOINLINE void *name(size_t bytes)                                                   \
	{                                                                                          \
		void *volatile at = checked(mmap(NULL, bytes, PROT_READ | PROT_WRITE,              \
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));                      \
                                                                                                   \
		return at;                                                                         \
	}
MAPS(maps_in_child)
MAPS(maps_before_exec)
MAPS(maps_after_exec)
MAPS(maps_below)
MAPS(my_malloc_pool)
MAPS(malloc_of_mine)
MAPS(hostile_name)

/* ---- malloc, and what is called like it ---- */

static NOINLINE void
asks_malloc(size_t bytes)
{
	void *volatile block = malloc(bytes);

	if (!block)
		tracee_fail("malloc");
}

static NOINLINE void *
asks_in_thread(void *arg)
{
	asks_malloc(1000);
	return arg;
}

static NOINLINE void
makes_thread(void *(*run)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 3 * MIB);
	if (pthread_create(&thread, &attr, run, NULL) != 0)
		tracee_fail("pthread_create");
	if (run == asks_in_thread)
		pthread_join(thread, NULL);
	STAY();
}

static size_t wanted_bytes;

static NOINLINE int
malloc_callback(const void *a, const void *b)
{
	(void)a;
	(void)b;
	maps_below(wanted_bytes);
	STAY();
	return 0;
}

static NOINLINE void
maps_by_names(size_t bytes)
{
	size_t nr = 1;
	int x = 0;

	wanted_bytes = bytes;
	my_malloc_pool(bytes);
	malloc_of_mine(bytes);
	hostile_name(bytes);
	lfind(&x, &x, &nr, sizeof x, malloc_callback);
	STAY();
}

/* ---- System V ---- */

static void *segment;

static NOINLINE void
attaches(size_t bytes)
{
	const int id = shmget(IPC_PRIVATE, bytes, 0600);

	segment = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	if (id < 0 || shmctl(id, IPC_RMID, NULL) < 0 || segment == (void *)-1)
		tracee_fail("shmat");
	STAY();
}

static NOINLINE void
detaches(void)
{
	if (shmdt(segment) < 0)
		tracee_fail("shmdt");
	STAY();
}

/* ---- stacks, children, programs ---- */

static NOINLINE long
goes_deep(long depth)
{
	volatile char frame[256];
	volatile long result;

	frame[0] = (char)depth;
	result = depth > 1 ? goes_deep(depth - 1) : (long)maps_below(3 * page);
	return result + frame[0];
}

/* Children go on until the parent closes its end of this pipe. */
static int until[2] = { -1, -1 };
static pid_t child[16];
static int nr_children;

static void
wait_for_end(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		;
	_exit(0);
}

static void
add_child(pid_t pid)
{
	if (pid < 0 || nr_children == (int)(sizeof child / sizeof *child))
		tracee_fail("fork");
	child[nr_children++] = pid;
}

/* A pipe of which the child has one end: NAME is its number. */
static void
make_pipe(char *name, size_t size)
{
	if (until[0] < 0 && (pipe(until) < 0 || fcntl(until[1], F_SETFD, FD_CLOEXEC) < 0))
		tracee_fail("pipe");
	snprintf(name, size, "%d", until[0]);
}

/* Until the child has mapped what it maps. */
static void
forks(void)
{
	char name[16], c = 0;
	int mapped[2];
	pid_t pid;

	make_pipe(name, sizeof name);
	if (pipe(mapped) < 0)
		tracee_fail("pipe");
	pid = fork();
	if (pid == 0) {
		close(until[1]);
		maps_in_child(5 * MIB);
		if (write(mapped[1], &c, 1) != 1)
			_exit(1);
		wait_for_end(until[0]);
	}
	add_child(pid);
	if (read(mapped[0], &c, 1) != 1)
		tracee_fail("read");
	close(mapped[0]);
	close(mapped[1]);
}

static NOINLINE void
vforks(size_t bytes)
{
	char number[16], mapped_number[16], c;
	int mapped[2];
	pid_t pid;

	make_pipe(number, sizeof number);
	if (pipe(mapped) < 0)
		tracee_fail("pipe");
	snprintf(mapped_number, sizeof mapped_number, "%d", mapped[1]);
	pid = vfork();
	if (pid == 0) {
		if (bytes)
			maps_in_child(bytes);
		execl(self, self, number, mapped_number, NULL);
		_exit(1);
	}
	add_child(pid);
	if (read(mapped[0], &c, 1) != 1)
		tracee_fail("read");
	close(mapped[0]);
	close(mapped[1]);
}

static void
reaps(void)
{
	close(until[1]);
	close(until[0]);
	until[0] = until[1] = -1;
	while (nr_children > 0) {
		int status;

		if (waitpid(child[--nr_children], &status, 0) < 0 || status != 0)
			tracee_fail("waitpid");
	}
}

static NOINLINE void
breaks_after_exec(void)
{
	if (sbrk((intptr_t)(9 * MIB)) == (void *)-1)
		tracee_fail("sbrk");
	STAY();
}

static void
begin_after_exec(void)
{
	breaks_after_exec();
	maps_after_exec(7 * MIB);
}

/* ---- storms ---- */

static NOINLINE void
storms(long nr, int prot)
{
	for (long i = 0; i < nr; i++) {
		char *at = map(page, prot);

		if (prot & PROT_EXEC)
			at[0] = 1;
		munmap(at, page);
	}
	STAY();
}

/* Two neighbours differ in protection, so that the kernel keeps them apart. */
static NOINLINE void
makes_vmas(long nr)
{
	char *at = map((size_t)nr * page, PROT_NONE);

	for (long i = 0; i < nr; i += 2)
		if (mprotect(at + (size_t)i * page, page, PROT_READ) < 0)
			tracee_fail("mprotect");
	STAY();
}

/* ---- pages ---- */

#define TOUCHES(name)                                                                              \
	static NOINLINE void name(char *at)                                                        \
	{                                                                                          \
		*(volatile char *)at = 1;                                                          \
		STAY();                                                                            \
	}
TOUCHES(touches_a)
TOUCHES(touches_b)
TOUCHES(touches_c)
TOUCHES(touches_d)

static char *
map_small_pages(size_t bytes)
{
	char *at = map(bytes, PROT_READ | PROT_WRITE);

	madvise(at, bytes, MADV_NOHUGEPAGE); /* EINVAL where there are none */
	return at;
}

static void
touches(unsigned int seed, long nr)
{
	static void (*const by[])(char *) = { touches_a, touches_b, touches_c, touches_d };
	static const int share[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3 };
	char *at = map_small_pages((size_t)nr * page);
	long n[4] = { 0 };

	for (long i = 0; i < nr; i++) {
		const int k = share[rand_r(&seed) % 16];

		by[k](at + (size_t)i * page);
		n[k]++;
	}
	tracee_say("%ld %ld %ld %ld", n[0], n[1], n[2], n[3]);
}

static NOINLINE void
touches_and_keeps(char *at, long nr)
{
	for (long i = 0; i < nr; i++)
		*(volatile char *)(at + (size_t)i * page) = 1;
	STAY();
}

static void
discards(long nr)
{
	char *at = map_small_pages((size_t)nr * 2 * page);

	touches_and_keeps(at, nr * 2);
	if (madvise(at, (size_t)nr * page, MADV_DONTNEED) < 0)
		tracee_fail("madvise");
	tracee_say("done");
}

static NOINLINE void
touches_huge(char *at, long nr)
{
	for (long i = 0; i < nr; i++)
		*(volatile char *)(at + (size_t)i * 2 * MIB) = 1;
	STAY();
}

static void
huge(long nr)
{
	const size_t bytes = (size_t)nr * 2 * MIB;
	char *at = map(bytes + 2 * MIB, PROT_READ | PROT_WRITE);
	unsigned long kib = 0;
	char line[256];
	FILE *f;

	at = (char *)(((uintptr_t)at + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1));
	if (madvise(at, bytes, MADV_HUGEPAGE) < 0) {
		tracee_say("0");
		return;
	}
	touches_huge(at, nr);
	f = fopen("/proc/self/smaps_rollup", "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "AnonHugePages: %lu", &kib);
	if (f)
		fclose(f);
	tracee_say("%ld", (long)(kib / 2048));
}

static NOINLINE long
reads_file(const volatile char *at, size_t bytes)
{
	long sum = 0;

	for (size_t i = 0; i < bytes; i += page)
		sum += at[i];
	STAY();
	return sum;
}

static void
read_pages(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		tracee_fail(path);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	at = checked(mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0));
	madvise(at, (size_t)st.st_size, MADV_RANDOM); /* each page by itself */
	reads_file(at, (size_t)st.st_size);
	close(fd);
	tracee_say("%ld", (long)((size_t)st.st_size / page));
}

/* ---- commands ---- */

/* Whether COMMAND is one of those that say what they have done. */
static bool
says_itself(const char *command, long n, const char *line)
{
	char path[512];
	unsigned int seed;
	long nr;

	if (sscanf(line, "touch %u %ld", &seed, &nr) == 2)
		touches(seed, nr);
	else if (sscanf(line, "read %511s", path) == 1)
		read_pages(path);
	else if (strcmp(command, "discard") == 0)
		discards(n);
	else if (strcmp(command, "huge") == 0)
		huge(n);
	else
		return false;
	return true;
}

static bool
does(const char *command, long n)
{
	if (strcmp(command, "malloc") == 0)
		asks_malloc((size_t)n);
	else if (strcmp(command, "arena") == 0)
		makes_thread(asks_in_thread);
	else if (strcmp(command, "thread") == 0)
		makes_thread(tracee_wait_for_ever);
	else if (strcmp(command, "named") == 0)
		maps_by_names((size_t)n);
	else if (strcmp(command, "shmat") == 0)
		attaches((size_t)n);
	else if (strcmp(command, "shmdt") == 0)
		detaches();
	else if (strcmp(command, "deep") == 0)
		goes_deep(n);
	else if (strcmp(command, "fork") == 0)
		forks();
	else if (strcmp(command, "vfork") == 0)
		vforks(0);
	else if (strcmp(command, "late") == 0)
		vforks(4 * MIB);
	else if (strcmp(command, "reap") == 0)
		reaps();
	else if (strcmp(command, "before") == 0)
		maps_before_exec(6 * MIB);
	else if (strcmp(command, "exec") == 0)
		execl(self, self, "again", NULL);
	else if (strcmp(command, "storm") == 0)
		storms(n, PROT_READ | PROT_WRITE);
	else if (strcmp(command, "jit") == 0)
		storms(n, PROT_READ | PROT_WRITE | PROT_EXEC);
	else if (strcmp(command, "vmas") == 0)
		makes_vmas(n);
	else
		return false;
	return true;
}

int
main(int argc, char **argv)
{
	char line[600], command[32] = "";
	long n;

	page = (size_t)sysconf(_SC_PAGESIZE);
	self = argv[0];
	if (argc > 1) {
		begin_after_exec();
		if (argc > 2) { /* a child */
			if (write((int)strtol(argv[2], NULL, 10), "", 1) != 1)
				return 1;
			wait_for_end((int)strtol(argv[1], NULL, 10));
		}
		tracee_say("executed");
	} else {
		tracee_ready();
	}
	while (tracee_command(line, sizeof line)) {
		n = 0;
		sscanf(line, "%31s %ld", command, &n);
		if (says_itself(command, n, line))
			continue;
		if (does(command, n))
			tracee_say("done");
		else
			tracee_say("what is '%s'?", line);
	}
	return tracee_end();
}
