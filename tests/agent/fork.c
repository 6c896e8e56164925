/*
 * fork [alone] [_Fork] [nomem]: parent and child count for themselves; with "alone" the child is
 * not counted.  With "_Fork" libc has that (2.34).  With "nomem" a child need not be counted, as
 * there may be no memory for it.
 */
#include "count.h"

#include <signal.h>
#include <sys/syscall.h>

pid_t _Fork(void) __attribute__((weak));

static bool is_nomem;

static bool
has_counters(void)
{
	return memdiag_is_counting() || memdiag_agent_segment->pid == (uint32_t)getpid();
}

/* Its parent waits for it. */
static int
is_silent(void)
{
	size_t live = memdiag_live_bytes();
	void *volatile p = malloc(50000);

	return p && memdiag_live_bytes() == live && !has_counters() ? 0 : 1;
}

static int
child_is(bool is_right)
{
	return is_right || (is_nomem && !has_counters()) ? 0 : 1;
}

static void *
fork_and_wait(void *arg)
{
	for (int i = tap_share(20); i; i--) {
		pid_t pid = fork();

		if (pid == 0) {
			take_and_free(100000);
			_exit(child_is(memdiag_live_bytes()));
		}
		waitpid(pid, NULL, 0);
		take_and_free(100);
	}
	return arg;
}

static bool
child_says(int (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(what());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int
counts_itself(void)
{
	size_t live = memdiag_live_bytes();
	void *volatile p = malloc(50000);
	size_t more = memdiag_live_bytes() - live;

	free(p);
	return child_is(live >= 1000000 && more >= 50000 && memdiag_live_bytes() == live);
}

static size_t blocks_before;

/* The parent has gone on by now; and what it had at most is not the child's. */
static int
has_what_there_was(void)
{
	const size_t live = memdiag_live_bytes();
	const bool is_begun = live == count_before && memdiag_live_blocks() == blocks_before &&
		memdiag_peak_bytes() == live;
	void *volatile p = malloc(10000000);
	const size_t most = memdiag_live_bytes();

	free(p);
	return child_is(is_begun && memdiag_peak_bytes() == most);
}

static void
try_going_on(pid_t (*how)(void), const char *what)
{
	const int rounds = tap_share(100);
	int nr_right = 0, status;

	for (int i = 0; i < rounds; i++) {
		void *volatile more[100];
		pid_t pid;

		begin_count();
		blocks_before = memdiag_live_blocks();
		pid = how();
		if (pid == 0)
			_exit(has_what_there_was());
		for (int k = 0; k < 100; k++)
			more[k] = malloc(1000);
		waitpid(pid, &status, 0);
		nr_right += status == 0;
		for (int k = 0; k < 100; k++)
			free(more[k]);
	}
	is_u64((uint64_t)nr_right, (uint64_t)rounds, what);
}

/* By a system call of the program's own, of which libc, and so the agent, knows nothing. */
static pid_t
make_child(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void
try_past_libc(void)
{
	int status;
	pid_t pid;

	begin_count();
	pid = make_child();
	if (pid == 0) {
		block = realloc(malloc(10000000), 20000000);
		block = calloc(1, 10000);
		block = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		_exit(is_silent());
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0, "a child past libc is silent");
	counted(0, "and none of it is its parent's");
	pid = make_child();
	if (pid == 0)
		_exit(child_says(is_silent) ? 0 : 1);
	ok(waitpid(pid, &status, 0) == pid && status == 0, "as is its child by fork()");
	counted(0, "of which nothing is the first one's");
}

/* It has its parent's memory, and what it takes there is its parent's to give back. */
static void
try_vfork(void)
{
	static void *volatile taken;

	begin_count();
	if (vfork() == 0) {
		taken = malloc(5000);
		_exit(0);
	}
	counted((long)malloc_usable_size(taken), "what a child of vfork() takes");
	free(taken);
	counted(0, "is given back by its parent");
}

/* A thread whose first call it is: its place must not have the child's number, who soon ends. */
static void *
allocate_first_in_child(void *ret_has_place)
{
	const struct wire_thread *place = wire_threads(memdiag_agent_segment);
	uint32_t nr;

	try_vfork();
	nr = memdiag_agent_segment->nr_threads;
	for (uint32_t i = 1; i < nr; i++)
		*(bool *)ret_has_place |= place[i].tid == (uint32_t)gettid();
	return NULL;
}

static void
try_vfork_first(void)
{
	bool has_place = false;
	pthread_t thread;

	pthread_create(&thread, NULL, allocate_first_in_child, &has_place);
	pthread_join(thread, NULL);
	ok(has_place, "a thread that did so first has a place of its own then");
}

/* ---- forks while other threads map ---- */

#define PAGE 4096
#define NR_HOLES 4000

static volatile bool is_over;

static void *
map_until_over(void *arg)
{
	while (!is_over)
		munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
	return arg;
}

static int
maps_as_well(void)
{
	alarm(300);
	return munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
}

/*
 * There are so many ranges that a thread is most often in the middle of changing the list of them.
 */
static void
try_mapping(void)
{
	char *with_holes =
		mmap(NULL, 2 * NR_HOLES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread[2];
	const int rounds = tap_share(100);
	int nr_right = 0;

	for (size_t i = 0; i < NR_HOLES; i++)
		munmap(with_holes + 2 * i * PAGE, PAGE);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, map_until_over, NULL);
	for (int i = 0; i < rounds; i++)
		nr_right += child_says(maps_as_well);
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	munmap(with_holes, 2 * NR_HOLES * PAGE);
	is_u64((uint64_t)nr_right, (uint64_t)rounds, "children of a parent whose threads map");
}

static int
leaves_much(void)
{
	block = malloc(10000000);
	return child_is(block);
}

static int
forks(void)
{
	return !child_says(leaves_much);
}

int
main(int argc, char **argv)
{
	bool alone = is_told(argc, argv, "alone");
	void *volatile keep = malloc(1000000);
	pthread_t thread[8];

	need_agent();
	is_nomem = is_told(argc, argv, "nomem");
	begin_count();
	ok(child_says(alone ? is_silent : counts_itself), "what the child says");
	counted(0, "the parent's count after it");
	ok(child_says(leaves_much), "a child that takes much");
	counted(0, "is not the parent's");
	ok(child_says(forks), "a child that forks");
	if (!alone)
		try_going_on(fork, "a child begins with what there was when it was made");
	if (!alone && _Fork && is_told(argc, argv, "_Fork"))
		try_going_on(_Fork, "by _Fork, too");
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, fork_and_wait, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	ok(true, "forks in threads");
	if (!is_nomem)
		try_mapping();
	free(keep);
	try_past_libc();
	try_vfork();
	try_vfork_first();
	ok(system("exit 3") >> 8 == 3, "system()");
	return tap_end();
}
