/*
 * filtered ACTION CALL[,CALL...] [HOW]: wait in read() under a seccomp filter that allows all but
 * these calls, for which it does ACTION.  HOW:
 *	threads		with a second thread that waits, under the same filter
 *	other		with a second thread that waits, and which alone is under the filter
 *	late		the filter comes with the command "filter"
 *	locked		as threads, with a third one that has the main arena's lock most of the time
 *	during		as threads, but the filter comes when there is one thread more
 * ACTION "strict": seccomp's strict mode instead, which knows no filter; CALL is ignored.  The
 * program has free memory for malloc_trim().  "check" allocates and frees, with "locked" loads a
 * library, and says "fine".
 */
#include "tracee.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_clone3
#define SYS_clone3 435
#endif

#define NR_BLOCKS 4000
#define BLOCK_BYTES 5000

static const struct {
	const char *name;
	uint32_t answer;
} actions[] = {
	{ "kill-process", SECCOMP_RET_KILL_PROCESS },
	{ "kill-thread", SECCOMP_RET_KILL_THREAD },
	{ "trap", SECCOMP_RET_TRAP },
	{ "trace", SECCOMP_RET_TRACE },
	{ "user-notif", 0x7fc00000u }, /* SECCOMP_RET_USER_NOTIF, 5.0 */
	{ "errno", SECCOMP_RET_ERRNO | EPERM },
};

static const struct {
	const char *name;
	unsigned int nr;
} calls[] = {
	{ "mmap", SYS_mmap },
	{ "munmap", SYS_munmap },
	{ "madvise", SYS_madvise },
	{ "futex", SYS_futex },
	{ "clone", SYS_clone },
	{ "clone3", SYS_clone3 },
	{ "rt_sigprocmask", SYS_rt_sigprocmask },
	{ "rt_sigreturn", SYS_rt_sigreturn },
	{ "nanosleep", SYS_nanosleep },
	{ "clock_nanosleep", SYS_clock_nanosleep },
	{ "ppoll", SYS_ppoll },
	{ "wait4", SYS_wait4 },
	{ "exit_group", SYS_exit_group },
};

static char *block[NR_BLOCKS];
static const char *action, *denied;
static bool is_locked, is_watched;

/* What cannot be said any more after a filter has come. */
static void
end(const char *why)
{
	tracee_say("%s", why);
	syscall(SYS_exit_group, 99);
}

/* For the calling thread, or for all. */
static void
apply_filter(bool for_all)
{
	struct sock_filter f[2 * sizeof calls / sizeof *calls + 2];
	struct sock_fprog program = { 0, f };
	uint32_t answer = 0;
	size_t nr = 0;

	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
		if (strcmp(actions[i].name, action) == 0)
			answer = actions[i].answer;
	f[nr++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		char name[32], list[256];

		snprintf(name, sizeof name, ",%s,", calls[i].name);
		snprintf(list, sizeof list, ",%s,", denied);
		if (!strstr(list, name))
			continue;
		f[nr++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr, 0, 1);
		f[nr++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	}
	f[nr++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)nr;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			for_all ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program) != 0)
		end("the filter was refused");
}

static void
apply_strict(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
		end("the strict mode was refused");
}

static void
fill(void)
{
	for (size_t i = 0; i < NR_BLOCKS; i++)
		block[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	for (size_t i = 0; i < NR_BLOCKS; i += 2)
		free(block[i]);
}

static int waits_in[2];
static pthread_barrier_t is_filtered;

static void *
wait_there(void *arg)
{
	char c;

	tracee_use_malloc();
	if (arg)
		apply_filter(false);
	pthread_barrier_wait(&is_filtered);
	return read(waits_in[0], &c, 1) == 0 ? NULL : arg;
}

static void
start_thread(bool with_filter)
{
	pthread_t thread;

	if (pipe(waits_in) < 0 || pthread_barrier_init(&is_filtered, NULL, 2))
		tracee_fail("pipe");
	if (pthread_create(&thread, NULL, wait_there, with_filter ? waits_in : NULL))
		tracee_fail("pthread_create");
	pthread_barrier_wait(&is_filtered);
}

#define NR_SMALL 300000

/* malloc_info() has an arena's lock while it counts the free chunks. */
static void *
lock(void *arg)
{
	static char text[1 << 20];
	FILE *f = fmemopen(text, sizeof text, "w");

	while (f) {
		rewind(f);
		malloc_info(0, f);
		poll(NULL, 0, 1);
	}
	return arg;
}

static void
fill_small(void)
{
	static void *small[NR_SMALL];

	for (size_t i = 0; i < NR_SMALL; i++)
		small[i] = malloc(160);
	for (size_t i = 0; i < NR_SMALL; i += 2)
		free(small[i]);
}

static unsigned long
nr_threads(void)
{
	struct stat st = { 0 };

	stat("/proc/self/task", &st);
	return st.st_nlink;
}

static atomic_ulong nr_before;

static void *
watch(void *arg)
{
	while (!nr_before || nr_threads() <= nr_before)
		;
	apply_filter(true);
	nr_before = 0;
	return arg;
}

static void
start_beside(void *(*fn)(void *arg))
{
	pthread_t thread;

	fill_small();
	if (pthread_create(&thread, NULL, fn, NULL))
		tracee_fail("pthread_create");
}

/* Blocks are still what was written to them, and malloc works. */
static void
check(void)
{
	bool is_fine = true;

	for (size_t i = 1; i < NR_BLOCKS; i += 2)
		for (size_t k = 0; k < BLOCK_BYTES; k++)
			is_fine &= block[i][k] == 1;
	tracee_use_malloc();
	is_fine &= !is_locked || dlopen("libm.so.6", RTLD_NOW);
	tracee_say(is_fine ? "fine" : "damaged");
}

/* In the strict mode only read() and write() are left, and a raw exit. */
static void
live_strictly(void)
{
	char c;

	apply_strict();
	while (read(0, &c, 1) == 1)
		if (c == '\n' && write(1, "fine\n", 5) != 5)
			break;
	if (write(1, "alive\n", 6) == 6)
		syscall(SYS_exit, 0);
}

int
main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";
	char line[64];

	is_locked = strcmp(how, "locked") == 0;
	is_watched = strcmp(how, "during") == 0;
	action = argc > 1 ? argv[1] : "errno";
	denied = argc > 2 ? argv[2] : "";
	fill();
	if (is_locked || is_watched || strcmp(how, "threads") == 0 || strcmp(how, "other") == 0)
		start_thread(strcmp(how, "other") == 0);
	if (is_locked)
		start_beside(lock);
	if (is_watched) {
		start_beside(watch);
		nr_before = nr_threads();
	}
	tracee_ready();
	if (strcmp(action, "strict") == 0)
		live_strictly();
	if (!*how || is_locked || strcmp(how, "threads") == 0)
		apply_filter(true);
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "filter") == 0) {
			apply_filter(true);
			tracee_say("filtered");
		} else if (strcmp(line, "came") == 0) {
			tracee_say(nr_before ? "no" : "yes");
		} else {
			check();
		}
	}
	return tracee_end();
}
